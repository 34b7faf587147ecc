"""Backward differentiation formulas on u = (x, v), u' = F(t, u) = (v, a): stiffly stable, damping.

    BDF1 (backward Euler):  u+ = u + h F(t + h, u+)                                       order 1
    BDF2:  u+ = ((1 + w)^2 u - w^2 u-) / (1 + 2w) + h (1 + w)/(1 + 2w) F(t + h, u+)       order 2

with w = h/h-, the ratio to the step before (w = 1: weights 4/3, -1/3, 2/3).  Hairer, Norsett,
Wanner, Solving Ordinary Differential Equations I (1993), Sec. III.1 and III.5.  BDF2 starts with
one BDF1 step, whose local error O(h^2) happens once and so keeps the second order; it starts again
where w exceeds 2, short of the limit 1 + sqrt(2) of zero-stability, or where something other than
this method has moved the state.  BDF1 with the local/global solver is `projective` (Projective
Dynamics: Bouaziz et al. 2014; Dinev, Liu, Kavan 2018, Eq. 28).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ..accounting import mean_work
from ..contracts import Array, Settled, State, Step, System
from ..solvers.equation import Solver
from ..solvers.newton import Newton
from ..solvers.settings import check_solver
from .restart import same_state
from .stage import Stage, StageMemory, solve_stage

LARGEST_RATIO = 2.0


@dataclass(frozen=True)
class _Bdf:
    """solver: Newton() or LocalGlobal() (see stage.py)."""

    solver: Solver = field(default_factory=Newton)

    adaptive: ClassVar[bool] = False
    dissipative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_solver("bdf", self.solver)

    @property
    def remedy(self) -> str:
        return self.solver.remedy

    def _solve(
        self,
        system: System,
        x: Array,
        v: Array,
        g: float,
        state: State,
        h: float,
        memory: StageMemory,
        guess: State | None = None,
    ) -> Stage:
        """u+ = (x, v) + g F(t + h, u+)."""
        return solve_stage(
            system,
            state,
            state.t + h,
            p=x + g * v,
            q=v,
            alpha=g * g,
            beta=g,
            travel=h * state.v,
            memory=memory,
            solver=self.solver,
            guess=None if guess is None else guess.x,
        )


@dataclass(frozen=True)
class Bdf1(_Bdf):
    order: ClassVar[int] = 1

    @property
    def name(self) -> str:
        return "projective" if self.solver.prefix else "bdf1"

    def start(self, system: System, state: State) -> StageMemory:
        return StageMemory()

    def resume(
        self, system: System, state: State, memory: StageMemory, settled: Settled
    ) -> StageMemory:
        return memory.resumed()

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
        stage = self._solve(system, state.x, state.v, h, state, h, memory, guess)
        new = state.moved(state.t + h, stage.x, stage.v)
        moved = mean_work(system, state, new)
        return Step(new, stage.memory, stage.work, notes=stage.notes, exchanged=moved)


class Bdf2Memory(NamedTuple):
    """The last two states (before: None at a start) and the last solve."""

    state: State
    before: State | None
    stage: StageMemory


@dataclass(frozen=True)
class Bdf2(_Bdf):
    order: ClassVar[int] = 2

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
        x, v, g = state.x, state.v, h
        if before is not None and same_state(memory.state, state):
            w = h / (state.t - before.t)
            if w <= LARGEST_RATIO:
                now, then = (1.0 + w) ** 2 / (1.0 + 2.0 * w), w * w / (1.0 + 2.0 * w)
                x, v = now * x - then * before.x, now * v - then * before.v
                g = h * (1.0 + w) / (1.0 + 2.0 * w)
        stage = self._solve(system, x, v, g, state, h, memory.stage)
        new = state.moved(state.t + h, stage.x, stage.v)
        memory = Bdf2Memory(new, state, stage.memory)
        moved = mean_work(system, state, new)
        return Step(new, memory, stage.work, notes=stage.notes, exchanged=moved)
