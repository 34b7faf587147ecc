"""The command line: arguments to function calls.

Exit codes: 0 good, 1 a simulation failed (what it recorded is still written), 2 the input is wrong
(one line says why, nothing is written), 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from math import ceil, isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from . import lab as laboratory
from . import scenes as catalogue
from . import terminal
from .errors import InputError, SimulationFailure
from .integrators import integrator as find_integrator
from .lab.report import as_json, versions
from .recording.plots import picture, plot_energies, plot_energy
from .scenes.coil_spring import top_height
from .simulate import Run, simulate

RIVAL = "bdf1"  # what most simulators use, and what the papers compare with
DEMO_SECONDS = 12.5  # the spring goes down and comes back once
FRAMES = 125
INTERRUPTED = 130  # what shells expect after Ctrl-C, and what some versions of typer return

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
_UsageError: Any = typer.BadParameter.__base__  # click's, wherever this typer keeps click


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    try:
        code = int(app(args=arguments, standalone_mode=False) or 0)
        return code if code != INTERRUPTED else _stop("interrupted", code)
    except _UsageError as failure:
        return _stop(failure.format_message(), 2)
    except InputError as failure:
        return _stop(str(failure), 2)
    except SimulationFailure as failure:
        return _stop(str(failure), 1)
    except OSError as failure:
        return _stop(f"cannot write: {failure}; name another folder with --out", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _stop("interrupted", INTERRUPTED)


def _stop(text: str, code: int) -> int:
    print(f"error: {' '.join(text.split())}", file=sys.stderr)
    return code


@app.callback(invoke_without_command=True)
def stiffly(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.")
    ] = False,
) -> None:
    """Simulate stiff elastic things with large steps and an account of every joule."""
    if show_version:
        terminal.out.print(f"stiffly {version('stiffly')}")
    elif context.invoked_subcommand is None:
        terminal.out.print(context.get_help())


# ------------------------------------------------------------------ demo


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for plots and summary.json.")] = Path(
        "stiffly-demo"
    ),
    duration: Annotated[float, typer.Option(help="Seconds to simulate.")] = DEMO_SECONDS,
    step: Annotated[float, typer.Option(help="Step size [s].")] = 0.05,
    vertices: Annotated[int, typer.Option(help="Size of the spring, a multiple of 16.")] = 8000,
    integrator: Annotated[str, typer.Option(help="Method to set against BDF-1.")] = "exprb42",
) -> None:
    """A coil spring of 24,000 degrees of freedom: an exponential integrator against BDF-1."""
    _require_positive("--duration", duration, "12.5")
    _require_positive("--step", step, "0.05")
    names = [integrator, RIVAL if integrator != RIVAL else "exprb42"]
    for name in names:
        find_integrator(name)
    scene = catalogue.load("coil-spring", vertices=vertices)
    _require_folder(out)
    with terminal.compiling():
        for name in names:  # one tiny step at full size: the kernels differ with the size
            simulate(scene, integrator=name, step=1e-4, duration=1e-4)
    runs, failure = _simulate_each(scene, names, step, duration)
    terminal.out.print(terminal.ledger_table(runs, [_return_row(runs)]))
    terminal.show_files(_write_demo(out, scene, runs, failure))
    if failure is not None:
        raise failure


def _simulate_each(
    scene: catalogue.Scene, names: Sequence[str], step: float, duration: float
) -> tuple[list[Run], SimulationFailure | None]:
    """Runs with the same steps; one that fails still gives the frames it recorded."""
    runs, failure = [], None
    steps = ceil(duration / step * (1.0 - 1e-9))
    every = duration / steps * ceil(steps / FRAMES)  # whole steps between frames
    for name in names:
        with terminal.simulation_bar(name, duration) as progress:
            try:
                run = simulate(
                    scene,
                    integrator=name,
                    step=step,
                    duration=duration,
                    every=every,
                    progress=progress,
                )
            except SimulationFailure as stopped:
                if stopped.run is None:
                    raise
                run, failure = stopped.run, failure or stopped
        runs.append(run)
    return runs, failure


def _return_row(runs: Sequence[Run]) -> tuple[str, ...]:
    """How high the top of the spring comes back in its last swing, against its start."""
    cells = []
    for run in runs:
        height = top_height(run.positions)
        rising = (height[1:] > height[:-1]).nonzero()[0]
        if not rising.size:
            cells.append("not yet")
            continue
        dip = run.times[rising[0]]
        last = run.times >= max(dip, run.times[-1] - DEMO_SECONDS)
        cells.append(f"{height[last].max():.2f} of {height[0]:.2f} m")
    return ("top returns to", *cells)


def _write_demo(
    out: Path, scene: catalogue.Scene, runs: Sequence[Run], failure: SimulationFailure | None
) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    names = ("energy.png", "comparison.png", "spring.png", "summary.json")
    energy, comparison, spring, summary = paths = [out / name for name in names]
    title = f"Coil spring, {len(scene.x0):,} vertices"
    plot_energy(runs[0], energy, title=title)
    plot_energies(runs, comparison, title=f"{title}: who keeps the energy?")
    height = top_height(runs[0].positions)
    lowest = int(height.argmin())
    picture(
        scene.mesh,
        spring,
        positions=runs[0].positions[lowest],
        title=f"{title}, at t = {runs[0].times[lowest]:.2f} s",
        caption=f"grey: the start; the top is {height[0] - height[lowest]:.2f} m lower "
        f"({runs[0].integrator}, step {runs[0].stats.get('largest_step', 0.0):.3g} s)",
    )
    content = {
        "scene": scene.name,
        **runs[0].summary(),
        "compared": [run.summary() for run in runs[1:]],
        "failure": None if failure is None else str(failure),
        "versions": versions(),
        "seed": None,  # nothing here is random
    }
    summary.write_text(json.dumps(as_json(content), indent=1) + "\n")
    return paths


# ------------------------------------------------------------------ lab, scenes


@app.command()
def lab(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[list | NAME...]", help="Experiments to run.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("stiffly-lab"),
    quick: Annotated[bool, typer.Option("--quick", help="Reduced variants, seconds each.")] = False,
) -> None:
    """Run experiments of the papers; writes numbers (JSON), a figure (PNG) and a page (MD) each."""
    if not names or names == ["list"]:
        rows = [(name, e.description, e.figure) for name, e in laboratory.EXPERIMENTS.items()]
        terminal.out.print(terminal.listing(("experiment", "shows", "paper"), rows))
        return
    chosen = [(name, laboratory.experiment(name)) for name in names]
    _require_folder(out)
    for name, experiment in chosen:
        with terminal.lab_bar(name) as progress:
            report = experiment.run(quick=quick, progress=progress)
        terminal.out.print(f"[bold]{report.title}[/] ({report.source})")
        terminal.out.print(terminal.claims_table(report.claims))
        terminal.show_files(report.save(out))


@app.command()
def scenes() -> None:
    """List the built-in scenes."""
    entries = ((name, catalogue.entry(name)) for name in catalogue.NAMES)
    rows = [(name, entry.summary, entry.source) for name, entry in entries]
    terminal.out.print(terminal.listing(("scene", "what", "paper"), rows))


def _require_positive(option: str, value: float, example: str) -> None:
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"{option} must be positive, got {value:g}: try {option} {example}")


def _require_folder(out: Path) -> None:
    """Made once the other inputs are right: better found out before a minute of computing."""
    blocked = next((p for p in (out, *out.parents) if p.exists() and not p.is_dir()), None)
    if blocked is not None:
        raise InputError(f"--out {out}: {blocked} is a file; name a folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"--out {out}: {problem.strerror}; name another folder") from None
    if not os.access(out, os.W_OK):
        raise InputError(f"--out {out}: it cannot be written to; name another folder")


if __name__ == "__main__":
    sys.exit(main())
