"""What the two Newton methods share: the loop, where it ends, and what rounding explains."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..backends.sums import norms
from ..contracts import Array, Work
from ..errors import NotConverged
from .equation import Equation, Linearisation
from .kept import NOTHING_KEPT, Kept, NewtonResult
from .linear import Factor
from .rounding import FAINT, ROUNDING, beyond, hopeless, noise, relative


class Point(NamedTuple):
    """x, r(x) (n,) and |r(x)|."""

    x: Array
    r: Array
    norm: float


class Iteration:
    """One solve: the factorisation in use, the tangent it came from, and the counts."""

    def __init__(self, equation: Equation, kept: Kept | None, tolerance: float) -> None:
        self.equation, self.tolerance, self.backend = equation, tolerance, equation.backend
        self.kept = (kept or NOTHING_KEPT).weighted(equation.weights)
        self.tangent: Linearisation | None = None
        self.exhausted = False  # the last update ended where rounding explains what is left
        self.lost = False  # it was lost in the last digits of the coordinates
        self.evaluations = self.tangents = self.factorizations = self.solves = self.products = 0

    def improve(self, point: Point) -> Point | None:
        """The next iterate (the same one, where only a new tangent helps); None: no way on."""
        raise NotImplementedError  # each method has its own

    def solve(self, guess: Array, max_iterations: int) -> NewtonResult:
        """From guess (n,) to |r(x)| <= tolerance * scale(x), or as near as rounding allows."""
        point, demand = self.evaluate(guess), self.equation.change
        for _ in range(max_iterations):
            if self.exhausted or point.norm <= self.tolerance * demand(point.x):
                break
            demand = self.equation.scale
            better = self.improve(point)
            if better is None:
                break
            point = better
        size = self.equation.scale(point.x)
        solved, reached = point.norm <= self.tolerance * size, relative(point.norm, size)
        if not (solved or self.exhausted or (self.lost and reached <= FAINT)):
            raise self.failure(f"residual {reached:.0e} (wanted {self.tolerance:.0e})")
        return NewtonResult(point.x, reached, not solved, self.kept, self.work())

    def evaluate(self, x: Array) -> Point:
        self.evaluations += 1
        r = self.equation.residual(x)
        return Point(x, r, *norms(self.backend, r))

    def goal(self, point: Point) -> float:
        """What |r| has to come down to."""
        return self.tolerance * self.equation.scale(point.x)

    def is_lost(self, point: Point, dx: Array) -> bool:
        """The update changes nothing but the last digits of the coordinates."""
        moved, far = norms(self.backend, dx, self.equation.origin + point.x)
        return moved <= ROUNDING * far

    def explains(self, point: Point, slack: float, goal: float) -> bool:
        """Rounding the coordinates does; unknown until a tangent of this solve says how much."""
        level, x = self.kept.noise, self.equation.origin + point.x
        if level is None:
            constant, tangent = self.kept.constant, self.tangent
            if tangent is None and not constant:
                return False
            if hopeless(point.norm, self.kept, x, goal, self.backend):
                return False
            if tangent is None or constant:
                tangent = self.equation.linearise(point.x)
            level = noise(tangent, x)
            self.kept = replace(self.kept, noise=level)
        return beyond(point.r, slack * level, self.backend) <= goal

    def update(self, solver: Factor, b: Array) -> Array:
        """What the factorisation makes of b, counted."""
        self.solves += 1
        before = solver.products
        try:
            return solver.solve(b)
        finally:
            self.products += solver.products - before

    def work(self) -> Work:
        return Work(
            force_evaluations=self.evaluations,
            tangents=self.tangents,
            operator_products=self.products,
            factorizations=self.factorizations,
            linear_solves=self.solves,
            newton_iterations=self.solves,
        )

    def failure(self, cause: str) -> NotConverged:
        return NotConverged(
            f"Newton stopped at {cause} after {self.solves} iterations "
            f"at t = {self.equation.time:.6g} s: try a smaller step"
        )
