"""How the steps went: their sizes, what stabilisers and solvers did, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array, Work
from .style import CYCLE, new_figure, outside_legend, plain, save_figure, time_axis, titled, unit

PANEL = 1.7  # inches high


class Panel(NamedTuple):
    """One quantity over time: labelled series, each as long as the times."""

    label: str
    series: dict[str, Array]
    log: bool = False


def plot_steps(recording: Any, path: str | Path | None = None, *, title: str = "") -> Any:
    """Step sizes, alpha, residual, contact and work of a run; None where nothing was noted.

    Reads `diagnostics` per frame (of a Recording) as well as per step (of a Run).
    """
    notes = {name: np.asarray(series) for name, series in recording.diagnostics.items()}
    panels = [] if not len(notes.get("t", ())) else list(_panels(notes))
    if not panels:
        return None
    figure = new_figure(8.6, 0.8 + PANEL * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    figure.suptitle(titled(recording, title, "Steps of the run"), fontsize=12)
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, panel, notes["t"])
        axis.set_xlabel("")
        axis.set_xlim(left=min(0.0, axis.get_xlim()[0]))
    time_axis(axes[-1], notes["t"])
    figure.align_ylabels(axes)
    return save_figure(figure, path)


def _draw(axis: Any, panel: Panel, times: Array) -> None:
    seconds = times * time_axis(axis, times)
    shown = panel.series
    if panel.log:  # a logarithm has no place for what is zero
        shown = {name: np.where(s > 0.0, s, np.nan) for name, s in shown.items()}
    for k, (name, series) in enumerate(shown.items()):
        style = ("-", "--", ":", "-.")[k % 4]
        marker = "." if 2 * np.isfinite(series).sum() <= len(series) else ""  # lonely points
        axis.plot(seconds, series, style, color=CYCLE[k % len(CYCLE)], marker=marker, label=name)
    values = np.concatenate([s[np.isfinite(s)] for s in shown.values()])
    low, high = float(values.min()), float(values.max())
    if panel.log:  # whole decades: ticks that read as powers of ten
        axis.set_yscale("log")
        powers = np.floor(np.log10(0.99 * low)), np.ceil(np.log10(1.01 * high))
        axis.set_ylim(10.0 ** powers[0], 10.0 ** powers[1])
        axis.yaxis.get_major_locator().set_params(numticks=5)
        axis.minorticks_off()
    else:
        axis.set_ylim(min(0.0, 1.1 * low), max(1.15 * high, 0.0) or 1.0)
    axis.set_ylabel(panel.label)
    axis.margins(x=0.01)
    plain(axis)
    if len(panel.series) > 1:
        outside_legend(axis)


# ------------------------------------------------------------------ what there may be to show


def _panels(notes: dict[str, Array]) -> Iterator[Panel]:
    yield from _sizes(notes)
    for name, label, log in (
        ("alpha", "alpha of the\nstabiliser", False),
        ("residual", "largest relative\nresidual", True),
        ("contacts", "contacts", False),
    ):
        series = notes.get(name)
        if series is not None and np.any(series > 0.0):
            yield Panel(label, {name: series}, log)
    depth = notes.get("penetration")
    if depth is not None and np.any(depth > 0.0):
        metres = unit("m", depth[np.isfinite(depth)])
        yield Panel(f"deepest\ncontact [{metres.name}]", {"depth": depth * metres.factor})
    yield from _work(notes)


def _sizes(notes: dict[str, Array]) -> Iterator[Panel]:
    if "largest_step" in notes:
        longest, shortest = notes["largest_step"], notes["smallest_step"]
    else:
        longest = shortest = np.diff(notes["t"], prepend=0.0)
    if not np.any(longest > 0.0):
        return
    seconds = unit("s", longest[np.isfinite(longest)])
    series = {"largest": longest * seconds.factor}
    if not np.allclose(longest, shortest, rtol=1e-6, equal_nan=True):
        series["smallest"] = shortest * seconds.factor
    spread = bool(np.nanmax(longest) > 10.0 * np.nanmin(shortest))
    yield Panel(f"step [{seconds.name}]", series, spread)


def _work(notes: dict[str, Array]) -> Iterator[Panel]:
    """Counters run up to the end: their differences are the work between two frames."""
    found = {}
    for name in Work._fields:
        if name in notes:
            spent = np.diff(notes[name], prepend=np.nan)
            if np.any(spent > 0.0):
                found[name.replace("_", " ")] = spent
    if found:
        yield Panel("work\nper frame", found, log=True)
