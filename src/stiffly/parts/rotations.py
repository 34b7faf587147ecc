"""How far each particle's neighbourhood has turned from the rest shape (co-rotational methods)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..backends.cpu import CPU
from ..backends.kernels import take
from ..contracts import Array, Backend

# Below this ratio of singular values a star counts as collinear: the turn about its own axis is
# then not determined, and noise must not choose it.
COLLINEAR = 1e-6


class Stars:
    """The edges from each particle to its neighbours, at rest."""

    def __init__(self, edges: np.ndarray, rest: Array, free: int, backend: Backend = CPU) -> None:
        """edges (m, 2), rest (N, 3); free: the rotations of so many particles are wanted."""
        self._kernels = take(backend, "ceti", "signed_svd")
        self._edges = edges
        self._rest = rest[edges[:, 1]] - rest[edges[:, 0]]
        edge, end = np.nonzero(edges < free)
        self._incidence = sp.csr_matrix(
            (np.ones(edge.size), (edges[edge, end], edge)), shape=(free, len(edges))
        )

    def rotations(self, x: Array) -> Array:
        """Rotations (n, 3, 3) that best turn each particle's rest star into that of x (N, 3).

        R_i maximises trace(R^T S_i) over rotations, S_i = sum_j (x_j - x_i)(X_j - X_i)^T.  Planar
        stars (cloth) determine it, because a rotation is given by its action on a plane;
        collinear stars (ropes) get the smallest rotation that turns their axis; particles without
        neighbours get I.
        """
        now = x[self._edges[:, 1]] - x[self._edges[:, 0]]
        S = self._incidence @ (now[:, :, None] * self._rest[:, None, :]).reshape(-1, 9)
        # U and V are rotations: where the best orthogonal matrix would reflect, the least
        # determined axis is turned over.
        U, sigma, V = self._kernels.signed_svd(S.reshape(-1, 3, 3))
        R = U @ V.transpose(0, 2, 1)
        collinear = np.flatnonzero(sigma[:, 1] <= COLLINEAR * sigma[:, 0])
        R[collinear] = smallest_rotations(V[collinear, :, 0], U[collinear, :, 0])
        R[sigma[:, 0] == 0.0] = np.eye(3)
        return R


def smallest_rotations(a: Array, b: Array) -> Array:
    """Rotations (m, 3, 3) by the smallest angle that turn unit vectors a into b, both (m, 3).

    Two reflections, across the plane normal to a and then the one normal to a + b: accurate at
    every angle.  For b = -a the axis is any normal of a.
    """
    half = a + b
    length = np.linalg.norm(half, axis=1, keepdims=True)
    # any unit vector normal to a: cross it with the coordinate axis it is least aligned with
    normal = np.cross(a, np.eye(3)[np.argmin(np.abs(a), axis=1)])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    opposite = length < 1e-12
    half = np.where(opposite, normal, half / np.where(opposite, 1.0, length))
    return _reflections(half) @ _reflections(a)


def _reflections(n: Array) -> Array:
    return np.eye(3) - 2.0 * n[:, :, None] * n[:, None, :]
