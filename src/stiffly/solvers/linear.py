"""Factorise once, solve many times: one interface over dense, sparse and matrix-free matrices.

    factor = factorise(matrix);  x = factor.solve(b)

| matrix            | symmetric                                | unsymmetric     |
| ----------------- | ---------------------------------------- | --------------- |
| ndarray           | LAPACK Cholesky (potrf)                  | LAPACK LU       |
| SciPy sparse      | L D L^T of our own (dissection.py)       | SuperLU         |
| LinearOperator    | conjugate gradients (cg.py)              | refused         |

An indefinite matrix raises NotPositiveDefinite on every symmetric path.  All of it is work of the
host; ranks and cards have factors of their own (ksp.py, card.py).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

# LAPACK's names have no stubs
from scipy.linalg.lapack import dgetrf, dgetrs, dpotrf, dpotrs  # type: ignore[attr-defined]
from scipy.sparse.linalg import LinearOperator, splu

from ..backends.cpu import CPU
from ..backends.sums import dot
from ..contracts import Array, Backend
from ..errors import InputError
from .cg import ConjugateGradients
from .dissection import cholesky, fronts
from .failures import FactorisationError, NotPositiveDefinite

# Diagonal pivots down to this share of their column: ten times faster than partial pivoting on
# tangents that are nearly symmetric, at a backward error of 1e-14 (a tangent of 2694 unknowns).
PIVOT = 0.01
FULL = 1.5  # entries of 3x3 blocks for each that is there: a few of a block may be zero
SYMMETRIC: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class Factor(Protocol):
    """Solves with one fixed matrix; b is (n,) or (n, p). `products`: matrix products so far."""

    products: int

    def solve(self, b: Array) -> Array: ...


class _Direct:
    """What factorisations share: they need no products, and a checkpoint may hold them."""

    products = 0
    unsaved: tuple[str, ...] = ()


class DenseCholesky(_Direct):
    """A = L L^T with LAPACK, called directly: SciPy's wrappers cost more than a 10 x 10 solve."""

    def __init__(self, matrix: Array) -> None:
        self._lower, info = dpotrf(matrix, lower=1, clean=0)
        if info != 0:
            raise NotPositiveDefinite(f"pivot {info} of {matrix.shape[0]} is not positive")
        if not np.isfinite(self._lower.diagonal()).all():
            raise FactorisationError("the matrix is not finite")

    def solve(self, b: Array) -> Array:
        return dpotrs(self._lower, b, lower=1)[0]


class DenseLU(_Direct):
    """P A = L U with partial pivoting."""

    def __init__(self, matrix: Array) -> None:
        self._lu, self._pivots, info = dgetrf(matrix)
        if info != 0:
            raise FactorisationError("the matrix is singular")
        if not np.isfinite(self._lu.diagonal()).all():
            raise FactorisationError("the matrix is not finite")

    def solve(self, b: Array) -> Array:
        return dgetrs(self._lu, self._pivots, b)[0]


class SparseLDL(_Direct):
    """P A P^T = L D L^T, D > 0, front by front; the last digits are those of one thread of BLAS."""

    def __init__(self, matrix: sp.csc_matrix) -> None:
        _require_finite(matrix)
        width, pattern = _in_blocks(matrix)
        plan = fronts(*_key(pattern), width)
        self._lower, self._inverse = cholesky(matrix, plan)
        self._starts, self._order = plan.starts, np.empty(plan.order.size, np.int32)
        # of ropes and hair fronts are mostly zeros, which solves would be busy with
        if 2 * np.count_nonzero(self._lower.data) < self._lower.nnz:
            self._lower.eliminate_zeros()
            self._starts = np.arange(plan.order.size + 1)
        self._order[plan.order] = np.arange(plan.order.size)

    def solve(self, b: Array) -> Array:
        L, rest = self._lower, (self._starts, self._inverse, self._order)
        return CPU.kernels.ldl_solve(L.indptr, L.indices, L.data, *rest, b)


class SparseLU(_Direct):
    """P A Q = L U with SuperLU; a checkpoint holds A, which is factorised again.

    The order of the unknowns is found once for a pattern, particle by particle where A has blocks:
    a third less time than with SuperLU's own order, made anew each time (14,760 unknowns).
    """

    unsaved = ("_lu", "_order")

    def __init__(self, matrix: sp.csc_matrix) -> None:
        self._matrix = matrix
        self.rebuilt()

    def rebuilt(self) -> None:
        self._order = little_fill(self._matrix)
        ordered = self._matrix[self._order][:, self._order]
        _require_finite(ordered)
        options = {**SYMMETRIC, "diag_pivot_thresh": PIVOT}
        try:
            self._lu = splu(ordered, permc_spec="NATURAL", **options)
        except RuntimeError as failure:  # an exactly singular pivot
            raise FactorisationError(str(failure).lower()) from None

    def solve(self, b: Array) -> Array:
        x = np.empty_like(b)
        x[self._order] = self._lu.solve(b[self._order])
        return x


