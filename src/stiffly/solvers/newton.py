"""Newton's method with a kept factorisation, a line search and a diagonal correction.

    J dx = -r(x),   x <- x + s dx,   J ~ r'(x)

- Modified Newton: a factorisation is used again, across iterations and across time steps, as long
  as each iteration cuts the residual to REUSE of what it was (Hairer, Wanner, Solving Ordinary
  Differential Equations II, Sec. IV.8).  A constant tangent is factorised once.
- Where Cholesky meets an indefinite J, its negative stiffness is left out element by element
  (`convex`); where that is not to be had, tau M is added with growing tau until it succeeds.
  Either way dx descends on the potential (Nocedal, Wright, Numerical Optimization, Sec. 3.4).
- Backtracking halves s until |r| falls or, where J is symmetric, until Phi falls.  A symmetric J
  makes r the gradient of some potential Phi (the incremental potential of the step), and
  r(x + s dx).dx is its slope, so (s/2) (r(x).dx + r(x + s dx).dx) is its change by the trapezoidal
  rule: no energy has to be evaluated, and nothing is lost to rounding.  Where J had to be
  corrected, Phi alone decides: dx need not descend on |r|.
- A step without its negative stiffness is short where that stiffness was most of it: near a saddle
  (cloth about to buckle) it creeps, by a tenth an iteration.  There it is doubled while Phi falls.
- It stops where |r| <= tolerance * scale.  A stiff force cannot be evaluated that well: rounding
  the coordinates alone leaves a residual (see iteration.py).  Where an update ends at that level it
  is taken, for what it does to the velocities, and is the last; the result says `rounding`.  So it
  does where the update is lost in the last digits of the coordinates and the residual is small.
  Anything else is NotConverged, never a silent half-solved step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import scipy.sparse as sp

from ..backends.sums import dot
from ..contracts import Array
from .cg import ConjugateGradients
from .equation import Equation, Solution
from .failures import FactorisationError, NotPositiveDefinite
from .iteration import NOTHING_KEPT, SLACK, Iteration, Kept, Point, solved_apart
from .linear import Factor, factorise, frobenius
from .settings import check_count, check_share, check_tolerance

TOLERANCE = 1e-9
MAX_ITERATIONS = 100
REUSE = 0.2  # keep the factorisation while an iteration cuts the residual to this
ARMIJO = 1e-4
BACKTRACKS = 30
STEEP, LONGEST = 0.5, 64.0  # a convex step is doubled while the slope is this share of the first
SHIFT_GROWTH = 4.0
SHIFT_LIMIT = 1e18


@dataclass(frozen=True)
class Newton:
    """Iterate until |r| <= tolerance * scale, or fail with NotConverged.

    reuse: a factorisation is kept while an iteration cuts the residual to this share of it; 0:
    every iteration has its own, as in textbooks.  (ShiftedNewton decides for itself.)
    cg: a relative residual, such as 1e-3: symmetric systems are solved to that by conjugate
    gradients instead of a factorisation.  Short steps of large bodies, whose J is nearly M, take a
    few products of J so; 0: factorised.  Over ranks PETSc decides, and a card iterates anyway.
    """

    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS
    reuse: float = REUSE
    cg: float = 0.0

    prefix: ClassVar[str] = ""  # to the name of the method it solves
    remedy: ClassVar[str] = "try a smaller step"
    extrapolates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        where = type(self).__name__
        check_tolerance(where, self.tolerance)
        check_count(where, "max_iterations", self.max_iterations)
        check_share(where, "reuse", self.reuse)
        check_share(where, "cg", self.cg)

    def solve(self, equation: Equation, guess: Array, kept: Kept | None) -> Solution:
        """From guess (n,); kept: of an earlier, similar solve.

        Bodies that are independent are solved one by one; where one of them is not, all together.
        """
        apart = solved_apart(equation, guess, self.tolerance, self.max_iterations)
        if apart is not None:
            return replace(apart, kept=kept or NOTHING_KEPT)
        run = _Run(equation, kept, self.tolerance)
        run.reuse, run.cg = self.reuse, self.cg
        result = run.solve(guess, self.max_iterations)
        return replace(result, kept=replace(result.kept, weights=equation.weights))


class _Run(Iteration):
    _is_convex = False  # the tangent has lost its negative stiffness
    reuse, cg = REUSE, 0.0

    def forget(self) -> None:
        if not self.kept.constant:
            self.kept = replace(self.kept, solver=None)
            self.tangent = None

    def improve(self, point: Point) -> Point | None:
        goal, direction = self.goal(point), self.direction(point)
        if direction is None:
            return None
        dx, fresh = direction
        self.lost = self.is_lost(point, dx)
        trial = self.advance(point, dx, fresh, goal)
        if trial is not None and (self.exhausted or trial.norm <= self.reuse * point.norm):
            return trial
        if trial is None and fresh:
            self.exhausted = self.explains(point, SLACK, goal)
            return point if self.exhausted else None
        self.forget()
        return trial or point

    def direction(self, point: Point) -> tuple[Array, bool] | None:
        """-J^-1 r, and whether J belongs to this point."""
        if not math.isfinite(point.norm):
            raise self.failure("a force that is not finite")
        fresh = self.kept.solver is None or self.kept.constant
        # A correction that was needed a moment ago is probably needed still, but less of it.
        shift = self.kept.shift / SHIFT_GROWTH if self.kept.shift > 1.0 else 0.0
        while shift < SHIFT_LIMIT:
            try:
                solver = self.kept.solver or self._factorise(point, shift)
                return self.cut(point, self.update(solver, -point.r)), fresh
            except NotPositiveDefinite:
                fresh = True
                if self._convex():
                    self.kept = Kept()
                    continue
                shift = max(1.0, SHIFT_GROWTH * shift)
                self.kept = Kept(shift=shift)
            except FactorisationError as failure:
                raise self.failure(f"a tangent that cannot be factorised ({failure})") from None
        return None  # the iterates run off to where no correction helps

    def _convex(self) -> bool:
        """Puts the tangent less its negative stiffness in its place, the first time it is asked."""
        convex = getattr(self.tangent, "convex", None)
        better = None if convex is None or self._is_convex else convex()
        if better is None:
            return False
        self.tangent, self._is_convex = better, True
        return True

    def _factorise(self, point: Point, shift: float) -> Factor:
        if self.tangent is None:
            self.tangents += 1
            self.tangent, self._is_convex = self.equation.linearise(point.x), False
        tangent, matrix = self.tangent, self.tangent.matrix(shift)
        if self.cg and tangent.symmetric and not (self.backend.shared or self.backend.iterates):
            rows = sp.csr_matrix(matrix) if sp.issparse(matrix) else matrix
            solver = ConjugateGradients(rows, self.cg)
        else:
            self.factorizations += 1
            solver = factorise(matrix, symmetric=tangent.symmetric, backend=self.backend)
        constant = tangent.constant and shift == 0.0
        size, convex = frobenius(matrix, self.backend), self._is_convex
        self.kept = Kept(solver, tangent.symmetric, constant, shift, size=size, convex=convex)
        return solver

    def advance(self, point: Point, dx: Array, fresh: bool, goal: float) -> Point | None:
        """The first of x + dx, x + dx/2, x + dx/4, ... that makes progress; None if none does.

        x + dx also where it ends at rounding level: a stale tangent has to get all the way there.
        """
        trial, step = self.evaluate(point.x + dx), 1.0
        if trial.norm > REUSE * point.norm and self.explains(trial, SLACK if fresh else 1.0, goal):
            self.exhausted = True
            return trial
        if not fresh:  # not worth a search: a new tangent tells more
            return trial if trial.norm < point.norm else None
        highest = (ARMIJO - 1.0) * self._slope(point, dx)  # slope at which Phi has just not risen
        for _ in range(BACKTRACKS):
            if not self.kept.corrected and trial.norm <= (1.0 - ARMIJO * step) * point.norm:
                return trial
            if self.kept.symmetric and self._slope(trial, dx) <= highest:
                return self.lengthened(point, dx, trial) if step == 1.0 else trial
            step *= 0.5
            trial = self.evaluate(point.x + step * dx)
        return None

    def _slope(self, point: Point, dx: Array) -> float:
        """Of Phi along dx."""
        return dot(self.backend, point.r, dx)

    def lengthened(self, point: Point, dx: Array, trial: Point) -> Point:
        """The last of x + dx, x + 2 dx, x + 4 dx, ... to which Phi has fallen all the way."""
        step, steep = 1.0, STEEP * self._slope(point, dx)
        if not self.kept.convex or trial.norm <= REUSE * point.norm:
            return trial
        while step < LONGEST and self._slope(trial, dx) <= steep:
            step *= 2.0
            if self.equation.reach(point.x, step * dx) < 1.0:
                break
            longer = self.evaluate(point.x + step * dx)
            if not self._slope(longer, dx) <= 0.0:
                break
            trial = longer
        return trial
