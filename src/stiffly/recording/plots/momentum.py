"""Linear and angular momentum over time: what forces between the body's own particles keep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...contracts import Array
from ..words import percent
from .energy import before_explosion
from .style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    new_figure,
    outside_legend,
    plain,
    save_figure,
    time_axis,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ROUNDING = 1e-6  # of what it could be, sum m |x - c| |v|: less is not worth an axis of its own


class Momenta(NamedTuple):
    """Linear p = sum m v [kg m/s] and angular L = sum m (x - c) x v [kg m^2/s], each (frames, 3).

    c is the centre of mass at the start, a point that stays.  Sizes (frames,): what they would be
    if nothing cancelled.
    """

    linear: Array
    angular: Array
    linear_size: Array
    angular_size: Array


def momenta(recording: Any) -> Momenta | None:
    """None where masses or velocities were not recorded.  Frames are read one at a time."""
    mass, velocities = getattr(recording, "mass", None), getattr(recording, "velocities", None)
    positions = recording.positions
    if mass is None or velocities is None or velocities.shape != positions.shape:
        return None
    if len(positions.shape) != 3 or positions.shape[2] != 3:
        return None
    count = len(recording.times)
    found = Momenta(*(np.empty((count, 3)[:k]) for k in (2, 2, 1, 1)))
    centre = mass @ np.asarray(positions[0], dtype=np.float64) / mass.sum()
    with np.errstate(over="ignore", invalid="ignore"):  # a run that exploded
        for i in range(count):
            x, v = (np.asarray(a[i], dtype=np.float64) for a in (positions, velocities))
            found.linear[i], found.angular[i] = mass @ v, mass @ np.cross(x - centre, v)
            speed = np.linalg.norm(v, axis=1)
            found.linear_size[i] = mass @ speed
            found.angular_size[i] = mass @ (np.linalg.norm(x - centre, axis=1) * speed)
    return found


def plot_momentum(recording: Any, path: str | Path | None = None, *, title: str = "") -> Any:
    """Both momenta, component by component; None where they are not known (see `momenta`)."""
    found = momenta(recording)
    if found is None:
        return None
    figure: Figure = new_figure(8.6, 6.0)
    upper, lower = figure.subplots(2, 1, sharex=True)
    figure.suptitle(titled(recording, title, "Momentum of the motion"), fontsize=12)
    sane = before_explosion(recording.energy)
    for axis, series, size, unit, label in (
        (upper, found.linear, found.linear_size, "kg m/s", "linear"),
        (lower, found.angular, found.angular_size, "kg m²/s", "angular"),
    ):
        axis.set_ylabel(f"{label}\nmomentum [{unit}]")
        _draw(axis, recording.times, series)
        _limit(axis, series[sane], float(size[sane].max()), unit)
    upper.set_xlabel("")
    figure.align_ylabels()
    return save_figure(figure, path)


def _draw(axis: Any, times: Array, series: Array) -> None:
    seconds = times * time_axis(axis, times)
    if len(times) == 1:
        axis.set_xticks(seconds)
    marker = "o" if len(times) == 1 else ""
    styles = zip("xyz", (BLUE, ORANGE, GREEN), ("-", "--", "-."), strict=True)
    for k, (name, color, style) in enumerate(styles):
        axis.plot(seconds, series[:, k], style, color=color, marker=marker, label=name)
    size = np.linalg.norm(series, axis=1)
    axis.plot(seconds, size, ":", color=INK, linewidth=2.0, marker=marker, label="magnitude")
    axis.axhline(0.0, color=INK, linewidth=0.6)
    axis.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4))
    axis.margins(x=0.01)
    plain(axis)
    outside_legend(axis)


def _limit(axis: Any, series: Array, possible: float, unit: str) -> None:
    """Show the frames that make sense, and rounding errors as the nothing they are."""
    magnitude = float(np.linalg.norm(series, axis=1).max())
    change = float(np.linalg.norm(series - series[0], axis=1).max())
    top = max(1.1 * magnitude, ROUNDING * possible) or 1.0
    low, high = 1.1 * float(series.min()), top
    if magnitude < ROUNDING * possible:
        low = -top
    axis.set_ylim(min(low, -0.05 * top), high)
    share = f" ({percent(change, magnitude)})" if magnitude > ROUNDING * possible else ""
    axis.set_title(f"changes by up to {change:.3g} {unit}{share}", fontsize=9, loc="right", pad=3)
