"""What the command line shows: progress bars with the time left, tables, the compile message."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from .kernels.cpu.compiled import cold
from .recording.plots import percent

if TYPE_CHECKING:
    from .lab import Claim
    from .simulate import Run

COMPILING = "compiling kernels (first run only) ..."
VERDICTS = {"holds": "green", "holds in part": "yellow", "does not hold": "red"}

# Results go to stdout, what passes by to stderr: `stiffly demo > ledger.txt` keeps its bars.
out = Console(highlight=False)
passing = Console(stderr=True, highlight=False)


@contextmanager
def compiling() -> Iterator[None]:
    """A spinner while numba compiles; a plain line where nothing can spin; nothing when cached."""
    logging.getLogger("stiffly").setLevel(logging.ERROR)  # the library would say it once more
    if not cold():
        yield
        return
    if not passing.is_terminal:
        passing.print(COMPILING)
        yield
        return
    with passing.status(COMPILING):
        yield


@contextmanager
def simulation_bar(label: str, duration: float) -> Iterator[Callable[[float, float, Any], None]]:
    """Progress of `simulate`: simulated time, and seconds left."""
    with _bar(TextColumn("{task.completed:.1f} of {task.total:.1f} s")) as bar:
        task = bar.add_task(label, total=duration)

        def progress(t: float, end: float, work: Any) -> None:
            bar.update(task, completed=t, total=end)

        yield progress


@contextmanager
def lab_bar(label: str) -> Iterator[Callable[[int, int, str], None]]:
    """Progress of an experiment: runs done, and what is running."""
    with _bar(TextColumn("{task.fields[text]}")) as bar:
        task = bar.add_task(label, total=None, text="")

        def progress(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, text=text)

        yield progress


def _bar(last: TextColumn) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<16}"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(compact=True),
        last,
        console=passing,
    )


def ledger_table(runs: Sequence[Run], extra: Sequence[tuple[str, ...]] = ()) -> Table:
    """Both ledgers in one table: energies at the start (shared) and at the end of every run."""
    table = Table(title="Energy ledger [J]", title_justify="left", title_style="bold")
    table.add_column("")
    table.add_column("start", justify="right")
    for run in runs:
        table.add_column(f"{run.integrator}, end", justify="right")
    ledgers = [list(run.energy.rows()) for run in runs]
    zero = 1e-15 * max(run.energy.exchanged for run in runs)  # rounding of a body at rest
    for lines in zip(*ledgers, strict=True):
        name, start, _ = lines[0]
        section = name in ("total", "numerical error")
        style = "bold" if section else ""
        ends = (_joules(end, zero) for _, _, end in lines)
        table.add_row(name, _joules(start, zero), *ends, style=style)
    table.add_section()
    for label, whole in (
        ("energy lost / exchanged", lambda energy: energy.exchanged),
        ("energy lost / peak kinetic", lambda energy: float(energy.kinetic.max())),
    ):
        table.add_row(label, "", *(_loss(run, whole) for run in runs), style="bold")
    for row in extra:
        table.add_row(row[0], "", *row[1:])
    table.add_section()
    for label, key in (("steps", "steps"), ("operator products", "operator_products")):
        table.add_row(label, "", *(f"{run.stats.get(key, 0):,}" for run in runs))
    counts = (f"{run.stats.get('factorizations', 0):,}" for run in runs)
    table.add_row("factorizations", "", *counts)
    table.add_row("seconds", "", *(f"{run.wall_seconds:.1f}" for run in runs))
    return table


def _joules(value: float, zero: float) -> str:
    if abs(value) <= zero:
        return "0"
    return f"{value:,.2f}" if 0.01 <= abs(value) < 1e7 else f"{value:.2e}"


def _loss(run: Run, whole: Callable[[Any], float]) -> str:
    return percent(-float(run.energy.numerical[-1]), whole(run.energy))


def claims_table(claims: Sequence[Claim]) -> Table:
    table = Table(show_lines=True)
    for heading in ("the paper says", "measured here", "verdict"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        color = VERDICTS.get(claim.verdict, "white")
        table.add_row(claim.paper, claim.measured, f"[{color}]{claim.verdict}[/]")
    return table


def listing(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table()
    for i, heading in enumerate(headings):
        table.add_column(heading, no_wrap=i == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def show_files(paths: Sequence[Path]) -> None:
    for path in paths:
        out.print(f"wrote {path}", soft_wrap=True)
