"""The pairs that may press, for all positions near a way: looked for anew only when one leaves it.

A list holds every pair that can come within its reach while each particle stays in a box around
the way from one place to another.  Energies and forces are sums over pairs that are near, and those
farther away contribute nothing: which list is asked makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts import Array
from ..kernels import cpu
from .broad_phase import BroadPhase

ROOM = 0.25  # thicknesses around the way, and as much of the usual way: for what turns aside
PARALLEL = 1e-3  # of |u|^2 |v|^2: edges with a smaller cross product fade (Li et al. 2020)


@dataclass(frozen=True, slots=True, eq=False)
class PairList:
    """kinds (m,), stencil (m, 4), reach (m,) [m], soft (m,): see kernels barrier; low, high (N, 3)
    [m]: where particles may be."""

    kinds: np.ndarray
    stencil: np.ndarray
    reach: Array
    soft: Array
    low: Array
    high: Array

    def covers(self, x: Array) -> bool:
        return bool(np.all(x >= self.low) and np.all(x <= self.high))

    def rows(self, kept: np.ndarray) -> PairList:
        pairs = (a[kept] for a in (self.kinds, self.stencil, self.reach, self.soft))
        return PairList(*pairs, self.low, self.high)

    @property
    def terms(self) -> tuple[np.ndarray, np.ndarray, Array, Array]:
        """As the kernels ask for them."""
        return self.kinds, self.stencil, self.reach, self.soft

    def distances(self, x: Array) -> Array:
        out = np.empty(len(self.stencil))
        cpu.pair_distances(x, self.kinds, self.stencil, out)
        return out


def look(broad: BroadPhase, rest: Array, x: Array, end: Array, thickness: float) -> PairList:
    """Around the way from x to end (N, 3) [m]."""
    move = end - x
    aside = float(move.std())  # a common flight needs no room, and a few that fly off get none
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
    kinds = np.repeat(np.array([cpu.VERTEX_FACE, cpu.VERTEX_EDGE, cpu.EDGE_EDGE]), counts)
    reach, soft = np.empty((2, len(stencil)))
    near = cpu.near_pairs(
        x, move, rest, parts.piece, kinds, stencil, thickness, room, PARALLEL, reach, soft
    )
    low, high = np.minimum(x, x + move) - room, np.maximum(x, x + move) + room
    return PairList(kinds, stencil, reach, soft, low, high).rows(near)
