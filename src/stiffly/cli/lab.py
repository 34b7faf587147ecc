"""`stiffly lab`: the papers' experiments."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..recording.folder import check_writable

FULL_SIZE = "full-size"  # what follows it are scenes
AGAIN = ("map", "equal-error", "rosenbrock-table")  # whose results hold their rows
ALONE = ("list", "all", "report")  # no experiments, but what to do with all of them


def lab(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[list | all | report | full-size [SCENE...] | NAME...]",
            help="Experiments to run.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("stiffly-lab"),
    quick: Annotated[bool, typer.Option("--quick", help="Reduced, under a minute each.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="full-size: run scenes again that have run.")
    ] = False,
    again: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help=f"Compute rows again whose name has this in it: {', '.join(AGAIN)}.",
        ),
    ] = None,
) -> None:
    """Run experiments of the papers, or report on them.

    Each writes result.json (numbers), figure.png and result.md into a folder of its name. One that
    was cut short goes on where it stopped. `report` makes index.html of all results in the folder.
    `full-size` runs the papers' headline scenes to their end, which takes hours.
    """
    from .. import terminal

    laboratory = _installed()
    _require_alone(names or [])
    if not names or names == ["list"]:
        rows = [(n, e.description, papers(e)) for n, e in laboratory.EXPERIMENTS.items()]
        terminal.show_listing(("experiment", "shows", "paper"), rows)
        return
    if names == ["report"]:
        terminal.show_files(laboratory.page.build(out))
        return
    options: dict[str, Any] = {}
    if names[0] == FULL_SIZE:
        names, options = [FULL_SIZE], {"chosen": names[1:], "force": force}
    elif force:
        raise InputError(f"--force belongs to `stiffly lab {FULL_SIZE}`: others are run again")
    if again and not set(names) <= set(AGAIN):
        raise InputError(f"--again belongs to `stiffly lab {'`, `'.join(AGAIN)}`")
    every = [n for n in laboratory.EXPERIMENTS if quick or n not in laboratory.LONG]
    wanted = every if names == ["all"] else names
    chosen = [(name, laboratory.experiment(name)) for name in wanted]
    check_writable(out, "--out")  # made with the first row: an experiment may refuse its settings
    with terminal.notices():
        for name, experiment in chosen:
            _run(name, experiment, laboratory.Bench, (out, quick, again or []), options)


def _installed() -> Any:
    """The lab, a distribution of its own."""
    try:
        return import_module("stiffly_lab")
    except ModuleNotFoundError as missing:
        if missing.name != "stiffly_lab":
            raise
        raise InputError(
            "the lab is not installed: pip install stiffly-lab, or from a clone of the "
            "repository pip install ./src/stiffly_lab"
        ) from None


def _require_alone(names: list[str]) -> None:
    for word in ALONE:
        if word in names and len(names) > 1:
            raise InputError(
                f"`{word}` does not go with other names: give `stiffly lab {word}`, or experiments "
                "alone to run them"
            )


def papers(experiment: Any) -> str:
    return "; ".join(experiment.items) or "beyond them"


def _run(
    name: str,
    experiment: Any,
    Bench: Any,
    how: tuple[Path, bool, list[str]],
    options: dict[str, Any],
) -> None:
    from .. import terminal

    out, quick, again = how
    began = time.perf_counter()
    with terminal.counting_bar(name) as progress:
        bench = Bench(quick, progress, out / name, again)
        if bench.resumed:
            terminal.show_note(f"{name}: {bench.resumed} rows were measured before it was stopped")
        report = experiment.run(bench, **options)
    took = None if again else time.perf_counter() - began  # of a part of it they say nothing
    paths = report.save(out, quick=quick, seconds=took)
    bench.finished()
    terminal.out.print(f"[bold]{report.title}[/] ({report.source})")
    terminal.show_claims(report.claims)
    if report.reduced:
        terminal.show_note(f"reduced: {report.reduced}")
    terminal.show_files(paths)
