"""Masses: the inner product <a, b> = a^T M b that every operator A = M^-1 K is self-adjoint in."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg, splu

from ..arrays import real_array, shortened
from ..backends.cpu import CPU
from ..backends.kernels import take
from ..contracts import Array, Backend, Mass, Pairs
from ..errors import InputError, NotConverged
from ..matfun import masses
from ..matfun.operators import DENSE_LIMIT

CG_TOLERANCE = 1e-13  # relative residual of M a = f for a mass known only by its products


class UnitMass(masses.UnitMass):
    """M = I."""

    def matrix(self) -> sp.csc_matrix:
        return sp.csc_matrix(sp.identity(self.size))

    @cached_property
    def dense(self) -> Array:
        return np.eye(self.size)


class LumpedMass(masses.BaseMass):
    """M = diag(diagonal), diagonal (n,) [kg] > 0."""

    def __init__(self, diagonal: Any, backend: Backend = CPU) -> None:
        self.backend = _summing(backend)
        self.diagonal = real_array("a lumped mass", diagonal)
        if self.diagonal.ndim != 1:
            raise InputError(f"a lumped mass is a vector (n,), got shape {self.diagonal.shape}")
        _require_positive(self.diagonal)
        self.size = self.diagonal.size
        self._column = self.diagonal[:, None]

    def _shaped(self, b: Array) -> Array:
        return self.diagonal if b.ndim == 1 else self._column

    def apply(self, v: Array) -> Array:
        return self._shaped(v) * v

    def solve(self, f: Array) -> Array:
        return f / self._shaped(f)

    def dots(self, pairs: Pairs) -> list[Any]:
        return self.backend.dots(pairs, self.diagonal)

    def matrix(self) -> sp.csc_matrix:
        return self._sparse

    @cached_property
    def _sparse(self) -> sp.csc_matrix:
        """Asked for by every iteration of Newton's method."""
        return sp.csc_matrix(sp.diags(self.diagonal))

    @cached_property
    def dense(self) -> Array:
        return np.diag(self.diagonal)