def little_fill(matrix: Any) -> Array:
    """(n,): unknowns in an order of little fill, threes together where entries come in blocks."""
    width, matrix = _in_blocks(matrix)
    rows = _minimum_degree(*_key(matrix))
    return (width * rows[:, None] + np.arange(width)).ravel()


def _in_blocks(matrix: Any) -> tuple[int, Any]:
    """3 and the matrix in 3x3 blocks where most of their entries are there; else 1 and itself."""
    if matrix.shape[0] % 3 == 0:
        blocks = sp.bsr_matrix(matrix, blocksize=(3, 3))
        if blocks.data.size <= FULL * matrix.nnz:
            return 3, blocks
    return 1, matrix


def _key(pattern: Any) -> tuple[bytes, bytes, Any]:
    return pattern.indptr.tobytes(), pattern.indices.tobytes(), pattern.indices.dtype


@lru_cache(maxsize=8)
def _minimum_degree(indptr: bytes, indices: bytes, kind: Any) -> Array:
    """SuperLU's order for a pattern, square and sparse, whatever the entries are."""
    columns, starts = np.frombuffer(indices, kind), np.frombuffer(indptr, kind)
    n, entries = starts.size - 1, np.ones(columns.size)
    pattern = sp.csr_matrix((entries, columns, starts), shape=(n, n))
    # so dominant that every pivot stays on the diagonal
    dominant = sp.csc_matrix(pattern + pattern.T + 2.0 * columns.size * sp.identity(n))
    found = splu(dominant, permc_spec="MMD_AT_PLUS_A", **SYMMETRIC)
    return np.argsort(found.perm_c)


def _require_finite(matrix: Any) -> None:
    if not np.isfinite(matrix.data).all():
        raise FactorisationError("the matrix is not finite")


def factorise(matrix: Any, *, symmetric: bool = True, backend: Backend = CPU) -> Factor:
    """Factorise an (n, n) array, sparse matrix or LinearOperator.

    symmetric: the matrix equals its transpose and has to be positive definite.
    """
    if backend.shared:
        from .ksp import KspFactor  # PETSc is optional

        return KspFactor(backend, matrix, symmetric)  # type: ignore[arg-type]  # PETSc's
    if backend.iterates and sp.issparse(matrix) and matrix.shape[0] % 3 == 0:
        from .card import CardFactor

        return CardFactor(backend, matrix, symmetric)  # type: ignore[arg-type]  # a card's
    if isinstance(matrix, LinearOperator):
        if not symmetric:
            raise InputError("an unsymmetric tangent must be assembled: return an array or a "
                             "sparse matrix instead of a LinearOperator")  # fmt: skip
        return ConjugateGradients(matrix)
    if sp.issparse(matrix):
        csc = _as_csc(matrix)
        return SparseLDL(csc) if symmetric else SparseLU(csc)
    return DenseCholesky(matrix) if symmetric else DenseLU(matrix)


def is_symmetric(matrix: Any, tolerance: float = 1e-12) -> bool:
    """|A - A^T| <= tolerance max|A| in every entry; a LinearOperator is taken at its word."""
    if isinstance(matrix, LinearOperator):
        return True
    return bool(abs(matrix - matrix.T).max() <= tolerance * abs(matrix).max())


def absolute_product(matrix: Any, x: Array) -> Array:
    """|A| |x|, which bounds what rounding x does to A x; |A x| where only products are known."""
    if isinstance(matrix, LinearOperator):
        return np.abs(matrix.matvec(x))
    return abs(matrix) @ np.abs(x)


def frobenius(matrix: Any, backend: Backend = CPU) -> float:
    """The root of the sum of all entries squared; infinite where only products are known."""
    if isinstance(matrix, LinearOperator):
        return math.inf
    if backend.shared:
        matrix = sp.csr_matrix(matrix)[: backend.owned(matrix.shape[0])]
    entries = (matrix.data if sp.issparse(matrix) else matrix).ravel(order="K")
    return math.sqrt(float(backend.sums(np.array([dot(CPU, entries, entries)]))[0]))


def _as_csc(matrix: Any) -> sp.csc_matrix:
    """Sorted, duplicate-free CSC; the caller's index arrays may be shared, so never in place."""
    csc = sp.csc_matrix(matrix)
    if not csc.has_canonical_format:
        csc = csc.copy()
        csc.sum_duplicates()
    return csc
