"""f(A) b by Lanczos: one basis per column serves every function and every tau.

A V = V T in the operator's own inner product, f(A) b ~ |b| V f(T) e_1.  Columns advance together,
so that two of them share one pass over the matrix.  A few very stiff outliers cost a few products
here (each Ritz value finds one), where a Chebyshev series pays for them in full.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh_tridiagonal

from ..contracts import Action, Array, SpectralMap
from ..errors import NotConverged
from .operators import BaseOperator
from .tolerance import (
    ROUNDING,
    allowed_error,
    check_tol,
    conditioning,
    extrapolated,
    relative_error,
    require_finite,
)

_MEMORY = 1.0e9  # bytes a basis may take
_PLATEAU = 30  # while tau omega / 2 > m, a small basis may stand still without having converged
_LOOK_BACK = 3  # changes are measured over at least this many vectors


class _Basis:
    """Three-term recurrences for p columns at once."""

    def __init__(self, A: BaseOperator, B: Array) -> None:
        self.A = A
        self.norms = np.sqrt(A.dot(B, B))
        self.V = [B / np.where(self.norms > 0.0, self.norms, 1.0)]
        self.alpha: list[Array] = []
        self.beta: list[Array] = [np.zeros(B.shape[1])]
        self.size = 0

    def grow(self) -> None:
        v = self.V[-1]
        w = self.A.apply(v)
        if self.size:
            w -= self.beta[-1] * self.V[-2]
        alpha = self.A.dot(w, v)
        w -= alpha * v
        beta = np.sqrt(self.A.dot(w, w))
        floor = 1e-14 * (np.abs(self.alpha[0] if self.alpha else alpha) + beta)
        alive = beta > floor  # an invariant subspace is exact: the column stops contributing
        self.V.append(w * np.where(alive, 1.0 / np.where(alive, beta, 1.0), 0.0))
        self.alpha.append(alpha)
        self.beta.append(np.where(alive, beta, 0.0))
        self.size += 1

    def tridiagonal(self, column: int, size: int) -> tuple[Array, Array]:
        diagonal = np.array([a[column] for a in self.alpha[:size]])
        return diagonal, np.array([b[column] for b in self.beta[1:size]])

    def coefficients(self, functions: SpectralMap, column: int, size: int) -> Array:
        """|b| f_j(T) e_1 for every output j: (n_out, size)."""
        theta, S = eigh_tridiagonal(*self.tridiagonal(column, size))
        F = functions(theta)[:, column]
        return self.norms[column] * ((F * S[0]) @ S.T)

    def top(self) -> float:
        """Upper bound of the largest Ritz value (Gershgorin)."""
        return float(np.abs(self.alpha).max() + 2.0 * np.abs(self.beta).max())

    def phase(self, functions: SpectralMap) -> float:
        """tau omega_max, as far as the basis knows the spectrum."""
        return getattr(functions, "longest", 0.0) * float(np.sqrt(self.top()))

    def combine(self, y: Array) -> Array:
        """sum_k V_k[:, c] y[c, j, k]: (n_out, n)."""
        out = np.zeros((y.shape[1], self.A.size))
        for k in range(y.shape[2]):
            out += (self.V[k] @ y[:, :, k]).T
        return out


def _estimate(basis: _Basis, functions: SpectralMap) -> tuple[Array, Array, Array]:
    """Coefficients (p, n_out, m), estimated errors (n_out,), sums of norms (n_out,)."""
    m = basis.size
    window = max(_LOOK_BACK, m // 6)

    def coefficients(size: int) -> Array:
        y = np.zeros((functions.n_in, functions.n_out, m))
        for c in range(functions.n_in):
            y[c, :, :size] = basis.coefficients(functions, c, size)
        return y

    y = coefficients(m)
    require_finite(y)
    sums = np.linalg.norm(y, axis=2).sum(axis=0)
    noise = max(10.0 * ROUNDING, conditioning(functions, basis.top()))
    if not basis.beta[-1].any():  # an invariant subspace: exact
        error = np.zeros(functions.n_out)
    elif m <= 2 * window or m < min(_PLATEAU, 0.5 * basis.phase(functions)):
        error = np.full(functions.n_out, np.inf)
    else:
        middle = coefficients(m - window)
        recent = np.linalg.norm(y - middle, axis=2).sum(axis=0)
        earlier = np.linalg.norm(middle - coefficients(m - 2 * window), axis=2).sum(axis=0)
        error = extrapolated(recent, earlier, noise * sums)
    return y, error, sums


def lanczos(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_basis: int = 1000,
) -> Action:
    """Every output to the tolerance, or NotConverged when the basis may not grow further."""
    check_tol(tol)
    B = np.stack(columns, axis=1)
    limit = min(max_basis, max(8, int(_MEMORY / (8 * B.size))))
    basis = _Basis(A, B)
    require_finite(basis.norms)
    if not basis.norms.any():
        return Action(np.zeros((functions.n_out, A.size)), 0.0, 0, "lanczos, all columns zero")
    check = 7
    while True:
        basis.grow()
        finished = not basis.beta[-1].any()
        if basis.size < check and not finished and basis.size < limit:
            continue
        y, change, sums = _estimate(basis, functions)
        if np.all(change <= allowed_error(tol, sums, sums, scale)):
            value = basis.combine(y)
            norms = np.sqrt(A.dot(value.T, value.T))
            require_finite(norms)
            allowed = allowed_error(tol, norms, sums, scale)
            if np.all(change <= allowed):
                error = relative_error(change, allowed, tol)
                error = max(error, conditioning(functions, basis.top()))
                products = basis.size * B.shape[1]
                return Action(value, error, products, f"lanczos, basis {basis.size}")
        if finished or basis.size >= limit:
            raise NotConverged(
                f"Lanczos did not reach tolerance {tol:.1e} with {basis.size} basis vectors: "
                "try method='chebyshev', a smaller step or a larger tolerance"
            )
        check = basis.size + max(2, basis.size // 8)
