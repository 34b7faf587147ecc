"""Numbers on the page: curves that run along, tables and warnings.

Every text is escaped: names come from scene files.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array
from ...recording.plots.style import (
    BLUE,
    BROWN,
    GREEN,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    Unit,
    joules,
    unit,
)
from .figures import COLORS

MOST = 240  # points of a curve
PARTS = {"kinetic": ORANGE, "elastic": BLUE, "stiffness": BLUE, "gravity": GREEN, "contact": PURPLE}
SUMS = {"added": PINK, "dissipated": BROWN}
OTHERS = ("#56b4e9", RED, "#999999", "#000000")
GRAVITY, PART = "gravity", "part "
HEIGHT = 165  # pixels
LATE = 20.0  # seconds that a browser may be behind
FIRST = 1e6  # places of plots: below everything else
ROOM = "0.2em 1.2em 0.2em 0.6em"  # around words; at the right for the bar that scrolls
TINTS = {"bad": "#c92a2a", "warn": "#b35c00", "note": "#1864ab"}


class History:
    """The last MOST rows of numbers by name; time that runs back begins anew."""

    def __init__(self, most: int = MOST) -> None:
        self._rows: deque[tuple[float, dict[str, float]]] = deque(maxlen=most)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, t: float, row: dict[str, float]) -> None:
        if self._rows and t <= self._rows[-1][0]:
            if t == self._rows[-1][0]:
                self._rows.pop()
            else:
                self._rows.clear()
        self._rows.append((t, row))

    def clear(self) -> None:
        self._rows.clear()

    @property
    def times(self) -> Array:
        return np.array([t for t, _ in self._rows])

    def column(self, name: str) -> Array:
        """NaN where there was nothing to say."""
        return np.array([row.get(name, np.nan) for _, row in self._rows], dtype=np.float64)


class Shelf:
    """Where plots stand.  One that is taken down is hidden first and removed when no data for it
    can be on the way any more: a browser that is late complains of data for what it has not."""

    def __init__(self, gui: Any, place: Any) -> None:
        self._gui, self._place = gui, place
        self._hidden: deque[tuple[float, Any]] = deque()

    def put(self, data: tuple[Array, ...], series: tuple[Any, ...], **options: Any) -> Any:
        with self._place:
            return self._gui.add_uplot(data, series, **options)

    def take_down(self, plot: Any) -> None:
        plot.visible = False
        self._hidden.append((time.monotonic(), plot))
        while self._hidden and time.monotonic() - self._hidden[0][0] > LATE:
            self._hidden.popleft()[1].remove()


class Chart:
    """One plot: curves (name, colour), in a unit that fits their size.

    columns: names of what they are drawn from, in a History.  order: its place among the others.
    For another unit it is made anew: where a title changes together with the data, viser's plots
    keep showing the old stretch of time.
    """

    def __init__(
        self, shelf: Shelf, title: str, base: str, curves: Sequence[tuple[str, str]],
        order: float, columns: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._shelf, self._title, self._base = shelf, title, base
        self._curves, self._order, self.columns = curves, order, columns
        self._unit, self._handle = base, None

    def show(self, times: Array, columns: Sequence[Array]) -> None:
        """columns (k,) each, in the order of the curves."""
        if len(times) < 2:
            return
        finite = [c[np.isfinite(c)] for c in columns]
        scaled = unit(self._base, *finite) if self._base else Unit(1.0, "")
        # NaN: nothing is drawn there, so that what joins late begins where it joined
        shown = [np.where(np.isfinite(c), c, np.nan) for c in columns]
        data = (times, *(scaled.factor * c for c in (*shown, bounds(finite, len(times)))))
        if self._handle is None or scaled.name != self._unit:
            self.remove()
            self._unit, self._handle = scaled.name, self._made(data, scaled.name)
        else:
            self._handle.data = data

    def _made(self, data: tuple[Array, ...], name: str) -> Any:
        series = [{"label": "t [s]"}] + [
            {"label": name, "stroke": color, "width": 1.6, "points": {"show": False}, "auto": False}
            for name, color in self._curves
        ]
        series.append(
            {"label": "\u00a0", "stroke": "transparent", "points": {"show": False}}
        )  # bounds
        return self._shelf.put(
            data, tuple(series), order=self._order,
            title=f"{self._title} [{name}]" if name else self._title,
            scales={"x": {"time": False}}, height=HEIGHT, padding=(12, 12, 0, 0),
            legend={"show": len(self._curves) > 1, "live": False},
        )  # fmt: skip

    def remove(self) -> None:
        if self._handle is not None:
            self._shelf.take_down(self._handle)
            self._handle = None


def bounds(finite: Sequence[Array], count: int) -> Array:
    """A curve (count,) that nobody sees, from the least to the largest of all: the axis is made for
    it, since a plot of viser finds no range for curves that begin with NaN."""
    known = np.concatenate(finite)
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.where(np.arange(count) == 0, low, high)


def energy_curves(parts: Sequence[str]) -> list[tuple[str, str]]:
    others = iter(OTHERS)
    known = [(name, PARTS.get(name) or next(others, "#666666")) for name in parts]
    return [*known, *SUMS.items()]


def from_start(name: str, energy: Array) -> Array:
    """The zero of gravity's energy is arbitrary: it begins at zero, that others can be seen."""
    known = energy[np.isfinite(energy)]
    return energy - known[0] if name == GRAVITY and len(known) else energy


