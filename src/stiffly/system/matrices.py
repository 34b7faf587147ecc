"""Sums and products of the matrices users hand in: arrays, SciPy sparse, or LinearOperators; and
damping that only ever takes, v^T D v >= 0 for every v, or the user hears of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import real_array
from ..contracts import Array, Mass, Rayleigh
from ..errors import InputError
from ..matfun.operators import (
    BaseOperator,
    BlockOperator,
    DenseOperator,
    MatvecOperator,
    SparseOperator,
)
from ..parts.checks import as_numbers
from ..solvers.failures import FactorisationError
from ..solvers.linear import factorise

ROUNDING = 1e-10  # of a diagonal entry: a lower negative eigenvalue is no pump but rounding


def size_of(stiffness: Any, mass: Any, damping: Any, size: int | None) -> int:
    """Number of coordinates n: what `size` says, or the first matrix that tells it."""
    if size is not None:
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise InputError(f"size = {size!r}: give the number of coordinates, a positive integer")
        return int(size)
    for given in (stiffness, mass, damping):
        shape = () if given is None or isinstance(given, Rayleigh) else _shape(given)
        if shape and shape[0] > 0:
            return int(shape[0])
    raise InputError("the number of coordinates is not known: give size=n")


def _shape(given: Any) -> tuple[int, ...]:
    size = getattr(given, "size", None)
    if not hasattr(given, "shape") and isinstance(size, int):  # a Mass
        return (size,)
    return given.shape if hasattr(given, "shape") else real_array("a matrix", given).shape


def product(operator: BaseOperator) -> Callable[[Array], Array]:
    """b -> K b, without the mass: the shortest path from Python to the loop."""
    explicit = isinstance(operator, (DenseOperator, SparseOperator))
    return operator.K.dot if explicit else operator._stiffness


def as_jacobian(J: Any, n: int) -> Any:
    """What jacobian() returned, as a float64 (n, n) array, CSR, or LinearOperator."""
    if type(J) is np.ndarray and J.shape == (n, n) and J.dtype == np.float64:
        return J
    if not sp.issparse(J) and not hasattr(J, "matvec"):
        J = np.asarray(J, dtype=np.float64)
        if n == 1 and J.size == 1:
            return J.reshape(1, 1)
    if J.shape != (n, n):
        raise InputError(f"jacobian returned shape {J.shape}, but ({n}, {n}) is needed")
    return sp.csr_matrix(J) if sp.issparse(J) else J


def is_symmetric(J: Any, tolerance: float = 1e-10) -> bool | None:
    """Relative to the largest entry; None where only products are known."""
    if type(J) is np.ndarray:
        if (J == J.T).all():  # the common case, and five times faster than the tolerance
            return True
        return bool(np.abs(J - J.T).max() <= tolerance * np.abs(J).max())
    if sp.issparse(J):
        gap = abs(J - J.T)
        return bool(gap.nnz == 0 or gap.max() <= tolerance * abs(J).max())
    return None


def difference(A: BaseOperator | None, J: Any) -> Any:
    """A - J (the operator's matrix, without the mass): array, sparse, or a product b -> (n,)."""
    if isinstance(A, MatvecOperator) or not (type(J) is np.ndarray or sp.issparse(J)):
        Jb = J.matvec if hasattr(J, "matvec") else J.dot
        if A is None:
            return lambda b: -Jb(b)
        Ab = product(A)
        return lambda b: Ab(b) - Jb(b)
    if A is None:
        return -J
    K: Any = A.K  # type: ignore[attr-defined]  # dense and sparse operators have it
    if sp.issparse(K) == sp.issparse(J):
        return K - J
    return _dense(K) - _dense(J)


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def as_damping(
    damping: Any, A: BaseOperator | None, mass: Mass, n: int
) -> tuple[Any, BaseOperator | None]:
    """What tangents hand out (None, Rayleigh or M^-1 D) and D as an operator."""
    if isinstance(damping, Rayleigh):
        return _as_rayleigh(damping, A, mass)
    if damping is None:
        return None, None
    if not sp.issparse(damping) and not hasattr(damping, "matvec"):
        damping = as_numbers("damping", damping)
        if damping.shape == (n,):
            damping = sp.diags(damping)
    if damping.shape != (n, n):
        raise InputError(
            f"damping has shape {damping.shape}: give ({n}, {n}), ({n},) or Rayleigh(alpha, beta)"
        )
    if sp.issparse(damping):
        as_numbers("damping", damping.tocsr().data)
        D: BaseOperator = SparseOperator(damping.astype(np.float64), mass, constant=True)
    elif hasattr(damping, "matvec"):
        D = MatvecOperator(damping.matvec, n, mass, constant=True)
    else:
        D = DenseOperator(damping, mass, constant=True)
    _require_passive(D, "give D with v.D v >= 0, and what drives the motion as force=")
    return D, D


def _require_passive(D: BaseOperator, remedy: str) -> None:
    """Where there are entries to look at; products show their sign when the motion runs."""
    if not isinstance(D, MatvecOperator):
        require_passive("damping", D.K, remedy)  # type: ignore[attr-defined]  # just asked


def _as_rayleigh(
    damping: Rayleigh, A: BaseOperator | None, mass: Any
) -> tuple[Rayleigh | None, BaseOperator | None]:
    alpha, beta = damping.alpha, damping.beta
    if not (np.isfinite(alpha) and np.isfinite(beta) and alpha >= 0.0 and beta >= 0.0):
        raise InputError(f"damping {damping}: alpha and beta must be finite and not negative")
    if alpha == 0.0 and beta == 0.0:
        return None, None
    if beta and A is None:
        raise InputError("damping Rayleigh(beta=...) needs stiffness=: use alpha alone, or add A")
    if beta and isinstance(A, DenseOperator):
        D: BaseOperator = DenseOperator(alpha * mass.dense + beta * A.K, mass, constant=True)
    elif beta and isinstance(A, (SparseOperator, BlockOperator)):
        D = SparseOperator(alpha * mass.matrix() + beta * A.K, mass, constant=True)
    else:
        stiff = product(A) if beta and A is not None else None
        damped = partial(_damped, alpha, beta, mass, stiff)
        D = MatvecOperator(damped, mass.size, mass, constant=True)
    if beta:
        _require_passive(D, "the stiffness is negative there: use alpha, or another D")
    return damping, D


def _damped(
    alpha: float, beta: float, mass: Any, stiff: Callable[[Array], Array] | None, v: Array
) -> Array:
    """(alpha M + beta K) v."""
    drag = alpha * mass.apply(v)
    return drag if stiff is None else drag + beta * stiff(v)


def require_passive(name: str, D: Any, remedy: str) -> None:
    """InputError unless the symmetric part of D (array or SciPy sparse) is positive semidefinite.

    Scaled to a unit diagonal, so that soft parts are judged beside stiff ones.
    """
    symmetric = 0.5 * (D + D.T)
    diagonal = np.asarray(symmetric.diagonal(), dtype=np.float64)
    if np.any(diagonal < 0.0) or not _semidefinite(symmetric, diagonal):
        raise InputError(f"{name} pumps: v.D v < 0 for some velocities v; {remedy}")


def _semidefinite(D: Any, diagonal: Any) -> bool:
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    if sp.issparse(D):
        unit = sp.csr_matrix(sp.diags(scale) @ D @ sp.diags(scale))
        off = np.asarray(abs(unit).sum(axis=1)).ravel() - unit.diagonal()
        unit = unit + ROUNDING * sp.identity(len(diagonal))
    else:
        unit = scale[:, None] * D * scale
        off = np.abs(unit).sum(axis=1) - unit.diagonal()
        unit = unit + ROUNDING * np.eye(len(diagonal))
    if np.any(off[diagonal == 0.0] > 0.0):
        return False
    if np.all(off <= 1.0):  # by Gershgorin's discs
        return True
    try:
        factorise(sp.csc_matrix(unit) if sp.issparse(unit) else unit)
    except FactorisationError:
        return False
    return True
