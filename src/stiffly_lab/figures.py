"""Pieces of figures that several experiments share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator

from stiffly.recording.plots import BLUE, BROWN, GREEN, INK, ORANGE, PINK, PURPLE, RED, plain

from .harness import Record, of_method

# One colour and one marker per method, the same in every figure.
LOOK = {
    "exprb42": (BLUE, "o"),
    "pexprb43": (ORANGE, "s"),
    "exprb2": (GREEN, "^"),
    "rk4": (RED, "D"),
    "verlet": (PURPLE, "v"),
    "vimex": (RED, "D"),
    "eti": (BLUE, "o"),
    "SciPy DOP853": (BROWN, "X"),
    "CVODE Adams": (PINK, "P"),
}


def look(method: str, own: Mapping[str, tuple[str, str]] = LOOK) -> tuple[str, str]:
    """Colour and marker; own: those of a figure that has its own."""
    return own.get(method) or LOOK.get(method, (INK, "."))


def marked(method: str) -> dict[str, str]:
    """A line's style and label where all methods stand side by side."""
    color, marker = apart(method)
    return {"color": color, "marker": marker, "label": method}


def panels(columns: int, title: str, *, rows: int = 1, size: float = 4.3) -> tuple[Figure, Any]:
    """A figure with a title and a grid of quiet axes (rows, columns)."""
    figure = Figure(figsize=(size * columns, 4.4 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.suptitle(title, fontsize=13)
    for axis in axes.ravel():
        plain(axis)
    return figure, axes


def panel(title: str, size: float) -> tuple[Figure, Any]:
    """A figure of one of them."""
    figure, axes = panels(1, title, size=size)
    return figure, axes[0, 0]


def few_ticks(axis: Any) -> None:
    """Powers of ten and their halves: on a short logarithmic axis more labels would overlap."""
    axis.xaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axis.xaxis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(4, 4)))


def legend_below(axis: Any) -> None:
    """A legend where it can hide no line."""
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False, fontsize=9)


def finish(axis: Any, x: str, y: str | None = None) -> None:
    """What the axes are (y: unless it is said already), and the legend below them."""
    axis.set(xlabel=x, **({} if y is None else {"ylabel": y}))
    legend_below(axis)


def draw_precision(axis: Any, records: Sequence[Record], cost: str, label: str) -> None:
    """Error over a cost (step, seconds, force_evaluations), both logarithmic."""
    for method in dict.fromkeys(r.method for r in records):
        own = of_method(records, method)
        color, marker = look(method)
        costs = [getattr(r, cost) for r in own]
        axis.loglog(costs, [r.error for r in own], color=color, marker=marker, label=method)
    if cost == "step":  # the steps themselves as ticks: a decade of the axis holds few powers of 10
        steps = sorted({r.step for r in records})
        axis.set_xticks(steps, [f"{h:.3g}" for h in steps], fontsize=8)
        axis.set_xticks([], minor=True)
    axis.set_xlabel(label)
    axis.set_ylabel("error at the end (maximum norm)")


def draw_slope(axis: Any, records: Sequence[Record], method: str, order: int) -> None:
    """A dashed line of slope `order` just below the points of a method."""
    own = of_method(records, method)
    if len(own) < 2:
        return
    h = np.array([own[0].step, own[-1].step])
    line = 0.4 * (own[0].error or 1.0) * (h / h[0]) ** order
    axis.plot(h, line, "--", color="#999999", linewidth=1.0)
    axis.annotate(f"slope {order}", (h[1], line[1]), (4, -10), textcoords="offset points", size=8)


# Where several exponential methods stand beside their rivals, no two may look alike.
APART = {
    "eti": (BLUE, "o"),
    "eti:rest": (PINK, "P"),
    "neti": (BLUE, "o"),
    "exprb42": (GREEN, "^"),
    "bdf1": (RED, "s"),
    "midpoint": (BROWN, "X"),
    "rk4": (ORANGE, "D"),
    "verlet": (PURPLE, "v"),
}
apart = partial(look, own=APART)

# The methods of the three papers on exponential Rosenbrock schemes, side by side.
ROSENBROCK = {
    "epirk4s3": (BLUE, "o"),
    "exprb42": (GREEN, "^"),
    "pexprb43": (ORANGE, "s"),
    "neti": (PINK, "P"),
    "eti": (RED, "D"),
    "bdf1": (INK, "x"),
    "realtime": (BROWN, "X"),
    "vimex": (RED, "<"),
    "rk4": (INK, "D"),
    "verlet": (PURPLE, "v"),
}
rosenbrock = partial(look, own=ROSENBROCK)
