"""Springs that keep tetrahedra from collapsing."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array
from ..errors import InputError
from ..kernels.names import CONVEX, SECANT
from .checks import as_elements, as_numbers, per_element, require, require_below, require_points
from .part import Arranged, Particles, Scalable
from .pattern import BlockPattern

KERNELS = (
    *("face_spring_energy", "face_spring_gradient", "face_spring_blocks"),
    *("face_spring_mean_gradient", "face_spring_mean_blocks"),
)


class FaceSprings(Scalable):
    """E = sum k/2 (|x_a - (x_b + x_c + x_d)/3| - l)^2, four springs in each tet.

    Each joins a vertex to the centre of the opposite face (Michels, Luan, Tokman 2017, Sec. 4.1):
    the springs along the edges alone let a tet turn inside out.  tets (t, 4): particle indices;
    stiffness k [N/m]: one number or (t,).  Lengths l are those of the rest positions (N, 3),
    given here or to the System.
    """

    def __init__(
        self,
        tets: Any,
        stiffness: Any,
        *,
        rest_positions: Any = None,
        name: str = "elastic",
    ) -> None:
        self.name = name
        self.tets = as_elements("tet", tets, 4)
        self.stiffness = per_element("stiffness", stiffness, len(self.tets))
        good = self.stiffness >= 0.0
        require("tet", self.tets, good, "stiffness is negative", "give k >= 0 in N/m")
        self.rest = None
        if rest_positions is not None:
            self.rest = self._lengths(as_numbers("rest_positions", rest_positions))

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("tet", self.tets, particles.count)
        return np.concatenate([self.tets[:, pair] for pair in combinations(range(4), 2)])

    def prepare(self, particles: Arranged) -> PreparedFaceSprings:
        rest = self.rest
        if rest is None:
            if particles.rest is None:
                raise InputError(
                    "face springs have no rest lengths: give FaceSprings(..., rest_positions=X) "
                    "or System(..., rest=X)"
                )
            rest = self._lengths(particles.rest)
        tets = particles.rows[self.tets]
        return PreparedFaceSprings(tets, self.stiffness, rest, particles.pattern)

    def _lengths(self, positions: Array) -> Array:
        """(t, 4) [m]."""
        require_points("rest_positions", positions)
        require(
            "tet",
            self.tets,
            (self.tets < len(positions)).all(axis=1),
            f"rest_positions has only {len(positions)} particles",
            "give a rest position for each",
        )
        corners = positions[self.tets]
        offsets = (4.0 * corners - corners.sum(axis=1, keepdims=True)) / 3.0
        lengths = np.linalg.norm(offsets, axis=2)
        require(
            "tet",
            self.tets,
            (lengths > 0.0).all(axis=1),
            "a vertex lies at the centre of the opposite face at rest",
            "leave flat tets out",
        )
        return lengths


class PreparedFaceSprings:
    """Corners sorted by particle, each with the slots of its four blocks."""

    linear = False
    bounded = True
    pairwise = False
    internal = True

    # Why `pressed` bounds the spectrum. A spring acts on w = u_a - (u_b + u_c + u_d)/3 as springs
    # between two particles act on u_i - u_j (see springs.py): w^T K w >= -p |w|^2, and
    #     |w|^2 <= 2 |u_a|^2 + 2 |(u_b + u_c + u_d)/3|^2 <= 2 (|u_a|^2 + sum of |u_b|^2 / 3).
    # So p at the vertex and p/3 at each corner of the face. K <= 2 diag(K) does not hold: the
    # corners of the face have 1/9 on the diagonal.

    def __init__(
        self, tets: np.ndarray, stiffness: Array, rest: Array, pattern: BlockPattern
    ) -> None:
        self._kernels = take(pattern.backend, "FaceSprings", *KERNELS)
        corners = tets.ravel()
        order = np.argsort(corners, kind="stable")
        start = np.searchsorted(corners[order], np.arange(pattern.count + 1))
        self._springs = (tets.astype(np.uint32), stiffness, rest)
        self._corners = (start.astype(np.uint32), order.astype(np.uint32))
        rows, columns = np.repeat(corners, 4), np.repeat(tets, 4, axis=0).ravel()
        self._slots = (pattern.diagonal, pattern.slots(rows, columns).reshape(-1, 4))

    def energy(self, x: Array) -> float:
        return self._kernels.face_spring_energy(x, *self._springs)

    def add_gradient(self, x: Array, out: Array) -> None:
        self._kernels.face_spring_gradient(x, *self._springs, *self._corners, out)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        self._kernels.face_spring_blocks(
            x, *self._springs, *self._corners, *self._slots, blocks, pressed
        )

    def add_convex_blocks(self, x: Array, blocks: Array) -> None:
        """Adds d2E/dx2 without the negative stiffness across compressed springs."""
        half, ignored = (*self._corners, *self._slots), np.zeros(len(x))
        self._kernels.face_spring_blocks(x, *self._springs, *half, blocks, ignored, CONVEX)

    def add_secant(self, x: Array, blocks: Array, pressed: Array | None = None) -> None:
        """Adds K_sec with dE/dx = K_sec(x) x, fixed particles' columns left out."""
        pressed = np.zeros(len(x)) if pressed is None else pressed
        half = (*self._corners, *self._slots)
        self._kernels.face_spring_blocks(x, *self._springs, *half, blocks, pressed, SECANT)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        self._kernels.face_spring_mean_gradient(x0, x1, *self._springs, *self._corners, out)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        half = (*self._corners, *self._slots)
        self._kernels.face_spring_mean_blocks(x0, x1, *self._springs, *half, blocks)

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """k w w^T of each spring's weights, 1 and -1/3: as for springs between two particles,
        K <= L (x) I_3 always, since a spring is k stiff along itself and less across."""
        tets, stiffness, _ = self._springs
        weights = (4.0 * np.eye(4) - 1.0) / 3.0  # of corner c (column) in spring s (row)
        values = stiffness[:, None, None] * (weights.T @ weights)
        rows, columns = np.repeat(tets, 4, axis=1), np.tile(tets, 4)
        return rows.ravel().astype(np.int64), columns.ravel().astype(np.int64), values.ravel()
