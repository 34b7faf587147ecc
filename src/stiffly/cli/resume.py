"""`stiffly resume DIR`: go on after Ctrl-C or a crash."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from . import inputs
from .folders import open_run
from .follow import AsJson, Quiet, followed


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")],
    duration: Annotated[
        float | None, typer.Option(metavar="T", help="Seconds in all, to make the run longer.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run that was stopped, or make one longer.

    From its last checkpoint, to the same result as if it had never stopped.
    """
    inputs.check_positive("--duration", duration, "20")
    from .. import terminal

    found = open_run(folder)
    from ..run.resume import finished
    from ..scenes.recorded import resume as go_on

    with terminal.notices() as said:
        if finished(found, duration):
            logging.getLogger("stiffly").warning(
                f"{folder} is complete: nothing is left to do (--duration T makes it longer)"
            )
        with followed(found, folder, said, as_json=as_json, quiet=quiet) as watch:
            watch.recording = go_on(folder, duration=duration, progress=watch.progress)
