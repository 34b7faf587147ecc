"""`stiffly methods`: the integrators, and the options that their names may carry."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON on stdout.")] = False,
) -> None:
    """List the integrators.

    With the order of each, and the options that may stand behind its name.
    """
    from ..integrators import entries

    found = entries()
    if as_json:
        print(json.dumps([entry._asdict() for entry in found], indent=1))
        return
    from .. import terminal

    options = [" ".join(f":{word}" for word in entry.options) for entry in found]
    rows = [(e.name, str(e.order), e.what, o) for e, o in zip(found, options, strict=True)]
    terminal.show_listing(("method", "order", "what", "options"), rows)
    terminal.out.print(
        "Options stand behind the name, in any order: stiffly run pylon --integrator "
        "eti:gautschi:two-step; auto chooses among the methods."
    )
