"""`stiffly scenes`: the built-in ones; `stiffly scene show | check | schema`: scenes as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def scenes(
    as_json: Annotated[
        bool, typer.Option("--json", help="Everything known of each, as JSON on stdout.")
    ] = False,
) -> None:
    """List the built-in scenes.

    With what each simulates and the paper it comes from.
    """
    from .. import scenes as catalogue

    entries = {name: catalogue.entry(name) for name in catalogue.NAMES}
    if as_json:
        rows = [
            {
                "name": name,
                **{key: getattr(entry, key) for key in ("summary", "source", "shows")},
                **{key: dict(getattr(entry, key)) for key in ("parameters", "run", "small")},
                "paper": {**entry.paper, "holds": entry.holds},
                "measured": entry.measured,
            }
            for name, entry in entries.items()
        ]
        print(json.dumps(rows, indent=1, default=str))
        return
    from .. import terminal

    lines = [(name, entry.summary, entry.source) for name, entry in entries.items()]
    terminal.show_listing(("scene", "what", "paper"), lines)
    terminal.out.print(
        "Next: stiffly run NAME [--variant paper], or stiffly scene show NAME for what can be set."
    )


app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def scene(context: typer.Context) -> None:
    """Show, check and describe scene files."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in scene.")]) -> None:
    """Print a built-in scene as TOML: a start for a file of your own."""
    from ..scenes import files

    print(files.show(name).rstrip("\n"))


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A scene file (TOML).")],
) -> None:
    """Read and build a scene file without running it."""
    from .. import terminal
    from ..scenes import files

    with terminal.notices():
        found = files.check(file)
    terminal.out.print(
        f"ok: {found.name}, {len(found.x0):,} particles, {found.duration:g} s in steps of "
        f"{found.step:g} s with {found.integrator}"
    )
    terminal.show_note(found.note)


@app.command()
def schema() -> None:
    """Print the JSON schema of scene files.

    Editors complete and check scene files by it.
    """
    from ..scenes import files

    print(json.dumps(files.json_schema(), indent=1))
