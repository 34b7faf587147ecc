"""What evaluators cost, in half nanoseconds, and how much work one evaluation may be."""

from __future__ import annotations

from math import sqrt
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import real_number
from ..contracts import SpectralMap
from ..errors import InputError
from .bounds import spectrum
from .operators import BaseOperator

# An eigenbasis costs n^3; an iteration about 10 + 1.7 h omega products, all columns together; an
# entry was measured at 0.4 (idle, in cache) to 1.6 (busy cores)
ENTRY, CALL, PRODUCTS = 0.8, 5e4, (10.0, 1.7)
_UNSEEN = 20  # entries per row that a matrix known by its products is taken to have
WORK = 2e10  # of one evaluation, unless max_products says otherwise: ten seconds
EVALUATIONS = 100  # that share the eigenbasis of a constant operator: a run has hundreds of steps
SMALL = 64  # coordinates, or rows of a general J: all modes are cheaper than products
LEAST = 1000  # products that any evaluation may use, however large the matrix


def entries(A: Any) -> int:
    """Of an operator, a matrix or a LinearOperator."""
    if hasattr(A, "terms"):
        return sum(entries(term) for term in A.terms)
    if hasattr(A, "entries"):
        return A.entries
    K = getattr(A, "K", A)
    if hasattr(K, "nnz"):
        return K.nnz
    return K.size if isinstance(K, np.ndarray) else _UNSEEN * _rows(A)


def _rows(A: Any) -> int:
    return A.size if isinstance(A, BaseOperator) else A.shape[0]


def entry_cost(A: Any) -> float:
    return ENTRY * entries(A)


def product(A: BaseOperator, share: float = 1.0) -> float:
    """One product with a share of the entries of A."""
    return CALL + share * entry_cost(A)


def eigenbasis(A: BaseOperator) -> float:
    return float(A.core.size) ** 3


def evaluations(A: BaseOperator) -> int:
    """How many share what is computed once for A."""
    return EVALUATIONS if A.constant else 1


def in_eigenbasis(A: BaseOperator) -> float:
    """One evaluation once there is a basis: there and back, all columns together."""
    return 2.0 * ENTRY * float(A.core.size) ** 2


def products_of_entries(A: BaseOperator) -> int:
    """For what is known by products alone, which may be those of a full matrix: as many as cost
    what all entries and their modes do."""
    return max(LEAST, A.size + int(eigenbasis(A) / (CALL + ENTRY * A.size**2)))


def iteration(A: BaseOperator, functions: SpectralMap) -> float:
    """All products of a polynomial method, from tau omega_max."""
    high = max(spectrum(A)[0].high, 0.0)
    return product(A) * products(getattr(functions, "longest", 0.0) * sqrt(high))


def products(phase: float) -> float:
    cheap, growth = PRODUCTS
    return cheap + growth * phase


def most_products(A: BaseOperator, asked: int | None) -> int:
    """max_products: as asked, or as many as WORK allows."""
    if asked is not None:
        return asked
    return int(A.backend.agree(max(LEAST, int(WORK / product(A)))))


def check_max_products(asked: int | None) -> None:
    if asked is None:
        return
    if not (isinstance(asked, Real) and real_number("max_products", asked, "leave it out") >= 1):
        raise InputError(f"max_products must be a positive number, got {asked}: leave it out")
