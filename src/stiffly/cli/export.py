"""`stiffly export DIR --to FORMAT`: files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .folders import open_run
from .inputs import check_choice

FORMATS = ("usd", "vtkhdf", "ply", "obj", "gltf", "npz")  # as in recording.exports, not loaded yet


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help=f"{', '.join(FORMATS)}.")],
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="File or folder to write.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write a run for other programs.

    Files for Blender, Houdini, ParaView and others.
    """
    from .. import terminal
    from ..recording import exports

    check_choice("--to", to, FORMATS)
    recording = open_run(folder)
    with terminal.notices(), terminal.counting_bar(f"export to {to}") as progress:
        paths = exports.export(recording, to, out, force=force, progress=progress)
    terminal.show_files(paths)
