"""Operators made of others: sums, for stiffness or damping that no one matrix holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..contracts import Array
from .operators import BaseOperator
from .untyped import sp


class SumOperator(BaseOperator):
    """K = K_1 + K_2 + ...; the terms share one mass."""

    def __init__(self, terms: Sequence[BaseOperator], *, constant: bool = False) -> None:
        super().__init__(terms[0].size, terms[0].mass, constant)
        self.terms = tuple(terms)

    def _stiffness(self, b: Array) -> Array:
        total = self.terms[0]._stiffness(b)
        for term in self.terms[1:]:
            total = total + term._stiffness(b)
        return total

    def tosparse(self) -> Any:
        """The entries of K; terms that have none are multiplied out (up to DENSE_LIMIT)."""
        return sum(sparse_of(term) for term in self.terms)

    def _entries(self) -> Array:
        return self.tosparse().toarray()


def sparse_of(term: Any) -> Any:
    """K of an operator, CSR."""
    if hasattr(term, "tosparse"):
        return sp.csr_matrix(term.tosparse())
    return sp.csr_matrix(term.K if hasattr(term, "K") else term.todense())
