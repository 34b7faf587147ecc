"""The hand that pulls: a patch of vertices around the pressed one, and how hard it is held.

The springs of the hand must move the body, and must not stiffen the problem.  Together they have
the stiffness that carries the body's weight with a sag of SAG sizes, or that moves the vertices
themselves within a step, mass/step^2 each, if that is more; but never more than

    what swings the whole body once in FOLLOW frames, a pull that can be followed by eye;
    SHARE of e^T K e, what the body resists when the patch alone is moved (e is 1 on the patch, 0
    elsewhere).  With equal masses the Rayleigh quotient e^T K e / e^T M e is no larger than the
    largest eigenvalue of the body, so that explicit methods lose SHARE/2 of their largest step at
    most, and local/global iterations converge without the hand in their matrix.

GENTLE mass/step^2 for each vertex is allowed in any case: next to the inertia of a step no method
feels it.  Measured on the coil of 24,000 coordinates with exprb42 and h = 0.05 s, whose springs are
400 N/m: pulled by 1 m within three frames it keeps its energy with up to 4,200 N/m, and explodes
with 6,600 N/m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from ..bodies import System
from ..contracts import Array
from ..errors import InputError
from ..parts.attachments import PointTies
from ..parts.user_functions import directional_derivative
from ..scenes import Scene
from .settings import Settings

MOST = 12  # vertices
WIDTH = 0.15  # radius of the patch, as a share of the body's size
FOLLOW = 30.0  # frames
SHARE = 0.2
GENTLE = 0.1
SAG = 0.05  # in sizes of the body
REACH = 3.0  # how far a hand can pull, in sizes of the body


@dataclass(frozen=True)
class Grip:
    """particles (k,), each held by a spring of this stiffness [N/m]; reach [m] of the hand.

    slow: the springs swing so slowly that a step can follow them without being told.
    """

    particles: np.ndarray
    stiffness: float
    reach: float
    slow: bool

    def ties(self, system: System, points: Array) -> PointTies:
        """To points (k, 3) [m]."""
        ties = PointTies(self.stiffness, system.pattern, linear=not self.slow)
        ties.tie(system.numbering.rows[self.particles], points)
        return ties

    def moved(self, offset: Any) -> Array:
        """offset (3,) [m] as a hand can go; InputError if it is none."""
        try:
            offset = np.asarray(offset, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            offset = np.full(3, np.nan)
        if offset.shape != (3,) or not np.isfinite(offset).all():
            raise InputError("drag: give the offset of the hand as three finite numbers [m]")
        length = float(np.linalg.norm(offset))
        return offset if length <= self.reach else offset * (self.reach / length)


class Hand:
    """Finds grips on the body of a scene: vertices are near each other along its mesh, at rest."""

    def __init__(self, scene: Scene, system: System) -> None:
        self._mass = system.mass.apply(np.ones(system.size))[::3]  # of the free particles
        self._free, self._shape = system.free, system.numbering.given(system.reference())
        self._size = float(np.linalg.norm(np.ptp(self._shape, axis=0))) or 1.0
        self._graph = _graph(scene.mesh, self._shape)

    def grip(self, system: System, vertex: Any, settings: Settings) -> Grip:
        """Around that vertex; where it cannot move, around the nearest that can."""
        count = len(self._shape)
        wrong = isinstance(vertex, bool) or not isinstance(vertex, (int, np.integer))
        if wrong or not 0 <= vertex < count:
            raise InputError(f"there is no vertex {vertex}: give 0 to {count - 1}")
        centre, near = self._nearest(int(vertex))
        order = np.argsort(near, kind="stable")
        order = order[near[order] <= WIDTH * self._size][:MOST]
        chosen = order if order.size else np.array([centre])
        body = float(self._mass[np.isfinite(near)].sum())
        inertia = chosen.size * float(self._mass[chosen].min()) / settings.step**2
        swing = body * (2.0 * np.pi / (FOLLOW * settings.frame_time)) ** 2
        carry = body * settings.gravity / (SAG * self._size)
        allowed = max(SHARE * self._resistance(system, self._free[chosen]), GENTLE * inertia)
        k = min(swing, max(carry, inertia), allowed)
        return Grip(self._free[chosen], k / chosen.size, REACH * self._size, k <= inertia)

    def _nearest(self, vertex: int) -> tuple[int, Array]:
        """Row of the nearest free particle, and the distances of all free ones from it."""
        near = self._distances(vertex)
        centre = int(np.argmin(near))
        if not np.isfinite(near[centre]):  # nothing free is tied to it
            gaps = self._shape[self._free] - self._shape[vertex]
            centre = int(np.argmin(np.einsum("ij,ij->i", gaps, gaps)))
        if self._free[centre] != vertex:
            near = self._distances(int(self._free[centre]))
        return centre, near

    def _distances(self, vertex: int) -> Array:
        return dijkstra(self._graph, directed=False, indices=vertex)[self._free]

    def _resistance(self, system: System, particles: np.ndarray) -> float:
        """e^T K e [N/m] of the body's own elasticity at rest, mean of the three directions."""
        own, shape, total = system.assembly.own(), system.reference(), 0.0
        for axis in np.eye(3):
            e = np.zeros_like(shape)
            e[system.numbering.rows[particles]] = axis
            total += float(np.vdot(e, directional_derivative(own.gradient, shape, e)))
        return max(total / 3.0, 0.0)


def _graph(mesh: Any, shape: Array) -> sp.csr_matrix:
    """Edges and their lengths; of single particles no edges."""
    edges = np.empty((0, 2), dtype=np.int64)
    if mesh is not None:
        faces = mesh.triangles
        edges = np.concatenate([edges, mesh.edges, faces[:, :2], faces[:, 1:]])
    i, j = np.unique(np.sort(edges, axis=1), axis=0).T
    # a length of zero would be no edge
    length = np.maximum(np.linalg.norm(shape[i] - shape[j], axis=1), np.finfo(float).tiny)
    return sp.csr_matrix((length, (i, j)), shape=(len(shape), len(shape)))
