"""Newmark's method: second order for gamma = 1/2, first order above.

    x+ = x + h v + h^2 ((1/2 - beta) a + beta a+),   v+ = v + h ((1 - gamma) a + gamma a+),
    M a+ = force(t + h, x+, v+)

Newmark, A method of computation for structural dynamics, ASCE J. Eng. Mech. 85 (1959).  The default
(gamma, beta) = (1/2, 1/4), average acceleration, conserves the energy of linear systems and is
stable at any step; beta = gamma/2 or more keeps that, gamma > 1/2 damps high frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ..accounting import mean_work
from ..contracts import Settled, State, Step, System, Work
from ..errors import InputError
from ..solvers.equation import Solver
from ..solvers.newton import Newton
from ..solvers.settings import check_solver
from .restart import same_state
from .stage import StageMemory, solve_stage


class NewmarkMemory(NamedTuple):
    """The state a step ended in, and the solve whose acceleration opens the next step."""

    state: State
    stage: StageMemory


@dataclass(frozen=True)
class Newmark:
    """gamma in [1/2, 1], beta in (0, 1/2]; solver: Newton() or LocalGlobal() (see stage.py)."""

    gamma: float = 0.5
    beta: float = 0.25
    solver: Solver = field(default_factory=Newton)
    order: int = field(default=2, init=False)

    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_solver("newmark", self.solver)
        if not 0.5 <= self.gamma <= 1.0:
            raise InputError(f"newmark gamma = {self.gamma} makes energy or accuracy vanish: "
                             "choose gamma between 0.5 (no damping) and 1")  # fmt: skip
        if not 0.0 < self.beta <= 0.5:
            raise InputError(f"newmark beta = {self.beta} is outside (0, 0.5]: choose 0.25, or "
                             "integrator verlet for the explicit beta = 0")  # fmt: skip
        object.__setattr__(self, "order", 2 if self.gamma == 0.5 else 1)

    @property
    def name(self) -> str:
        return f"{self.solver.prefix}newmark"

    @property
    def remedy(self) -> str:
        return self.solver.remedy

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
        stage = solve_stage(
            system,
            state,
            state.t + h,
            p=state.x + h * state.v + (h * h * (0.5 - self.beta)) * a,
            q=state.v + (h * (1.0 - self.gamma)) * a,
            alpha=h * h * self.beta,
            beta=h * self.gamma,
            travel=h * state.v,
            memory=memory.stage,
            solver=self.solver,
        )
        new = state.moved(state.t + h, stage.x, stage.v)
        memory, work = NewmarkMemory(new, stage.memory), work + stage.work
        moved = mean_work(system, state, new)
        return Step(new, memory, work, notes=stage.notes, exchanged=moved)
