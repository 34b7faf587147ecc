"""Conjugate gradients: for matrices known only by their products, or too large to factorise.

Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems, 1952; the step
numbers are those of Saad, Iterative Methods for Sparse Linear Systems (2003), Algorithm 6.18.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.cpu import CPU
from ..backends.sums import dot
from ..contracts import Array
from ..errors import NotConverged
from .failures import NotPositiveDefinite


class ConjugateGradients:
    """Solve A x = b to |b - A x| <= tolerance |b| with at most `limit` products of A."""

    unsaved: tuple[str, ...] = ()  # a checkpoint may hold a sparse A

    def __init__(self, operator: Any, tolerance: float = 1e-11, limit: int | None = None) -> None:
        self._operator = operator
        self._tolerance = tolerance
        self.products = 0
        # In exact arithmetic n products are enough; rounding makes stiff matrices need more.
        self._limit = 10 * operator.shape[0] if limit is None else limit

    def solve(self, b: Array) -> Array:
        x = np.zeros_like(b)
        r = b.copy()  # 1. r0 = b - A x0, p0 = r0
        p = r.copy()
        rr = dot(CPU, r, r)
        goal = self._tolerance**2 * rr
        for _ in range(self._limit):  # 2. until convergence
            if rr <= goal:
                return x
            self.products += 1
            Ap = self._operator @ p
            curvature = dot(CPU, p, Ap)
            if not curvature > 0.0:
                raise NotPositiveDefinite(f"curvature {curvature:.1e} along a direction")
            step = rr / curvature  # 3.
            x += step * p  # 4.
            r -= step * Ap  # 5.
            rr, before = dot(CPU, r, r), rr
            p *= rr / before  # 6. and 7. p = r + beta p
            p += r
        reached = self._tolerance * np.sqrt(rr / goal)
        raise NotConverged(
            f"conjugate gradients stopped at residual {reached:.1e} "
            f"(wanted {self._tolerance:.0e}) after {self._limit} products: "
            "assemble the tangent, or try a smaller step"
        )
