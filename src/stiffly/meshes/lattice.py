"""Box lattices of particles: cloth (nz = 1), beams and blocks."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from ..errors import InputError
from .checks import require_positive
from .grids import quad_sheet
from .mesh import Mesh, pairs


def lattice(
    nx: int, ny: int = 1, nz: int = 1, *, spacing: float = 1.0, diagonals: bool = True
) -> Mesh:
    """nx x ny x nz particles, one every `spacing` [m], numbered with z fastest.

    Edges join next neighbours; `diagonals` adds both diagonals of every square, which is what
    keeps cloth and blocks from shearing freely.
    """
    shape = (nx, ny, nz)
    if not all(isinstance(count, Integral) for count in shape):
        raise InputError(f"lattice {nx} x {ny} x {nz}: give whole numbers of particles")
    if min(shape) < 1 or max(shape) < 2:
        raise InputError(f"lattice {nx} x {ny} x {nz}: give at least two particles")
    require_positive("lattice", spacing=spacing)
    positions = spacing * np.indices(shape).reshape(3, -1).T.astype(np.float64)
    number = np.arange(nx * ny * nz).reshape(shape)
    steps = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    if diagonals:
        steps += [(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
    edges = np.concatenate([_shifted(number, step) for step in steps])
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    return Mesh(positions, edges[order], triangles=_skin(number))


def _shifted(number: np.ndarray, step: tuple[int, int, int]) -> np.ndarray:
    """Pairs (m, 2) of particles that lie one step apart."""
    here = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(step, number.shape, strict=True))
    there = tuple(slice(max(0, s), n - max(0, -s)) for s, n in zip(step, number.shape, strict=True))
    return np.sort(pairs(number[here], number[there]), axis=1)


def _skin(number: np.ndarray) -> np.ndarray:
    """Triangles on the outside of the box; a single layer gets one, facing up its axis."""
    triangles = [np.empty((0, 3), dtype=np.int64)]
    for axis in range(3):
        sheets = np.moveaxis(number, axis, 0)
        if axis == 1:  # (z, x) is the pair of axes that turns right-handed about y
            sheets = sheets.transpose(0, 2, 1)
        triangles.append(quad_sheet(sheets[-1]))
        if len(sheets) > 1:
            triangles.append(quad_sheet(sheets[0])[:, ::-1])
    return np.concatenate(triangles)
