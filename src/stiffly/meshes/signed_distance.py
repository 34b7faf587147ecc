"""How deep points lie inside a closed triangle surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array
from .morton import morton


class SignedDistance:
    """A field (see stuffing.py) [m]: the distance to the surface, positive where it winds round.

    positions (V, 3), triangles (f, 3) without border, facing outwards; they may cross themselves
    and each other, and enclose several pieces.  A point is inside where the winding number is
    positive: in any of several overlapping pieces, not in a cavity.
    """

    def __init__(self, positions: Array, triangles: np.ndarray) -> None:
        order = np.argsort(morton(positions[triangles].mean(axis=1)), kind="stable")
        self._x = np.ascontiguousarray(positions, dtype=np.float64)
        self._faces = triangles[order].astype(np.uint32)
        corners = self._x[self._faces]
        low, high = corners.min(axis=1), corners.max(axis=1)
        self._tree = _kernels().tree_boxes(low, high)
        self._columns = _columns(low[:, :2], high[:, :2])
        count = len(self._faces)
        # signs come from the winding number: it is right where triangles are tangled, too
        self._no_normals = np.zeros((count, 3)), np.zeros((count, 3, 3)), np.zeros(self._x.shape)

    def __call__(self, points: Array) -> Array:
        p = np.ascontiguousarray(points, dtype=np.float64)
        out = np.empty(p.shape), np.empty(p.shape), np.empty(len(p))
        _kernels().nearest_points(
            p, self._x, self._faces, self._tree, self._no_normals, np.inf, *out
        )
        return np.where(self.windings(p) > 0, 1.0, -1.0) * np.abs(out[2])

    def windings(self, points: Array) -> np.ndarray:
        """Winding numbers (n,) of points (n, 3)."""
        found = np.empty(len(points), dtype=np.int64)
        p = np.ascontiguousarray(points, dtype=np.float64)
        _kernels().winding_numbers(p, self._x, self._faces, *self._columns, found)
        return found


def _kernels() -> Any:
    """Imported where they are used: most shapes need none, and numba takes a second to load."""
    from ..backends.cpu import CPU

    return CPU.kernels


def _columns(low: Array, high: Array) -> tuple[Array, float, np.ndarray, np.ndarray]:
    """Square columns for about as many triangles, whose boxes have the corners low, high (f, 2).

    The corner and the width of the first column; start (rows, columns + 1) and members: the
    triangles in each column are members[start[i, j] : start[i, j + 1]].
    """
    corner, extent = low.min(axis=0), np.ptp(np.concatenate([low, high]), axis=0)
    cell = max(float(np.sqrt(extent[0] * extent[1] / len(low))), float(extent.max()) / len(low))
    rows, columns = (np.floor(extent / cell).astype(int) + 1).tolist()
    first, last = (np.floor((ends - corner) / cell).astype(int) for ends in (low, high))
    span = last - first + 1
    count = span.prod(axis=1)
    owner = np.repeat(np.arange(len(low)), count)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    i = first[owner, 0] + within // span[owner, 1]
    j = first[owner, 1] + within % span[owner, 1]
    key = i * columns + j
    ends = np.cumsum(np.bincount(key, minlength=rows * columns)).reshape(rows, columns)
    starts = np.concatenate([[0], ends.ravel()[:-1]]).reshape(rows, columns)[:, :1]
    members = owner[np.argsort(key, kind="stable")]
    return corner, cell, np.concatenate([starts, ends], axis=1), members
