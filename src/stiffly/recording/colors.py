"""Which colour a body has and how far a scale of colours goes: one rule for films, stills, exports
and the live page.

A body has the colour of its own: the one given, or the one whose turn it is (`meshes/look.py`).
Where values are shown, the scale begins at 0, or at as much compression as stretch, and ends at
`end_of_scale`.  Which of both, where nobody says so, `usual` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError, require_name
from . import quantities
from .exports.frames import Motion
from .plots.style import unit
from .quantities import Values
from .render_view import sampled
from .words import COLORS

SHARE = 98.0  # percent of the values lie within the scale: a single whip end would darken the rest
FEW = 12  # values: of so few each counts
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"  # both read without red-green vision
STAIN = "jet"
BRIGHT = {
    SEQUENTIAL: (0.15, 1.0),
    DIVERGING: (0.08, 0.92),
    STAIN: (0.1, 0.9),
}  # darker ends would hide the shading


def usual(motions: Iterable[Motion]) -> str:
    """What bodies are coloured by where nobody says so: several in their own colours, which tell
    them apart; one by its speed."""
    return "none" if any(len(motion.looks) > 1 for motion in motions) else "speed"


def end_of_scale(values: Array) -> float:
    """The largest size that a scale for these values tells apart: a few that are far from all
    others do not decide, unless all others are 0."""
    sizes = np.abs(values)
    share = 100.0 if len(sizes) <= FEW else SHARE
    end = float(np.percentile(sizes, share, method="lower"))
    return float(sizes.max()) if end == 0.0 else end


class Scale(NamedTuple):
    """Values times `factor` are in `unit`; signed: from -end to end, not from 0."""

    what: str
    unit: str
    factor: float
    signed: bool

    @property
    def label(self) -> str:
        return f"{self.what} [{self.unit}]"

    @property
    def table(self) -> Array:
        return color_table(DIVERGING if self.signed else SEQUENTIAL)


def scale_of(color: str, end: float, unit_of: str = "") -> Scale:
    """Of values up to that end; unit_of: of a stress, N of springs or Pa of tets."""
    if color == "strain":
        return Scale("mean strain", *(("%", 100.0) if end >= 1e-4 else ("ppm", 1e6)), True)
    what = {"speed": "speed", "contact-force": "contact"}.get(color, "stress")
    if unit_of == "N":
        what = "tension"
    scaled = unit(unit_of or {"speed": "m/s"}.get(color, "N"), end)
    return Scale(what, scaled.name, scaled.factor, what == "tension")


@dataclass(frozen=True)
class Coloring:
    """Values of every vertex, and how they become colours.

    values(i): (N,) at frame i, in the unit of `label`; low, high: ends of the scale.  rods(i): of
    every line, where lines have values of their own.
    """

    label: str
    values: Callable[[int], Array]
    low: float
    high: float
    table: Array  # (256, 3) uint8
    rods: Callable[[int], Array] | None = None

    def colors(self, i: int) -> Array:
        """(N, 3) uint8 at frame i."""
        return self._looked_up(self.values(i))

    def rod_colors(self, i: int) -> Array | None:
        """(lines, 3) uint8 at frame i."""
        return None if self.rods is None else self._looked_up(self.rods(i))

    def _looked_up(self, values: Array) -> Array:
        share = (values - self.low) / (self.high - self.low)
        rows = np.nan_to_num(255.0 * np.clip(share, 0.0, 1.0)).astype(int)
        return self.table[rows]


def coloring(
    recordings: list[Any], motions: list[Motion], color: str, systems: Sequence[Any] | None = None
) -> list[Coloring | None]:
    """One for each motion, all with the same scale; None: in one plain colour.  systems: of which
    the stress is."""
    require_name("color", color, COLORS)
    if color == "none":
        return [None] * len(motions)
    unit_of, rods = "", [None] * len(motions)
    if color == "speed":
        values = [_speed(motion) for motion in motions]
    elif color == "stress":
        given = systems or [None] * len(motions)
        found = [_stress(*each) for each in zip(recordings, motions, given, strict=True)]
        values, rods, units = (list(each) for each in zip(*found, strict=True))
        unit_of = units[0]
        if any(own != unit_of for own in units):
            raise InputError("stresses of springs [N] and of tets [Pa] have no common scale")
    else:
        pairs = zip(recordings, motions, strict=True)
        values = [_shown(motion, quantities.field(one, color)) for one, motion in pairs]
    sizes = [
        end_of_scale(value(int(i)))
        for value, motion in zip(values, motions, strict=True)
        for i in sampled(motion, 30)
    ]
    end = max((size for size in sizes if np.isfinite(size)), default=0.0)
    if end == 0.0:
        return [None] * len(motions)  # at rest: a scale from 0 to 0 says nothing
    scale = scale_of(color, end, unit_of)
    high = scale.factor * end
    low, table = -high if scale.signed else 0.0, scale.table

    def scaled(value: Any) -> Any:
        return None if value is None else lambda i: scale.factor * value(i)

    return [
        Coloring(scale.label, scaled(value), low, high, table, scaled(rod))
        for value, rod in zip(values, rods, strict=True)
    ]


def coat(motion: Motion) -> Coloring | None:
    """Of the plaque that is left, as the paper stains it: from blue, where none was removed, over
    green to red (Michels, Luan, Tokman 2017, Fig. 5)."""
    left = motion.plaque
    if left is None:
        return None
    first = np.asarray(left[0], dtype=np.float64)
    first = np.where(first > 0.0, first, np.nan)  # no plaque was there
    return Coloring(
        "plaque removed [%]",
        lambda i: 100.0 * (1.0 - left[i] / first),
        0.0,
        100.0,
        color_table(STAIN),
    )


def color_table(name: str) -> Array:
    """(256, 3) uint8."""
    from matplotlib import colormaps

    low, high = BRIGHT[name]
    shares = np.linspace(low, high, 256)
    return (255.0 * colormaps[name](shares)[:, :3]).round().astype(np.uint8)


def _speed(motion: Motion) -> Callable[[int], Array]:
    """|v| (N,) [m/s]; from the frames around it where velocities were not kept."""

    def speed(i: int) -> Array:
        v = motion.velocity(i)
        if v is None:
            a, b = max(i - 1, 0), min(i + 1, len(motion) - 1)
            apart = float(motion.times[b] - motion.times[a]) or 1.0
            v = (motion.frame(b).astype(np.float64) - motion.frame(a)) / apart
        return np.linalg.norm(v.astype(np.float64), axis=1)

    return speed


def _shown(motion: Motion, values: Values) -> Values:
    """Of the points that are drawn, from those of particles."""
    return lambda i: motion.shown(values(i)[:, None])[:, 0]


def _stress(recording: Any, motion: Motion, system: Any) -> tuple[Any, Any, str]:
    """What the points bear, and each line, where it is a spring; the unit."""
    values, unit_of = quantities.stress(recording, system)
    lines = unit_of == "N" and motion.skin is None and len(motion.lines)
    return _shown(motion, values), (lambda i: values(i, motion.lines)) if lines else None, unit_of
