"""What a body is coloured by: speed, strain, or nothing; and the scale that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError, unknown_name
from .exports.frames import Motion
from .plots.style import unit
from .render_view import sampled

COLORS = ("speed", "strain", "none")
CLAY = np.array([92, 138, 190], dtype=np.uint8)  # where nothing is to be told
SHARE = 99.5  # percent of the values lie within the scale: a single whip end would darken the rest
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"  # both read without red-green vision

BRIGHT = {SEQUENTIAL: (0.15, 1.0), DIVERGING: (0.08, 0.92)}  # darker ends would hide the shading


@dataclass(frozen=True)
class Coloring:
    """Values of every vertex, and how they become colours.

    values(i): (N,) at frame i, in the unit of `label`; low, high: ends of the scale.
    """

    label: str
    values: Callable[[int], Array]
    low: float
    high: float
    table: Array  # (256, 3) uint8

    def colors(self, i: int) -> Array:
        """(N, 3) uint8 at frame i."""
        share = (self.values(i) - self.low) / (self.high - self.low)
        rows = np.nan_to_num(255.0 * np.clip(share, 0.0, 1.0)).astype(int)
        return self.table[rows]


def coloring(recordings: list[Any], motions: list[Motion], color: str) -> list[Coloring | None]:
    """One for each motion, all with the same scale; None: in one plain colour."""
    if color not in COLORS:
        raise unknown_name("color", color, COLORS)
    if color == "none":
        return [None] * len(motions)
    if color == "speed":
        values = [_speed(motion) for motion in motions]
    else:
        values = [_strain(r, m) for r, m in zip(recordings, motions, strict=True)]
    sizes = [
        np.percentile(np.abs(value(int(i))), SHARE)
        for value, motion in zip(values, motions, strict=True)
        for i in sampled(motion, 30)
    ]
    high = max((float(s) for s in sizes if np.isfinite(s)), default=0.0)
    if high == 0.0:
        return [None] * len(motions)  # at rest: a scale from 0 to 0 says nothing
    if color == "strain":
        label, factor, low, table = "mean strain [%]", 100.0, -100.0 * high, DIVERGING
    else:
        scaled = unit("m/s", high)
        label, factor, low, table = f"speed [{scaled.name}]", scaled.factor, 0.0, SEQUENTIAL
    rows = _table(table)
    return [
        Coloring(label, lambda i, v=value: factor * v(i), low, factor * high, rows)
        for value in values
    ]


def _table(name: str) -> Array:
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


def _strain(recording: Any, motion: Motion) -> Callable[[int], Array]:
    """Mean relative elongation (N,) of the edges at each vertex, against the rest shape."""
    mesh = getattr(recording, "mesh", None)
    if mesh is None or not len(mesh.edges):
        raise InputError('color="strain" needs the edges of a mesh: take color="speed"')
    rest = np.linalg.norm(_along(mesh.positions, mesh.edges), axis=1)
    edges, rest = mesh.edges[rest > 0.0], rest[rest > 0.0]
    count = motion.particles
    touching = np.maximum(np.bincount(edges.ravel(), minlength=count), 1)

    def strain(i: int) -> Array:
        x = np.asarray(motion.positions[i], dtype=np.float64)
        twice = np.repeat(np.linalg.norm(_along(x, edges), axis=1) / rest - 1.0, 2)
        mean = np.bincount(edges.ravel(), weights=twice, minlength=count) / touching
        return motion.shown(mean[:, None])[:, 0]

    return strain


def _along(x: Array, edges: np.ndarray) -> Array:
    return x[edges[:, 1]] - x[edges[:, 0]]
