"""What the two Newton methods share: the loop, where it ends, and what rounding explains.

How well can a residual be known?  Forces are evaluated at coordinates of sixteen digits:
r(d) = M d - alpha force(origin + d, ...) keeps all digits of d, but the force sees origin + d,
whose last digits are rounding.  What that does to r is, component by component, about

    noise = eps |alpha K + beta D| |origin + d|

with the absolute values of the entries.  It says nothing about M d: however small an update is
against the coordinates, the velocities need it, so it is always taken.  Component by component: a
particle far out is no excuse for the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..backends.sums import norms
from ..contracts import Array, Backend, Work
from ..errors import NotConverged
from .card import SavedMatrix
from .equation import Equation, Linearisation, Solution, same_weights
from .linear import Factor, absolute_product

EPS = 2.0**-52
SLACK = 64.0  # several roundings in a row, of elements that share a particle
ROUNDING = SLACK * EPS  # below ROUNDING |x| an update changes nothing but the last digits of x
FAINT = 1e-3  # largest relative residual of an end that only the size of its update explains


def noise(tangent: Linearisation, x: Array) -> Array:
    """(n,): what rounding the coordinates x (n,) does to each component of r."""
    return EPS * absolute_product(tangent.matrix(-1.0), x)


def hopeless(r: float, kept: Kept, x: Array, goal: float, backend: Backend) -> bool:
    """Noise cannot explain |r| = r: a bound that saves its computation far from rounding level.

    | |J| |x| | is at most the Frobenius norm of J times |x|; twice that where a negative stiffness
    nearly cancels the mass on the diagonal.
    """
    (far,) = norms(backend, x)
    return r - 2.0 * ROUNDING * kept.size * far > goal


def beyond(r: Array, noise: Array, backend: Backend) -> float:
    """|r| as far as the noise does not explain it."""
    return norms(backend, np.maximum(np.abs(r) - noise, 0.0))[0]


def relative(size: float, scale: float) -> float:
    """|r| / scale.  Without a scale nothing has moved, and r is the whole force: all is missing."""
    if scale > 0.0:
        return size / scale
    return 0.0 if size == 0.0 else 1.0


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

    def on(self, backend: Backend) -> Kept:
        """Of a matrix alone, which is what a checkpoint holds of a card: its factorisation."""
        if not isinstance(self.solver, SavedMatrix):
            return self
        return replace(self, solver=self.solver.on(backend))


NOTHING_KEPT = Kept()


BODY_BY_BODY = "body by body"  # what the notes of a step say of its solver


def solved_apart(equation: Equation, guess: Array, tolerance: float, most: int) -> Solution | None:
    """The solution of an equation that falls apart into bodies; None where it does not, or a body
    was not solved."""
    attempt = getattr(equation, "body_by_body", None)
    found = None if attempt is None else attempt(guess, tolerance, most)
    if found is None or found.failed is not None:
        return None
    rounding = found.residual > tolerance
    notes = {"residual": found.residual, "rounding": rounding, "solver": BODY_BY_BODY}
    return Solution(found.d, found.residual, rounding, None, found.work, notes)


class Point(NamedTuple):
    """x, r(x) (n,) and |r(x)|."""

    x: Array
    r: Array
    norm: float


class Iteration:
    """One solve: the factorisation in use, the tangent it came from, and the counts."""

    def __init__(self, equation: Equation, kept: Kept | None, tolerance: float) -> None:
        self.equation, self.tolerance, self.backend = equation, tolerance, equation.backend
        self.kept = (kept or NOTHING_KEPT).weighted(equation.weights).on(equation.backend)
        self.tangent: Linearisation | None = None
        self.exhausted = False  # the last update ended where rounding explains what is left
        self.lost = False  # it was lost in the last digits of the coordinates
        self.evaluations = self.tangents = self.factorizations = self.solves = self.products = 0

    def improve(self, point: Point) -> Point | None:
        """The next iterate (the same one, where only a new tangent helps); None: no way on."""
        raise NotImplementedError  # each method has its own

    def solve(self, guess: Array, max_iterations: int) -> Solution:
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
        notes = {"residual": reached, "rounding": not solved}
        return Solution(point.x, reached, not solved, self.kept, self.work(), notes)

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

    def cut(self, point: Point, dx: Array) -> Array:
        """As far as nothing is in its way."""
        dx *= self.equation.reach(point.x, dx)
        return dx

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
