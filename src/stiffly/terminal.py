"""What the command line shows: progress bars with the time left, tables, warnings as lines."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic as clock
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from .recording.words import gain_or_loss, percent

if TYPE_CHECKING:
    from .recording.recording import Recording
    from .recording.run import Run
    from .run.loop import ProgressReport

VERDICTS = {"reproduced": "green", "partly": "yellow", "not reproduced": "red"}
COUNTS = ("steps", "rejected_steps", "force_evaluations", "operator_products", "factorizations")

MANY = 12  # files that are still named one by one
LONG = 60.0  # seconds left: then it is told when a run will end
PIPED = 10.0  # seconds between lines of progress where there is no terminal
NATURAL = 1000  # columns: a table that goes into a file or a pipe is not folded

# Results go to stdout, what passes by to stderr: `stiffly demo > ledger.txt` keeps its bars.
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else NATURAL)
passing = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else NATURAL)


# ------------------------------------------------------------------ what passes by


class _Lines(logging.Handler):
    """The library's log, between the progress bars instead of across them."""

    def emit(self, record: logging.LogRecord) -> None:
        passing.print(escape(record.getMessage()), soft_wrap=True)


@contextmanager
def notices(*, quiet: bool = False) -> Iterator[list[str]]:
    """Warnings as one line each on stderr, without Python's source lines; the list of them.

    quiet: without bars for meshes that take long to make.
    """
    said: list[str] = []

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.append(text)
            passing.print(f"[yellow]warning:[/] {escape(text)}", soft_wrap=True)

    log, lines = logging.getLogger("stiffly"), _Lines()
    log.addHandler(lines)
    before, log.propagate = log.propagate, False
    try:
        with warnings.catch_warnings(), _filling(quiet):
            warnings.simplefilter("always", UserWarning)  # StiffWarning is one
            warnings.showwarning = show
            yield said
    finally:
        log.removeHandler(lines)
        log.propagate = before


@contextmanager
def _filling(hidden: bool) -> Iterator[None]:
    """Bars for meshes that scenes make, from the first report of one to its last."""
    from .meshes.progress import listening

    with ExitStack() as shown:
        update: Callable[..., None] | None = None

        def progress(done: int, total: int, text: str) -> None:
            nonlocal update
            if update is None:
                update = shown.enter_context(counting_bar("filling", hidden=hidden))
            update(done, total, text)
            if done == total:
                shown.close()
                update = None

        with listening(progress):
            yield


@contextmanager
def simulation_bar(
    label: str, *, hidden: bool = False
) -> Iterator[Callable[[ProgressReport], None]]:
    """Progress of `simulate`: simulated time, seconds left, frames, energy error."""
    with counting_bar(label, hidden=hidden) as update:

        def progress(report: ProgressReport) -> None:
            text = (
                f"{report.t:.3g}/{report.end:.4g} s, frame {report.frames}/{report.of_frames}, "
                f"energy error {percent(report.numerical, report.exchanged)}"
            )
            update(report.t, report.end, text)

        yield progress


@contextmanager
def counting_bar(label: str, *, hidden: bool = False) -> Iterator[Callable[..., None]]:
    """Progress in counts: progress(done, in all, what is under way).

    A bar at once on a terminal; elsewhere a line now and then, and one at the end, if anything
    happened.
    """
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),  # the rest of the line needs 80 columns
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[text]}"),
        console=passing,
        disable=hidden,
    )
    task, said, pace = bar.add_task(label, total=None, text="starting"), clock(), Pace()

    def update(done: float, total: float, text: str = "") -> None:
        nonlocal said
        bar.start()
        now = clock()
        left = pace.left(done, total, now)
        text = text or f"{done}/{total}"
        if left is not None and left >= LONG:
            text = f"{text}, {ending(left, datetime.now())}"
        bar.update(task, completed=done, total=total, text=text)
        if not passing.is_terminal and not hidden and now >= said + PIPED:
            said = now
            passing.print(f"  {escape(label)}: {escape(text)}", soft_wrap=True)

    if passing.is_terminal:
        bar.start()
    try:
        yield update
    finally:
        if bar.live.is_started:
            with suppress(OSError):  # the terminal may be gone
                bar.stop()


class Pace:
    """How long something still takes, by what it took since it was first seen under way."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None
        self._last = 0.0

    def left(self, done: float, total: float, now: float) -> float | None:
        """Seconds; None where nothing was done yet.  A count that falls is another one's."""
        if self._first is None or done < self._last:
            self._first = (done, now)
        self._last = done
        began, then = self._first
        if done <= began or now <= then:
            return None
        return (total - done) * (now - then) / (done - began)


def ending(left: float, now: datetime) -> str:
    """ends in 1 h 12 min, at 18:40."""
    minutes = round(left / 60.0)
    hours, end = minutes // 60, now + timedelta(seconds=left)
    length = f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
    day = "" if end.date() == now.date() else f"{end:%a %d %b} "
    return f"ends in {length}, {day}{end:%H:%M}"


