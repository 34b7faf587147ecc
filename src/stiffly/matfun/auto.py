"""Choose an evaluator from what is known about the operator, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..contracts import Action, Array, SpectralMap
from ..errors import InputError, NotConverged, unknown_name
from . import cost
from .batched import batched, body_by_body
from .dense import dense
from .iterative import ITERATIONS, iterate
from .operators import DENSE_LIMIT, BaseOperator, MatvecOperator
from .tolerance import Overflows, check_tol

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
    if A.size <= DENSE_LIMIT and cost.eigenbasis(A, asked(A)) <= cost.iteration(A, functions):
        return "dense", "cheaper than the products of so large a step"
    return "iterate", ""


def asked(A: BaseOperator) -> int:
    """Products that tell the entries of A: one for every column where nothing else is known."""
    unknown = isinstance(A, MatvecOperator) and "_eigenbasis" not in A.__dict__
    return A.size if unknown else 0


def auto(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    name, reason = choose(A, functions)
    options: Any = {"tol": tol, "scale": scale, "max_products": max_products}
    entries = asked(A)
    affordable = entries <= cost.most_products(A, max_products)
    if name == "iterate" or not affordable:
        try:
            action = iterate(A, functions, columns, **options)
            if action.error <= tol or A.size > DENSE_LIMIT or not affordable:
                return action
            name, reason = "dense", "the iterations lost digits"
        except Overflows:
            raise
        except NotConverged:
            if A.size > DENSE_LIMIT or not affordable:
                raise
            name, reason = "dense", "after the iterations gave up"
    action = EVALUATORS[name](A, functions, columns, **options)
    products = action.products + (entries if name == "dense" else 0)
    return replace(action, products=products, method=f"{action.method} ({reason})")


EVALUATORS = {
    "auto": auto,
    "dense": dense,
    "batched": batched,
    **ITERATIONS,
}


def check_settings(
    tol: float, method: str, also: Sequence[str] = (), max_products: int | None = None
) -> None:
    """For integrators: wrong settings are refused when they are made."""
    check_tol(tol)
    cost.check_max_products(max_products)
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
    max_products: int | None = None,
) -> Action:
    """sum_i f_ji(A) b_i for every output j, by the named evaluator.

    To the tolerance, or as well as rounding of A allows: `error` says so.  It is that of the
    stiffest modes; slow ones, which carry a motion, keep more digits, so integrators go on.
    max_products: with A and one vector, beyond which NotConverged is raised.
    """
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
        action = dense(A, functions, columns, tol=tol)  # the hot path of small systems
    elif method not in EVALUATORS:
        raise unknown_name("evaluator", method, EVALUATORS)
    else:
        options: Any = {"tol": tol, "scale": scale, "max_products": max_products}
        action = EVALUATORS[method](A, functions, columns, **options)
    return action
