"""Choose between the two evaluators that need only products, and try the other on failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..contracts import Action, Array, SpectralMap
from ..errors import NotConverged
from .chebyshev import chebyshev
from .lanczos import lanczos
from .operators import BaseOperator
from .tolerance import Overflows

_OUTLIERS = 16.0  # the stiffest coordinate against the 98th percentile
ITERATIONS = {"chebyshev": chebyshev, "lanczos": lanczos}
SECOND_CHOICE = {"chebyshev": "lanczos", "lanczos": "chebyshev"}


def choose_iteration(A: BaseOperator) -> tuple[str, str]:
    """Name of the evaluator and the reason."""
    diagonal = A.diagonal()
    if diagonal is not None:
        top = float(np.abs(diagonal).max())
        if top > _OUTLIERS * float(np.quantile(np.abs(diagonal), 0.98)):
            return "lanczos", "a few stiff outliers"
        return "chebyshev", "assembled, no outliers"
    return "lanczos", "only products are known: as few as possible"


def iterate(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    """By the better of the two, or the other one where that gives up."""
    name, reason = choose_iteration(A)
    options: Any = {"tol": tol, "scale": scale, "max_products": max_products}
    try:
        action = ITERATIONS[name](A, functions, columns, **options)
    except NotConverged as failure:
        reason = f"after {name} gave up"
        try:
            action = ITERATIONS[SECOND_CHOICE[name]](A, functions, columns, **options)
        except Overflows:
            raise
        except NotConverged as second:  # what stopped the series tells more than a full basis
            raise (failure if name == "chebyshev" else second) from None
    return replace(action, method=f"{action.method} ({reason})")
