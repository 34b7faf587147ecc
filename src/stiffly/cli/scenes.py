"""`stiffly scenes`: the built-in ones."""

from __future__ import annotations

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
    import json

    from .. import scenes as catalogue

    entries = {name: catalogue.entry(name) for name in catalogue.NAMES}
    if as_json:
        rows = [
            {
                "name": name,
                "summary": entry.summary,
                "source": entry.source,
                "shows": entry.shows,
                "parameters": dict(entry.parameters),
                "small": dict(entry.small),
            }
            for name, entry in entries.items()
        ]
        print(json.dumps(rows, indent=1, default=str))
        return
    from .. import terminal

    lines = [(name, entry.summary, entry.source) for name, entry in entries.items()]
    terminal.out.print(terminal.listing(("scene", "what", "paper"), lines))
    terminal.out.print("Next: stiffly run NAME, or stiffly scene show NAME for what can be set.")
