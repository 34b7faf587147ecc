"""What an experiment leaves behind: NAME.json (numbers), NAME.png (figure), NAME.md (for reading).

A claim of the paper gets what was measured here and a verdict, whichever way it turns out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..recording.plots import save_figure
from ..recording.provenance import as_json, versions
from .harness import Record

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds in part", "does not hold", "not tested"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what came out here, and whether it holds."""

    paper: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class Report:
    """An experiment's result, not yet written. notes: Markdown; data: further numbers."""

    name: str
    title: str
    source: str
    records: Sequence[Record]
    figure: Figure = field(repr=False)
    claims: Sequence[Claim]
    notes: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def save(self, out: str | Path) -> list[Path]:
        notes = "\n\n".join(part for part in (claim_table(self.claims), self.notes) if part)
        data = {"claims": [asdict(claim) for claim in self.claims], **self.data}
        heading = f"# {self.title}\n\nSource: {self.source}."
        return save(self.name, self.records, self.figure, notes, out, heading=heading, data=data)


def save(
    name: str,
    records: Sequence[Record],
    figure: Figure,
    notes: str,
    out: str | Path,
    *,
    heading: str = "",
    data: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write NAME.json, NAME.png and NAME.md into the folder `out`; their paths."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in ("json", "png", "md")]
    content = {
        "name": name,
        **(data or {}),
        "records": [asdict(record) for record in records],
        "versions": versions("scikit-sundae"),
    }
    paths[0].write_text(json.dumps(as_json(content), indent=1) + "\n")
    save_figure(figure, paths[1])
    body = [heading or f"# {name}", f"![{name}]({name}.png)", notes, record_table(records)]
    paths[2].write_text("\n\n".join(part for part in body if part) + "\n")
    return paths


def claim_table(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    rows = [f"| {c.paper} | {c.measured} | **{c.verdict}** |" for c in claims]
    return "\n".join(["| the paper says | measured here | verdict |", "| --- | --- | --- |", *rows])


def record_table(records: Sequence[Record]) -> str:
    if not records:
        return ""
    head = (
        "| method | step or rtol | error x | error v | seconds | steps | forces | products "
        "| energy error |"
    )
    return "\n".join([head, "|" + " --- |" * 9, *map(_row, records)])


def _row(r: Record) -> str:
    if r.failure is not None:
        return f"| {r.method} | {r.step:.4g} | {r.failure} | | | | | | |"
    cells = [
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
    return "| " + " | ".join(cells) + " |"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"
