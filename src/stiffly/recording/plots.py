"""Figures of a run: the energy ledger over time, several runs side by side, and the body itself.

Figures are built as objects, never through pyplot's global state: nothing needs a display, and
nothing leaks from one figure into the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from matplotlib.figure import Figure

from ..contracts import Array
from ..errors import InputError
from ..ledger import EnergyHistory

BLUE, ORANGE, GREEN, RED = "#2f6db5", "#e08214", "#2b8a5f", "#c0392b"
PURPLE, BROWN, PINK, INK = "#7b5ea7", "#8c6d46", "#c2649a", "#222222"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, BROWN, PINK, RED)
PARTS = {"kinetic": ORANGE, "elastic": BLUE, "stiffness": BLUE, "gravity": GREEN}
GRID = {"color": "#dddddd", "linewidth": 0.6}


class Run(Protocol):
    """What these figures read of a `simulate.Run`."""

    integrator: str
    step: float | None
    energy: EnergyHistory
    stats: dict[str, Any]


def plain(axis: Any) -> None:
    """A quiet frame: left and bottom lines, a faint grid behind the data."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(True, **GRID)
    axis.set_axisbelow(True)


def save_figure(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        known = figure.canvas.get_supported_filetypes()
        if Path(path).suffix.lstrip(".").lower() not in known:
            kinds = ", ".join(sorted(known))
            raise InputError(f"cannot draw {path}: name a file that ends in one of {kinds}")
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=150)
        except OSError as problem:
            raise InputError(f"cannot write {path}: {problem.strerror}") from None
    return figure


def describe(run: Run) -> str:
    """'exprb42, step 0.05 s'."""
    if run.step is None or run.stats.get("rejected_steps"):
        return f"{run.integrator}, adaptive steps"
    taken = run.stats.get("largest_step", run.step)  # frames may have shortened it
    return f"{run.integrator}, step {taken:.4g} s"


# ------------------------------------------------------------------ one run


def plot_energy(run: Run, path: str | Path | None = None, *, title: str = "") -> Figure:
    """The ledger of one run [J] over time; below it, on its own scale, the numerical error.

    title: what was simulated; the method and its step are added.
    """
    energy = run.energy
    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1.0))
    figure.suptitle(f"{title or 'Energy of the motion'}  ({describe(run)})", fontsize=12)
    spare = cycle((PURPLE, PINK, BROWN))
    for name, series in energy.parts.items():
        zero = _zero_of(name, series)
        label = f"{name} (zero at the start)" if zero else name
        upper.plot(energy.times, series - zero, color=PARTS.get(name) or next(spare), label=label)
    offset = sum(_zero_of(name, series) for name, series in energy.parts.items())
    if np.ptp(energy.added) > 0.0:
        upper.plot(energy.times, energy.added, "--", color=PURPLE, label="added by forces")
    if np.ptp(energy.dissipated) > 0.0:
        upper.plot(energy.times, energy.dissipated, "--", color=BROWN, label="dissipated")
    exact = energy.total - energy.numerical - offset
    upper.plot(energy.times, exact, ":", color=RED, linewidth=1.6, label="total, if exact")
    upper.plot(energy.times, energy.total - offset, color=INK, linewidth=2.2, label="total")
    upper.set_ylabel("energy [J]")
    upper.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    _draw_numerical(lower, run)
    for axis in (upper, lower):
        plain(axis)
    return save_figure(figure, path)


def _zero_of(name: str, series: Array) -> float:
    """Gravity's zero level is arbitrary: put it where the run starts."""
    return float(series[0]) if name == "gravity" else 0.0


def _draw_numerical(axis: Any, run: Run) -> None:
    energy = run.energy
    axis.axhline(0.0, color=INK, linewidth=0.8)
    axis.fill_between(energy.times, energy.numerical, color=RED, alpha=0.2, linewidth=0)
    axis.plot(energy.times, energy.numerical, color=RED)
    axis.set_ylabel("numerical\nerror [J]")
    axis.set_xlabel("time [s]")
    axis.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4))
    worst = float(np.abs(energy.numerical).max(initial=0.0))
    share = f" = {percent(worst, energy.exchanged)} of the energy exchanged" * (worst > 0.0)
    axis.set_title(f"largest {joules(worst)}{share}", fontsize=9, color=RED, loc="right", pad=3)


def percent(part: float, whole: float) -> str:
    """'0.0041 %', two digits; a dash where there is nothing to compare with."""
    if not (np.isfinite(part) and whole > 0.0):
        return "-"
    value = 100.0 * part / whole
    return f"{value:.0f} %" if abs(value) >= 10.0 else f"{value:.2g} %"


def joules(energy: float) -> str:
    """'2,081 J', '0.25 J', '3.1e-05 J': as people write it."""
    size = abs(energy)
    return f"{energy:,.0f} J" if 100.0 <= size < 1e7 else f"{energy:.3g} J"


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
    figure = Figure(figsize=(8.0, 6.5), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1.5, 1.0))
    figure.suptitle(title, fontsize=12)
    yardstick = max(run.energy.exchanged for run in runs.values())
    for (label, run), color in zip(runs.items(), _colors(len(runs)), strict=True):
        energy = run.energy
        balance = energy.total - energy.total[0] - (energy.added - energy.dissipated)
        upper.plot(energy.times, _in_percent(balance, yardstick), color=color, linewidth=2.0)
        size = np.maximum(np.abs(energy.numerical), 1e-300)
        lower.semilogy(energy.times[1:], size[1:], color=color, label=label)
    upper.axhline(0.0, color=INK, linestyle=":", linewidth=1.4)
    upper.annotate("exact", (0.0, 0.0), (4, 4), textcoords="offset points", fontsize=9)
    upper.set_ylabel(f"energy gained or lost\n[% of the {joules(yardstick)} exchanged]")
    lower.set_ylabel("|numerical error| [J]")
    lower.set_xlabel("time [s]")
    for axis in (upper, lower):
        plain(axis)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return save_figure(figure, path)


