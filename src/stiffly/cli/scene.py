"""`stiffly scene show | check | schema`: scenes as TOML files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def scene(context: typer.Context) -> None:
    """Show, check and describe scene files."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in scene.")],
) -> None:
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
        f"{found.step:g} s with {found.integrator}",
        soft_wrap=True,
    )
    terminal.show_note(found.note)


@app.command()
def schema() -> None:
    """Print the JSON schema of scene files, for editors that complete and check them."""
    import json

    from ..scenes import files

    print(json.dumps(files.json_schema(), indent=1))
