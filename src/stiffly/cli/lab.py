"""`stiffly lab`: the papers' experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .folders import require_folder


def lab(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[list | NAME...]", help="Experiments to run.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("stiffly-lab"),
    quick: Annotated[bool, typer.Option("--quick", help="Reduced variants, seconds each.")] = False,
) -> None:
    """Run experiments of the papers.

    Writes numbers (JSON), a figure (PNG) and a page (MD) for each.
    """
    from .. import lab as laboratory
    from .. import terminal

    if not names or names == ["list"]:
        rows = [(name, e.description, e.figure) for name, e in laboratory.EXPERIMENTS.items()]
        terminal.out.print(terminal.listing(("experiment", "shows", "paper"), rows))
        return
    chosen = [(name, laboratory.experiment(name)) for name in names]
    require_folder(out)
    with terminal.notices():
        for name, experiment in chosen:
            with terminal.counting_bar(name) as progress:
                report = experiment.run(quick=quick, progress=progress)
            terminal.out.print(f"[bold]{report.title}[/] ({report.source})")
            terminal.out.print(terminal.claims_table(report.claims))
            terminal.show_files(report.save(out))
