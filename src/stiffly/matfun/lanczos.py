"""f(A) b by Lanczos: one basis per column serves every function and every tau.

A V = V T in the operator's own inner product, f(A) b ~ |b| V f(T) e_1.  Columns advance together,
so that two of them share one pass over the matrix.  A few very stiff outliers cost a few products
here (each Ritz value finds one), where a Chebyshev series pays for them in full.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..contracts import Action, Array, SpectralMap
from ..errors import NotConverged
from . import cost
from .components import MEMORY
from .operators import BaseOperator
from .tolerance import (
    ROUNDING,
    allowed_error,
    conditioning,
    extrapolated,
    lengths,
    relative_error,
    require_finite,
)
from .untyped import linalg

_PLATEAU = 30  # while tau omega / 2 > m, a small basis may stand still without having converged
_LOOK_BACK = 3  # changes are measured over at least this many vectors
_RARELY = 100  # vectors beyond which checks are rare while tau omega / 2 > m
MAX_BASIS = 1000


class _Basis:
    """Three-term recurrences for p columns at once."""

    def __init__(self, A: BaseOperator, B: Array) -> None:
        self.A = A
        self.norms = np.sqrt(A.dot(B, B))
        self.V = [B / np.where(self.norms > 0.0, self.norms, 1.0)]
        self.alpha: list[Array] = []
        self.beta: list[Array] = [np.zeros(B.shape[1])]

    @property
    def size(self) -> int:
        return len(self.alpha)

    def grow(self, size: int) -> None:
        self.A.lanczos(self.V, self.alpha, self.beta, size - self.size)

    def coefficients(self, functions: SpectralMap, column: int) -> Array:
        """|b| f_j(T) e_1 for every output j: (n_out, size)."""
        diagonal = np.array([a[column] for a in self.alpha])
        beside = np.array([b[column] for b in self.beta[1 : self.size]])
        theta, S = linalg.eigh_tridiagonal(diagonal, beside)
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


def _estimate(
    basis: _Basis, functions: SpectralMap, before: list[Array]
) -> tuple[Array, Array, Array]:
    """Coefficients (p, n_out, m), estimated errors (n_out,), sums of norms (n_out,).

    before: the coefficients of earlier and smaller bases, these are added to them.
    """
    y = np.array([basis.coefficients(functions, c) for c in range(functions.n_in)])
    require_finite(y)
    sums = lengths(y).sum(axis=0)
    noise = max(10.0 * ROUNDING, conditioning(functions, basis.top()))
    if not basis.beta[-1].any():  # an invariant subspace: exact
        error = np.zeros(functions.n_out)
    elif len(before) < 2 or basis.size < min(_PLATEAU, 0.5 * basis.phase(functions)):
        error = np.full(functions.n_out, np.inf)
    else:
        recent, earlier = _change(y, before[-1]), _change(before[-1], before[-2])
        error = extrapolated(recent, earlier, noise * sums)
    before[:] = [*before[-1:], y]
    return y, error, sums


def _change(now: Array, before: Array) -> Array:
    """Of every output, between two bases."""
    difference = now.copy()
    difference[:, :, : before.shape[2]] -= before
    return lengths(difference).sum(axis=0)


def _next_check(size: int, phase: float) -> int:
    """A check costs size^2 for every column: long before the basis can have converged, rarely."""
    return size + (size // 2 if _RARELY < size < 0.5 * phase else max(_LOOK_BACK, size // 6))


def lanczos(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    """Every output to the tolerance, or NotConverged when the basis may not grow further."""
    B = np.stack(columns, axis=1)
    afforded = cost.most_products(A, max_products) // B.shape[1]
    room = int(A.backend.agree(max(8, int(MEMORY / (8 * B.size)))))
    limit = max(1, min(MAX_BASIS, afforded, room))
    basis = _Basis(A, B)
    require_finite(basis.norms)
    if not basis.norms.any():
        return Action(np.zeros((functions.n_out, A.size)), 0.0, 0, "lanczos, all columns zero")
    before: list[Array] = []
    check = 7
    while True:
        basis.grow(min(check, limit))
        finished = not basis.beta[-1].any()
        y, change, sums = _estimate(basis, functions, before)
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
            option = "raise max_products" if limit == afforded else "try method='chebyshev'"
            raise NotConverged(
                f"Lanczos did not reach tolerance {tol:.1e} with {basis.size} basis vectors: "
                f"{option}, a smaller step or a larger tolerance"
            )
        check = _next_check(basis.size, basis.phase(functions))
