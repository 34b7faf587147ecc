"""Filling a surface on a lattice without losing what is thinner than a cell.

Isosurface stuffing (stuffing.py) forgets ears and tails that slip between the vertices of its
lattice.  So the filling is compared with the surface: where some of it lies further than FAR cells
from every tet, the lattice vertex nearest to the middle of the body there becomes the centre of a
ball of BALL cells, which the body is grown by.  Such a vertex is never moved to the surface (BALL
is more than stuffing moves anything), so that tets round it stay; and vertices nearest to
successive points of a curve are neighbours in the lattice, so that they hang together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from ..contracts import Array
from .mesh import normals, row_keys, tet_faces, tet_surface, used_only
from .signed_distance import SignedDistance
from .stuffing import NEAR_SHORT, fill, nearest_vertices
from .topology import boxes, components

FAR = 0.5  # cells from the nearest tet: what is further away is lost
BALL = NEAR_SHORT * np.sqrt(0.75) * 1.1  # cells: short edges of the lattice are sqrt(3/4) long
ROUNDS = 4  # fillings of one spacing; the scans that were tried took two or three
CRUMB = 0.02  # of a piece's surface: tets that hang apart are left out up to here
DENSE = 0.5  # cells between the points of a surface that are looked at
MARGIN = 1.1  # cells round the surface: the farthest that a ball reaches, sqrt(5)/4 + BALL, and air


class Samples(NamedTuple):
    """Points (n, 3) of a surface, unit normals outwards (n, 3), number (n,) of their piece."""

    points: Array
    normals: Array
    piece: np.ndarray


def filled(
    field: SignedDistance, positions: Array, triangles: np.ndarray, spacing: float
) -> tuple[Array, np.ndarray]:
    """Vertices (N, 3) and tets (t, 4) within a surface, all of which lies near one of them.

    field: that of the surface, closed.  A piece of the surface that is smaller than a cell and has
    no tet is left out; so are crumbs, which hang together with no other tets of their piece.
    """
    samples = _samples(positions, triangles, spacing)
    low, high = positions.min(axis=0) - MARGIN * spacing, positions.max(axis=0) + MARGIN * spacing
    balls = np.empty((0, 3))
    points, tets, crumbs = balls, np.empty((0, 4), dtype=np.int64), np.zeros(0, dtype=bool)
    for attempt in range(ROUNDS):
        grown = _grown(field, balls, BALL * spacing)
        points, tets = fill(grown, low, high, spacing, bounded=True)
        lost, loose, crumbs = _lost(points, tets, samples, spacing)
        if loose.any():  # what lies between them and the rest is grown as well, wider every time
            gaps = [KDTree(points[np.unique(t)]) for t in (tets[loose], tets[~loose])]
            apart = np.max([tree.query(samples.points)[0] for tree in gaps], axis=0)
            lost |= apart < DENSE * (attempt + 1) * spacing
        if not lost.any():
            break
        inner = _inner(field, samples.points[lost], samples.normals[lost], spacing)
        balls = np.concatenate([balls, nearest_vertices(inner, low, high, spacing)])
    return used_only(points, tets[~crumbs])


def _grown(field: SignedDistance, centres: Array, radius: float) -> Callable[[Array], Array]:
    if len(centres) == 0:
        return field
    tree = KDTree(centres)
    return lambda points: np.maximum(field(points), radius - tree.query(points)[0])


def _lost(
    points: Array, tets: np.ndarray, samples: Samples, spacing: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masks: samples that no tet is near to; tets that are no piece's main part; and of those the
    ones that few of its samples are near to."""
    if len(tets) == 0:
        none = np.zeros(0, dtype=bool)
        return _large(samples, spacing), none, none
    depth = SignedDistance(points, tet_surface(tets))(samples.points)
    lost = (depth < -FAR * spacing) & _large(samples, spacing)
    part = parts(tets)
    nearest = part[KDTree(points[tets].mean(axis=1)).query(samples.points)[1]]
    votes = np.zeros((samples.piece.max() + 1, part.max() + 1), dtype=np.int64)
    np.add.at(votes, (samples.piece[~lost], nearest[~lost]), 1)
    homes = np.unique(votes.argmax(axis=1)[votes.any(axis=1)])
    share = (votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)).max(axis=0)
    loose = ~np.isin(part, homes)
    return lost, loose, loose & (share < CRUMB)[part]


def _large(samples: Samples, spacing: float) -> np.ndarray:
    """Mask (n,): samples of pieces larger than a cell, or of the largest."""
    low, high = boxes(samples.piece.max() + 1, samples.piece, samples.points)
    size = np.linalg.norm(high - low, axis=1)
    return ((size >= spacing) | (size == size.max()))[samples.piece]


def parts(tets: np.ndarray) -> np.ndarray:
    """Number (t,) of the part that each tet belongs to: tets hang together by whole faces."""
    key = row_keys(np.sort(tet_faces(tets), axis=1))
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    owner = order % len(tets)
    return components(len(tets), np.stack([owner[same], owner[same + 1]], axis=1))


def _inner(field: SignedDistance, points: Array, normals: Array, spacing: float) -> Array:
    """The deepest of the points straight below each, down to half a cell."""
    below = points[None] - np.linspace(0.0, 0.5 * spacing, 9)[:, None, None] * normals
    depth = field(below.reshape(-1, 3)).reshape(below.shape[:2])
    return below[depth.argmax(axis=0), np.arange(len(points))]


def _samples(positions: Array, triangles: np.ndarray, spacing: float) -> Samples:
    """The middles of small triangles, a grid on large ones; one of those in the same quarter."""
    piece = components(len(positions), triangles[:, [[0, 1], [1, 2]]].reshape(-1, 2))
    corners, normal = positions[triangles], normals(positions, triangles)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.finfo(float).tiny)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    cuts = np.ceil(longest / (DENSE * spacing)).astype(int)
    points, owner = [], []
    for n in np.unique(cuts):
        rows = np.flatnonzero(cuts == n)
        points.append(np.einsum("gk,tkd->tgd", _grid(max(n, 1)), corners[rows]).reshape(-1, 3))
        owner.append(np.repeat(rows, len(points[-1]) // len(rows)))
    found, face = np.concatenate(points), np.concatenate(owner)
    place = np.floor(found / (0.5 * DENSE * spacing)).astype(np.int64)
    _, first = np.unique(row_keys(place - place.min(axis=0)), return_index=True)
    face = face[first]
    return Samples(found[first], normal[face], piece[triangles[face, 0]])


def _grid(n: int) -> Array:
    """Weights (g, 3) of evenly spread points inside a triangle whose sides are cut into n."""
    if n == 1:
        return np.full((1, 3), 1.0 / 3.0)
    i, j = np.nonzero(np.add.outer(np.arange(n + 1), np.arange(n + 1)) <= n)
    return np.stack([i, j, n - i - j], axis=1) / n
