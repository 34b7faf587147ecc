"""f(A) b through the full eigenbasis: the reference, the precomputed path, and small systems."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from ..contracts import Action, Array, SpectralMap
from ..kernels import cpu
from .operators import BaseOperator
from .stumpff import StumpffMap
from .tolerance import conditioning, require_finite

COMPILED = 24  # below this, one compiled loop beats four NumPy calls
_EPS = float(np.finfo(float).eps)


def rounding_error(size: int) -> float:
    """What is left of the error once the eigenbasis is exact: rounding, growing with size."""
    return _EPS * max(10.0, sqrt(size))


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
    lam, U, W = A.eigenbasis()
    B = np.array(columns)
    if A.size <= COMPILED and isinstance(functions, StumpffMap):
        value = cpu.stumpff_apply(U, W, lam, *functions.arrays, functions.n_out, B)
    else:
        with np.errstate(all="ignore"):  # an overflow is named below
            value = np.einsum("jim,im->jm", functions(lam), B @ W.T) @ U.T
    low, top = (float(lam[0]), float(lam[-1])) if lam.size else (0.0, 0.0)
    error = max(rounding_error(A.size), conditioning(functions, max(-low, top)))
    require_finite(value)
    return Action(value, error, 0, "dense eigenbasis")
