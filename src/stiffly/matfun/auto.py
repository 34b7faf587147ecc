"""Choose an evaluator from what is known about the operator, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..contracts import Action, Array, SpectralMap
from ..errors import InputError, unknown_name
from .batched import batched, body_by_body
from .dense import dense
from .iterative import ITERATIONS, iterate
from .operators import BaseOperator
from .tolerance import check_tol

SMALL = 64  # an eigenbasis this small is cheaper than any iteration
PRECOMPUTE = 1000  # a constant operator up to this size is diagonalised once


def choose(A: BaseOperator, functions: SpectralMap) -> tuple[str, str]:
    """Name of the evaluator ('iterate': see there) and the reason."""
    if A.size <= SMALL:
        return "dense", "small"
    if "_eigenbasis" in A.__dict__:
        return "dense", "eigenbasis already there"
    if body_by_body(A, functions):
        return "batched", "independent bodies"
    if A.constant and A.size <= PRECOMPUTE:
        return "dense", "constant: diagonalised once"
    return "iterate", ""


def auto(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
) -> Action:
    name, reason = choose(A, functions)
    if name == "iterate":
        return iterate(A, functions, columns, tol=tol, scale=scale)
    action = EVALUATORS[name](A, functions, columns, tol=tol, scale=scale)
    return replace(action, method=f"{action.method} ({reason})")


EVALUATORS = {
    "auto": auto,
    "dense": dense,
    "batched": batched,
    **ITERATIONS,
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
