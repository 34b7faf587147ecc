"""`stiffly plot DIR`: pictures of a run's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .folders import open_run, require_folder


def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the pictures. [default: DIR]")
    ] = None,
) -> None:
    """Draw the numbers of a run as PNG."""
    from .. import terminal

    recording = open_run(folder)
    if out is not None:
        require_folder(out)
    from ..recording.plots import plot as draw

    with terminal.notices():
        terminal.show_files(draw(recording, out))
