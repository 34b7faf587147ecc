"""Chains of particles: a straight rope, the helical tail of a bacterium; and where fibers grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import real_array
from ..contracts import Array
from ..errors import InputError
from .mesh import Mesh, chain, require_counts, require_positive, require_several

GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


def rope(
    particles: int = 80,
    *,
    length: float = 1.0,
    start: Sequence[float] = (0.0, 0.0, 0.0),
    direction: Sequence[float] = (1.0, 0.0, 0.0),
) -> Mesh:
    """`particles` in a line of `length` [m] from `start`, each joined to the next."""
    require_counts("rope", 2, particles=particles)
    require_positive("rope", length=length)
    axis, origin = real_array("direction", direction), real_array("start", start)
    norm = np.linalg.norm(axis)
    if not (axis.shape == origin.shape == (3,) and np.isfinite(norm + origin.sum()) and norm > 0.0):
        raise InputError(f"rope from {start} along {direction}: give three finite numbers each")
    along = np.linspace(0.0, length, particles)
    positions = origin + along[:, None] * (axis / norm)
    return Mesh(positions, chain(particles))


def flagellum(
    particles: int = 120,
    *,
    length: float = 6.0,
    radius: float = 0.25,
    turns: float = 3.0,
    taper: float = 1.0,
) -> Mesh:
    """A chain of particles along a helix that starts on its axis x [any unit of length].

    y, z = radius * E(x) (cos, sin)(2 pi turns x / length), E(x) = 1 - exp(-(x / taper)^2)
    (Higdon, 1979): straight at the base, full radius beyond a few `taper`. Particles lie equally
    far apart along x. Set: 'base'.

    The default has the 360 coordinates of the swimmer of Michels, Luan and Tokman (2017).
    """
    require_counts("flagellum", 2, particles=particles)
    require_positive("flagellum", length=length, radius=radius, turns=turns, taper=taper)
    x = np.linspace(0.0, length, particles)
    wide = radius * -np.expm1(-((x / taper) ** 2))
    turn = 2.0 * np.pi * turns * x / length
    positions = np.stack([x, wide * np.cos(turn), wide * np.sin(turn)], axis=1)
    return Mesh(positions, chain(particles), vertex_sets={"base": np.array([0])})


@dataclass(frozen=True, slots=True)
class Roots:
    """positions (n, 3) [m], directions (n, 3) of unit length, lengths (n,) [m] of n fibers."""

    positions: Array
    directions: Array
    lengths: Array

    def centrelines(self, segments: int) -> Array:
        """Straight fibers (n, segments + 1, 3) of equal segments, for bodies.fibers."""
        require_counts("centrelines", 1, segments=segments)
        along = self.lengths[:, None] * np.linspace(0.0, 1.0, segments + 1)
        return self.positions[:, None] + along[:, :, None] * self.directions[:, None]


def brush_roots(
    count: int = 1500,
    *,
    tufts: tuple[int, int] = (10, 3),
    head: tuple[float, float] = (0.030, 0.011),
    tuft: float = 0.0009,
    length: float = 0.011,
) -> Roots:
    """Bristles of a toothbrush: tufts[0] x tufts[1] discs on a head of size `head` in z = 0, up z.

    tuft: radius of a disc [m]; length: of a bristle [m]. A disc is filled evenly in a sunflower
    spiral; the bristles are shared out as equally as whole numbers allow. The default count is
    that of Luan and Michels (2018): 1500 bristles, here in 30 tufts of 50.
    """
    require_several("brush_roots", 2, tufts=tufts, head=head)
    require_counts("brush_roots", 1, count=count, tufts_x=tufts[0], tufts_y=tufts[1])
    require_positive("brush_roots", head_x=head[0], head_y=head[1], tuft=tuft, length=length)
    gaps = [(h - 2.0 * tuft) / (n - 1) for h, n in zip(head, tufts, strict=True) if n > 1]
    if gaps and (apart := min(gaps)) <= 2.0 * tuft:
        raise InputError(
            f"brush tufts overlap ({apart:.3g} m apart, radius {tuft} m): use fewer or thinner ones"
        )
    which = np.arange(count) % (tufts[0] * tufts[1])
    inside, shared = np.arange(count) // (tufts[0] * tufts[1]), np.bincount(which)[which]
    away, turn = tuft * np.sqrt((inside + 0.5) / shared), GOLDEN_ANGLE * inside
    positions = np.zeros((count, 3))
    for axis, index in enumerate(np.unravel_index(which, tufts)):
        inner = 0.5 * head[axis] - tuft
        centres = np.linspace(-inner, inner, tufts[axis]) if tufts[axis] > 1 else np.zeros(1)
        positions[:, axis] = centres[index]
    positions[:, 0] += away * np.cos(turn)
    positions[:, 1] += away * np.sin(turn)
    return Roots(positions, np.tile([0.0, 0.0, 1.0], (count, 1)), np.full(count, float(length)))


def hair_cap(
    count: int = 60_000,
    *,
    half_axes: tuple[float, float, float] = (0.10, 0.08, 0.12),
    opening: float = 90.0,
    length: float = 0.3,
) -> Roots:
    """Roots spread evenly over the cap of a head: an ellipsoid with half axes [m], z upwards.

    opening: angle of the cap from the z axis, seen on the unit sphere [degrees]. Hairs start along
    the surface normal. Spiral points on the sphere (each with the same share of area) are scaled to
    the ellipsoid, so they lie somewhat closer where it is flatter. The default count is that of
    Michels, Luan and Tokman (2017).
    """
    require_counts("hair_cap", 1, count=count)
    require_several("hair_cap", 3, half_axes=half_axes)
    require_positive(
        "hair_cap", length=length, opening=opening, **dict(zip("xyz", half_axes, strict=True))
    )
    if opening > 180.0:
        raise InputError(f"hair_cap opening = {opening} degrees: keep it at or below 180")
    index = np.arange(count)
    z = 1.0 - (1.0 - np.cos(np.radians(opening))) * (index + 0.5) / count
    across, turn = np.sqrt(1.0 - z * z), GOLDEN_ANGLE * index
    unit = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
    normals = unit / np.asarray(half_axes)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Roots(unit * np.asarray(half_axes), normals, np.full(count, float(length)))
