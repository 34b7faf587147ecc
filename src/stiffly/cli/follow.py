"""What `run` and `resume` share: a recording that grows, watched until it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass
class Watch:
    """progress: for `simulate`; recording: what that returns is put here."""

    progress: Callable[[Any], None]
    recording: Any = None


@contextmanager
def followed(
    scene: Any, folder: Path, warned: list[str], *, as_json: bool, quiet: bool
) -> Iterator[Watch]:
    """Show a run passing, then its ledger and what to do next.

    scene: with a name, perhaps a note.  warned: warnings, which go on being added.
    A run that fails shows what it has, then raises.  Ctrl-C becomes Interrupted.
    """
    from .. import terminal

    failure: SimulationFailure | None = None
    with terminal.simulation_bar(scene.name, hidden=quiet) as progress:
        watch = Watch(progress)
        try:
            yield watch
        except SimulationFailure as stopped:
            if stopped.run is None:
                raise
            watch.recording, failure = stopped.run, stopped
        except KeyboardInterrupt:
            raise Interrupted(_how_to_go_on(folder)) from None
    if as_json:
        content = {**watch.recording.summary(), "folder": str(folder), "warnings": warned}
        print(json.dumps(content, indent=1))
    elif not quiet:
        terminal.show_run(watch.recording, folder, warned, note=getattr(scene, "note", ""))
    if failure is not None:
        raise failure


def _how_to_go_on(folder: Path) -> str:
    from ..recording.folder import CHECKPOINT

    if (folder / CHECKPOINT).exists():
        return f"interrupted; go on with: stiffly resume {folder}"
    return "interrupted before the first checkpoint; start again"
