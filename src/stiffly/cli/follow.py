"""What `run` and `resume` share: a recording that grows, watched until it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import SimulationFailure

AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON on stdout, nothing else.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")]


class Interrupted(Exception):
    """Ctrl-C; the message says how to go on."""


def follow(
    begin: Callable[[Any], Any],
    scene: Any,
    folder: Path,
    warned: list[str],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Call begin(progress) -> Recording, show it passing, then its ledger and what to do next.

    scene: with a name, perhaps a note.  warned: warnings, which go on being added.
    A run that fails shows what it has, then raises.  Ctrl-C becomes Interrupted.
    """
    from .. import terminal

    recording: Any = None
    failure: SimulationFailure | None = None
    with terminal.simulation_bar(scene.name, hidden=quiet) as progress:
        try:
            recording = begin(progress)
        except SimulationFailure as stopped:
            if stopped.run is None:
                raise
            recording, failure = stopped.run, stopped
        except KeyboardInterrupt:
            raise Interrupted(_how_to_go_on(folder)) from None
    if as_json:
        content = {**recording.summary(), "folder": str(folder), "warnings": warned}
        print(json.dumps(content, indent=1))
    elif not quiet:
        terminal.show_run(recording, folder, warned, note=getattr(scene, "note", ""))
    if failure is not None:
        raise failure


def _how_to_go_on(folder: Path) -> str:
    from ..recording.folder import CHECKPOINT

    if (folder / CHECKPOINT).exists():
        return f"interrupted; go on with: stiffly resume {folder}"
    return "interrupted before the first checkpoint; start again"
