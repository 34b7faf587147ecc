"""Local/global iteration: quasi-Newton with one constant matrix that is factorised once.

    d <- d - s A^-1 r(d),   A = M + alpha L + beta D,   r(d) = M d - alpha force(p + d, ...)

L is the parts' constant Laplacian (see part.laplacian).  For energies of Projective Dynamics,
min over p of w/2 |G x - p|^2, the force is -(L x - J p): putting that in shows that s = 1 is one
local step (project every p) and one global step (solve Eq. 28, or Eq. 30 for implicit midpoint) of
Dinev, Liu, Kavan 2018.  So the force is the local step, and any other force may take part too.
Liu, Bouaziz, Kavan, Quasi-Newton methods for real-time simulation of hyperelastic materials (2017).

- As in the papers the number of iterations is fixed; it ends sooner where |r| <= 1e-9 * scale.
  Updates in the last digits of the coordinates are taken as they are, for what they do to the
  velocities: slopes along them are rounding, and tell nothing about s.
- A >= dr/dd keeps s at 1: then no potential of r can rise.  Forces stiffer than L (stiffening
  springs, neo-Hookean solids, a contact that begins in mid-step) are seen by their slope along dx,
  at the cost of inner products: where r(d + s dx).dx says that the potential has risen (see
  newton.py), s shrinks to where the slope would vanish, and the curvature c = dx.J dx / dx.A dx
  last seen limits the next s to 1/c (the step of Barzilai and Borwein 1988, never above 1).  s is
  kept from one solve to the next.
- L may change with the point (something touches): each evaluation asks what it has to cover, and
  where that is more than A knows, A is factorised anew before the next update, also the last one.
- `accelerate` corrects A^-1 by what the iterations before have shown (secants.py); s begins at 1,
  and A is made sparser where that costs little (sparser.py).
- From x + h v, where stiff bodies that turn or vibrate are stretched beyond measure, accelerated
  iterations may get nowhere (residual above UNDER_SOLVED).  Then they begin again at the
  positions that the step starts from (`still`), and the better of the two is taken.
- No constant matrix follows a barrier: where bodies press against each other (`pressed`), Newton's
  method solves the step, to 1e-6, unless there is a budget.
- The last update is not evaluated, unless something went wrong before: n iterations take n forces.
  The residual reported is that of the last point whose force was evaluated, one iteration earlier.
- With a budget it also ends when the time left is shorter than the last iteration was.  At least
  one is made, and where A has to be factorised, that is done first and in full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

from ..backends.sums import norms
from ..contracts import Array, Backend, Work
from ..errors import InputError, NotConverged
from .card import SavedTree, lasting
from .equation import Equation, Solution, same_weights
from .failures import FactorisationError
from .iteration import ROUNDING, relative
from .linear import factorise
from .newton import ARMIJO
from .secants import LEAST_ANGLE, Secants
from .settings import CLOCK, Clock, Pace, check_budget, check_count
from .shifted_newton import ShiftedNewton
from .sparser import sparser

ITERATIONS = 10
CONVERGED = 1e-9  # relative residual at which further iterations would be idle
# Measured on one step of hanging cloths: at a residual of 1, what is left unbalanced equals the
# inertia, and displacements are off by 10 to 15 %; at 0.1 by about 4 %.
UNDER_SOLVED = 1.0
SHRINK = 0.1  # of s where the force is not even finite
PRESSED = ShiftedNewton(tolerance=1e-6)  # where bodies press against each other
STEEPER = 3.0  # times the slope at the start: the potential falls ever faster, which is no solution
BACKTRACKS = 20


@dataclass(frozen=True, slots=True)
class Global:
    """The factorised A, what it was made for, and the step s that went well."""

    factor: Any  # a Factor, or a SavedTree
    rows: int
    weights: tuple[float, ...]
    layout: Any
    step: float = 1.0

    def resumed(self) -> Global:
        """After something happened between two steps: A knows nothing of the state."""
        return self

    def on(self, backend: Backend) -> Global:
        """Of a checkpoint: with the matrix factorised again."""
        if not isinstance(self.factor, SavedTree):
            return self
        return replace(self, factor=self.factor.on(backend))

    def serves(self, equation: Equation, layout: Any) -> bool:
        return same_weights(self.weights, equation.weights) and layout is self.layout

    def solve(self, r: Array) -> Array:
        return self.factor.solve(r.reshape(self.rows, -1)).reshape(r.shape)


@dataclass(frozen=True)
class LocalGlobal:
    """A fixed number of local/global iterations: fast, approximate, factorised once per step size.

    accelerate: L-BFGS instead of the papers' iteration, of which one then does the work of several.
    Plain iterations stop short of the solution of stiff steps, which damps; these get closer, and
    so to the instabilities of undamped methods: for backward Euler, or inside a stabiliser.
    A residual above UNDER_SOLVED is reported as `under_solved`.
    budget: seconds that a solve may take; fewer iterations are made where they would take longer.
    Results then depend on the clock, and no two runs are alike.
    """

    iterations: int = ITERATIONS
    accelerate: bool = False
    budget: float | None = None
    clock: Clock = field(default=CLOCK, repr=False, compare=False)

    prefix: ClassVar[str] = "projective-"  # to the name of the method it solves
    remedy: ClassVar[str] = (
        "give more iterations, e.g. EnergyMomentum(solver=LocalGlobal(60)), a smaller step, or use "
        "energy-momentum"
    )
    # Few iterations leave what is wrong with a guess in the result: with the last acceleration as
    # guess a hanging cloth gains energy even from backward Euler, with inertia it never does.
    extrapolates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count("LocalGlobal", "iterations", self.iterations)
        if not isinstance(self.accelerate, bool):
            raise InputError(f"LocalGlobal: accelerate = {self.accelerate!r}: give True or False")
        check_budget("LocalGlobal", self.budget)

    def solve(self, equation: Equation, guess: Array, kept: Global | None) -> Solution:
        """Improve on guess (n,); kept: of an earlier solve of this system."""
        if self.budget is None and (equation.pressed(guess) or equation.pressed(equation.still)):
            found = PRESSED.solve(equation, equation.still, None)
            return _solution(found.x, found.residual, found.rounding, kept, found.work)
        kept = None if kept is None else kept.on(equation.backend)
        pace = Pace(self.budget, self.clock)
        run = _Run(equation, kept, self.accelerate, pace)
        run.iterate(guess, self.iterations)
        spent = run.work
        again = self.accelerate and not guess.any() and not run.residual <= UNDER_SOLVED
        if again and (self.budget is None or pace.left() >= 0.5 * self.budget):
            other = _Run(equation, run.kept, True, pace, begins=False)
            other.iterate(equation.still, self.iterations)
            spent = run.work + other.work
            run = other if other.residual < run.residual else run
        return _solution(run.end, run.residual, run.faint, run.kept, spent)


def _solution(x: Array, residual: float, faint: bool, kept: Global | None, work: Work) -> Solution:
    """residual: of the last point that was evaluated; faint: the last update was lost in the last
    digits of the coordinates."""
    poor = not residual <= UNDER_SOLVED and not faint
    notes = {"residual": residual, "under_solved": poor, "iterations": work.linear_solves}
    return Solution(x, residual, faint, kept, work, notes)


def factorised(equation: Equation, layout: Any, accelerate: bool = False) -> Global:
    """accelerate: the iteration corrects A by itself, so that a sparser one serves as well."""
    weights, matrix = equation.weights, equation.global_matrix(layout)
    rows = matrix.shape[0]
    own = rows == equation.origin.size  # a user's matrix, whose pattern is no mesh's
    if accelerate and not own:
        matrix = sparser(matrix)
    try:
        factor = factorise(matrix) if own else lasting(matrix, equation.backend)
    except FactorisationError as failure:
        raise InputError(
            f"local/global needs M + alpha L positive definite, alpha = {weights[0]:.3g} "
            f"s^2 ({failure}): check the stiffness for negative or huge values, try a smaller "
            "step, or the Newton solver"
        ) from None
    return Global(factor, rows, weights, layout)


class _Point(NamedTuple):
    """slope: r.dx along the update that led there, if it was asked for; scale: the equation's
    there, if it is known."""

    d: Array
    r: Array
    norm: float
    slope: float = math.nan
    scale: float = math.nan


class _Way(NamedTuple):
    """An update dx, |dx|, and -r.dx where it begins: what the slope along it has to lose."""

    dx: Array
    length: float
    slope: float


class _Run:
    """One solve: A, the step s, whether anything went wrong, the end, and the counts."""

    def __init__(
        self,
        equation: Equation,
        kept: Global | None,
        accelerate: bool,
        pace: Pace,
        begins: bool = True,
    ) -> None:
        self.equation, self._pace, self._backend = equation, pace, equation.backend
        self._secants = Secants(equation.backend) if accelerate else None
        self.evaluations = self.solves = self.factorizations = 0
        self._kept = kept
        self._layout, self._begins = None if kept is None else kept.layout, begins
        self.step = 1.0 if kept is None else kept.step
        self.trouble = self.step < 1.0
        self.faint = False  # the last update was
        self._backtracks = BACKTRACKS

    @property
    def residual(self) -> float:
        """Relative, of the last point that was evaluated."""
        point, scale = self.point, self.equation.scale
        size = scale(point.d) if math.isnan(point.scale) else point.scale
        # from rest, one iteration has evaluated nothing that moved
        return relative(point.norm, size or scale(self.end))

    @property
    def work(self) -> Work:
        return Work(
            force_evaluations=self.evaluations,
            factorizations=self.factorizations,
            linear_solves=self.solves,
        )

    def evaluate(self, d: Array, along: Array | None = None) -> _Point:
        self.evaluations += 1
        r = self.equation.residual(d)
        self._layout = self.equation.global_layout(d, self._layout, self._begins)
        self._begins = False
        pairs = [(r, r)] if along is None else [(r, r), (r, along)]
        square, *slope = self._backend.dots(pairs)
        return _Point(d, r, math.sqrt(square), *slope)

    @property
    def kept(self) -> Global | None:
        return None if self._kept is None else replace(self._kept, step=self.step)

    def _used(self) -> Global:
        """A as it has to be after the last evaluation."""
        if self._kept is None or self._stale():
            accelerate = self._secants is not None
            self._kept, self.step = factorised(self.equation, self._layout, accelerate), 1.0
            self.factorizations += 1
            self._pace.once()
            self._forget()
        return self._kept

    def _forget(self) -> None:
        if self._secants is not None:
            self._secants.forget()

    def _stale(self) -> bool:
        return self._kept is not None and not self._kept.serves(self.equation, self._layout)

    def iterate(self, guess: Array, iterations: int) -> None:
        """`point` is the last one that was evaluated, `end` where the iteration went from there."""
        digits = ROUNDING * norms(self._backend, self.equation.origin + guess)[0]
        sailed = self._sail(guess, iterations, digits)
        if sailed is None:
            self.point, self.end = self.evaluate(guess), guess
        elif sailed.over:
            return
        most = iterations if sailed is None else sailed.left + 1
        point = self.point
        if not math.isfinite(point.norm):
            raise NotConverged(
                f"local/global met a force that is not finite at t = {self.equation.time:.6g} s: "
                "try a smaller step"
            )
        demand = self.equation.scale if most < iterations else self.equation.change
        for left in reversed(range(most)):
            if point.norm <= CONVERGED * demand(point.d):
                break
            demand = self.equation.scale
            way = self.direction(point)
            self.faint = way.length <= digits
            self.end = point.d + self.step * way.dx
            last = left == 0 or not self._pace.more()
            if last and (self.faint or not self.trouble):
                break
            if self.faint:
                self._forget()
                self.point = point = self.evaluate(self.end)
                continue
            point, progress = self.advance(point, way)
            self.point, self.end = point, point.d
            if last or not progress:
                break

    def _sail(self, guess: Array, iterations: int, digits: float) -> Any:
        """What a card has done of it, if the factor and the forces are there: all, or as far as
        nothing was in its way (kernels/cuda/local.py); None elsewhere, or where somebody looks at
        the clock."""
        tree = None if self._kept is None else getattr(self._kept.factor, "tree", None)
        sail = getattr(self.equation, "sail", None)
        if tree is None or sail is None or math.isfinite(self._pace.left()):
            return None
        layout = self.equation.global_layout(guess, self._layout, self._begins)
        self._layout, self._begins = layout, False
        if self._stale():
            return None
        given: Any = {"digits": digits, "step": self.step, "quick": self._secants is not None}
        given["limits"] = CONVERGED, STEEPER, ARMIJO, LEAST_ANGLE
        done = sail(guess, tree, layout, iterations, **given)
        if done is None:
            return None
        self.evaluations, self.solves, self.step = done.evaluated, done.solved, done.step
        self.point, self.end = _Point(done.d, done.r, done.norm, scale=done.scale), done.d
        if self._secants is not None and not done.over:
            self._secants.resume(done.d, done.r, done.pairs)
        return done

    def direction(self, point: _Point) -> _Way:
        self.solves += 1
        used = self._used()
        if self._secants is None:
            dx = -used.solve(point.r)
        else:
            dx = -self._secants.solve(point.d, point.r, used.solve)
        dx *= self.equation.reach(point.d, dx)
        square, slope = self._backend.dots([(dx, dx), (point.r, dx)])
        return _Way(dx, math.sqrt(square), -slope)

    def advance(self, point: _Point, way: _Way) -> tuple[_Point, bool]:
        """The first of d + s dx, with s shrinking, that makes progress; else the point itself.

        Where L has changed on the way there, A knows the way from there: the point moves on, if
        that leads back.  Where it leads further off, more has grown stiffer than L knows.
        """
        dx, length, slope = way
        while slope > 0.0:  # else the numbers are used up
            trial = self.evaluate(point.d + self.step * dx, dx)
            reached = trial.slope
            curvature = (reached + slope) / (self.step * slope)
            if -STEEPER * slope <= reached <= (1.0 - ARMIJO) * slope:
                self.step = 1.0 if self._secants is not None else 1.0 / max(1.0, curvature)
                return trial, True
            if self._backtracks == 0:
                break
            self._backtracks -= 1
            if self._stale() and math.isfinite(reached):
                far, onward = self.step * length, self.direction(trial)
                known = onward.length <= far
                point, way = (trial, onward) if known else (point, self.direction(point))
                dx, length, slope = way
            else:
                self.trouble = True
                ahead = math.isfinite(curvature) and curvature > 0.0
                self.step = 1.0 / curvature if ahead else SHRINK * self.step
        return point, False
