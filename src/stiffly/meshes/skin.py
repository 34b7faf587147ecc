"""A surface embedded in tets: it moves with them, however coarse they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from ..contracts import Array
from .mesh import tet_surface
from .signed_distance import SignedDistance

FEW, MANY = 24, 1000  # nearest tets to look at, and where a point lies in none of the few
CHUNK = 20_000  # points at a time
BESIDE = 1e-9  # barycentric coordinates down to minus this: in the tet, but for rounding


@dataclass(frozen=True, slots=True, repr=False)
class Skin:
    """Vertices W x (n, 3) of a surface over particles x (N, 3), and its triangles (s, 3).

    Vertex i is sum_k weights[i, k] x[corners[i, k]], corners (n, 4) those of its tet.  Weights of a
    vertex sum to one, so that W takes affine motions to affine motions; those of a vertex outside
    all tets are partly negative.  particles (m,): what the surface stands for in pictures.
    uv (s, 3, 2): texture coordinates of its corners, NaN where there are none.
    """

    corners: np.ndarray
    weights: Array
    triangles: np.ndarray
    particles: np.ndarray
    uv: Array | None = None

    def __repr__(self) -> str:
        return f"Skin({len(self.corners)} vertices, {len(self.triangles)} triangles)"

    def values(self, x: Array) -> Array:
        """W x (n, k) of values x (N, k) of the particles: positions, velocities, colours."""
        return np.einsum("ij,ijk->ik", self.weights, x[self.corners])

    def renumbered(self, number: np.ndarray) -> Skin:
        """Over particles of other numbers: old particle i is number[i]."""
        return replace(self, corners=number[self.corners], particles=number[self.particles])


def joined(skins: list[Skin]) -> Skin | None:
    """Several skins over the same particles as one; None where there is none."""
    if not skins:
        return None
    first = np.cumsum([0, *(len(skin.corners) for skin in skins)])
    return Skin(
        np.concatenate([skin.corners for skin in skins]),
        np.concatenate([skin.weights for skin in skins]),
        np.concatenate([s.triangles + n for s, n in zip(skins, first, strict=False)]),
        np.concatenate([skin.particles for skin in skins]),
        joined_uv([(skin.uv, len(skin.triangles)) for skin in skins]),
    )


def joined_uv(each: list[tuple[Array | None, int]]) -> Array | None:
    """Texture coordinates one after the other, NaN for so many triangles where there are none."""
    if all(uv is None for uv, _ in each):
        return None
    return np.concatenate([np.full((n, 3, 2), np.nan) if uv is None else uv for uv, n in each])


def embedded(points: Array, triangles: np.ndarray, positions: Array, tets: np.ndarray) -> Skin:
    """The surface of points (n, 3) in tets (t, 4) over positions (N, 3).

    A vertex belongs to the tet that it lies deepest in, or least outside of: the one of those near
    it whose smallest barycentric coordinate is the largest.
    """
    centres = KDTree(positions[tets].mean(axis=1))
    best = np.empty(len(points), dtype=np.int64)
    weights = np.empty((len(points), 4))

    def look(rows: np.ndarray, count: int) -> None:
        near = np.reshape(centres.query(points[rows], k=min(count, len(tets)))[1], (len(rows), -1))
        found = _barycentric(points[rows], positions, tets[near])
        choice = found.min(axis=2).argmax(axis=1)
        here = np.arange(len(rows))
        best[rows], weights[rows] = near[here, choice], found[here, choice]

    for rows in np.array_split(np.arange(len(points)), 1 + len(points) // CHUNK):
        look(rows, FEW)
    missed = np.flatnonzero(weights.min(axis=1) < -BESIDE)
    field = SignedDistance(positions, tet_surface(tets))
    for row in missed[field.windings(points[missed]) > 0]:  # inside after all, far from the middle
        look(np.array([row]), MANY)
    return Skin(tets[best], weights, triangles, np.arange(len(positions)))


def _barycentric(points: Array, positions: Array, tets: np.ndarray) -> Array:
    """Coordinates (n, k, 4) of points (n, 3) in tets (n, k, 4): those of corner 0 complete them."""
    a, b, c, d = (positions[tets[..., i]] for i in range(4))
    u, v, w, r = b - a, c - a, d - a, points[:, None] - a
    vw, wu, uv = np.cross(v, w), np.cross(w, u), np.cross(u, v)
    six = np.einsum("nki,nki->nk", u, vw)
    rest = np.stack([np.einsum("nki,nki->nk", r, m) / six for m in (vw, wu, uv)], axis=2)
    return np.concatenate([1.0 - rest.sum(axis=2, keepdims=True), rest], axis=2)
