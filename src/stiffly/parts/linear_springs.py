"""Springs of linear elasticity: the stiffness matrix is that of the rest shape, wherever it goes.

Michels, Sobottka, Weber 2014 call such models linear (Sec. 5.2): K never changes, so that its
matrix functions are computed once.  A body that turns far is distorted; Springs are not.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array
from ..errors import InputError
from ..kernels.names import NO_SLOT
from .checks import as_elements, as_number, per_element, require_below
from .part import Arranged, Particles, Scalable
from .pattern import BlockPattern, pair_laplacian
from .terms import SteadyTerm, Term


class LinearSprings(Scalable):
    """E = sum k/2 ((n.w)^2 + across |w - (n.w) n|^2), w = u_j - u_i, u the displacements from rest,
    n the direction of the spring at rest.

    edges (m, 2), stiffness k [N/m]: one number or (m,).  across: share of k that resists motion
    sideways; 0 for bars that turn freely about their ends (the tangent of Springs at rest), about
    12 (radius of gyration / length)^2 for riveted ones, 1 for springs that treat x, y and z alike.
    """

    def __init__(
        self, edges: Any, stiffness: Any, across: float = 0.0, *, name: str = "elastic"
    ) -> None:
        self.name = name
        self.edges = as_elements("spring", edges, 2)
        self.stiffness = per_element("stiffness", stiffness, len(self.edges))
        self.across = as_number("across", across, least=0.0)

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("spring", self.edges, particles.count)
        return self.edges

    def prepare(self, particles: Arranged) -> PreparedLinearSprings:
        if particles.rest is None:
            raise InputError("linear springs need a rest shape: give System(..., rest=X)")
        i, j = self.edges.T
        d = particles.rest[j] - particles.rest[i]
        length = np.linalg.norm(d, axis=1, keepdims=True)
        if not np.all(length > 0.0):
            k = int(np.argmin(length))
            raise InputError(
                f"spring {k} ({i[k]}-{j[k]}) has no length at rest: move its ends apart"
            )
        n = d / length
        along = n[:, :, None] * n[:, None, :]
        blocks = self.stiffness[:, None, None] * (along + self.across * (np.eye(3) - along))
        edges, rest = particles.rows[self.edges], particles.rest[particles.order]
        return PreparedLinearSprings(edges, blocks, rest, particles.pattern)


class PreparedLinearSprings:
    """The stiffness (m, 3, 3) [N/m] of every spring, and the slots of its four blocks."""

    linear = bounded = pairwise = True

    def __init__(
        self, edges: np.ndarray, stiffness: Array, rest: Array, pattern: BlockPattern
    ) -> None:
        i, j = edges.T
        m, row = len(edges), np.arange(len(edges))
        signs = np.concatenate([-np.ones(m), np.ones(m)])
        places = (np.concatenate([row, row]), np.concatenate([i, j]))
        self._difference = sp.csr_matrix((signs, places), shape=(m, len(rest)))
        self._gather = self._difference.T.tocsr()
        self._stiffness, self._rest, self._edges = stiffness, rest, edges
        self._pattern = pattern

    @cached_property
    def _blocks(self) -> tuple[np.ndarray, Array]:
        """Slots (k,) and blocks (k, 3, 3) of free particles."""
        i, j = self._edges.T
        pairs = ((i, i), (j, j), (i, j), (j, i))
        slots = np.concatenate([self._pattern.slots(r, c) for r, c in pairs])
        kept, B = slots != NO_SLOT, self._stiffness
        return slots[kept], np.concatenate([B, B, -B, -B])[kept]

    def _stretch(self, x: Array) -> tuple[Array, Array]:
        """w and the forces B w, both (m, 3)."""
        w = self._difference @ (x - self._rest)
        return w, np.einsum("mij,mj->mi", self._stiffness, w)

    def energy(self, x: Array) -> float:
        w, force = self._stretch(x)
        return 0.5 * float(np.vdot(w, force))

    def terms(self) -> list[Term]:
        return [SteadyTerm(self._edges, self._stiffness, self._rest)]

    def stresses(self, x: Array) -> tuple[np.ndarray, Array, str]:
        along = self._difference @ self._rest
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        return self._edges, np.einsum("mi,mi->m", along, self._stretch(x)[1]), "N"

    def add_gradient(self, x: Array, out: Array) -> None:
        out += self._gather @ self._stretch(x)[1]

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        np.add.at(blocks, *self._blocks)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        self.add_gradient(0.5 * (x0 + x1), out)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        slots, B = self._blocks
        np.add.at(blocks, slots, 0.5 * B)

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """The largest stiffness of each spring, in all directions."""
        return pair_laplacian(self._edges, np.linalg.eigvalsh(self._stiffness)[:, -1])
