"""The one equation that every implicit method here solves, and the methods that need no more.

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
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..accounting import mean_work, middle_work
from ..arrays import real_number
from ..backends.sums import norms
from ..contracts import (
    Array,
    Bodies,
    BodyProblem,
    BodySolution,
    Rayleigh,
    Settled,
    State,
    Step,
    System,
    Tangent,
    Work,
)
from ..errors import InputError
from ..solvers.equation import Solver
from ..solvers.linear import is_symmetric
from ..solvers.newton import Newton
from ..solvers.settings import check_solver
from .restart import same_state

Weights = tuple[float, float]  # alpha, beta
LARGEST_RATIO = 2.0


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
            backend = tangent.stiffness.backend
            self.symmetric = backend.every(is_symmetric(self.matrix(0.0)))
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
        self._system, self._start, self._h = system, start, h
        self._q, self._ratio = q, beta / alpha
        self.backend = system.mass.backend  # that of the system
        self.still = -beta * q  # X = p - beta q: where every method here starts
        (self._covered,) = norms(self.backend, system.mass.apply(h * start.v))
        self._asked: tuple[Array, State] | None = None

    def state(self, d: Array) -> State:
        if self._asked is None or self._asked[0] is not d:  # a solver asks several things of one d
            v = self._ratio * d
            v += self._q
            self._asked = d, self._start.moved(self.time, self.origin + d, v)
        return self._asked[1]

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

    def body_by_body(self, d: Array, tolerance: float, most: int) -> BodySolution | None:
        """From d on, every body by itself; None where the system is not made for that."""
        bodies = bodies_of(self._system, self._start)
        if bodies is None:
            return None
        stage = (self._start, self.time, self._h, self.origin, self._q, self.weights)
        return bodies.solve(BodyProblem(*stage, d, False, tolerance, most))

    def pressed(self, d: Array) -> bool:
        pressed = getattr(self._system, "pressed", None)
        return False if pressed is None else pressed(self.state(d))

    def global_layout(self, d: Array, old: Any, begins: bool) -> Any:
        return self._system.global_layout(self._start, self.state(d), old, begins)

    def global_matrix(self, layout: Any) -> Any:
        return self._system.global_matrix(*self.weights, layout)

    def sail(self, d: Array, tree: Any, layout: Any, count: int, **limits: Any) -> Any:
        """Local/global iterations from d where a card knows the forces and lies the tree: see
        kernels/cuda/local.py; None where none does."""
        sail = getattr(self._system, "sail", None)
        return sail and sail(
            *(self._start, self.time, tree, layout, count),
            p=self.origin,
            q=self._q,
            guess=d if d.any() else None,
            alpha=self.weights[0],
            ratio=self._ratio,
            covered=self._covered,
            **limits,
        )


def bodies_of(system: Any, state: State) -> Bodies | None:
    """The system body by body, where it offers that."""
    bodywise = getattr(system, "bodywise", None)
    return None if bodywise is None else bodywise(state)


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


@dataclass(frozen=True)
class Bdf1(Implicit):
    """Backward Euler: u+ = u + h F(t + h, u+) on u = (x, v), u' = F(t, u) = (v, a); first order,
    stiffly stable, damping.

    Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), Sec. III.1.  With the
    local/global solver it is `projective` (Projective Dynamics: Bouaziz et al. 2014; Dinev, Liu,
    Kavan 2018, Eq. 28).
    """

    solver: Solver = field(default_factory=Newton)

    family: ClassVar[str] = "bdf"
    order: ClassVar[int] = 1
    dissipative: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "projective" if self.solver.prefix else "bdf1"

    def step(
        self,
        system: System,
        state: State,
        h: float,
        memory: StageMemory,
        *,
        guess: State | None = None,
    ) -> Step:
        """guess: another method's result of the same step, to start the solve from."""
        x, v, t = state.x, state.v, state.t + h
        equation = StageEquation(system, state, t, h, x + h * v, v, (h * h, h))
        stage = self.solve_stage(equation, memory, None if guess is None else guess.x)
        moved = mean_work(system, state, stage.end)
        return Step(stage.end, stage.memory, stage.work, notes=stage.notes, exchanged=moved)


class Bdf2Memory(NamedTuple):
    """The last two states (before: None at a start) and the last solve."""

    state: State
    before: State | None
    stage: StageMemory