def _in_percent(series: Array, whole: float) -> Array:
    return series * (100.0 / whole) if whole > 0.0 else series


def _colors(count: int) -> list[str]:
    return [CYCLE[i % len(CYCLE)] for i in range(count)]


# ------------------------------------------------------------------ the body


def picture(
    shape: Any,
    path: str | Path | None = None,
    *,
    positions: Array | None = None,
    triangles: np.ndarray | None = None,
    edges: np.ndarray | None = None,
    values: Array | None = None,
    label: str = "displacement [m]",
    ghost: bool = True,
    title: str = "",
    caption: str = "",
    view: tuple[float, float] = (14.0, -60.0),
) -> Figure:
    """A shaded picture of a body, coloured by `values`, with its start shape as a grey ghost.

    shape: a mesh (positions, triangles, edges), or start positions (N, 3).
    positions: (N, 3) where the body is now; default: the start.  triangles (s, 3) of the surface,
    or, for ropes and trusses, edges (m, 2).  values: (N,); default: the distance from the start.
    view: elevation and azimuth of the camera [degrees].
    """
    start = np.asarray(getattr(shape, "positions", shape), dtype=np.float64)
    now = start if positions is None else np.asarray(positions, dtype=np.float64)
    faces = getattr(shape, "triangles", ()) if triangles is None else triangles
    lines = getattr(shape, "edges", ()) if edges is None else edges
    shown = np.linalg.norm(now - start, axis=1) if values is None else np.asarray(values)
    figure = Figure(figsize=(7.0, 7.0), layout="constrained")
    axis = figure.add_subplot(projection="3d", proj_type="ortho")
    axis.computed_zorder = False  # what is drawn later lies in front
    axis.set_axis_off()
    axis.view_init(*view)
    others = [start] if ghost and positions is not None else []
    colors = _color_scale(figure, axis, shown, label)
    if len(faces):
        _draw_surface(axis, now, np.asarray(faces), colors.to_rgba, shown, others, view)
    elif len(lines):
        _draw_edges(axis, now, np.asarray(lines), colors.to_rgba, shown, others)
    _fit(axis, [now, *others])
    figure.suptitle(title, fontsize=13)
    figure.text(0.5, 0.015, caption, ha="center", fontsize=10, color="#444444")
    return save_figure(figure, path)


def _color_scale(figure: Figure, axis: Any, values: Array, label: str) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    high = float(np.max(values, initial=0.0))
    scale = ScalarMappable(Normalize(min(0.0, float(np.min(values))), high or 1.0), "viridis")
    if high > 0.0:
        bar = figure.colorbar(scale, ax=axis, shrink=0.6, pad=0.02, aspect=28)
        bar.set_label(label)
        bar.outline.set_visible(False)
    return scale


def _draw_surface(
    axis: Any,
    now: Array,
    faces: np.ndarray,
    to_rgba: Any,
    values: Array,
    ghosts: Sequence[Array],
    view: tuple[float, float],
) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    towards, light = _direction(view), _direction((view[0] + 40.0, view[1] - 50.0))

    def draw(shape: Array, rgba: Array) -> None:
        corners = shape[faces]
        normals = _normals(corners)
        front = normals @ towards > 0.0  # the back of a closed surface is never seen
        rgba[:, :3] *= 0.55 + 0.45 * np.clip(normals @ light, 0.0, 1.0)[:, None]
        collection = Poly3DCollection(corners[front], facecolors=rgba[front], edgecolor="none")
        collection.set_antialiased(False)  # antialiased neighbours leave a hairline between them
        axis.add_collection3d(collection)

    for shape in ghosts:  # drawn first, so that the body hides it where they meet
        draw(shape, np.tile([0.93, 0.94, 0.95, 1.0], (len(faces), 1)))
    draw(now, to_rgba(values[faces].mean(axis=1)))


def _draw_edges(
    axis: Any, now: Array, lines: np.ndarray, to_rgba: Any, values: Array, ghosts: Sequence[Array]
) -> None:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    for shape in ghosts:
        axis.add_collection3d(Line3DCollection(shape[lines], colors="#c9ccd1", linewidths=0.8))
    colors = to_rgba(values[lines].mean(axis=1))
    axis.add_collection3d(Line3DCollection(now[lines], colors=colors, linewidths=1.6))


def _direction(view: tuple[float, float]) -> Array:
    """Unit vector from the body towards a camera at that elevation and azimuth [degrees]."""
    up, around = np.radians(view)
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _normals(corners: Array) -> Array:
    """Outward unit normals (s, 3) of triangles (s, 3, 3)."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)


def _fit(axis: Any, shapes: Sequence[Array]) -> None:
    """Equal scale on all axes, the body as large as it can be."""
    points = np.concatenate(shapes)
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, 1e-3 * max(float((high - low).max()), 1e-300))
    for setter, a, b in zip(
        (axis.set_xlim, axis.set_ylim, axis.set_zlim), low, low + size, strict=True
    ):
        setter(a, b)
    axis.set_box_aspect(size, zoom=1.25)
