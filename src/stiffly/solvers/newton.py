"""Newton's method with a kept factorisation, a line search and a diagonal correction.

    J dx = -r(x),   x <- x + s dx,   J ~ r'(x)

- Modified Newton: a factorisation is used again, across iterations and across time steps, as long
  as each iteration cuts the residual to REUSE of what it was (Hairer, Wanner, Solving Ordinary
  Differential Equations II, Sec. IV.8).  A constant tangent is factorised once.
- Where Cholesky meets an indefinite J, tau M is added to it with tau growing until it succeeds, so
  that dx descends on the potential (Nocedal, Wright, Numerical Optimization, Sec. 3.4).
- Backtracking halves s until |r| falls or, where J is symmetric, until Phi falls.  A symmetric J
  makes r the gradient of some potential Phi (the incremental potential of the step), and
  r(x + s dx).dx is its slope, so (s/2) (r(x).dx + r(x + s dx).dx) is its change by the trapezoidal
  rule: no energy has to be evaluated, and nothing is lost to rounding.  Where J had to be
  corrected, Phi alone decides: dx need not descend on |r|.
- It stops where |r| <= tolerance * scale.  A stiff force cannot be evaluated that well: rounding
  the coordinates alone leaves a residual of eps | |J| |x| |.  Below that level it stops at the
  first iteration that no longer converges well, or whose update is lost in the last digits of the
  coordinates, and the result says `rounding`.  Anything else is NotConverged, never a silent
  half-solved step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from ..contracts import Array, Work
from ..errors import NotConverged
from .failures import FactorisationError, NotPositiveDefinite
from .linear import Factor, absolute_product, factorise

EPS = 2.0**-52
ROUNDING = 64 * EPS  # an update below ROUNDING |x| changes nothing but the last digits
REUSE = 0.2  # keep the factorisation while an iteration cuts the residual to this
ARMIJO = 1e-4
BACKTRACKS = 30
SHIFT_GROWTH = 4.0
SHIFT_LIMIT = 1e18


class Linearisation(Protocol):
    """J at one x. `matrix(tau)` assembles J + tau M (dense, SciPy sparse or LinearOperator).

    definite: J is positive definite beyond reasonable doubt (see factorise's `cautious`).
    """

    symmetric: bool
    constant: bool
    definite: bool

    def matrix(self, shift: float) -> Any: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """What a later, similar solve can use again.

    solver: the factorisation of J + shift M, None where it had stopped to converge well.
    noise: the residual that rounding the coordinates explains.
    """

    solver: Factor | None = None
    symmetric: bool = True
    constant: bool = False
    shift: float = 0.0
    noise: float = 0.0


NOTHING_KEPT = Kept()


@dataclass(frozen=True, slots=True)
class NewtonResult:
    """x, its residual relative to the scale (absolute where the scale is 0), and what it took.

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


class _Point(NamedTuple):
    x: Array
    r: Array
    norm: float


def norm(a: Array) -> float:
    return math.sqrt(a @ a)


def newton(
    residual: Callable[[Array], Array],
    linearise: Callable[[Array], Linearisation],
    x0: Array,
    *,
    tolerance: float,
    scale: Callable[[Array], float],
    max_iterations: int = 100,
    origin: Array | float = 0.0,
    kept: Kept = NOTHING_KEPT,
    time: float = math.nan,
) -> NewtonResult:
    """Solve r(x) = 0 from x0 (n,) to |r(x)| <= tolerance * scale(x), 2-norms.

    origin: the coordinates that x is a displacement from (n,); they set the rounding level.
    kept: `NewtonResult.kept` of an earlier, similar solve.
    time: where the solve stands [s], for the message of a failure.
    """
    run = _Run(residual, linearise, origin, kept, time)
    point, exhausted = _iterate(run, x0, tolerance, scale, max_iterations)
    goal = tolerance * scale(point.x)
    if exhausted or point.norm <= max(goal, run.kept.noise):
        return run.result(point, goal, tolerance)
    reached = _relative(point, goal, tolerance)
    raise run.failure(f"residual {reached:.0e} (wanted {tolerance:.0e})")


def _iterate(
    run: _Run,
    x0: Array,
    tolerance: float,
    scale: Callable[[Array], float],
    max_iterations: int,
) -> tuple[_Point, bool]:
    """The last iterate, and whether it exhausts the digits of the coordinates."""
    point = run.evaluate(x0)
    for _ in range(max_iterations):
        if point.norm <= tolerance * scale(point.x):
            break
        direction = run.direction(point)
        if direction is None:
            break
        dx, fresh = direction
        if norm(dx) <= ROUNDING * norm(run.origin + point.x):
            return point, True
        trial = run.advance(point, dx, fresh)
        if trial is None or trial.norm > REUSE * point.norm:
            if point.norm <= run.kept.noise:
                return trial or point, True
            if trial is None and fresh:
                break
            run.forget()
        point = trial or point
    return point, False


def _relative(point: _Point, goal: float, tolerance: float) -> float:
    return point.norm * (tolerance / goal) if goal > 0.0 else point.norm


class _Run:
    """One solve: the kept factorisation, the tangent it came from, and the counts."""

    def __init__(
        self,
        residual: Callable[[Array], Array],
        linearise: Callable[[Array], Linearisation],
        origin: Array | float,
        kept: Kept,
        time: float,
    ) -> None:
        self._residual, self._linearise = residual, linearise
        self.origin, self._time = origin, time
        self.kept = kept
        self._tangent: Linearisation | None = None
        self._evaluations = self._tangents = self._factorizations = 0
        self._solves = self._products = 0

    def forget(self) -> None:
        if not self.kept.constant:
            self.kept = replace(self.kept, solver=None)
            self._tangent = None

    def evaluate(self, x: Array) -> _Point:
        self._evaluations += 1
        r = self._residual(x)
        return _Point(x, r, norm(r))

    def direction(self, point: _Point) -> tuple[Array, bool] | None:
        """-J^-1 r, and whether J belongs to this point."""
        if not math.isfinite(point.norm):
            raise self.failure("a force that is not finite")
        fresh = self.kept.solver is None or self.kept.constant
        # A correction that was needed a moment ago is probably needed still, but less of it.
        shift = self.kept.shift / SHIFT_GROWTH if self.kept.shift > 1.0 else 0.0
        while shift < SHIFT_LIMIT:
            try:
                solver = self.kept.solver or self._factorise(point, shift)
                return self._solve(solver, -point.r), fresh
            except NotPositiveDefinite:
                fresh = True
                shift = max(1.0, SHIFT_GROWTH * shift)
                self.kept = Kept(shift=shift)
            except FactorisationError as failure:
                raise self.failure(f"a tangent that cannot be factorised ({failure})") from None
        return None  # the iterates run off to where no correction helps

    def _factorise(self, point: _Point, shift: float) -> Factor:
        if self._tangent is None:
            self._tangents += 1
            self._tangent = self._linearise(point.x)
        tangent, matrix = self._tangent, self._tangent.matrix(shift)
        self._factorizations += 1
        cautious = shift > 0.0 or not tangent.definite
        solver = factorise(matrix, symmetric=tangent.symmetric, cautious=cautious)
        constant = tangent.constant and shift == 0.0
        noise = EPS * norm(absolute_product(matrix, self.origin + point.x))
        self.kept = Kept(solver, tangent.symmetric, constant, shift, noise)
        return solver

    def _solve(self, solver: Factor, b: Array) -> Array:
        self._solves += 1
        before = solver.products
        try:
            return solver.solve(b)
        finally:
            self._products += solver.products - before

    def advance(self, point: _Point, dx: Array, fresh: bool) -> _Point | None:
        """The first of x + dx, x + dx/2, x + dx/4, ... that makes progress; None if none does."""
        trial, step = self.evaluate(point.x + dx), 1.0
        if not fresh:  # not worth a search: a new tangent tells more
            return trial if trial.norm < point.norm else None
        highest = (ARMIJO - 1.0) * float(point.r @ dx)  # slope at which Phi has just not risen
        for _ in range(BACKTRACKS):
            if self.kept.shift == 0.0 and trial.norm <= (1.0 - ARMIJO * step) * point.norm:
                return trial
            if self.kept.symmetric and float(trial.r @ dx) <= highest:
                return trial
            if point.norm <= self.kept.noise:
                return None
            step *= 0.5
            trial = self.evaluate(point.x + step * dx)
        return None

    def result(self, point: _Point, goal: float, tolerance: float) -> NewtonResult:
        return NewtonResult(
            x=point.x,
            residual=_relative(point, goal, tolerance),
            rounding=point.norm > goal,
            kept=self.kept,
            work=Work(
                force_evaluations=self._evaluations,
                tangents=self._tangents,
                operator_products=self._products,
                factorizations=self._factorizations,
                linear_solves=self._solves,
                newton_iterations=self._solves,
            ),
        )

    def failure(self, cause: str) -> NotConverged:
        return NotConverged(
            f"Newton stopped at {cause} after {self._solves} iterations "
            f"at t = {self._time:.6g} s: try a smaller step"
        )
