"""Fibers (hair, bristles) as chains of cuboids of springs, from the moduli of a round rod.

Michels, Mueller, Sobottka 2015 wrap a fiber's axis in cuboids; the stiffnesses below are our own
derivation.  A segment of length L has a square of four particles, side w, at each end.  With
r = w/L, and D and P the axial stiffness L^2/ell^2 k of one face diagonal (8 of them) and of one
space diagonal (4), next to k_l of the 4 longitudinal springs, small relative motions of two rigid
squares cost 1/2 times

    stretch u     4 (k_l + 2 D + P) u^2        = (E A / L) u^2
    bending phi   w^2 (k_l + D) phi^2          = (E I / L) phi^2
    twist theta   2 (w^4 / L^2) D theta^2      = (G J / L) theta^2
    shear s       4 r^2 (D + P) s^2

k_l >= 0 asks for w >= L sqrt(G J / (2 E I)): a slender fiber needs cuboids wider than itself, since
springs that only pull along themselves have little leverage on a thin twisted rod.  E I and G J fix
k_l and D; P sets both stretch and shear.  A chain whose shear is 12 (E I / L^3) s^2 is exactly
Euler-Bernoulli at its nodes (the residual flexibility of MacNeal 1978), and that P makes the
stretch (d/w)^2 E A: our default.  A larger P keeps more of E A, at a tip deflection up to 1/(4 n^2)
too small, but where a fiber is curved its stiff space diagonals warp the squares and resist
torsion (docs/fibers.md).

The squares are not rigid: stretched diagonals squeeze them by b along their diagonals, and a bent
segment makes them trapezoids (q).  Minimised over both, with k the stiffness of a square's six
springs, D counts for bending as D k/(k + 2 r^2 D), and stretching loses
8 r^2 (D + P)^2 / (r^2 (D + 2 P) + k).  Both are made up for below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..memory import require
from .checks import as_numbers
from .springs import Springs

LEAST_LONGITUDINAL = 0.2  # share of the bending stiffness that longitudinal springs keep
SQUARE_STIFFNESS = 10.0  # per r^2: squares this much stiffer than a quarter of E A / L

CORNERS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]) / 2.0
SQUARE = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])
LONGITUDINAL = np.array([[a, 4 + a] for a in range(4)])
FACE = np.array([[a, 4 + (a + turn) % 4] for a in range(4) for turn in (1, 3)])
SPACE = np.array([[a, 4 + (a + 2) % 4] for a in range(4)])
TIES = len(LONGITUDINAL) + len(FACE) + len(SPACE)
BYTES = 128  # per spring that building a System of fibers takes at most (measured: 11 million)


@dataclass(frozen=True, slots=True)
class FiberBody:
    """Fibers as particles and springs. Point p of a centreline is particles 4p to 4p + 3.

    positions (N, 3) [m], mass (N,) [kg], edges (m, 2), stiffness (m,) [N/m].
    start (fibers + 1,): first point of each fiber; root (4 fibers,): particles of the first points.
    width (fibers,) [m]: side of the cuboids.
    stretch_ratio, torsion_ratio (segments,): what is kept of E A and of G J.
    """

    positions: Array
    mass: Array
    edges: np.ndarray
    stiffness: Array
    start: np.ndarray
    root: np.ndarray
    width: Array
    stretch_ratio: Array
    torsion_ratio: Array

    @property
    def part(self) -> Springs:
        """The springs, at rest where the fibers are; the edges are the same array."""
        return Springs.of_sound(self.edges, self.stiffness, self.positions)

    @property
    def segments(self) -> np.ndarray:
        """Points (s, 2) at the two ends of every segment."""
        first = np.delete(np.arange(self.start[-1]), self.start[1:] - 1)
        return np.stack([first, first + 1], axis=1)

    def centrelines(self, x: Array) -> Array:
        """Points of all centrelines (points, 3) when the particles are at x (N, 3)."""
        return x.reshape(-1, 4, 3).mean(axis=1)


def fiber(points: Any, **options: Any) -> FiberBody:
    """One fiber along points (s + 1, 3) [m]; options as for `fibers`."""
    return fibers([points], **options)


def fibers(
    centrelines: Any,
    *,
    thickness: Any,
    young: float,
    torsional: float,
    density: float,
    normal: Any = None,
    stretch: float = 0.0,
    width: float | None = None,
) -> FiberBody:
    """Round fibers along centrelines: an array (fibers, s + 1, 3) or a list of (s_i + 1, 3) [m].

    thickness: diameter d [m], or (root, tip), linear in between; young: E, torsional: the shear
    modulus G [Pa]; density [kg/m^3]; normal (3,): a side of the squares at the root points there.
    stretch: share of E A to keep at least, 0 to 1; by default as soft as bending allows, and
    stretch_ratio says what that is.  width [m] of the cuboids: by default the smallest that meets
    E I and G J; a smaller one twists more easily, and torsion_ratio says by how much.
    """
    points, start = _as_points(centrelines)
    density = _positive("density", density)
    moduli = (_positive("young", young), _positive("torsional", torsional))
    share = float(as_numbers("fiber stretch", stretch, ()))
    if not 0.0 <= share <= 1.0:
        raise InputError(f"fiber stretch = {stretch}: give a share of E A between 0 and 1")
    begins = np.ones(len(points), dtype=bool)
    begins[start[1:] - 1] = False
    segment = np.flatnonzero(begins)  # by the point where it begins
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    require_room(len(points), segment.size)
    along, length = _directions(points, segment, owner)
    d = _diameters(thickness, length, segment, start, owner)
    w = _widths(width, length, owner[segment], d, start, *moduli)
    cones = (d[segment], d[segment + 1], length)
    stiff = _Stiffness(*cones, w[owner[segment]], *moduli, share)
    normals = _normals(along, segment, start, owner)
    sides = w[owner][:, None] * _sides(normals, normal, start)
    across = np.cross(normals, sides)
    positions = np.empty((len(points), 4, 3))
    for k, (a, b) in enumerate(CORNERS):  # products of millions of small matrices take longer
        np.add(points, a * sides + b * across, out=positions[:, k])
    volumes = _volumes(*cones, segment, len(points))
    squares = np.repeat(stiff.squares(segment, len(points)), len(SQUARE))
    return FiberBody(
        positions=positions.reshape(-1, 3),
        mass=np.repeat(volumes * density / 4.0, 4),
        edges=_edges(segment, len(points)),
        stiffness=np.concatenate([squares, stiff.ties().ravel()]),
        start=start,
        root=(4 * start[:-1, None] + np.arange(4)).ravel(),
        width=w,
        stretch_ratio=stiff.stretch_ratio,
        torsion_ratio=stiff.torsion_ratio,
    )


def require_room(points: int, segments: int) -> None:
    """InputError where memory does not hold a System of fibers of so many; for scenes, too, before
    they lay out centrelines."""
    springs = points * len(SQUARE) + segments * TIES
    require(BYTES * springs, f"fibers of {springs:,} springs")


def _edges(segment: np.ndarray, count: int) -> np.ndarray:
    """Six springs in each square, then sixteen in each segment."""
    ties = np.concatenate([LONGITUDINAL, FACE, SPACE])
    inside = count * len(SQUARE)
    edges = np.empty((inside + segment.size * len(ties), 2), dtype=np.int64)
    corner = 4 * np.arange(count)[:, None]  # rows of many numbers: those of two take longer
    np.add(corner, SQUARE.ravel(), out=edges[:inside].reshape(-1, SQUARE.size))
    np.add(corner[segment], ties.ravel(), out=edges[inside:].reshape(-1, ties.size))
    return edges


class _Stiffness:
    """Springs of every segment (see the top of this file).

    A cone's flexibility, averaged: 1/(E I), 1/(G J) go with 1/d^4 and 1/(E A) with 1/d^2.
    """

    def __init__(
        self, d0: Array, d1: Array, L: Array, w: Array, E: float, G: float, stretch: float
    ) -> None:
        self.L, self.w, r2 = L, w, (w / L) ** 2
        inertia = np.pi / 64.0 * 3.0 * (d0 * d1) ** 3 / (d0**2 + d0 * d1 + d1**2)
        bending = E * inertia / (L * w**2)
        twist = G * 2.0 * inertia * L / (2.0 * w**4)
        axial = E * np.pi / 4.0 * d0 * d1 / (4.0 * L)
        self.D = np.minimum(twist, (1.0 - LEAST_LONGITUDINAL) * bending)
        target = np.maximum(stretch * axial, 4.0 * bending)
        self.square = target * (1.0 + SQUARE_STIFFNESS * r2)
        self.k_l = bending - self.D * self.square / (self.square + 2.0 * r2 * self.D)
        # D + P from  target = k_l + D + y - 2 r^2 y^2 / (2 r^2 y - r^2 D + k), linear in y = D + P
        rigid, c = target - self.k_l - self.D, self.square - r2 * self.D
        self.P = rigid * c / (c - 2.0 * r2 * rigid) - self.D
        self.stretch_ratio = target / axial
        self.torsion_ratio = self.D / twist

    def ties(self) -> Array:
        """(segments, 16): longitudinal, face diagonals, space diagonals."""
        r2 = (self.w / self.L) ** 2
        made = np.empty((self.L.size, TIES))
        made[:, :4] = self.k_l[:, None]
        made[:, 4:12] = (self.D * (1.0 + r2))[:, None]
        made[:, 12:] = (self.P * (1.0 + 2.0 * r2))[:, None]
        return made

    def squares(self, segment: np.ndarray, count: int) -> Array:
        """(points,): each segment gives half of its square to either end."""
        total = np.zeros(count)
        total[segment] += 0.5 * self.square
        total[segment + 1] += 0.5 * self.square
        return total


def _widths(
    width: Any, length: Array, owner: np.ndarray, d: Array, start: np.ndarray, E: float, G: float
) -> Array:
    """One per fiber, since neighbouring segments share their squares.

    The smallest with k_l >= LEAST_LONGITUDINAL of the bending stiffness in every segment; J = 2 I
    for any diameter, so only the length counts.
    """
    if width is not None:
        return np.full(len(start) - 1, _positive("width", width))
    longest = np.zeros(len(start) - 1)
    np.maximum.at(longest, owner, length)
    leverage = longest * np.sqrt(G / ((1.0 - LEAST_LONGITUDINAL) * E))
    return np.maximum(leverage, np.maximum.reduceat(d, start[:-1]))


def _volumes(d0: Array, d1: Array, length: Array, segment: np.ndarray, count: int) -> Array:
    """Volumes (points,) [m^3] of the cones, shared between the ends by the lever rule."""
    total = np.zeros(count)
    total[segment] += np.pi / 48.0 * length * (3.0 * d0**2 + 2.0 * d0 * d1 + d1**2)
    total[segment + 1] += np.pi / 48.0 * length * (d0**2 + 2.0 * d0 * d1 + 3.0 * d1**2)
    return total


def _directions(points: Array, segment: np.ndarray, owner: np.ndarray) -> tuple[Array, Array]:
    """Unit directions (segments, 3) and lengths (segments,) of the segments."""
    d = points[segment + 1] - points[segment]
    length = np.linalg.norm(d, axis=1)
    bad = np.flatnonzero(length == 0.0)
    if bad.size:
        which = owner[segment[bad[0]]]
        p = segment[bad[0]] - np.searchsorted(owner, which)
        raise InputError(f"fiber {which}: points {p} and {p + 1} coincide; leave one out")
    return d / length[:, None], length


def _diameters(
    thickness: Any, length: Array, segment: np.ndarray, start: np.ndarray, owner: np.ndarray
) -> Array:
    """(points,), linear in the arc length."""
    ends = as_numbers("fiber thickness", thickness)
    if ends.shape not in ((), (2,)):
        raise InputError(f"fiber thickness has shape {ends.shape}: give a number or (root, tip)")
    if not np.all(ends > 0.0):
        raise InputError(f"fiber thickness = {thickness}: it must be positive, in metres")
    root, tip = np.broadcast_to(ends, 2)
    arc = np.zeros(len(owner))
    arc[segment + 1] = length
    arc = np.cumsum(arc)
    arc -= arc[start[:-1]][owner]
    return root + (tip - root) * arc / arc[start[1:] - 1][owner]


def _normals(along: Array, segment: np.ndarray, start: np.ndarray, owner: np.ndarray) -> Array:
    """Unit normals (points, 3) of the squares: halfway between the segments that meet."""
    total = np.zeros((len(owner), 3))
    total[segment] += along
    total[segment + 1] += along
    size = np.linalg.norm(total, axis=1)
    bad = np.flatnonzero(size < 1e-6)
    if bad.size:
        which = owner[bad[0]]
        raise InputError(
            f"fiber {which}: it turns back on itself at point {bad[0] - start[which]}; "
            "round the bend with more points"
        )
    return total / size[:, None]


def _sides(normals: Array, given: Any, start: np.ndarray) -> Array:
    """Unit side (points, 3) of each square, turned along the fiber without twist."""
    first = normals[start[:-1]]
    if given is None:  # the axis that is farthest from the fiber
        guess = np.eye(3)[np.argmin(np.abs(first), axis=1)]
    else:
        guess = np.broadcast_to(as_numbers("fiber normal", given, (3,)), first.shape)
    side = guess - np.sum(guess * first, axis=1, keepdims=True) * first
    size = np.linalg.norm(side, axis=1)
    bad = np.flatnonzero(size <= 1e-9 * np.linalg.norm(guess, axis=1))
    if bad.size:
        raise InputError(f"fiber {bad[0]}: normal points along it; give one that points sideways")
    sides = np.zeros_like(normals)
    sides[start[:-1]] = side / size[:, None]
    points = np.diff(start)
    for step in range(1, points.max()):  # all fibers at once
        here = start[:-1][points > step] + step
        before, now, side = normals[here - 1], normals[here], sides[here - 1]
        both = before + now  # the smallest rotation that takes one normal to the next
        share = np.sum(now * side, axis=1) / (1.0 + np.sum(now * before, axis=1))
        sides[here] = side - share[:, None] * both
    return sides


def _as_points(centrelines: Any) -> tuple[Array, np.ndarray]:
    """All points (points, 3), and the first of each fiber (fibers + 1,)."""
    if isinstance(centrelines, np.ndarray) and centrelines.ndim == 3:
        lines: Sequence[Array] = list(as_numbers("centrelines", centrelines))
    else:
        try:
            lines = [_as_line(i, line) for i, line in enumerate(centrelines)]
        except TypeError:
            raise InputError("fibers need a list of centrelines (s + 1, 3)") from None
    if not lines:
        raise InputError("there are no fibers: give at least one centreline (s + 1, 3)")
    for i, line in enumerate(lines):
        if line.ndim != 2 or line.shape[1] != 3:
            raise InputError(f"fiber {i} has points of shape {line.shape}, not (s + 1, 3)")
        if len(line) < 2:
            raise InputError(f"fiber {i} has {len(line)} point(s): give at least two")
    start = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    points = np.concatenate(lines)
    if not np.isfinite(points).all():
        for i, line in enumerate(lines):
            as_numbers(f"fiber {i} points", line)
    return points, start


def _as_line(i: int, line: Any) -> Array:
    """Points of fiber i: numbers already, most often; whether all are finite is seen later."""
    if type(line) is np.ndarray and line.dtype == np.float64:
        return line
    return as_numbers(f"fiber {i} points", line)


def _positive(name: str, value: Any) -> float:
    number = as_numbers(f"fiber {name}", value, ())
    if not number > 0.0:
        raise InputError(f"fiber {name} = {value}: it must be positive")
    return float(number)
