"""f(A) b through the full eigenbasis: the reference, the precomputed path, and small systems.

Both are kept with the operator: the eigenbasis, and for independent bodies (connected components
of the stiffness graph) one small eigenbasis per body, batched by size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from ..contracts import Action, Array, SpectralMap
from ..errors import InputError
from ..kernels import cpu
from .operators import BaseOperator, BlockOperator, UnitMass
from .stumpff import StumpffMap
from .tolerance import check_tol, conditioning, require_finite

COMPILED = 24  # below this, one compiled loop beats four NumPy calls
_EPS = float(np.finfo(float).eps)


def _rounding_error(size: int) -> float:
    """What is left of the error once the eigenbasis is exact: rounding, growing with size."""
    return _EPS * max(10.0, sqrt(size))


def dense(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
) -> Action:
    """Every output by A = U lam W. Cost n^3 once per operator, n^2 per call."""
    lam, U, W = A.eigenbasis()
    B = np.array(columns)
    if A.size <= COMPILED and isinstance(functions, StumpffMap):
        value = cpu.stumpff_apply(U, W, lam, *functions.arrays, functions.n_out, B)
    else:
        value = np.einsum("jim,im->jm", functions(lam), B @ W.T) @ U.T
    low, top = (float(lam[0]), float(lam[-1])) if lam.size else (0.0, 0.0)
    error = max(_rounding_error(A.size), conditioning(functions, max(-low, top)))
    if low < 0.0:  # only then can anything overflow
        require_finite(value)
    return Action(value, error, 0, "dense eigenbasis")


class _Batch:
    """All independent bodies of one size: indices (count, size) and stacked eigenbases."""

    def __init__(self, A: BaseOperator, members: Array, K: Array, diagonal: Array) -> None:
        self.members = members
        root = np.sqrt(diagonal[members])
        lam, Q = np.linalg.eigh(K / (root[:, :, None] * root[:, None, :]))
        self.lam, self.Q, self.root = lam, Q, root


def _batches(A: BaseOperator) -> list[_Batch]:
    if "batches" in A.cache:
        return A.cache["batches"]
    labels = A.components()
    if labels is None:
        raise InputError("batched needs independent bodies, this operator is one body: use auto")
    matrix: Any = A.tosparse() if isinstance(A, BlockOperator) else getattr(A, "K", None)
    if matrix is None:
        raise InputError("batched needs an assembled matrix: give a sparse or block operator")
    diagonal = np.ones(A.size) if isinstance(A.mass, UnitMass) else None
    diagonal = getattr(A.mass, "diagonal", diagonal)
    if diagonal is None:
        raise InputError("batched needs a lumped mass, this one may couple the bodies: use auto")
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.empty(A.size, dtype=np.int64)  # position of a coordinate inside its body
    place[order] = np.arange(A.size) - np.repeat(starts[:-1], sizes)
    coo = matrix.tocoo()
    batches = []
    for size in np.unique(sizes[sizes > 0]):
        bodies = np.flatnonzero(sizes == size)
        members = order[starts[bodies][:, None] + np.arange(size)]
        slot = np.full(sizes.size, -1)
        slot[bodies] = np.arange(bodies.size)
        K = np.zeros((bodies.size, size, size))
        own = slot[labels[coo.row]] >= 0
        row, col = coo.row[own], coo.col[own]
        np.add.at(K, (slot[labels[row]], place[row], place[col]), coo.data[own])
        batches.append(_Batch(A, members, K, diagonal))
    A.cache["batches"] = batches
    return batches


def batched(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
) -> Action:
    """As `dense`, one small eigenbasis per independent body, all bodies of a size at once."""
    check_tol(tol)
    B = np.stack(columns, axis=1)
    value = np.empty((functions.n_out, A.size))
    batches = _batches(A)
    for batch in batches:
        F = functions(batch.lam.ravel()).reshape(functions.n_out, functions.n_in, *batch.lam.shape)
        spectrum = np.einsum("bnm,bni->bmi", batch.Q, B[batch.members] * batch.root[:, :, None])
        weights = np.einsum("jibm,bmi->bmj", F, spectrum)
        part = np.matmul(batch.Q, weights) / batch.root[:, :, None]
        value[:, batch.members] = np.moveaxis(part, 2, 0)
    require_finite(value)
    largest = max(b.lam.shape[1] for b in batches)
    count = sum(b.lam.shape[0] for b in batches)
    top = max(float(np.abs(b.lam).max()) for b in batches)
    error = max(_rounding_error(largest), conditioning(functions, top))
    method = f"batched dense, {count} bodies of at most {largest} coordinates"
    return Action(value, error, 0, method)
