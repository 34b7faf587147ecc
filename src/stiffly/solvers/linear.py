"""Factorise once, solve many times: one interface over dense, sparse and matrix-free matrices.

    factor = factorise(matrix);  x = factor.solve(b)

| matrix            | symmetric                                     | unsymmetric     |
| ----------------- | --------------------------------------------- | --------------- |
| ndarray           | LAPACK Cholesky (potrf)                       | LAPACK LU       |
| SciPy sparse      | CHOLMOD through cholespy; SuperLU if cautious | SuperLU         |
| LinearOperator    | conjugate gradients (cg.py)                   | refused         |

An indefinite matrix raises NotPositiveDefinite on every symmetric path.  CHOLMOD through cholespy
needs care (measured with 2.2.0): a failed factorisation prints a line on stdout and leaks the
factor, NaN entries go through silently, a matrix without entries corrupts memory, and CSC input is
reallocated in place, which aborts the process for arrays that do not own their memory.  A factor
that has solved never gives its workspace back, 8 bytes per row and column of the right-hand side:
who factorises often and for long loses memory.  So it gets CSR input, entries and diagonal are
checked first, and a matrix that may well be indefinite is factorised `cautious`: SuperLU without
pivoting, whose pivots show their sign.  That takes about as long, but its solves are 2.5 times
slower.  Where cholespy is missing, SuperLU does its work too.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

# LAPACK's names have no stubs
from scipy.linalg.lapack import dgetrf, dgetrs, dpotrf, dpotrs  # type: ignore[attr-defined]
from scipy.sparse.linalg import LinearOperator, splu

from ..contracts import Array
from ..errors import InputError
from .cg import ConjugateGradients
from .failures import FactorisationError, NotPositiveDefinite

try:  # a compiled package: there may be none for this machine, or one that does not load
    import cholespy
except ImportError:
    cholespy = None
cholmod: Any = cholespy

# Diagonal pivots down to this share of their column: ten times faster than partial pivoting on
# tangents that are nearly symmetric, at a backward error of 1e-14 (a tangent of 2694 unknowns).
PIVOT = 0.01
CAUTIOUS = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class Factor(Protocol):
    """Solves with one fixed matrix; b is (n,) or (n, p). `products`: matrix products so far."""

    products: int

    def solve(self, b: Array) -> Array: ...


class DenseCholesky:
    """A = L L^T with LAPACK, called directly: SciPy's wrappers cost more than a 10 x 10 solve."""

    products = 0

    def __init__(self, matrix: Array) -> None:
        self._lower, info = dpotrf(matrix, lower=1, clean=0)
        if info != 0:
            raise NotPositiveDefinite(f"pivot {info} of {matrix.shape[0]} is not positive")
        if not np.isfinite(self._lower.diagonal()).all():
            raise FactorisationError("the matrix is not finite")

    def solve(self, b: Array) -> Array:
        return dpotrs(self._lower, b, lower=1)[0]


class DenseLU:
    """P A = L U with partial pivoting."""

    products = 0

    def __init__(self, matrix: Array) -> None:
        self._lu, self._pivots, info = dgetrf(matrix)
        if info != 0:
            raise FactorisationError("the matrix is singular")
        if not np.isfinite(self._lu.diagonal()).all():
            raise FactorisationError("the matrix is not finite")

    def solve(self, b: Array) -> Array:
        return dgetrs(self._lu, self._pivots, b)[0]


class SparseCholesky:
    """P A P^T = L L^T with CHOLMOD (nested dissection). Pickles by refactorising."""

    products = 0

    def __init__(self, matrix: sp.csc_matrix) -> None:
        self._matrix = _checked(matrix)
        if not (matrix.diagonal() > 0.0).all():
            raise NotPositiveDefinite("a diagonal entry is not positive")
        # read-only arrays are refused
        indptr = np.require(matrix.indptr, np.int32, ["C", "W"])
        indices = np.require(matrix.indices, np.int32, ["C", "W"])
        data = np.require(matrix.data, np.float64, ["C", "W"])
        try:  # the columns of a symmetric matrix are its rows
            csr = cholmod.MatrixType.CSR
            self._solver = cholmod.CholeskySolverD(len(indptr) - 1, indptr, indices, data, csr)
        except ValueError as failure:
            raise NotPositiveDefinite(str(failure)) from None

    def solve(self, b: Array) -> Array:
        if not (b.flags.carray and b.dtype == np.float64):  # contiguous and writeable
            b = np.array(b, dtype=np.float64, order="C")
        x = np.empty_like(b)
        self._solver.solve(b, x)
        return x

    def __reduce__(self) -> tuple:
        return SparseCholesky, (self._matrix,)


class SparseLU:
    """P A Q = L U with SuperLU; `definite` keeps the diagonal pivots and demands all positive."""

    products = 0

    def __init__(self, matrix: sp.csc_matrix, definite: bool = False) -> None:
        self._matrix, self._definite = _checked(matrix), definite
        options = CAUTIOUS if definite else {"diag_pivot_thresh": PIVOT}
        try:
            self._lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", **options)
        except RuntimeError as failure:  # an exactly singular pivot
            kind = NotPositiveDefinite if definite else FactorisationError
            raise kind(str(failure).lower()) from None
        # By Sylvester's law the signs of the diagonal pivots are the signs of the eigenvalues;
        # an off-diagonal pivot is only ever taken where the diagonal one vanished.
        if definite and not (
            np.array_equal(self._lu.perm_r, self._lu.perm_c) and (self._lu.U.diagonal() > 0.0).all()
        ):
            raise NotPositiveDefinite("a pivot is not positive")

    def solve(self, b: Array) -> Array:
        return self._lu.solve(b)

    def __reduce__(self) -> tuple:
        return SparseLU, (self._matrix, self._definite)


def factorise(matrix: Any, *, symmetric: bool = True, cautious: bool = False) -> Factor:
    """Factorise an (n, n) array, sparse matrix or LinearOperator.

    symmetric: the matrix equals its transpose and has to be positive definite.
    cautious: an indefinite sparse matrix is likely (see the module's notes).
    """
    if isinstance(matrix, LinearOperator):
        if not symmetric:
            raise InputError("an unsymmetric tangent must be assembled: return an array or a "
                             "sparse matrix instead of a LinearOperator")  # fmt: skip
        return ConjugateGradients(matrix)
    if sp.issparse(matrix):
        csc = _as_csc(matrix)
        if not symmetric:
            return SparseLU(csc)
        if cautious or cholmod is None:
            return SparseLU(csc, definite=True)
        return SparseCholesky(csc)
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


def frobenius(matrix: Any) -> float:
    """The root of the sum of all entries squared; infinite where only products are known."""
    if isinstance(matrix, LinearOperator):
        return math.inf
    return float(np.linalg.norm(matrix.data if sp.issparse(matrix) else matrix))


def _as_csc(matrix: Any) -> sp.csc_matrix:
    """Sorted, duplicate-free CSC; the caller's index arrays may be shared, so never in place."""
    csc = sp.csc_matrix(matrix)
    if not csc.has_canonical_format:
        csc = csc.copy()
        csc.sum_duplicates()
    return csc


def _checked(matrix: sp.csc_matrix) -> sp.csc_matrix:
    if not np.isfinite(matrix.data).all():
        raise FactorisationError("the matrix is not finite")
    return matrix
