"""`stiffly run SCENE`: simulate and record; `stiffly resume DIR`: go on after Ctrl-C or a crash."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, cast

import typer

from ..errors import SimulationFailure, Terminated
from ..recording.words import DTYPES
from . import inputs

AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON on stdout, nothing else.")
]
MaxHours = Annotated[
    float | None,
    typer.Option(metavar="H", help="Stop after so many hours, with a checkpoint to go on from."),
]


class Interrupted(Exception):
    """Ctrl-C, SIGTERM or SIGHUP; the message says how to go on.  signal: its number."""

    def __init__(self, text: str, cause: KeyboardInterrupt) -> None:
        super().__init__(text)
        self.signal = cause.signal if isinstance(cause, Terminated) else signal.SIGINT


def run(
    scene: inputs.Scene,
    integrator: inputs.Integrator = None,
    step: inputs.Step = None,
    rtol: inputs.Rtol = None,
    duration: inputs.Duration = None,
    every: inputs.Every = None,
    fps: Annotated[
        float | None,
        typer.Option(metavar="N", help="Frames per simulated second, instead of --every."),
    ] = None,
    device: inputs.Device = "cpu",
    precision: inputs.Precision = None,
    engine: inputs.Engine = "cpu",
    assignments: inputs.Set = None,
    small: inputs.Small = False,
    variant: inputs.Variant = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to write. [default: SCENE-run, new]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a run that is in --out.")] = False,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="float32|float64", help="Precision of recorded positions. [default: float32]"
        ),
    ] = None,
    no_velocities: Annotated[
        bool, typer.Option("--no-velocities", help="Record positions only: half the size.")
    ] = False,
    checkpoint: Annotated[
        float | None,
        typer.Option(metavar="S", help="Seconds of computing between checkpoints. [default: 10]"),
    ] = None,
    max_hours: MaxHours = None,
    as_json: AsJson = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Simulate a scene and record it.

    Writes the frames, the energy ledger, a summary, and checkpoints to resume from.

    For example: stiffly run coil-spring --small --integrator exprb42 --set stiffness=1e5
    """
    inputs.check_device(device, precision)
    speaks = inputs.check_engine(engine, device)
    quiet, as_json = quiet or not speaks, as_json and speaks
    inputs.check_positive("--max-hours", max_hours, "12")
    inputs.check_choice("--dtype", dtype, DTYPES)
    inputs.check_run(step, rtol, duration)
    given = {
        "integrator": integrator,
        "step": step,
        "rtol": rtol,
        "duration": duration,
        "every": inputs.frame_interval(every, fps),
        "dtype": dtype,
        "keep_velocities": False if no_velocities else None,
        "checkpoint": checkpoint,
        "precision": precision,
    }
    options = {key: value for key, value in given.items() if value is not None}
    sets = inputs.pairs(assignments)
    from .. import memory, terminal
    from ..recording.folder import SCENE, check, file_name, new_path

    # before the scene is built, which may take a while
    place = None if out is None else inputs.on_ranks(engine, lambda: check(out, force))
    memory.keep()
    from ..scenes.request import request

    with terminal.notices(quiet=quiet) as said:
        how: Any = {"small": small, "given": sets, "options": options, "variant": variant}
        asked = inputs.on_ranks(engine, lambda: request(scene, **how))
        own = Path(scene).suffix == ".toml" and Path(scene).name != SCENE  # mine.toml: mine-run
        name = file_name(Path(scene).stem if own else asked.scene.name)
        place = place or check(new_path(Path(), f"{name}-run"), force)
        origin = {"command": sys.argv[1:], "toml": asked.toml}
        from ..run.simulate import simulate

        with followed(asked.scene, place.folder, said, as_json=as_json, quiet=quiet) as watch:
            options = {**asked.options, "provenance": origin, "progress": watch.progress}
            where: Any = {"out": place, "device": device, "max_hours": max_hours}
            where |= {"engine": engine}
            watch.recording = simulate(asked.scene, **where, **options)


def resume(
    folder: inputs.Folder,
    duration: Annotated[
        float | None, typer.Option(metavar="T", help="Seconds in all, to make the run longer.")
    ] = None,
    device: inputs.Device = "cpu",
    precision: inputs.Precision = None,
    engine: inputs.Engine = "cpu",
    max_hours: MaxHours = None,
    as_json: AsJson = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Continue a run that was stopped, or make one longer.

    From its last checkpoint, to the same result as if it had never stopped.
    """
    inputs.check_positive("--duration", duration, "20")
    inputs.check_positive("--max-hours", max_hours, "12")
    inputs.check_device(device, precision)
    speaks = inputs.check_engine(engine, device)
    quiet, as_json = quiet or not speaks, as_json and speaks
    from .. import memory, terminal

    memory.keep()
    found = inputs.on_ranks(engine, lambda: inputs.open_run(folder))
    from ..run.resume import finished
    from ..scenes.recorded import resume as go_on

    with terminal.notices() as said:
        if complete := finished(found, duration):
            logging.getLogger("stiffly").warning(
                f"{folder} is complete: nothing is left to do (--duration T makes it longer)"
            )
        wrote = not complete
        with followed(found, folder, said, as_json=as_json, quiet=quiet, wrote=wrote) as watch:
            how: Any = {"duration": duration, "device": device, "max_hours": max_hours}
            how |= {"engine": engine, "precision": precision}
            watch.recording = go_on(folder, progress=watch.progress, **how)


@contextmanager
def followed(
    scene: Any, folder: Path, warned: list[str], *, as_json: bool, quiet: bool, wrote: bool = True
) -> Iterator[Any]:
    """Show a run passing, then its ledger and what to do next.

    Yields `progress`, for `simulate`; what that returns is put into `recording` beside it.
    scene: with a name, perhaps a note.  warned: warnings, which go on being added.  wrote: it
    has written files.
    A run that fails shows what it has, then raises.  Ctrl-C and its like become Interrupted.
    """
    from .. import terminal
    from ..recording.folder import CHECKPOINT

    failure: SimulationFailure | None = None
    with terminal.simulation_bar(scene.name, hidden=quiet) as progress:
        watch: Any = SimpleNamespace(progress=progress)
        try:
            yield watch
        except SimulationFailure as stopped:
            if stopped.run is None:
                raise
            watch.recording, failure = cast("Any", stopped.run), stopped
        except KeyboardInterrupt as stopped:
            text = "interrupted before the first checkpoint; start again"
            if (folder / CHECKPOINT).exists():
                text = f"interrupted; go on with: stiffly resume {folder}"
            raise Interrupted(text, stopped) from None
    if as_json:
        content = {**watch.recording.summary(), "folder": str(folder), "warnings": warned}
        print(json.dumps(content, indent=1))
    elif not quiet:
        note = getattr(scene, "note", "")
        terminal.show_run(watch.recording, folder, warned, note=note, wrote=wrote)
    if failure is not None:
        raise failure
