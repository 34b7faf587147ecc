"""The record that every shape comes back as, and what follows from its tetrahedra."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from ..contracts import Array
from ..errors import InputError


def _no_rows(columns: int) -> np.ndarray:
    return np.empty((0, columns), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Mesh:
    """positions (N, 3) [m], edges (m, 2), tets (t, 4), surface triangles (s, 3) facing outwards.

    A tet (a, b, c, d) has positive volume: (b - a) . ((c - a) x (d - a)) > 0.
    """

    positions: Array
    edges: np.ndarray
    tets: np.ndarray = field(default_factory=lambda: _no_rows(4))
    triangles: np.ndarray = field(default_factory=lambda: _no_rows(3))


def mesh_of_tets(positions: Array, tets: np.ndarray) -> Mesh:
    """A mesh with the edges and the surface of its tets; InputError names an inverted one."""
    bad = np.flatnonzero(~(tet_volumes(positions, tets) > 0.0))
    if bad.size:
        raise InputError(f"tet {bad[0]} is flat or inverted: check the shape's dimensions")
    return Mesh(positions, tet_edges(tets), tets, tet_surface(tets))


def tet_volumes(positions: Array, tets: np.ndarray) -> Array:
    """Signed volumes (t,) [m^3]."""
    a, b, c, d = (positions[tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a)) / 6.0


def tet_edges(tets: np.ndarray) -> np.ndarray:
    """Unique edges (m, 2), i < j, sorted."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    edges = np.concatenate([tets[:, pair] for pair in pairs])
    return np.unique(np.sort(edges, axis=1), axis=0)


def tet_surface(tets: np.ndarray) -> np.ndarray:
    """Faces (s, 3) that belong to one tet only, facing outwards."""
    faces = np.concatenate([tets[:, f] for f in ([0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3])])
    _, first, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return faces[np.sort(first[count == 1])]


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
