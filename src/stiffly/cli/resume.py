"""`stiffly resume DIR`: go on after Ctrl-C or a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .folders import open_run
from .follow import AsJson, Quiet, followed


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run that was stopped.

    From its last checkpoint, to the same result as if it had never stopped.
    """
    from .. import terminal

    found = open_run(folder)
    from ..run.simulate import resume as go_on

    with (
        terminal.notices() as said,
        followed(found, folder, said, as_json=as_json, quiet=quiet) as watch,
    ):
        watch.recording = go_on(folder, progress=watch.progress)
