"""`stiffly demo`: the tour, from a scene to a film, with two methods side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError, SimulationFailure
from .inputs import require_folder
from .run import Interrupted

SCENE = "squats"
# 14,038 particles in the paper; the stiffness goes with it, so that a squat takes two seconds
LARGE = {"vertices": 4000, "stiffness": 4e5, "duration": 10.0}
EXPONENTIAL, IMPLICIT = "exprb42", "bdf1"  # bdf1: what most simulators use
FILM = (960, 540)  # pixels


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write.")] = Path(
        "stiffly-demo"
    ),
    small: Annotated[
        bool, typer.Option("--small", help="Fewer particles, a shorter motion: seconds.")
    ] = False,
    no_film: Annotated[bool, typer.Option("--no-film", help="Leave out the film.")] = False,
) -> None:
    """Take the tour: one scene, two methods.

    An exponential integrator and backward Euler move the same body with the same steps; you get
    both energy ledgers, plots, recordings and a film of the two side by side.
    """
    require_folder(out)
    from .. import scenes, terminal
    from ..recording.folder import check

    # an earlier tour may be replaced, other things may not
    places = {name: check(out / name, force=True) for name in (EXPONENTIAL, IMPLICIT)}
    given = {} if small else LARGE
    scene = scenes.load(SCENE, small=small, **given)
    terminal.out.print(
        f"{scene.summary}: {len(scene.x0):,} particles, {scene.duration:g} s in steps of "
        f"{scene.step:g} s"
    )
    terminal.show_note(scene.note)
    with terminal.notices():
        runs, failure = _simulate_each(scene, places)
        terminal.show_ledger(runs, [_return_row(runs)])
        files = [*_draw(runs, out), *([] if no_film else _film(runs, out))]
    terminal.show_files([*(run.folder for run in runs), *files])
    if failure is not None:
        raise failure
    _conclude(runs, out, given)


def _simulate_each(
    scene: Any, places: dict[str, Any]
) -> tuple[list[Any], SimulationFailure | None]:
    """Two recordings with the same steps; one that fails still gives what it recorded."""
    from .. import terminal
    from ..run.simulate import simulate
    from ..scenes.request import as_file

    runs, failure = [], None
    for name, place in places.items():
        one = replace(scene, integrator=name)
        origin = {"toml": as_file(one, {})}
        with terminal.simulation_bar(name) as progress:
            try:
                run = simulate(one, out=place, provenance=origin, progress=progress)
            except SimulationFailure as stopped:
                if stopped.run is None:
                    raise
                run, failure = stopped.run, failure or stopped
            except KeyboardInterrupt as stopped:
                raise Interrupted("interrupted; start again with: stiffly demo", stopped) from None
        runs.append(run)
    return runs, failure


def _return_row(runs: Sequence[Any]) -> tuple[str, ...]:
    """How far up the body comes in the last third of the motion, against its start."""
    cells = []
    for run in runs:
        height = run.positions[..., 2].max(axis=1)
        last = run.times >= 2.0 / 3.0 * run.times[-1]
        cells.append(f"{height[last].max():.2f} of {height[0]:.2f} m")
    return ("last stands up to", *cells)


def _draw(runs: Sequence[Any], out: Path) -> list[Path]:
    from ..recording.plots import plot, plot_energies

    comparison = out / "comparison.png"
    plot_energies(runs, comparison, title="Who keeps the energy?")
    return [comparison, *(path for run in runs for path in plot(run))]


def _film(runs: Sequence[Any], out: Path) -> list[Path]:
    """Both runs next to each other; where the drawing library is missing, a line says so."""
    from .. import terminal

    try:
        from ..recording.render import side_by_side

        with terminal.counting_bar("film") as progress:
            return [side_by_side(runs, out / "film.mp4", size=FILM, progress=progress)]
    except InputError as missing:
        terminal.passing.print(f"no film: {missing}", markup=False, soft_wrap=True)
        return []


def _conclude(runs: Sequence[Any], out: Path, given: dict[str, Any]) -> None:
    """What was seen, in numbers of this very run, and what to try."""
    from .. import terminal

    whole = max(float(run.energy.kinetic.max()) for run in runs)
    ours, rival = (terminal.percent(abs(float(run.energy.numerical[-1])), whole) for run in runs)
    terminal.out.print(
        f"Same body, same steps: {EXPONENTIAL} is off by {ours} of the largest kinetic energy, "
        f"backward Euler ({IMPLICIT}) by {rival}. The stiffness is constant here, the best case "
        "of exponential methods; in the dragon below springs turn."
    )
    sets = "".join(f" --set {key}={given[key]:g}" for key in ("vertices", "stiffness") if given)
    terminal.show_next(
        [
            f"stiffly run {SCENE} --integrator energy-momentum{sets or ' --small'}",
            "stiffly run dragon --small",
            f"stiffly render {out / EXPONENTIAL} --color strain",
            f"stiffly export {out / EXPONENTIAL} --to usd",
            "stiffly scenes",
            "stiffly lab list",
        ]
    )
    terminal.out.print(
        "Live, in your browser, to pull at and to change: stiffly view cloth --small"
    )
