"""The pairs that may press, for all positions near a way: looked for anew only when one leaves it.

A list holds every pair that can come within its reach while the particles go, all at the same time,
along the way from one place to another, each with some room around it.  Energies and forces are
sums over pairs that are near, and those farther away contribute nothing: which list is asked makes
no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..contracts import Array
from ..kernels.names import EDGE_EDGE, VERTEX_EDGE, VERTEX_FACE
from .broad_phase import BroadPhase

ROOM = 0.1  # thicknesses around the way, and as much of the usual way: for what turns aside
PARALLEL = 1e-3  # of |u|^2 |v|^2: edges with a smaller cross product fade (Li et al. 2020)


@dataclass(frozen=True, slots=True, eq=False)
class PairList:
    """kinds (m,), stencil (m, 4), reach (m,) [m], soft (m,): see kernels barrier; x, move (N, 3)
    [m]: particles may be at x + s move, 0 <= s <= 1, up to `room` [m] off in every coordinate."""

    kinds: np.ndarray
    stencil: np.ndarray
    reach: Array
    soft: Array
    x: Array
    move: Array
    room: float
    kernels: Any

    def covers(self, x: Array) -> bool:
        """Then x is in a convex set: the way between two places that are covered stays in it."""
        off, square = x - self.x, float(np.vdot(self.move, self.move))
        if square > 0.0:
            s = float(np.vdot(off, self.move)) / square
            off -= min(max(s, 0.0), 1.0) * self.move
        return bool(np.abs(off).max(initial=0.0) <= self.room)

    def rows(self, kept: np.ndarray) -> PairList:
        kinds, stencil, reach, soft = (a[kept] for a in self.terms)
        return replace(self, kinds=kinds, stencil=stencil, reach=reach, soft=soft)

    @property
    def terms(self) -> tuple[np.ndarray, np.ndarray, Array, Array]:
        """As the kernels ask for them."""
        return self.kinds, self.stencil, self.reach, self.soft

    def distances(self, x: Array) -> Array:
        out = np.empty(len(self.stencil))
        self.kernels.pair_distances(x, self.kinds, self.stencil, out)
        return out


def find_pairs(broad: BroadPhase, rest: Array, x: Array, end: Array, thickness: float) -> PairList:
    """Around the way from x to end (N, 3) [m]."""
    move = end - x
    aside = float((move - move.mean(axis=0)).std())  # a common flight needs no room
    room = ROOM * (thickness + aside)
    found, parts = broad.candidates(x, 0.5 * thickness + room, move), broad.elements
    faces, edges = parts.faces.corners, parts.edges.corners
    strands = edges[found.vertex_edge[:, 1]]
    stencil = np.concatenate(
        [
            np.hstack([found.vertex_face[:, :1], faces[found.vertex_face[:, 1]]]),
            np.hstack([found.vertex_edge[:, :1], strands, strands[:, :1]]),
            np.hstack([edges[found.edge_edge[:, 0]], edges[found.edge_edge[:, 1]]]),
        ]
    ).astype(np.uint32)
    counts = [len(found.vertex_face), len(found.vertex_edge), len(found.edge_edge)]
    kinds = np.repeat(np.array([VERTEX_FACE, VERTEX_EDGE, EDGE_EDGE]), counts)
    reach, soft = np.empty((2, len(stencil)))
    near = broad.kernels.near_pairs(
        x, move, rest, parts.piece, kinds, stencil, thickness, room, PARALLEL, reach, soft
    )
    return PairList(kinds, stencil, reach, soft, x.copy(), move, room, broad.kernels).rows(near)