class ConsistentMass(masses.BaseMass):
    """M sparse, symmetric and positive definite, factorised once.

    copies: every row serves that many consecutive coordinates, M = kron(matrix, I): particles
    in space have copies = 3, and one factorisation of a third of the size.
    """

    def __init__(self, matrix: Any, copies: int = 1, backend: Backend = CPU) -> None:
        self.backend = _summing(backend)
        self._matrix: Any = sp.csc_matrix(_square(matrix), dtype=np.float64)
        if not isinstance(copies, (int, np.integer)) or not 1 <= copies < 2**31:
            raise InputError(f"copies must be a whole number, 1 or more, got {shortened(copies)}")
        self._copies = copies
        self.size = copies * self._matrix.shape[0]
        _require_symmetric(self._matrix)
        # Pivots stay on the diagonal, so that their signs are those of the LDL^T factors:
        # all positive exactly when M is positive definite.
        try:
            self._factors = splu(
                self._matrix,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:
            raise _indefinite() from None
        pivots = self._factors.U.diagonal()
        if not np.array_equal(self._factors.perm_r, self._factors.perm_c):
            raise _indefinite()
        if not np.all(pivots > 0.0):
            order = np.argsort(self._factors.perm_c)
            raise _indefinite(int(order[np.flatnonzero(~(pivots > 0.0))].min()))

    def apply(self, v: Array) -> Array:
        return (self._matrix @ v.reshape(self._matrix.shape[0], -1)).reshape(v.shape)

    def solve(self, f: Array) -> Array:
        rows = np.ascontiguousarray(f).reshape(self._matrix.shape[0], -1)
        return np.ascontiguousarray(self._factors.solve(rows)).reshape(f.shape)

    def matrix(self) -> sp.csc_matrix:
        return self._full

    @cached_property
    def _full(self) -> sp.csc_matrix:
        if self._copies == 1:
            return self._matrix
        return sp.csc_matrix(sp.kron(self._matrix, sp.identity(self._copies)))

    @cached_property
    def dense(self) -> Array:
        return self._full.toarray()


class MatvecMass(masses.BaseMass):
    """M known only by its products: M a = f is solved by conjugate gradients to CG_TOLERANCE."""

    def __init__(self, operator: Any, backend: Backend = CPU) -> None:
        self.backend = _summing(backend)
        self.size = operator.shape[0]
        self._operator = operator
        # two random vectors catch the operators that are not symmetric positive definite
        a, b = np.random.default_rng(0).standard_normal((2, self.size))
        Ma, Mb = self.apply(a), self.apply(b)
        if not (np.all(np.isfinite(Ma)) and np.all(np.isfinite(Mb))):
            raise InputError("mass gives NaN or infinite products: check its matvec")
        if abs(b @ Ma - a @ Mb) > 1e-8 * np.linalg.norm(a) * np.linalg.norm(Mb):
            raise InputError("mass is not symmetric: give an operator with a^T M b = b^T M a")
        if a @ Ma <= 0.0 or b @ Mb <= 0.0:
            raise _indefinite()

    def apply(self, v: Array) -> Array:
        if v.ndim == 1:
            return np.asarray(self._operator.matvec(v), dtype=np.float64).ravel()
        return np.stack([self.apply(column) for column in v.T.copy()], axis=1)

    def solve(self, f: Array) -> Array:
        if f.ndim == 2:
            return np.stack([self.solve(column) for column in f.T.copy()], axis=1)
        a, failed = cg(self._operator, f, rtol=CG_TOLERANCE, atol=0.0, maxiter=10 * self.size + 100)
        if failed:
            raise NotConverged(
                f"M a = f was not solved to {CG_TOLERANCE:g} in {failed} iterations: "
                "give the mass as a sparse matrix, which is factorised"
            )
        return a

    def matrix(self) -> sp.csc_matrix:
        return sp.csc_matrix(self.dense)

    @cached_property
    def dense(self) -> Array:
        if self.size > DENSE_LIMIT:
            raise InputError(
                f"implicit integrators need the entries of the {self.size} x {self.size} mass: "
                "give it as a sparse matrix"
            )
        return self.apply(np.eye(self.size))


def as_mass(mass: Any, n: int, backend: Backend = CPU) -> Mass:
    """None (unit), a number, (n,), (n, n) dense or sparse, or a LinearOperator [kg]."""
    if mass is None:
        return UnitMass(n, backend)
    if isinstance(mass, (UnitMass, LumpedMass, ConsistentMass, MatvecMass)):
        _require_size((mass.size,), n)
        return mass
    if not sp.issparse(mass) and hasattr(mass, "matvec"):
        _require_size(mass.shape, n)
        return MatvecMass(mass, backend)
    if not sp.issparse(mass):
        mass = real_array("mass", mass)
        if mass.ndim == 0:
            mass = np.full(n, float(mass))
    _require_size(mass.shape, n)
    if mass.ndim == 2 and not _off_diagonal(mass):
        mass = np.asarray(mass.diagonal())
    if mass.ndim == 2:
        return ConsistentMass(mass, backend=backend)
    _require_positive(mass)
    return UnitMass(n, backend) if np.all(mass == 1.0) else LumpedMass(mass, backend)


def _summing(backend: Backend) -> Backend:
    """The backend, where it has what inner products take."""
    take(backend, "the mass", "column_dot")
    return backend


def _square(matrix: Any) -> Any:
    entries = matrix.data if sp.issparse(matrix) else matrix
    numbers = real_array("a consistent mass", entries)
    given = matrix if sp.issparse(matrix) else numbers
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise InputError(
            f"a consistent mass is a matrix (n, n), got shape {given.shape}: give a vector to "
            "LumpedMass"
        )
    return given


def _require_size(shape: tuple[int, ...], n: int) -> None:
    if shape not in ((n,), (n, n)):
        raise InputError(f"mass has shape {shape}: give a number, ({n},) or ({n}, {n})")


def _off_diagonal(matrix: Any) -> bool:
    if sp.issparse(matrix):
        coo = matrix.tocoo()
        return bool(np.any(coo.data[coo.row != coo.col]))
    return bool(np.any(matrix - np.diag(np.diagonal(matrix))))


def _require_positive(diagonal: Array) -> None:
    bad = np.flatnonzero(~(np.isfinite(diagonal) & (diagonal > 0.0)))
    if bad.size:
        raise InputError(
            f"mass[{bad[0]}] = {diagonal[bad[0]]:g}: every mass must be positive and finite; "
            "fix a particle with fixed=, not with a zero or huge mass"
        )


def _require_symmetric(matrix: Any) -> None:
    coo = matrix.tocoo()
    bad = np.flatnonzero(~np.isfinite(coo.data))
    if bad.size:
        where = f"[{coo.row[bad[0]]}, {coo.col[bad[0]]}]"
        raise InputError(f"mass{where} is NaN or infinite: check how it was assembled")
    gap = abs(matrix - matrix.T).tocoo()
    largest = np.abs(matrix.data).max(initial=0.0)
    bad = np.flatnonzero(gap.data > 1e-12 * largest)
    if bad.size:
        where = f"[{gap.row[bad[0]]}, {gap.col[bad[0]]}]"
        raise InputError(f"mass is not symmetric at {where}: symmetrise it with (M + M.T)/2")
    _require_positive(matrix.diagonal())


def _indefinite(index: int | None = None) -> InputError:
    where = "" if index is None else f" (pivot of coordinate {index})"
    return InputError(
        f"mass is not positive definite{where}: check how it was assembled, or lump it with "
        "M.sum(axis=1)"
    )
