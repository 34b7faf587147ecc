"""Bodies given by a function that is positive inside: capsules and boxes, smoothly joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..contracts import Array

# points (n, 3) -> values (n,) [m]: positive inside, about the distance to the surface, changing by
# at most 1.5 times the distance between two points.
Field = Callable[[Array], Array]


def capsules(ends: Array, *, blend: float) -> Field:
    """Tapered capsules (k, 8): both end points and both radii, joined over about `blend` [m].

    With d_i(p) = |p - q_i(p)| - r_i(p), q_i the nearest point of segment i and r_i the radius
    there, the value is blend * log sum_i exp(-d_i / blend): a smooth maximum of -d_i.
    """
    start, stop, first, last = ends[:, 0:3], ends[:, 3:6], ends[:, 6], ends[:, 7]
    axis = stop - start
    square = np.maximum(np.einsum("ij,ij->i", axis, axis), 1e-300)

    def field(points: Array) -> Array:
        depth = np.empty((len(ends), len(points)))
        for i in range(len(ends)):
            along = np.clip((points - start[i]) @ axis[i] / square[i], 0.0, 1.0)
            apart = np.linalg.norm(points - start[i] - along[:, None] * axis[i], axis=1)
            depth[i] = first[i] + along * (last[i] - first[i]) - apart
        return smooth_maximum(depth, blend)

    return field


def rounded_box(centre: Sequence[float], half: Sequence[float], corner: float) -> Field:
    """A box of half sizes `half` whose edges are rounded with radius `corner` [m]."""
    middle, inner = np.asarray(centre), np.asarray(half) - corner

    def field(points: Array) -> Array:
        beyond = np.abs(points - middle) - inner
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return corner - outside - np.minimum(beyond.max(axis=1), 0.0)

    return field


def wheel(centre: Sequence[float], radius: float, half_width: float, corner: float) -> Field:
    """A disc about an axis along y, its edges rounded with radius `corner` [m]."""
    middle = np.asarray(centre)

    def field(points: Array) -> Array:
        p = points - middle
        beyond = np.stack(
            [np.hypot(p[:, 0], p[:, 2]) - radius + corner, np.abs(p[:, 1]) - half_width + corner]
        )
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=0)
        return corner - outside - np.minimum(beyond.max(axis=0), 0.0)

    return field


def joined(fields: Sequence[Field], *, blend: float) -> Field:
    """The union of several bodies, smooth over about `blend` [m]."""
    return lambda points: smooth_maximum(np.stack([f(points) for f in fields]), blend)


def smooth_maximum(values: Array, blend: float) -> Array:
    """blend * log sum exp(v / blend) over the first axis: never below the largest value."""
    top = values.max(axis=0)
    return top + blend * np.log(np.exp((values - top) / blend).sum(axis=0))
