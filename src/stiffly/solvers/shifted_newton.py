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

The factorisation is used again, also in the next solve, with Broyden's updates (secants.py), while
an iteration cuts |r| to AGAIN.
Where it stops, and what rounding means, is as in newton.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from ..backends.sums import dot
from ..contracts import Array, Work
from ..errors import InputError, NotConverged
from .equation import Equation, Solution
from .failures import FactorisationError
from .iteration import SLACK, Iteration, Kept, Point
from .linear import Factor, factorise, frobenius
from .newton import ARMIJO, REUSE, Newton
from .secants import Broyden

TOLERANCE = 1e-11
MAX_ITERATIONS = 30
HALVINGS = 3  # of s, before tau grows
GROWTH = 4.0  # of tau
AGAIN = 0.5  # as REUSE; Broyden's updates make iterations better as they go on
LEAST, LARGEST = 1.0, 1e12  # tau: below the least it is none at all


class Unsolved(NotConverged):
    """With what the attempt has cost, for those who try again."""

    def __init__(self, message: str, work: Work) -> None:
        super().__init__(message)
        self.work = work


@dataclass(frozen=True)
class ShiftedNewton(Newton):
    """Iterate until |r| <= tolerance * scale, or fail with NotConverged."""

    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS
    extrapolates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cg:
            raise InputError(f"ShiftedNewton: cg = {self.cg!r}: it factorises; take Newton(cg=...)")

    def solve(self, equation: Equation, guess: Array, kept: Kept | None) -> Solution:
        """From guess (n,); kept: of an earlier, similar solve."""
        return _Run(equation, kept, self.tolerance).solve(guess, self.max_iterations)


class _Run(Iteration):
    def __init__(self, equation: Equation, kept: Kept | None, tolerance: float) -> None:
        super().__init__(equation, kept, tolerance)
        self._tau, self._seen = 0.0, Broyden(equation.backend)

    def improve(self, point: Point) -> Point | None:
        if not math.isfinite(point.norm):
            raise self.failure("a force that is not finite")
        if self.kept.solver is not None:
            # with a factorisation of elsewhere, and what has been seen since
            solved = self.update(self.kept.solver, point.r)
            trial = self.evaluate(point.x + self.cut(point, -self._seen.improved(point.x, solved)))
            if trial.norm <= AGAIN * point.norm:
                return trial
            if self._explains(trial, 1.0):  # a stale tangent has to get all the way there
                self.exhausted = True
                return trial
            self.kept = replace(self.kept, solver=None)
            if trial.norm < point.norm:
                return trial
        return self._fresh(point)

    def _explains(self, point: Point, slack: float) -> bool:
        return self.explains(point, slack, self.goal(point))

    def _fresh(self, point: Point) -> Point | None:
        """A step with the tangent at this point; None where no tau makes progress."""
        self.tangent = self.equation.linearise(point.x)
        self.tangents += 1
        self._tau = self._tau / GROWTH if self._tau > LEAST else 0.0
        while self._tau <= LARGEST:
            trial = self._try(self.tangent.matrix(self._tau), point)
            if trial is not None:
                return trial
            if self._tau > 0.0 and self._explains(point, SLACK):
                break
            self._tau = max(LEAST, GROWTH * self._tau)
        self.exhausted = self._explains(point, SLACK)
        return point if self.exhausted else None

    def _try(self, matrix: object, point: Point) -> Point | None:
        """A step with J + tau M; None where it brings nothing."""
        try:
            solver = self._factorise(matrix)
        except FactorisationError:  # exactly singular
            return None
        dx = self.cut(point, self.update(solver, -point.r))
        self.lost = self._tau == 0.0 and self.is_lost(point, dx)
        trial = self._search(point, dx)
        useful = trial is not None and (self.exhausted or trial.norm <= REUSE * point.norm)
        if self._tau > 0.0 or not useful:
            self.kept = replace(self.kept, solver=None)
        return trial

    def _search(self, point: Point, dx: Array) -> Point | None:
        """The first of x + dx, x + dx/2, ... that makes progress, if any of the first few does.

        x + dx also where it ends at rounding level.
        """
        slope, s = dot(self.backend, point.r, dx), 1.0
        if not slope < 0.0:
            return None
        for _ in range(1 + HALVINGS):
            trial = self.evaluate(point.x + s * dx)
            if s == 1.0 and trial.norm > REUSE * point.norm and self._explains(trial, SLACK):
                self.exhausted = True
                return trial
            falls = trial.norm <= (1.0 - ARMIJO * s) * point.norm
            if falls or dot(self.backend, trial.r, dx) <= (ARMIJO - 1.0) * slope:
                return trial
            s *= 0.5
        return None

    def _factorise(self, matrix: object) -> Factor:
        self.factorizations += 1
        self._seen.forget()
        solver = factorise(matrix, symmetric=False, backend=self.backend)
        size = frobenius(matrix, self.backend)
        self.kept = replace(self.kept, solver=solver, symmetric=False, noise=None, size=size)
        return solver

    def failure(self, cause: str) -> Unsolved:
        return Unsolved(str(super().failure(cause)), self.work())
