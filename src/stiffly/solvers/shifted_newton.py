"""Newton's method for equations that are almost, but not quite, the gradient of a potential.

    (J + tau M) dx = -r(x),   x <- x + s dx,   J ~ r'(x), not symmetric

The force of a discrete gradient is of that kind: J loses its symmetry only as far as springs turn
within the step.  A potential would make two safeguards possible that |r| alone does not offer, and
both survive where there is none, because they look at one straight line at a time:

- The work (s/2) (r(x) + r(x + s dx)).dx of r along the line (trapezoidal rule) stands in for the
  change of the potential.  A step is taken where |r| falls or where this work is negative: next to
  stiff springs that turn, |r| has to rise before it falls.
- Where r.dx > 0, dx climbs (pressed springs are about to buckle, J is indefinite); where three
  halvings of s bring nothing, dx is too long to be trusted.  In both cases tau grows, as in the
  method of Levenberg and Marquardt, or a trust region with the mass as its metric (Nocedal, Wright,
  Numerical Optimization, Secs. 4.1 and 10.3).  It fades as fast as it came.

r.dx = -dx.J dx < 0 asks nothing of the antisymmetric part of J (gyroscopic terms): those keep
Newton's speed.  Where its symmetric part is indefinite at the root (a rope under pressure that
does not buckle), the iteration is not drawn to it, but to one nearby that does.

The factorisation is used again, also in the next solve, while an iteration cuts |r| to REUSE.
Where it stops, and what rounding means, is as in newton.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from ..contracts import Array, Work
from ..errors import NotConverged
from .equation import Equation, norm
from .failures import FactorisationError
from .linear import Factor, absolute_product, factorise
from .newton import ARMIJO, EPS, NOTHING_KEPT, REUSE, ROUNDING, Kept, NewtonResult

TOLERANCE = 1e-11
MAX_ITERATIONS = 60
HALVINGS = 3  # of s, before tau grows
GROWTH = 4.0  # of tau
LEAST, LARGEST = 1.0, 1e12  # tau: below the least it is none at all


class Unsolved(NotConverged):
    """With what the attempt has cost, for those who try again."""

    def __init__(self, message: str, work: Work) -> None:
        super().__init__(message)
        self.work = work


@dataclass(frozen=True)
class ShiftedNewton:
    """Iterate until |r| <= tolerance * scale, or fail with NotConverged."""

    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    prefix: ClassVar[str] = ""
    remedy: ClassVar[str] = "try a smaller step"
    extrapolates: ClassVar[bool] = False

    def solve(self, equation: Equation, guess: Array, kept: Kept | None) -> NewtonResult:
        """From guess (n,); kept: of an earlier, similar solve."""
        run = _Run(equation, (kept or NOTHING_KEPT).weighted(equation.weights))
        point, exhausted = run.evaluate(guess), False
        for _ in range(self.max_iterations):
            if exhausted or point.norm <= self.tolerance * equation.scale(point.x):
                break
            point, exhausted = run.improve(point)
        scale = equation.scale(point.x)
        reached = point.norm / scale if scale > 0.0 else point.norm
        solved = point.norm <= self.tolerance * scale
        if not solved and not (exhausted and run.at_rounding(point)):
            raise run.failure(f"residual {reached:.0e} (wanted {self.tolerance:.0e})")
        return NewtonResult(point.x, reached, not solved, run.kept, run.work())


class _Point(NamedTuple):
    x: Array
    r: Array
    norm: float


class _Run:
    """One solve: the factorisation in use, tau, and the counts."""

    def __init__(self, equation: Equation, kept: Kept) -> None:
        self._equation, self.kept = equation, kept
        self._tau = 0.0
        self._lost = False  # the last update was in the last digits of the coordinates
        self._evaluations = self._tangents = self._factorizations = self._solves = 0

    def evaluate(self, x: Array) -> _Point:
        self._evaluations += 1
        r = self._equation.residual(x)
        return _Point(x, r, norm(r))

    def improve(self, point: _Point) -> tuple[_Point, bool]:
        """The next iterate, and whether nothing more is to be gained."""
        if not math.isfinite(point.norm):
            raise self.failure("a force that is not finite")
        if self.kept.solver is not None:
            trial = self.evaluate(point.x + self._solve(self.kept.solver, point))
            if trial.norm <= REUSE * point.norm:
                return trial, False
            self.kept = replace(self.kept, solver=None)
            if trial.norm < point.norm:
                return trial, self.at_rounding(trial)
        trial = self._fresh(point)
        return (point, True) if trial is None else (trial, False)

    def at_rounding(self, point: _Point) -> bool:
        return self._lost or point.norm <= self.kept.noise

    def _fresh(self, point: _Point) -> _Point | None:
        """A step with the tangent at this point; None where no tau makes progress."""
        tangent = self._equation.linearise(point.x)
        self._tangents += 1
        self._tau = self._tau / GROWTH if self._tau > LEAST else 0.0
        while self._tau <= LARGEST:
            trial = self._try(tangent.matrix(self._tau), point)
            if trial is not None or self.at_rounding(point):
                return trial
            self._tau = max(LEAST, GROWTH * self._tau)
        return None

    def _try(self, matrix: object, point: _Point) -> _Point | None:
        """A step with J + tau M; None where it brings nothing."""
        try:
            solver = self._factorise(matrix, point)
        except FactorisationError:  # exactly singular
            return None
        dx = self._solve(solver, point)
        digits = ROUNDING * norm(self._equation.origin + point.x)
        self._lost = self._tau == 0.0 and norm(dx) <= digits
        trial = None if self._lost else self._search(point, dx)
        if trial is None or self._tau > 0.0 or trial.norm > REUSE * point.norm:
            self.kept = replace(self.kept, solver=None)
        return trial

    def _search(self, point: _Point, dx: Array) -> _Point | None:
        """The first of x + dx, x + dx/2, ... that makes progress, if any of the first few does."""
        slope, s = float(point.r @ dx), 1.0
        if not slope < 0.0:
            return None
        for _ in range(1 + HALVINGS):
            trial = self.evaluate(point.x + s * dx)
            falls = trial.norm <= (1.0 - ARMIJO * s) * point.norm
            if falls or float(trial.r @ dx) <= (ARMIJO - 1.0) * slope:
                return trial
            s *= 0.5
        return None

    def _factorise(self, matrix: object, point: _Point) -> Factor:
        self._factorizations += 1
        solver = factorise(matrix, symmetric=False)
        noise = EPS * norm(absolute_product(matrix, self._equation.origin + point.x))
        self.kept = replace(self.kept, solver=solver, symmetric=False, noise=noise)
        return solver

    def _solve(self, solver: Factor, point: _Point) -> Array:
        self._solves += 1
        return solver.solve(-point.r)

    def work(self) -> Work:
        return Work(
            force_evaluations=self._evaluations,
            tangents=self._tangents,
            factorizations=self._factorizations,
            linear_solves=self._solves,
            newton_iterations=self._solves,
        )

    def failure(self, cause: str) -> Unsolved:
        return Unsolved(
            f"Newton stopped at {cause} after {self._solves} iterations "
            f"at t = {self._equation.time:.6g} s: try a smaller step",
            self.work(),
        )
