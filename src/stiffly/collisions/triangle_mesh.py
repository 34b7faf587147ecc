"""A closed mesh that bodies touch: a statue, a hand, anything rigid that stands or moves."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..backends.cpu import CPU
from ..contracts import Array
from ..kernels.names import MESH, Solid
from ..meshes import Mesh, validate
from ..meshes.morton import morton
from ..meshes.topology import require_closed, triangle_edges
from ..parts.checks import as_elements, as_number, as_numbers
from .broad_phase import side_numbers
from .shapes import Frame, Frames, RigidShape, Surface, planes

SAID = ("surface", "frame", "frames", "numbers", "_nearest", "distances", "solid")
REACH = 0.1  # of the size of the mesh
CELLS = 20  # along its largest side: small enough that cells beyond that reach lie on one side


class TriangleMesh(RigidShape):
    """A solid bounded by triangles; each particle meets the plane at its closest point.

    positions (V, 3) [m], triangles (f, 3) facing outwards: a closed surface (or several).
    motion: keyframes, rotation or path.  The closest points are those at the end of the last
    step: a particle should not move past an edge of the mesh within one step, and one that comes
    in and leaves again within it is not seen (see docs/contact-pairs.md).  reach [m]: particles
    farther outside than this are left alone; default a tenth of the mesh's largest side, and it
    must be more than the margin and what a particle moves in a step together.  Particles inside
    are seen at any depth.
    """

    local = True
    kind = MESH
    changing = (*RigidShape.changing, "_solid")
    _solid: Solid | None = None  # made when somebody asks

    def __init__(
        self, positions: Any, triangles: Any, motion: Any = None, *, reach: float | None = None
    ) -> None:
        super().__init__(motion)
        x, faces = as_numbers("mesh positions", positions), as_elements("triangle", triangles, 3)
        mesh = Mesh(x, np.empty((0, 2), dtype=np.int64), triangles=faces)
        require_closed("the mesh", faces)
        validate(mesh, name="the mesh")
        self.positions, self.triangles = x, faces
        self._low, self._high = x.min(axis=0), x.max(axis=0)
        size = float(np.max(self._high - self._low))
        self._cell = size / CELLS
        self.reach = REACH * size if reach is None else as_number("reach", reach, above=0.0)
        faces = faces[np.argsort(morton(x[faces].mean(axis=1)), kind="stable")]
        corners = x[faces]
        self._tree = CPU.kernels.tree_boxes(corners.min(axis=1), corners.max(axis=1))
        self._faces = faces.astype(np.uint32)
        self._pseudonormals = pseudonormals(x, faces)

    def distances(self, x: Array) -> Array:
        """Signed distances (m,) [m] of points x (m, 3) from the mesh where it was given."""
        return self._nearest(np.ascontiguousarray(x, dtype=np.float64), np.inf)[2]

    def numbers(self, frame: Frame | Frames) -> Array:
        """The rotation as a quaternion (w, x, y, z), for kernels that look for closest points."""
        turned = np.roll(Rotation.from_matrix(frame.rotation).as_quat(), 1, axis=-1)
        return np.concatenate([turned, np.zeros((*turned.shape[:-1], 3))], axis=-1)

    @property
    def solid(self) -> Solid | None:
        kind, own = type(self), TriangleMesh
        if any(getattr(kind, name) is not getattr(own, name) for name in SAID):
            return None
        if self._solid is None:
            cells = self._low, self._high, self._cell, self._middles
            surface = self.positions, self._faces, self._tree, *self._pseudonormals
            self._solid = Solid(*surface, *cells)
        return self._solid

    def surface(self, t: float, x: Array, ahead: float = 0.0) -> Surface:
        frame = self.frame(t)
        p = np.ascontiguousarray(frame.home(x))
        points, normals, distances = self._nearest(p, max(self.reach, ahead))
        far = ~np.isfinite(distances)
        # far from the surface may still be inside: only there the search goes on
        rows = np.flatnonzero(far & np.all((p >= self._low) & (p <= self._high), axis=1))
        rows = rows[self._may_be_inside(p[rows])]
        if rows.size:
            at, n, d = self._nearest(p[rows], np.inf)
            deep = d < 0.0
            points[rows[deep]], normals[rows[deep]], far[rows[deep]] = at[deep], n[deep], False
        return planes(frame.points(points), frame.directions(normals), frame, far)

    @cached_property
    def _middles(self) -> Array:
        """Signed distances (a, b, c) [m] of the middles of cells that fill the mesh's box."""
        counts = np.ceil((self._high - self._low) / self._cell).astype(int) + 1  # for rounding
        cells = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1)
        middles = self._low + self._cell * (cells.reshape(-1, 3) + 0.5)
        return self.distances(middles).reshape(*counts)

    def _may_be_inside(self, p: Array) -> np.ndarray:
        """Mask (m,): not in a cell that lies outside as a whole.  p (m, 3) in the mesh's box."""
        if len(p) == 0:
            return np.zeros(0, dtype=bool)
        i, j, k = ((p - self._low) / self._cell).astype(int).T
        return self._middles[i, j, k] <= 0.5 * np.sqrt(3.0) * self._cell * (1.0 + 1e-9)

    def _nearest(self, p: Array, reach: float) -> tuple[Array, Array, Array]:
        out = np.empty(p.shape), np.empty(p.shape), np.empty(len(p))
        solid = (self.positions, self._faces, self._tree, self._pseudonormals)
        CPU.kernels.nearest_points(p, *solid, reach, *out)
        return out


def pseudonormals(x: Array, faces: np.ndarray) -> tuple[Array, Array, Array]:
    """Normals of triangles (f, 3), of their sides (f, 3, 3), side k facing corner k, and of
    vertices (V, 3): the sums of the unit normals around a side, and around a vertex weighted with
    the angles there (Baerentzen and Aanaes 2005)."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    flat = np.cross(b - a, c - a)
    flat /= np.linalg.norm(flat, axis=1)[:, None]
    edges = triangle_edges(faces)
    number = side_numbers(faces, edges).T.ravel()  # all that face corner 0, then corner 1, corner 2
    around = np.zeros((len(edges), 3))
    np.add.at(around, number, np.tile(flat, (3, 1)))
    corner = np.zeros(x.shape)
    for k in range(3):
        p, q, r = (x[faces[:, (k + j) % 3]] for j in range(3))
        u, w = q - p, r - p
        angle = np.arctan2(np.linalg.norm(np.cross(u, w), axis=1), np.einsum("ij,ij->i", u, w))
        np.add.at(corner, faces[:, k], angle[:, None] * flat)
    return flat, np.ascontiguousarray(around[number].reshape(3, -1, 3).swapaxes(0, 1)), corner
