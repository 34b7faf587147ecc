"""Tables and warnings as HTML.  Every text is escaped: names come from scene files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from ...recording.plots.style import joules
from .figures import COLORS

ROOM = "0.2em 1.2em 0.2em 0.6em"  # at the right for the bar that scrolls
TINTS = {"bad": "#c92a2a", "warn": "#b35c00", "note": "#1864ab"}


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
    body = "".join(
        f"<tr{_line(name)}><td>{escape(name)}</td>"
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


def _line(name: str) -> str:
    """A rule above what sums up."""
    above = name in ("total", "added", "numerical")
    return ' style="border-top:1px solid rgba(128,128,128,0.4)"' if above else ""


def clock(entries: Iterable[tuple[str, str]]) -> str:
    """Words and values in one quiet line."""
    text = " · ".join(f"{escape(word)} <b>{escape(value)}</b>" for word, value in entries)
    return f'<div style="font-size:0.85em;padding:{ROOM}">{text}</div>'


def seconds(t: float) -> str:
    """'0.033', '17.9', '1234.5': a clock that runs for hours goes on counting."""
    return f"{t:.1f}" if abs(t) >= 100.0 else f"{t:.3g}"


def css(color: Sequence[int]) -> str:
    return f"rgb({color[0]},{color[1]},{color[2]})"
