"""Tetrahedra of regular grids and of layers over a triangle mesh."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from .mesh import tet_volumes


def grid_tets(shape: tuple[int, int, int]) -> np.ndarray:
    """Six tets per cell of a vertex grid (row-major numbering), the same in every cell.

    Each tet is a walk from the cell's first to its last corner, one axis at a time (Kuhn): cells
    agree on the diagonals of the faces they share.
    """
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    corner = np.indices([n - 1 for n in shape]).reshape(3, -1).T @ strides
    tets = []
    for axes in permutations(range(3)):
        walk = np.concatenate([[0], np.cumsum(strides[list(axes)])])
        even = np.linalg.det(np.eye(3)[list(axes)]) > 0.0
        order = [0, 1, 2, 3] if even else [0, 2, 1, 3]
        tets.append(corner[:, None] + walk[order])
    return np.stack(tets, axis=1).reshape(-1, 4)


def alternating_tets(shape: tuple[int, int, int]) -> np.ndarray:
    """Five tets per cell of a vertex grid: a regular one inside, one at each of four corners.

    Neighbouring cells are mirror images, so they agree on the diagonals of the faces they share.
    """
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    cell = np.indices([n - 1 for n in shape]).reshape(3, -1).T
    corners = np.indices((2, 2, 2)).reshape(3, -1).T  # corner 4i + 2j + k of a cell
    even = np.array([[0, 3, 5, 6], [7, 3, 5, 6], [1, 0, 3, 5], [2, 0, 3, 6], [4, 0, 5, 6]])
    mirrored = even ^ 4  # the other end of the first axis
    tables = np.stack([turned_positive(corners, t) for t in (even, mirrored)])
    tets = (cell @ strides)[:, None, None] + (corners @ strides)[tables[cell.sum(axis=1) % 2]]
    return tets.reshape(-1, 4)


def layer_tets(triangles: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Three tets for every prism between a triangle and its copy in the layer above.

    below, above (N,): numbers of each vertex in the two layers. Vertices are taken in the order of
    their numbers, so prisms agree on the diagonals of the quads they share. The tets may be turned
    the wrong way round: see `turned_positive`.
    """
    a, b, c = np.sort(triangles, axis=1).T
    walks = [
        (below[a], below[b], below[c], above[c]),
        (below[a], below[b], above[b], above[c]),
        (below[a], above[a], above[b], above[c]),
    ]
    return np.concatenate([np.stack(walk, axis=1) for walk in walks])


def turned_positive(positions: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """The same tets, those of negative volume with their last two vertices exchanged."""
    turned = tets.copy()
    negative = tet_volumes(positions, tets) < 0.0
    turned[negative, 2:] = tets[negative, :1:-1]
    return turned


def quad_sheet(quad: np.ndarray) -> np.ndarray:
    """Two triangles for every cell of a grid (rows, columns) of vertex numbers."""
    a, b, c, d = (q.ravel() for q in (quad[:-1, :-1], quad[1:, :-1], quad[1:, 1:], quad[:-1, 1:]))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
