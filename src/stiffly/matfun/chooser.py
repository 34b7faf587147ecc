"""One chooser of evaluators: what is known about the operator against a table, first match wins.

Prices are counted work (cost.py), so the same problem has the same evaluator everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..contracts import Action, Array, FunctionAction, SpectralMap
from ..errors import InputError, NotConverged, require_name
from . import cost
from .chebyshev import chebyshev
from .cost import SMALL
from .eigenbasis import batched, body_by_body, dense, layout_of
from .lanczos import lanczos
from .operators import DENSE_LIMIT, BaseOperator, MatvecOperator
from .tolerance import Overflows, check_tol

_OUTLIERS = 16.0  # the stiffest coordinate against the 98th percentile
OTHER = {"chebyshev": "lanczos", "lanczos": "chebyshev"}


@dataclass(frozen=True, slots=True)
class Choice:
    applies: Callable[[BaseOperator, SpectralMap], bool]
    evaluator: str
    reason: str


def in_reach(A: BaseOperator) -> bool:
    """Whether an eigenbasis of A fits into memory, and into the work of those that share it."""
    fits = A.core.size <= DENSE_LIMIT
    return fits and cost.eigenbasis(A) <= cost.evaluations(A) * cost.WORK


def _cheaper(A: BaseOperator, functions: SpectralMap) -> bool:
    """An eigenbasis once and functions in it, against the products of every evaluation."""
    if not in_reach(A) or asked(A):  # how long it would take is not known without products
        return False
    saved = cost.iteration(A, functions) - cost.in_eigenbasis(A)
    return cost.eigenbasis(A) <= cost.evaluations(A) * saved


def _outliers(A: BaseOperator) -> bool | None:
    """Whether a few coordinates are far stiffer than the rest; None: only products are known."""
    if "outliers" not in A.cache:
        diagonal, found = A.diagonal(), None
        if diagonal is not None:
            size = np.abs(diagonal)
            few = bool(size.max() > _OUTLIERS * np.quantile(size, 0.98))
            found = not A.backend.every(not few)
        A.cache["outliers"] = found
    return A.cache["outliers"]


ITERATIVE = (
    Choice(lambda A, _: _outliers(A) is True, "lanczos", "a few stiff outliers"),
    Choice(lambda A, _: _outliers(A) is False, "chebyshev", "assembled, no outliers"),
    Choice(lambda A, _: True, "lanczos", "only products are known: as few as possible"),
)
TABLE = (
    Choice(lambda A, _: A.size <= SMALL, "dense", "small"),
    Choice(
        lambda A, _: A.core.diagonalised and not A.constant, "dense", "eigenbasis already there"
    ),
    Choice(body_by_body, "batched", "independent bodies"),
    Choice(
        lambda A, functions: A.constant and (A.core.diagonalised or _cheaper(A, functions)),
        "dense",
        f"constant: diagonalised once, cheaper than products in {cost.EVALUATIONS} evaluations",
    ),
    Choice(_cheaper, "dense", "cheaper than the products of so large a step"),
    *ITERATIVE,
)


def _apart(A: BaseOperator, functions: SpectralMap) -> bool:
    """Every body is whole on its rank, and small enough for an eigenbasis that costs less."""
    layout = layout_of(A)
    apart = layout is not None and layout.count > 0 and layout.rest is None
    return A.backend.every(apart) and body_by_body(A, functions)


# no rank has all of A: what needs its entries, or weighs them, is for one rank
ON_RANKS = (Choice(_apart, "batched", "independent bodies, whole on their ranks"), *ITERATIVE)


def choose(
    A: BaseOperator, functions: SpectralMap, table: Sequence[Choice] = TABLE
) -> tuple[str, str]:
    """Name of the evaluator, and the reason."""
    for choice in table:
        if choice.applies(A, functions):
            return choice.evaluator, choice.reason
    raise AssertionError("the last row applies to everything")


def asked(A: BaseOperator) -> int:
    """Products that tell the entries of A: one for every column where nothing else is known."""
    unknown = isinstance(A, MatvecOperator) and not A.diagonalised
    return A.size if unknown else 0


def iterate(
    A: BaseOperator, functions: SpectralMap, columns: Sequence[Array], **options: Any
) -> Action:
    """By products alone: the better of two evaluators, or the other one where that gives up."""
    name, reason = choose(A, functions, ITERATIVE)
    try:
        action = EVALUATORS[name](A, functions, columns, **options)
    except NotConverged as failure:
        reason = f"after {name} gave up"
        try:
            action = EVALUATORS[OTHER[name]](A, functions, columns, **options)
        except Overflows:
            raise
        except NotConverged as second:  # what stopped the series tells more than a full basis
            raise (failure if name == "chebyshev" else second) from None
    return replace(action, method=f"{action.method} ({reason})")


def auto(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    """As the table says; dense in the end, where that can be afforded and products were no good."""
    options: Any = {"tol": tol, "scale": scale, "max_products": max_products}
    if A.backend.shared:
        return _on_ranks(A, functions, columns, options)
    if getattr(A.backend, "iterates", False):
        return _by_products(A, functions, columns, options)
    entries = asked(A)
    affordable = entries == 0 or entries <= cost.most_products(A, max_products)
    name, reason = choose(A, functions, TABLE if affordable else ITERATIVE)
    if name in OTHER:
        last_resort = affordable and in_reach(A)
        most = cost.most_products(A, max_products)
        if last_resort and entries:
            most = min(most, cost.products_of_entries(A))
        try:
            action = iterate(A, functions, columns, **{**options, "max_products": most})
            if action.error <= tol or not last_resort:
                return action
            reason = "the iterations lost digits"
        except Overflows:
            raise
        except NotConverged:
            if not last_resort:
                raise
            reason = "after the iterations gave up"
        name = "dense"
    action = EVALUATORS[name](A, functions, columns, **options)
    products = action.products + (entries if name == "dense" else 0)
    return Action(action.value, action.error, products, f"{action.method} ({reason})")


def _by_products(
    A: BaseOperator, functions: SpectralMap, columns: Sequence[Array], options: Any
) -> Action:
    """Where eigenbases are somebody else's."""
    try:
        return iterate(A, functions, columns, **options)
    except Overflows:
        raise
    except NotConverged as failure:
        raise NotConverged(f"{failure}, or compute on the CPU") from None


