"""What an experiment leaves behind, in a folder of its own: result.json, figure.png, result.md.

A claim of the paper gets what was measured here, a verdict, and why, whichever way it turns out.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from stiffly.recording.plots import save_figure
from stiffly.recording.provenance import versions, write_atomic, write_json

from .bench import RESULT, Row
from .harness import Record

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"
UNTESTED = "not tested"  # the reduced variant is too small to tell
FILES = (RESULT, "figure.png", "result.md")


@dataclass(frozen=True)
class Claim:
    """What the paper says, what came out here, whether that agrees, and a sentence of why.

    item: the table or figure, as in registry.py; None: the only one that the experiment answers
    for; empty where the paper does not claim it.
    """

    paper: str
    measured: str
    verdict: str
    why: str = ""
    item: str | None = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """An experiment's result, not yet written.

    reduced: what was cut from the paper's set-up, a sentence; notes: Markdown; data: further
    numbers for result.json.  name: the experiment's, which the registry knows.
    """

    name: str = ""
    title: str
    source: str
    figure: Figure = field(repr=False)
    claims: Sequence[Claim]
    records: Sequence[Record] = ()
    notes: str = ""
    reduced: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def save(
        self, out: str | Path, *, quick: bool = False, seconds: float | None = None
    ) -> list[Path]:
        """Into the folder NAME of `out`; the paths of its FILES."""
        folder = Path(out) / self.name
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / name for name in FILES]
        save_figure(self.figure, paths[1])
        write_atomic(paths[2], self.markdown(quick).encode())
        write_json(paths[0], self._content(quick, seconds))  # last: it says that all is there
        return paths

    def command(self, quick: bool) -> str:
        return f"stiffly lab {self.name}" + (" --quick" if quick else "")

    def markdown(self, quick: bool) -> str:
        parts = [
            f"# {self.title}\n\nSource: {self.source}. Command: `{self.command(quick)}`.",
            f"![{self.title}]({FILES[1]})",
            claim_table(self.claims),
            self.notes.strip(),
            f"Reduced: {self.reduced}" if self.reduced else "",
            record_table(self.records),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _content(self, quick: bool, seconds: float | None) -> Row:
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "command": self.command(quick),
            "quick": quick,
            "reduced": self.reduced,
            "claims": [asdict(claim) for claim in self.claims],
            "notes": self.notes,
            "records": [asdict(record) for record in self.records],
            "data": self.data,
            "seconds": seconds,
            "machine": {"platform": _platform(), "cores": os.cpu_count()},
            "versions": versions("scikit-sundae"),
        }


def machine() -> str:
    """In words, for those who compare seconds."""
    return f"{_platform()}, {os.cpu_count()} cores"


def _platform() -> str:
    return f"{platform.system()} {platform.machine()}"


def verdict(*checks: bool) -> str:
    """Reproduced where all checks hold, not reproduced where none does."""
    return REPRODUCED if all(checks) else PARTLY if any(checks) else NOT_REPRODUCED


def judged(
    paper: str,
    measured: str,
    checks: Sequence[bool],
    holds: str,
    fails: str,
    item: str | None = None,
) -> Claim:
    """A claim with the reason that applied: why it holds, or why not all of it does."""
    found = verdict(*checks)
    return Claim(paper, measured, found, holds if found == REPRODUCED else fails, item)


def untested(claim: Claim, why: str) -> Claim:
    """The claim without a verdict, where a run could not tell."""
    return replace(claim, verdict=UNTESTED, why=why)


def capped(claim: Claim, size: str) -> Claim:
    """What holds on less than the paper's body or time holds partly; size: of what, in words."""
    if claim.verdict != REPRODUCED:
        return claim
    return replace(claim, verdict=PARTLY, why=f"{claim.why}; capped: {size}")


def without(key: str, rows: Mapping[str, Row]) -> dict[str, Row]:
    """The rows less what was kept for the figure alone."""
    return {name: {k: v for k, v in row.items() if k != key} for name, row in rows.items()}


def claim_table(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    rows = [(c.item or "", c.paper, c.measured, f"**{c.verdict}**", c.why) for c in claims]
    return table("item | the paper says | measured here | verdict | why", rows)


def table(head: str, rows: Iterable[Sequence[str]]) -> str:
    """In Markdown; head: the names of the columns, bars between them; rows: their cells, of which
    the last may be missing."""
    count = head.count("|") + 1
    full = ([*row, *[""] * (count - len(row))] for row in rows)
    lines = ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in full]
    return "\n".join([f"| {head} |", "|" + " --- |" * count, *lines])


def record_table(records: Sequence[Record]) -> str:
    if not records:
        return ""
    head = (
        "method | step or rtol | error x | error v | seconds | steps | forces | products "
        "| energy error"
    )
    return table(head, map(_row, records))


def _row(r: Record) -> list[str]:
    if r.failure is not None:
        return [r.method, f"{r.step:.4g}", r.failure]
    return [
        r.method,
        f"{r.step:.4g}",
        number(r.error_x),
        number(r.error_v),
        number(r.seconds),
        f"{r.steps:,}" if r.steps else "",
        f"{r.force_evaluations:,}",
        f"{r.operator_products:,}",
        number(r.energy_drift),
    ]


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"
