"""A sweep over one or two parameters: the energy error and the seconds that runs took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts import Array
from .style import BLUE, CYCLE, RED, new_figure, outside_legend, plain, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# column of the table, what it is
QUANTITIES = {
    "energy_error": "energy error / energy exchanged",
    "wall_seconds": "computing time [s]",
}
SPREAD = 10.0  # largest over smallest: from there on an axis is logarithmic
LEAST = 1e-16  # of an error: what is below is rounding, and no logarithm has a place for zero


def plot_sweep(
    rows: Sequence[Mapping[str, Any]],
    over: Mapping[str, Sequence[Any]],
    path: str | Path | None = None,
    *,
    title: str = "",
) -> Figure | None:
    """Lines over one parameter, or one for each name of a second; a heat map over two of numbers.

    rows: of the table; runs that failed are marked.  None: there are more than two parameters, or
    none of numbers.
    """
    numeric = [key for key, values in over.items() if _are_numbers(values)]
    if len(over) > 2 or not numeric:
        return None
    figure = new_figure(10.5, 4.2)
    panels = figure.subplots(1, 2)
    figure.suptitle(title or "Sweep", fontsize=12)
    for axis, (column, label) in zip(panels, QUANTITIES.items(), strict=True):
        if len(numeric) == 2:
            _draw_map(figure, axis, rows, over, column, label)
        else:
            _draw_lines(axis, rows, over, numeric[0], column, label)
    if len(over) == 2 and len(numeric) == 1:
        outside_legend(panels[-1])
    return save_figure(figure, path)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _label(key: str) -> str:
    """Parameters of a scene have units of their own, which its description tells."""
    return f"{key} [s]" if key in ("step", "duration") else key.replace("_", " ")


def _value(row: Mapping[str, Any], column: str) -> float:
    found = row.get(column) if row["status"] == "ok" else None
    return np.nan if found is None else max(abs(float(found)), LEAST)


def _is_wide(values: Any) -> bool:
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return bool(known.size and known.min() > 0.0 and known.max() >= SPREAD * known.min())


# ------------------------------------------------------------------ one parameter of numbers


def _draw_lines(
    axis: Any,
    rows: Sequence[Mapping[str, Any]],
    over: Mapping[str, Sequence[Any]],
    along: str,
    column: str,
    label: str,
) -> None:
    """A line for each value of the other parameter, if there is one."""
    other = next((key for key in over if key != along), None)
    lines = [None] if other is None else list(over[other])
    seen: list[float] = []
    for k, name in enumerate(lines):
        own = sorted((r for r in rows if other is None or r[other] == name), key=lambda r: r[along])
        x, y = [r[along] for r in own], [_value(r, column) for r in own]
        color = BLUE if other is None else CYCLE[k % len(CYCLE)]
        axis.plot(x, y, "-o", color=color, markersize=4, label=str(name))
        seen += y
    _mark_failures(axis, rows, along)
    axis.set_xlabel(_label(along))
    axis.set_ylabel(label)
    if _is_wide(over[along]):
        axis.set_xscale("log")
    if _is_wide(seen):
        axis.set_yscale("log")
    plain(axis)


def _mark_failures(axis: Any, rows: Sequence[Mapping[str, Any]], along: str) -> None:
    """Crosses at the foot of the plot."""
    failed = [row[along] for row in rows if row["status"] != "ok"]
    if failed:
        at_foot = axis.get_xaxis_transform()
        axis.plot(failed, [0.02] * len(failed), "x", color=RED, transform=at_foot, label="failed")


# ------------------------------------------------------------------ two parameters of numbers


def _draw_map(
    figure: Any,
    axis: Any,
    rows: Sequence[Mapping[str, Any]],
    over: Mapping[str, Sequence[Any]],
    column: str,
    label: str,
) -> None:
    from matplotlib.colors import LogNorm

    (across, down), (columns, lines) = over, (sorted(values) for values in over.values())
    grid: Array = np.full((len(lines), len(columns)), np.nan)
    for row in rows:
        i, j = lines.index(row[down]), columns.index(row[across])
        grid[i, j] = _value(row, column)
        if row["status"] != "ok":
            axis.plot(j, i, "x", color=RED)
    norm = LogNorm() if _is_wide(grid) else None
    image = axis.imshow(grid, origin="lower", aspect="auto", cmap="YlGnBu", norm=norm)
    if np.isfinite(grid).any():
        figure.colorbar(image, ax=axis, label=label)
    for set_ticks, values in ((axis.set_xticks, columns), (axis.set_yticks, lines)):
        places = np.unique(np.linspace(0, len(values) - 1, min(len(values), 6)).round().astype(int))
        set_ticks(places, [f"{values[k]:.4g}" for k in places], fontsize=8)
    axis.set_xlabel(_label(across))
    axis.set_ylabel(_label(down))
    axis.grid(False)