class Plots:
    """The curves of a live simulation, in a container of the page."""

    def __init__(self, gui: Any, place: Any) -> None:
        self._shelf = Shelf(gui, place)
        self._charts: list[Chart] = []
        self._layout: Any = None
        self._parts: list[str] = []
        self._steered: set[int] = set()
        self._history = History()

    def clear(self) -> None:
        """Another scene: nothing of the old one is left."""
        self._history.clear()
        self._parts, self._steered = [], set()

    def add(self, snapshot: Any, transport: float | None) -> None:
        """One point of every curve."""
        lanes = snapshot.lanes
        row = {f"{PART}{name}": value for name, value in lanes[0].energies.items()}
        row |= {f"{PART}added": lanes[0].added, f"{PART}dissipated": lanes[0].dissipated}
        for i, lane in enumerate(lanes):
            row[f"numerical {i}"] = lane.numerical
            row[f"momentum {i}"] = lane.angular_momentum
            row[f"seconds {i}"] = lane.seconds
            if lane.alpha is not None:
                row[f"alpha {i}"] = lane.alpha
        if transport is not None:
            row["transport"] = transport
        self._history.add(snapshot.t, row)
        self._arrange(lanes)

    def show(self) -> None:
        times = self._history.times
        for chart in self._charts:
            names = chart.columns
            values = [from_start(c.removeprefix(PART), self._history.column(c)) for c in names]
            chart.show(times, values)

    def _arrange(self, lanes: Sequence[Any]) -> None:
        """Charts for these lanes, made anew only when lanes or their energies are others.

        Energies and alphas that come and go (a hand, a stabiliser at rest) stay once seen.
        """
        self._parts += [name for name in lanes[0].energies if name not in self._parts]
        self._steered |= {i for i, lane in enumerate(lanes) if lane.alpha is not None}
        steered = sorted(i for i in self._steered if i < len(lanes))
        layout = ([lane.name for lane in lanes], list(self._parts), steered)
        if layout == self._layout:
            return
        self._layout = layout
        for chart in self._charts:
            chart.remove()
        each = [(lane.name, css(COLORS[i])) for i, lane in enumerate(lanes)]
        numbers = range(len(lanes))
        title = f"energy of {lanes[0].name}" if len(lanes) > 1 else "energy"
        columns = [f"{PART}{name}" for name in (*self._parts, "added", "dissipated")]
        spent = [*(f"seconds {i}" for i in numbers), "transport"]
        wanted = [  # title, unit, curves, columns
            (title, "J", energy_curves(self._parts), columns),
            ("numerical error", "J", each, [f"numerical {i}" for i in numbers]),
            ("angular momentum", "J s", each, [f"momentum {i}" for i in numbers]),
            ("alpha", "", [each[i] for i in steered], [f"alpha {i}" for i in steered]),
            ("time per frame", "s", [*each, ("transport", "#999999")], spent),
        ]
        wanted = [one for one in wanted if one[2]]
        self._charts = [
            Chart(self._shelf, title, base, curves, FIRST + i, columns)
            for i, (title, base, curves, columns) in enumerate(wanted)
        ]


# ------------------------------------------------------------------ words


class Notice(NamedTuple):
    """tint: bad (it stopped), warn (mind it), note (by the way)."""

    tint: str
    text: str


def banner(notices: Iterable[Notice]) -> str:
    """One coloured line each; nothing at all where there is nothing to say."""
    style = f"color:#fff;border-radius:4px;padding:0.35em 0.6em;margin:{ROOM};font-size:0.9em"
    return "".join(
        f'<div role="alert" style="background:{TINTS[n.tint]};{style}">{escape(n.text)}</div>'
        for n in notices
    )


def ledger(lanes: Sequence[Any]) -> str:
    """The energies of every lane (LaneFrame) now, in a column each."""
    parts = list(dict.fromkeys(name for lane in lanes for name in lane.energies))
    rows = [(name, [lane.energies.get(name, 0.0) for lane in lanes]) for name in parts]
    rows.append(("total", [sum(lane.energies.values()) for lane in lanes]))
    for name in ("added", "dissipated", "numerical"):
        rows.append((name, [getattr(lane, name) for lane in lanes]))
    rule = ' style="border-top:1px solid rgba(128,128,128,0.4)"'  # above what sums up
    body = "".join(
        f"<tr{rule if name in ('total', 'added', 'numerical') else ''}><td>{escape(name)}</td>"
        + "".join(f'<td style="text-align:right">{escape(joules(v))}</td>' for v in values)
        + "</tr>"
        for name, values in rows
    )
    heads = "".join(
        f'<th style="text-align:right;color:{css(COLORS[i])}">{escape(lane.name)}</th>'
        for i, lane in enumerate(lanes)
    )
    style = "width:100%;font-size:0.85em;border-collapse:collapse"
    table = f'<table style="{style}"><tr><th></th>{heads}</tr>{body}</table>'
    return f'<div style="padding:{ROOM}">{table}</div>'


def clock(entries: Iterable[tuple[str, str]]) -> str:
    """Words and values in one quiet line."""
    text = " · ".join(f"{escape(word)} <b>{escape(value)}</b>" for word, value in entries)
    return f'<div style="font-size:0.85em;padding:{ROOM}">{text}</div>'


def seconds(t: float) -> str:
    """'0.033', '17.9', '1234.5': a clock that runs for hours goes on counting."""
    return f"{t:.1f}" if abs(t) >= 100.0 else f"{t:.3g}"


def css(color: Sequence[int]) -> str:
    return f"rgb({color[0]},{color[1]},{color[2]})"