def _on_ranks(
    A: BaseOperator, functions: SpectralMap, columns: Sequence[Array], options: Any
) -> Action:
    """By one evaluator on all of them; error and products are those of the rank with most."""
    name, reason = choose(A, functions, ON_RANKS)
    if name in OTHER:
        return iterate(A, functions, columns, **options)
    action = EVALUATORS[name](A, functions, columns, **options)
    error, products = A.backend.largest(action.error, action.products)
    return Action(action.value, error, int(products), f"{action.method} ({reason})")


EVALUATORS: dict[str, FunctionAction] = {
    "auto": auto,
    "dense": dense,
    "batched": batched,
    "chebyshev": chebyshev,
    "lanczos": lanczos,
}


def check_settings(
    tol: float, method: str, also: Sequence[str] = (), max_products: int | None = None
) -> None:
    """For integrators: wrong settings are refused when they are made."""
    check_tol(tol)
    cost.check_max_products(max_products)
    require_name("evaluator", method, [*EVALUATORS, *also])


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
    shape = (A.size,)
    if [b.shape for b in columns] != [shape] * functions.n_in:
        shapes = ", ".join(str(b.shape) for b in columns)
        raise InputError(
            f"{functions.n_in} columns of shape ({A.size},) are needed, got {shapes}: "
            "one vector for every input of the map"
        )
    require_name("evaluator", method, EVALUATORS)
    how = EVALUATORS[method]
    return how(A, functions, columns, tol=tol, scale=scale, max_products=max_products)
