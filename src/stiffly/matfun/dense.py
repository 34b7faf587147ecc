"""f(A) b through the full eigenbasis: the reference, the precomputed path, and small systems."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt

import numpy as np

from ..contracts import Action, Array, SpectralMap
from .cost import SMALL
from .operators import BaseOperator
from .scalar import StumpffMap
from .tolerance import EPS, conditioning, require_finite


def rounding_error(size: int) -> float:
    """What is left of the error once the eigenbasis is exact: rounding, growing with size."""
    return EPS * max(10.0, sqrt(size))


def dense(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    """Every output by A = U lam W. Cost n^3 once per operator, n^2 per call, no products."""
    B = np.array(columns)
    if A.size <= SMALL and isinstance(functions, StumpffMap):
        value, lam = _compiled(A, functions, B)
    else:
        lam, U, W = A.eigenbasis()
        with np.errstate(all="ignore"):  # an overflow is named below
            value = np.einsum("jim,im->jm", functions(lam), B @ W.T) @ U.T
    low, top = (float(lam[0]), float(lam[-1])) if lam.size else (0.0, 0.0)
    error = max(rounding_error(A.size), conditioning(functions, max(-low, top)))
    if not isfinite(value.sum()):  # cheaper than looking at every entry
        require_finite(value)
    return Action(value, error, 0, "dense eigenbasis")


def _compiled(A: BaseOperator, functions: StumpffMap, B: Array) -> tuple[Array, Array]:
    """Values and eigenvalues in one call, which beats four of NumPy: a handful of coordinates take
    a few microseconds, so that every layer of Python shows."""
    known = A.__dict__.get("_eigenbasis")
    if known is None and A.unit_mass:
        call = A.kernels.stumpff_eigh_apply
        value, lam, vectors = call(A.todense(), *functions.arrays, functions.n_out, B)
        A.__dict__["_eigenbasis"] = lam, vectors, vectors.T
        return value, lam
    lam, U, W = known or A.eigenbasis()
    return A.kernels.stumpff_apply(U, W, lam, *functions.arrays, functions.n_out, B), lam