# ------------------------------------------------------------------ results


def show_run(
    recording: Recording, folder: Path, warned: Sequence[str], *, note: str = "", wrote: bool = True
) -> None:
    """The closing page of a run: ledger, work, files, warnings, and what to do next.

    wrote: not only looked at what was there.
    """
    from .recording.folder import FILES

    show_ledger([recording])
    show_note(note)
    if warned:
        count = f"{len(warned)} warning" + "s" * (len(warned) > 1)
        out.print(f"[yellow]{count}[/], above")
    if wrote:
        show_files([folder / name for name in FILES if (folder / name).exists()])
    lines = [f"stiffly plot {folder}"]
    if recording.mesh is not None:
        lines += [f"stiffly render {folder}", f"stiffly export {folder} --to usd"]
    show_next(lines)


def show_note(text: str) -> None:
    """What a scene says about itself, if anything."""
    if text:
        out.print(f"note: {escape(text)}")


def show_next(commands: Sequence[str]) -> None:
    out.print("Next:", style="bold")
    for command in commands:
        out.print(f"  {escape(command)}")


def show_lines(rows: Sequence[tuple[str, str, str]]) -> None:
    """Two aligned columns and a free one: paths stay whole, and grep finds a line."""
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    for a, b, c in rows:
        out.print(escape(f"{a:<{first}}  {b:<{second}}  {c}".rstrip()))


def show_files(paths: Sequence[Path]) -> None:
    """One line each; long sequences of frames in one line."""
    if len(paths) > MANY:
        size = sum(path.stat().st_size for path in paths) / 1e6
        first, last = (escape(str(path)) for path in (paths[0], paths[-1]))
        out.print(f"wrote {len(paths)} files, {first} to {last} ({size:,.1f} MB)")
        return
    for path in paths:
        out.print(f"wrote {escape(str(path))} ({_size(path)})")


def _size(path: Path) -> str:
    if path.is_dir():
        return f"{len(list(path.iterdir()))} files"
    size = path.stat().st_size
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{max(size / 1e3, 0.1):.1f} kB"


def show_ledger(runs: Sequence[Run], extra: Sequence[tuple[str, ...]] = ()) -> None:
    """Ledgers in one table: energies at the start (shared) and at the end of every run, its cost.

    Losses have one yardstick: the largest energy that moved in any of the runs.
    """
    table = Table(title="Energy ledger [J]", title_justify="left", title_style="bold")
    table.add_column("")
    table.add_column("start", justify="right")
    for run in runs:
        table.add_column(f"{run.integrator}, end", justify="right")
    ledgers = [list(run.energy.rows()) for run in runs]
    # rounding of a body at rest; a run that exploded is no yardstick for its start
    zero = min(1e-9, 1e-15 * max(run.energy.exchanged for run in runs))
    for lines in zip(*ledgers, strict=True):
        name, start, _ = lines[0]
        style = "bold" if name in ("total", "numerical error") else ""
        ends = (_joules(end, zero) for _, _, end in lines)
        table.add_row(name, _joules(start, zero), *ends, style=style)
    table.add_section()
    for label, whole in (
        ("of energy exchanged", max(run.energy.exchanged for run in runs)),
        ("of peak kinetic", max(float(run.energy.kinetic.max()) for run in runs)),
    ):
        errors = (gain_or_loss(float(run.energy.numerical[-1]), whole) for run in runs)
        table.add_row(f"error, share {label}", "", *errors, style="bold")
    for row in extra:
        table.add_row(row[0], "", *row[1:])
    table.add_section()
    table.add_row("frames", "", *(f"{len(run.times):,}" for run in runs))
    for key in COUNTS:
        counts = [int(run.stats.get(key, 0)) for run in runs]
        if any(counts):  # those that are zero for all runs are left out
            table.add_row(key.replace("_", " "), "", *(f"{count:,}" for count in counts))
    table.add_row("seconds", "", *(f"{run.wall_seconds:.1f}" for run in runs))
    out.print(table, soft_wrap=False)


def _joules(value: float, zero: float) -> str:
    if abs(value) <= zero:
        return "0"
    return f"{value:,.2f}" if 0.01 <= abs(value) < 1e7 else f"{value:.2e}"


def show_claims(claims: Sequence[Any]) -> None:
    """Claims of the lab (stiffly_lab.Claim) with their verdicts."""
    table = Table(show_lines=True)
    for heading in ("the paper says", "measured here", "verdict", "why"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        color = VERDICTS.get(claim.verdict, "white")
        said = f"{claim.item}: {claim.paper}" if claim.item else claim.paper
        verdict = f"[{color}]{claim.verdict}[/]"
        table.add_row(escape(said), escape(claim.measured), verdict, escape(claim.why))
    out.print(table, soft_wrap=False)


def show_listing(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table()
    for i, heading in enumerate(headings):
        table.add_column(heading, no_wrap=i == 0, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    out.print(table, soft_wrap=False)
