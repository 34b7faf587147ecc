"""The table of a sweep: a row for every run, as CSV and Parquet, and its plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..recording.plots.sweep import plot_sweep
from ..recording.provenance import write_atomic

CSV, PARQUET, PLOT = "results.csv", "results.parquet", "sweep.png"
MISSING = "not run"
LEFT_OUT = ("energy", "stats", "versions", "id")  # of a result: told otherwise, or in runs/ID.json

Row = dict[str, Any]


def row(name: str, values: Mapping[str, Any], found: Mapping[str, Any] | None) -> Row:
    """Columns: what was asked for, how it ended, then the numbers of the summary."""
    if found is None:
        return {"id": name, **values, "status": MISSING, "error": "", "tries": 0}
    energy = found.get("energy", {})
    numbers = {f"energy_{key}": value for key, value in energy.items()}
    if energy.get("exchanged") and energy["max_abs_drift"] is not None:
        numbers["energy_error"] = energy["max_abs_drift"] / energy["exchanged"]
    told = {key: value for key, value in found.items() if key not in LEFT_OUT}
    told["warnings"] = "; ".join(found.get("warnings", ()))
    # what was asked for stands first, also where the summary has a word of the same name
    return {"id": name, **values, **told, **numbers, **found.get("stats", {}), **values}


def write(folder: Path, rows: Sequence[Row], over: Mapping[str, Sequence[Any]], title: str) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    lines = csv.DictWriter(text, columns, restval="")
    lines.writeheader()
    lines.writerows(rows)
    write_atomic(folder / CSV, text.getvalue().encode())
    with suppress(ImportError):  # where pyarrow is installed
        _write_parquet(folder / PARQUET, columns, rows)
    plot_sweep(rows, over, folder / PLOT, title=title)


def _write_parquet(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(
        pyarrow.table({c: _column([r.get(c) for r in rows]) for c in columns}), buffer
    )
    write_atomic(path, buffer.getvalue())


def _column(values: list[Any]) -> list[Any]:
    """Of one kind, as Parquet wants it: numbers, or texts for all."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return values
    if all(isinstance(value, int | float) for value in known):
        kind = int if all(isinstance(value, int) for value in known) else float
        return [None if value is None else kind(value) for value in values]
    return [None if value is None else str(value) for value in values]
