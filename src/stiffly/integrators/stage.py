"""The one equation that every implicit method here solves.

    M a = force(t, X, V),   X = p + alpha a,   V = q + beta a

with known predictors p, q (n,) and weights alpha [s^2], beta [s] that make the method: backward
Euler has (h^2, h), BDF2 (g^2, g) with g = 2h/3, implicit midpoint (h^2/4, h/2), Newmark
(beta h^2, gamma h).  The unknown is the displacement d = alpha a, which keeps the digits that
X - p would lose:

    r(d) = M d - alpha force(t, p + d, q + (beta/alpha) d),   J = M + alpha K + beta D

It is solved by Newton's method, which converges or fails, or by a few local/global iterations,
which have a constant matrix in place of J (see solvers).  The residual is measured against
|M d| + |M h v|, v being the velocity that the step starts with: a relative residual of 1e-9 leaves
the new velocity right to about nine digits.  The force at the predictor is no part of the scale:
where a stiff spring turns it is huge and means nothing.  A guess is measured against |M d| alone:
at least one update is taken unless it is good even so, and no force is ignored, however short the
step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..backends.sums import norms
from ..contracts import Array, Rayleigh, Settled, State, System, Tangent, Work
from ..solvers.equation import Solver
from ..solvers.linear import is_symmetric
from ..solvers.settings import check_solver

Weights = tuple[float, float]  # alpha, beta


@dataclass(frozen=True, slots=True)
class StageMemory:
    """From one solve to the next: what the solver keeps, and the last a (a guess)."""

    kept: Any = None
    acceleration: Array | None = None

    def resumed(self) -> StageMemory:
        """After something happened between two steps: the state's own numbers are dropped."""
        return StageMemory(None if self.kept is None else self.kept.resumed())


class Stage(NamedTuple):
    """The solution: a, and X, V at its time, with the evidence."""

    a: Array
    end: State
    memory: StageMemory
    work: Work
    notes: dict[str, Any]


class StageTangent:
    """J + tau M = (1 + tau) M + alpha K + beta D of one tangent, assembled on request."""

    def __init__(
        self,
        tangent: Tangent,
        alpha: float,
        beta: float,
        without: Callable[[], Tangent] | None = None,
    ) -> None:
        """without: the same tangent less its negative stiffness."""
        self._tangent, self._alpha, self._beta = tangent, alpha, beta
        self._without = without
        self.constant = tangent.constant
        self.symmetric = tangent.symmetric
        if self.symmetric and not isinstance(tangent.damping, Rayleigh | None):
            # K is symmetric, but a damping operator may hold gyroscopic terms
            self.symmetric = is_symmetric(self.matrix(0.0))
        bounds = tangent.stiffness.bounds() if tangent.symmetric and not self.constant else None
        # A constant tangent is tried once in a run; one that changes has to prove its sign.
        self.definite = self.constant or (
            bounds is not None and bounds.certain and 1.0 + alpha * bounds.low > 0.0
        )

    def matrix(self, shift: float) -> Any:
        return self._tangent.matrix(1.0 + shift, self._alpha, self._beta)

    def convex(self) -> StageTangent | None:
        """Less the negative stiffness, where the system can tell it apart."""
        if self._without is None or not self.symmetric:
            return None
        return StageTangent(self._without(), self._alpha, self._beta)


class StageEquation:
    """r(d) = 0 as both solvers ask for it."""

    def __init__(
        self, system: System, start: State, t: float, h: float, p: Array, q: Array, weights: Weights
    ) -> None:
        """At time t of a step of h seconds from `start`."""
        alpha, beta = weights
        self.weights, self.origin, self.time = weights, p, t
        self._system, self._start, self._q, self._ratio = system, start, q, beta / alpha
        self.backend = system.mass.backend  # that of the system
        self.still = -beta * q  # X = p - beta q: where every method here starts
        (self._covered,) = norms(self.backend, system.mass.apply(h * start.v))

    def state(self, d: Array) -> State:
        v = self._ratio * d
        v += self._q
        return self._start.moved(self.time, self.origin + d, v)

    def residual(self, d: Array) -> Array:
        return self._system.mass.apply(d) - self.weights[0] * self._system.force(self.state(d))

    def scale(self, d: Array) -> float:
        return self.change(d) + self._covered

    def change(self, d: Array) -> float:
        return norms(self.backend, self._system.mass.apply(d))[0]

    def linearise(self, d: Array) -> StageTangent:
        state, convex = self.state(d), getattr(self._system, "convex_tangent", None)
        without = None if convex is None else lambda: convex(state)
        return StageTangent(self._system.tangent(state), *self.weights, without)

    def reach(self, d: Array, dx: Array) -> float:
        """How far X may go along dx before something passes through something."""
        clear = getattr(self._system, "clear_share", None)
        return 1.0 if clear is None else clear(self.state(d), dx)

    def pressed(self, d: Array) -> bool:
        pressed = getattr(self._system, "pressed", None)
        return False if pressed is None else pressed(self.state(d))

    def global_layout(self, d: Array, old: Any, begins: bool) -> Any:
        return self._system.global_layout(self._start, self.state(d), old, begins)

    def global_matrix(self, layout: Any) -> Any:
        return self._system.global_matrix(*self.weights, layout)


class Implicit:
    """What methods of one stage share; family: their name with Newton's method."""

    solver: Solver
    family: ClassVar[str]
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_solver(self.family, self.solver)

    @property
    def name(self) -> str:
        return f"{self.solver.prefix}{self.family}"

    @property
    def remedy(self) -> str:
        return self.solver.remedy

    def start(self, system: System, state: State) -> Any:
        return StageMemory()

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return memory.resumed()

    def solve_stage(
        self, equation: StageEquation, memory: StageMemory, guess: Array | None = None
    ) -> Stage:
        """guess (n,): X to start from; without one it is the predictor, or the X of the last
        acceleration where the solver likes that better; cut short where something is in front."""
        p, alpha = equation.origin, equation.weights[0]
        first = 0.0 * p if guess is None else guess - p
        if guess is None and self.solver.extrapolates and memory.acceleration is not None:
            first = alpha * memory.acceleration
        share = equation.reach(equation.still, first - equation.still)
        if share < 1.0:
            first = equation.still + share * (first - equation.still)
        result = self.solver.solve(equation, first, memory.kept)
        a = result.x / alpha
        memory = StageMemory(result.kept, a)
        return Stage(a, equation.state(result.x), memory, result.work, result.notes)
