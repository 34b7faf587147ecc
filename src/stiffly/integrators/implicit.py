"""Implicit methods of one stage (see stage.py), by Newton's method or local/global iterations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ..accounting import mean_work, middle_work
from ..contracts import Settled, State, Step, System, Work
from ..errors import InputError
from ..solvers.equation import Solver
from ..solvers.newton import Newton
from .restart import same_state
from .stage import Implicit, StageEquation, StageMemory

LARGEST_RATIO = 2.0


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
        before = memory.before if same_state(memory.state, state) else None
        return Bdf2Memory(state, before, memory.stage.resumed())

    def step(self, system: System, state: State, h: float, memory: Bdf2Memory) -> Step:
        before = memory.before
        x, v, g, t = state.x, state.v, h, state.t + h
        if before is not None and same_state(memory.state, state):
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
    and is stable at any step; beta = gamma/2 or more keeps that, gamma > 1/2 damps high
    frequencies.  gamma in [1/2, 1], beta in (0, 1/2].
    """

    gamma: float = 0.5
    beta: float = 0.25
    solver: Solver = field(default_factory=Newton)
    order: int = field(default=2, init=False)

    family: ClassVar[str] = "newmark"

    def __post_init__(self) -> None:
        super().__post_init__()
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
        if a is None or not same_state(memory.state, state):
            a, work = system.acceleration(state), Work(force_evaluations=1)
        p = state.x + h * state.v + (h * h * (0.5 - self.beta)) * a
        q = state.v + (h * (1.0 - self.gamma)) * a
        weights = h * h * self.beta, h * self.gamma
        equation = StageEquation(system, state, state.t + h, h, p, q, weights)
        stage = self.solve_stage(equation, memory.stage)
        memory, work = NewmarkMemory(stage.end, stage.memory), work + stage.work
        moved = mean_work(system, state, stage.end)
        return Step(stage.end, memory, work, notes=stage.notes, exchanged=moved)
