"""From what users have (arrays, sparse matrices, LinearOperators) to symmetric operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array, Mass
from ..errors import InputError
from .operators import BaseOperator, DenseOperator, MatvecOperator, SparseOperator
from .untyped import sp


def as_symmetric(A: Any, mass: Mass | None = None, *, constant: bool = False) -> BaseOperator:
    """Wrap an array, sparse matrix, LinearOperator or operator; check that it is symmetric."""
    if isinstance(A, BaseOperator):
        return A
    shape = getattr(A, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"a square matrix or operator is needed, got shape {shape}")
    if sp.issparse(A):
        sparse = sp.csr_matrix(A, dtype=np.float64)
        require_symmetric(sparse.data, sparse - sparse.T, "stiffness")
        return SparseOperator(sparse, mass, constant=constant)
    if hasattr(A, "matvec"):
        operator = MatvecOperator(A.matvec, shape[0], mass, constant=constant)
        operator.require_symmetric()
        return operator
    dense = np.asarray(A, dtype=np.float64)
    require_symmetric(dense, dense - dense.T, "stiffness")
    return DenseOperator(dense, mass, constant=constant)


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
