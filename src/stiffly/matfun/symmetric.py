"""From what users have (arrays, sparse matrices, LinearOperators) to symmetric operators."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, Mass
from ..errors import InputError
from .operators import BaseOperator, DenseOperator, MatvecOperator, SparseOperator


def as_symmetric(A: Any, mass: Mass | None = None, *, constant: bool = False) -> BaseOperator:
    """Wrap an array, sparse matrix, LinearOperator or operator; check that it is symmetric."""
    if isinstance(A, BaseOperator):
        return A
    shape = getattr(A, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"a square matrix or operator is needed, got shape {shape}")
    if sp.issparse(A):
        A = sp.csr_matrix(A, dtype=np.float64)
        require_symmetric(A.data, A - A.T, "stiffness")
        return SparseOperator(A, mass, constant=constant)
    if hasattr(A, "matvec"):
        operator = MatvecOperator(A.matvec, shape[0], mass, constant=constant)
        _probe_symmetry(operator)
        return operator
    A = np.asarray(A, dtype=np.float64)
    require_symmetric(A, A - A.T, "stiffness")
    return DenseOperator(A, mass, constant=constant)


def _probe_symmetry(operator: MatvecOperator) -> None:
    """Two products with random vectors: a^T K b = b^T K a where K is symmetric."""
    a, b = np.random.default_rng(0).standard_normal((2, operator.size))
    Ka, Kb = operator._stiffness(a), operator._stiffness(b)
    if not np.all(np.isfinite(Ka) & np.isfinite(Kb)):
        raise InputError("stiffness: a product holds NaN or infinite entries; check the operator")
    aKb, bKa, aa, KbKb = operator.backend.dots([(a, Kb), (b, Ka), (a, a), (Kb, Kb)])
    if abs(aKb - bKa) > 1e-8 * sqrt(aa) * sqrt(KbKb):
        raise InputError(
            "stiffness is not symmetric (its products with two random vectors say so): symmetrise "
            "it, or move the unsymmetric part into force= and jacobian="
        )


def require_symmetric(entries: Array, difference: Any, name: str) -> None:
    """One line with cause and remedy when a matrix is not finite or not symmetric."""
    if not np.all(np.isfinite(entries)):
        raise InputError(f"{name} holds NaN or infinite entries: check how it was assembled")
    largest = float(np.abs(entries).max()) if entries.size else 0.0
    gap = abs(difference).max() if getattr(difference, "size", 1) else 0.0
    if float(gap) > 1e-10 * largest:
        raise InputError(
            f"{name} is not symmetric (largest |A - A^T| entry {float(gap):.3g}): symmetrise it "
            "with (A + A.T)/2, or move the unsymmetric part into force= and jacobian="
        )
