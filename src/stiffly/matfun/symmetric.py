"""From what users have (arrays, sparse matrices, LinearOperators) to symmetric operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import real_array
from ..contracts import Array, Mass
from ..errors import InputError
from .components import Components
from .operators import (
    BaseOperator,
    BlockOperator,
    DenseOperator,
    MatvecOperator,
    SparseOperator,
    scalar,
)
from .untyped import sp

FILLED = 2 / 3  # a 3x3 block takes as long as that share of its entries does by themselves
ALIKE = 1 / 3  # of the entries of blocks: their diagonals, where K = K' (x) I_3
_GLANCE = 3 * 256  # rows that show already that a matrix has no blocks


def as_symmetric(A: Any, mass: Mass | None = None, *, constant: bool = False) -> BaseOperator:
    """Wrap an array, sparse matrix, LinearOperator or operator; check that it is symmetric."""
    if isinstance(A, BaseOperator):
        return A
    shape = getattr(A, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"a square matrix or operator is needed, got shape {shape}")
    if sp.issparse(A):
        K = _canonical(A)
        whole = SparseOperator(K, mass, constant=constant)
        gap = whole.kernels.csr_asymmetry(K.indptr, K.indices, K.data)
        _require_symmetric(K.data, gap)
        return in_blocks(whole)
    if hasattr(A, "matvec"):
        operator = MatvecOperator(A.matvec, shape[0], mass, constant=constant)
        operator.require_symmetric()
        return operator
    dense = real_array("the matrix", A)
    with np.errstate(invalid="ignore"):  # infinite entries are named
        gap = np.abs(dense - dense.T).max(initial=0.0)
    _require_symmetric(dense, float(gap))
    return DenseOperator(dense, mass, constant=constant)


def _canonical(A: Any) -> Any:
    """CSR with sorted rows and no entry twice; a copy where A, which is the user's, is not so."""
    if np.dtype(A.dtype).kind == "c":
        raise InputError("the matrix is complex: give real and imaginary parts separately")
    given = sp.csr_matrix(A, dtype=np.float64)
    if given.has_canonical_format:
        return given
    copy = given.copy()
    copy.sum_duplicates()
    return copy


def _require_symmetric(entries: Array, gap: float) -> None:
    """One line with cause and remedy when a matrix is not finite or not symmetric."""
    if not np.all(np.isfinite(entries)):
        raise InputError("stiffness holds NaN or infinite entries: check how it was assembled")
    largest = float(np.abs(entries).max(initial=0.0))
    if gap > 1e-10 * largest:
        raise InputError(
            f"stiffness is not symmetric (largest |A - A^T| entry {gap:.3g}): symmetrise it "
            "with (A + A.T)/2, or move the unsymmetric part into force= and jacobian="
        )


def in_blocks(A: SparseOperator) -> BaseOperator:
    """The same by 3x3 blocks where it is made of them, as the matrices of particles are."""
    blocks = _blocks(A)
    if blocks is None:
        return A
    indptr, indices, _ = blocks
    pattern = sp.csr_matrix((np.ones(indices.size), indices, indptr))
    count, labels = sp.csgraph.connected_components(pattern, directed=False)
    bodies = Components(labels) if count > 1 else None
    return BlockOperator(*blocks, A.mass, constant=A.constant, bodies=bodies)


def _blocks(A: SparseOperator) -> tuple[Array, Array, Array] | None:
    """indptr, indices and blocks; None without them, or where a particle has several masses (bounds
    of the spectrum need symmetric blocks of M^-1 K)."""
    K, masses = A.K, A.lumped
    if A.size % 3 or A.size == 0:
        return None
    if masses is not None and np.any(masses.reshape(-1, 3) != masses[::3, None]):
        return None
    found = None
    for rows in (min(_GLANCE, A.size), A.size):  # most are refused at a glance
        end = K.indptr[rows]
        own = K.indptr[: rows + 1], K.indices[:end], K.data[:end]
        found = A.kernels.csr_blocks(*own, ALIKE)
        if found is None or (end < FILLED * found[2].size and not scalar(found[2])):
            return None
    return found
