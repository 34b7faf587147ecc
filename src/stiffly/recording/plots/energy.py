"""The energy ledger over time, of one run and of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...contracts import Array
from ..run import EnergyHistory, Run
from ..words import percent
from .style import (
    BLUE,
    BROWN,
    CYCLE,
    GREEN,
    INK,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    describe,
    joules,
    new_figure,
    outside_legend,
    plain,
    save_figure,
    time_axis,
    titled,
    unit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = {"kinetic": ORANGE, "elastic": BLUE, "stiffness": BLUE, "gravity": GREEN}
EXPLODED = 5.0  # numerical error, in energies moved before: from there on a run is not to scale
SHOWN = 1.6  # how much more than the energy moved is shown of a run that exploded
LINE = 1e-3  # of the largest energy: what moved less would be a line on the axis
FAR = (-1e6, 1e6)  # percent: beyond, drawing could overflow
UNSEEN = 1e-9  # of the largest part: a part below this is left out of the picture
ROUNDING = 1e-6  # of what it could be, sum m |x - c| |v|: less is not worth an axis of its own


# ------------------------------------------------------------------ one run


def plot_energy(run: Run, path: str | Path | None = None, *, title: str = "") -> Figure:
    """The ledger of one run over time, parts stacked up; below it, on its own scale, the
    numerical error.

    title: what was simulated; the method and its step are added.
    """
    energy = run.energy
    figure = new_figure(8.6, 6.0)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1.0))
    figure.suptitle(titled(run, title, "Energy of the motion"), fontsize=12)
    sane = before_explosion(energy)
    _draw_parts(upper, energy, sane)
    _draw_numerical(lower, energy, sane)
    upper.set_xlabel("")  # the axis below says it
    for axis in (upper, lower):
        plain(axis)
        axis.margins(x=0.01)
    figure.align_ylabels()
    return save_figure(figure, path)


def before_explosion(energy: EnergyHistory) -> np.ndarray:
    """Mask (frames,): until the numerical error dwarfs all energy that had moved; not empty."""
    parts = np.array(list(energy.parts.values()))
    moved = np.abs(parts - parts[:, :1]).max(axis=0, initial=0.0)
    invented, scale = np.abs(energy.numerical), float(energy.kinetic[0])
    good = np.ones(len(energy.times), dtype=bool)
    for i in range(1, len(good)):
        if not (np.isfinite(invented[i]) and (scale == 0.0 or invented[i] <= EXPLODED * scale)):
            good[i:] = False
            break
        if scale == 0.0 or invented[i] <= 0.5 * moved[i]:  # what was invented is no yardstick
            scale = max(scale, float(moved[i]))
    return good


def _bands(energy: EnergyHistory, sane: np.ndarray) -> Iterator[tuple[str, Array, float]]:
    """(label, energy above zero (frames,) [J], what was taken off), the largest changes on top.

    The zero of gravity and of a user's potential is arbitrary: such parts count from their lowest.
    """
    size = max(float(np.abs(s[sane]).max()) for s in energy.parts.values())
    for name, series in sorted(energy.parts.items(), key=lambda item: item[0] == "kinetic"):
        lowest = float(series[sane].min())
        shifted = name == "gravity" or lowest < -UNSEEN * size
        zero = lowest if shifted else 0.0
        if float(np.abs(series - zero).max()) > UNSEEN * size or name == "kinetic":
            yield (f"{name} (above its lowest)" if shifted else name), series - zero, zero
        else:
            yield "", series - zero, zero  # counted, but too small to be seen


def _draw_parts(axis: Any, energy: EnergyHistory, sane: np.ndarray) -> None:
    bands = list(_bands(energy, sane))
    offset = sum(zero for _, _, zero in bands)
    total = energy.total - offset
    exact = total[0] + energy.added - energy.dissipated
    shown = [(label, series) for label, series, _ in bands if label]
    highest = max(float(np.abs(s[sane]).max()) for s in (total, exact, *(s for _, s in shown)))
    joule = unit("J", highest)
    axis.set_ylabel(f"energy [{joule.name}]")
    limit = SHOWN * highest if not sane.all() and highest > 0.0 else np.inf

    def drawn(series: Array) -> Array:  # far outside the picture, drawing would overflow
        return np.clip(series, -2.0 * limit, 2.0 * limit) * joule.factor

    times, stack = _instants(axis, energy.times), np.zeros(len(energy.times))
    spare = cycle((PURPLE, PINK, BROWN))
    for label, series in shown:
        color = PARTS.get(label.split(" ")[0]) or next(spare)
        low, high = _wide(drawn(stack)), _wide(drawn(stack + series))
        axis.fill_between(times, low, high, color=color, alpha=0.75, linewidth=0, label=label)
        stack = stack + series
    for label, series, style, color in (
        ("added by forces", energy.added, "--", PURPLE),
        ("dissipated", energy.dissipated, "--", BROWN),
        ("total", total, "-", INK),
        ("total, if exact", exact, ":", RED),
    ):
        if np.ptp(series) > LINE * highest or label.startswith("total"):
            axis.plot(times, _wide(drawn(series)), style, color=color, linewidth=1.8, label=label)
    if highest == 0.0:
        axis.set_ylim(0.0, 1.0)  # or the axis would count in hundredths of nothing
        axis.set_title("all energies are zero", fontsize=9, loc="right", pad=3)
    if limit < np.inf:
        axis.set_ylim(min(0.0, 1.1 * float(total[sane].min()) * joule.factor), limit * joule.factor)
        moment = energy.times[int(np.argmin(sane))]
        text = f"explodes at t = {moment:.4g} s: not to scale from there on"
        axis.set_title(text, fontsize=9, color=RED, loc="right", pad=3)
    handles, labels = axis.get_legend_handles_labels()
    order = [*range(len(shown), len(labels)), *reversed(range(len(shown)))]  # as they are stacked
    outside_legend(axis, handles=[handles[i] for i in order], labels=[labels[i] for i in order])


def _instants(axis: Any, times: Array) -> Array:
    """Times in the unit of the axis; a run of one frame gets some width, or nothing is seen."""
    scaled = times * time_axis(axis, times)
    if len(times) > 1:
        return scaled
    axis.set_xticks(scaled)
    return np.array([scaled[0] - 0.5, scaled[0] + 0.5])


def _wide(series: Array) -> Array:
    return series if len(series) > 1 else np.repeat(series, 2)


def _draw_numerical(axis: Any, energy: EnergyHistory, sane: np.ndarray) -> None:
    numerical, times = _wide(energy.numerical), _instants(axis, energy.times)
    worst, moved = float(np.abs(numerical).max(initial=0.0)), _moved(energy, sane)
    joule = unit("J", numerical)
    axis.axhline(0.0, color=INK, linewidth=0.8)
    axis.fill_between(times, numerical * joule.factor, color=RED, alpha=0.25, linewidth=0)
    axis.plot(times, numerical * joule.factor, color=RED)
    axis.set_ylabel(f"numerical\nerror [{joule.name}]")
    if not sane.all():
        axis.set_yscale("symlog", linthresh=(moved or worst) * joule.factor)
        axis.yaxis.get_major_locator().set_params(numticks=5)
    elif worst == 0.0:
        axis.set_ylim(-1.0, 1.0)
    share = ""
    if worst > 0.0 < moved:
        share = f" = {percent(worst, moved)} of the energy exchanged".replace("times of", "times")
    share += " before" if share and not sane.all() else ""
    axis.set_title(f"largest {joules(worst)}{share}", fontsize=9, color=RED, loc="right", pad=3)


def _moved(energy: EnergyHistory, sane: np.ndarray) -> float:
    """`EnergyHistory.exchanged` of the frames that make sense; or the motion that was there."""
    series = [*energy.parts.values(), energy.added, energy.dissipated]
    exchanged = float(max(np.ptp(s[sane]) for s in series))
    return exchanged if sane.all() else max(exchanged, float(energy.kinetic[sane].max()))


# ------------------------------------------------------------------ several runs


def plot_energies(
    runs: Mapping[str, Run] | Iterable[Run],
    path: str | Path | None = None,
    *,
    title: str = "Same motion, different integrators",
) -> Figure:
    """Total energy, and the size of the numerical error, of several runs over time."""
    if not isinstance(runs, Mapping):
        runs = {describe(run): run for run in runs}
    figure = new_figure(8.0, 6.5)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1.5, 1.0))
    figure.suptitle(title, fontsize=12)
    sane = [before_explosion(run.energy) for run in runs.values()]
    yardstick = max(_moved(r.energy, s) for r, s in zip(runs.values(), sane, strict=True))
    shown = [0.0]
    for i, (label, run) in enumerate(runs.items()):
        energy, color = run.energy, CYCLE[i % len(CYCLE)]
        balance = energy.numerical * (100.0 / yardstick) if yardstick > 0.0 else energy.numerical
        shown += [balance[sane[i]].min(), balance[sane[i]].max()]
        upper.plot(energy.times, np.clip(balance, *FAR), color=color, linewidth=2.0)
        size = np.maximum(np.abs(energy.numerical), 1e-300)
        lower.semilogy(energy.times[1:], size[1:], color=color, label=label)
    if not all(mask.all() for mask in sane):  # what explodes leaves the picture
        low, high = min(shown), max(shown)
        upper.set_ylim(1.2 * low - 0.1 * high, 1.2 * high - 0.1 * low or 1.0)
    upper.axhline(0.0, color=INK, linestyle=":", linewidth=1.4)
    upper.annotate("exact", (0.0, 0.0), (4, 4), textcoords="offset points", fontsize=9)
    upper.set_ylabel(f"energy gained or lost\n[% of the {joules(yardstick)} exchanged]")
    lower.set_ylabel("|numerical error| [J]")
    lower.set_xlabel("time [s]")
    for axis in (upper, lower):
        plain(axis)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return save_figure(figure, path)


# ------------------------------------------------------------------ momentum


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
    sane = before_explosion(recording.energy)  # and frames that are numbers
    sane = sane & np.isfinite(found.linear_size + found.angular_size)
    for axis, series, size, kind, label in (
        (upper, found.linear, found.linear_size, "kg m/s", "linear"),
        (lower, found.angular, found.angular_size, "kg m²/s", "angular"),
    ):
        axis.set_ylabel(f"{label}\nmomentum [{kind}]")
        _draw(axis, recording.times, series)
        if sane.any():
            _limit(axis, series[sane], float(size[sane].max()), kind)
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


def _limit(axis: Any, series: Array, possible: float, kind: str) -> None:
    """Show the frames that make sense, and rounding errors as the nothing they are."""
    magnitude = float(np.linalg.norm(series, axis=1).max())
    change = float(np.linalg.norm(series - series[0], axis=1).max())
    top = max(1.1 * magnitude, ROUNDING * possible) or 1.0
    low, high = 1.1 * float(series.min()), top
    if magnitude < ROUNDING * possible:
        low = -top
    axis.set_ylim(min(low, -0.05 * top), high)
    share = f" ({percent(change, magnitude)})" if magnitude > ROUNDING * possible else ""
    axis.set_title(f"changes by up to {change:.3g} {kind}{share}", fontsize=9, loc="right", pad=3)
