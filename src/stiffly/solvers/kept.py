"""What Newton's method found, and what a later, similar solve can use again."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from ..contracts import Array, Work
from .equation import same_weights
from .linear import Factor


@dataclass(frozen=True, slots=True)
class Kept:
    """What a later, similar solve can use again.

    solver: the factorisation of J + shift M, None where it had stopped to converge well.
    convex: J less its negative stiffness was factorised.
    noise: (n,), the residual that rounding the coordinates explains; None where nobody asked.
    size: the Frobenius norm of what was factorised.
    weights: what J depends on besides the point.
    """

    solver: Factor | None = None
    symmetric: bool = True
    constant: bool = False
    shift: float = 0.0
    noise: Array | None = None
    size: float = math.inf
    weights: tuple[float, ...] = ()
    convex: bool = False

    @property
    def corrected(self) -> bool:
        return self.convex or self.shift > 0.0

    def resumed(self) -> Kept:
        """After something happened between two steps: the factorisation is one to begin with."""
        return replace(self, constant=False)

    def weighted(self, weights: tuple[float, ...]) -> Kept:
        """For these weights: a factorisation of others is of no use."""
        if same_weights(self.weights, weights):
            return self
        return replace(self, solver=None, constant=False, weights=weights)


NOTHING_KEPT = Kept()


@dataclass(frozen=True, slots=True)
class NewtonResult:
    """x, its residual relative to the scale, and what it took.

    rounding: stopped at rounding level, above the residual asked for.
    """

    x: Array
    residual: float
    rounding: bool
    kept: Kept
    work: Work

    @property
    def iterations(self) -> int:
        return self.work.newton_iterations

    @property
    def notes(self) -> dict[str, Any]:
        return {"residual": self.residual, "rounding": self.rounding}