@dataclass(frozen=True)
class Bdf2(Implicit):
    """u+ = ((1 + w)^2 u - w^2 u-) / (1 + 2w) + h (1 + w)/(1 + 2w) F(t + h, u+): second order.

    w = h/h-, the ratio to the step before (w = 1: weights 4/3, -1/3, 2/3).  Hairer, Norsett,
    Wanner, Solving Ordinary Differential Equations I (1993), Sec. III.1 and III.5.  It starts with
    one step of backward Euler, whose local error O(h^2) happens once and so keeps the second order;
    it starts again where w exceeds 2, short of the limit 1 + sqrt(2) of zero-stability, or where
    something other than this method has moved the state.
    """

    solver: Solver = field(default_factory=Newton)

    family: ClassVar[str] = "bdf"
    order: ClassVar[int] = 2
    dissipative: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"{self.solver.prefix}bdf2"

    def start(self, system: System, state: State) -> Bdf2Memory:
        return Bdf2Memory(state, None, StageMemory())

    def resume(
        self, system: System, state: State, memory: Bdf2Memory, settled: Settled
    ) -> Bdf2Memory:
        """Where only forces or supports have changed, the step before is still the step before."""
        before = memory.before if same_state(system, memory.state, state) else None
        return Bdf2Memory(state, before, memory.stage.resumed())

    def step(self, system: System, state: State, h: float, memory: Bdf2Memory) -> Step:
        before = memory.before
        x, v, g, t = state.x, state.v, h, state.t + h
        if before is not None and same_state(system, memory.state, state):
            w = h / (state.t - before.t)
            if w <= LARGEST_RATIO:
                now, then = (1.0 + w) ** 2 / (1.0 + 2.0 * w), w * w / (1.0 + 2.0 * w)
                x, v = now * x - then * before.x, now * v - then * before.v
                g = h * (1.0 + w) / (1.0 + 2.0 * w)
        equation = StageEquation(system, state, t, h, x + g * v, v, (g * g, g))
        stage = self.solve_stage(equation, memory.stage)
        memory = Bdf2Memory(stage.end, state, stage.memory)
        moved = mean_work(system, state, stage.end)
        return Step(stage.end, memory, stage.work, notes=stage.notes, exchanged=moved)


@dataclass(frozen=True)
class Midpoint(Implicit):
    """Implicit midpoint: second order, symplectic, time-reversible, A-stable, no damping.

        X = x + (h/2) V,   V = v + (h/2) a(t + h/2, X, V);   x+ = x + h V,   v+ = v + h a

    Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), Sec. II.1.  Linear stability
    does not carry over: stiff nonlinear problems at large steps may gain energy without bound.
    With the local/global solver it is `projective-midpoint` (Dinev, Liu, Kavan 2018, Eq. 30).
    """

    solver: Solver = field(default_factory=Newton)

    family: ClassVar[str] = "midpoint"
    order: ClassVar[int] = 2

    def step(self, system: System, state: State, h: float, memory: StageMemory) -> Step:
        x, v, half = state.x, state.v, 0.5 * h
        weights = half * half, half
        equation = StageEquation(system, state, state.t + half, h, x + half * v, v, weights)
        stage = self.solve_stage(equation, memory)
        new = state.moved(state.t + h, x + h * stage.end.v, v + h * stage.a)
        moved = middle_work(system, state, new)
        return Step(new, stage.memory, stage.work, notes=stage.notes, exchanged=moved)


class NewmarkMemory(NamedTuple):
    """The state a step ended in, and the solve whose acceleration opens the next step."""

    state: State
    stage: StageMemory


@dataclass(frozen=True)
class Newmark(Implicit):
    """Newmark's method: second order for gamma = 1/2, first order above.

        x+ = x + h v + h^2 ((1/2 - beta) a + beta a+),   v+ = v + h ((1 - gamma) a + gamma a+),
        M a+ = force(t + h, x+, v+)

    Newmark, A method of computation for structural dynamics, ASCE J. Eng. Mech. 85 (1959).  The
    default (gamma, beta) = (1/2, 1/4), average acceleration, conserves the energy of linear systems
    and is unconditionally stable; beta = gamma/2 or more keeps that, gamma > 1/2 damps high
    frequencies.  gamma in [1/2, 1], beta in (0, 1/2].
    """

    gamma: float = 0.5
    beta: float = 0.25
    solver: Solver = field(default_factory=Newton)
    order: int = field(default=2, init=False)

    family: ClassVar[str] = "newmark"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("gamma", "beta"):
            real_number(f"newmark {name}", getattr(self, name))
        if not 0.5 <= self.gamma <= 1.0:
            raise InputError(f"newmark gamma = {self.gamma} makes energy or accuracy vanish: "
                             "choose gamma between 0.5 (no damping) and 1")  # fmt: skip
        if not 0.0 < self.beta <= 0.5:
            raise InputError(f"newmark beta = {self.beta} is outside (0, 0.5]: choose 0.25, or "
                             "integrator verlet for the explicit beta = 0")  # fmt: skip
        object.__setattr__(self, "order", 2 if self.gamma == 0.5 else 1)

    def start(self, system: System, state: State) -> NewmarkMemory:
        return NewmarkMemory(state, StageMemory())

    def resume(
        self, system: System, state: State, memory: NewmarkMemory, settled: Settled
    ) -> NewmarkMemory:
        return NewmarkMemory(state, memory.stage.resumed())

    def step(self, system: System, state: State, h: float, memory: NewmarkMemory) -> Step:
        a, work = memory.stage.acceleration, Work()
        if a is None or not same_state(system, memory.state, state):
            a, work = system.acceleration(state), Work(force_evaluations=1)
        p = state.x + h * state.v + (h * h * (0.5 - self.beta)) * a
        q = state.v + (h * (1.0 - self.gamma)) * a
        weights = h * h * self.beta, h * self.gamma
        equation = StageEquation(system, state, state.t + h, h, p, q, weights)
        stage = self.solve_stage(equation, memory.stage)
        memory, work = NewmarkMemory(stage.end, stage.memory), work + stage.work
        moved = mean_work(system, state, stage.end)
        return Step(stage.end, memory, work, notes=stage.notes, exchanged=moved)
