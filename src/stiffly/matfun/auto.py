"""Choose an evaluator from what is known about the operator, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..contracts import Action, Array, SpectralMap
from ..errors import InputError, NotConverged, unknown_name
from .chebyshev import chebyshev
from .dense import batched, dense
from .lanczos import lanczos
from .operators import BaseOperator, BlockOperator, SparseOperator
from .tolerance import check_tol

SMALL = 64  # an eigenbasis this small is cheaper than any iteration
PRECOMPUTE = 1000  # a constant operator up to this size is diagonalised once
BODY = 96  # independent bodies up to this many coordinates are diagonalised one by one
_OUTLIERS = 16.0  # the stiffest coordinate against the 98th percentile


def choose(A: BaseOperator) -> tuple[str, str]:
    """Name of the evaluator and the reason."""
    if A.size <= SMALL:
        return "dense", "small"
    if "_eigenbasis" in A.__dict__:
        return "dense", "eigenbasis already there"
    labels = A.components() if isinstance(A, (SparseOperator, BlockOperator)) else None
    if labels is not None and hasattr(A.mass, "diagonal"):
        largest = int(np.bincount(labels).max())
        if largest <= (BODY if A.constant else SMALL // 2):
            return "batched", "independent small bodies"
    if A.constant and A.size <= PRECOMPUTE:
        return "dense", "constant: diagonalised once"
    diagonal = A.diagonal()
    if diagonal is None:
        return "lanczos", "only products are known: as few as possible"
    top = float(np.abs(diagonal).max())
    if top > _OUTLIERS * float(np.quantile(np.abs(diagonal), 0.98)):
        return "lanczos", "a few stiff outliers"
    return "chebyshev", "assembled, no outliers"


def auto(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
) -> Action:
    name, reason = choose(A)
    try:
        action = EVALUATORS[name](A, functions, columns, tol=tol, scale=scale)
    except NotConverged:
        if name not in _SECOND_CHOICE:
            raise
        reason = f"after {name} gave up"
        action = EVALUATORS[_SECOND_CHOICE[name]](A, functions, columns, tol=tol, scale=scale)
    return replace(action, method=f"{action.method} ({reason})")


_SECOND_CHOICE = {"chebyshev": "lanczos", "lanczos": "chebyshev"}
EVALUATORS = {
    "auto": auto,
    "dense": dense,
    "batched": batched,
    "lanczos": lanczos,
    "chebyshev": chebyshev,
}


def check_settings(tol: float, method: str, also: Sequence[str] = ()) -> None:
    """For integrators: a wrong tolerance or evaluator name is refused when they are made."""
    check_tol(tol)
    if method not in EVALUATORS and method not in also:
        raise unknown_name("evaluator", method, [*EVALUATORS, *also])


def evaluate(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    method: str = "auto",
) -> Action:
    """sum_i f_ji(A) b_i for every output j, by the named evaluator."""
    check_tol(tol)
    n = A.size
    fit = len(columns) == functions.n_in
    for b in columns:
        fit = fit and b.shape == (n,)
    if not fit:
        shapes = ", ".join(str(b.shape) for b in columns)
        raise InputError(
            f"{functions.n_in} columns of shape ({A.size},) are needed, got {shapes}: "
            "one vector for every input of the map"
        )
    if n <= SMALL and method == "auto":
        return dense(A, functions, columns, tol=tol)  # the hot path of small systems
    if method not in EVALUATORS:
        raise unknown_name("evaluator", method, EVALUATORS)
    return EVALUATORS[method](A, functions, columns, tol=tol, scale=scale)
