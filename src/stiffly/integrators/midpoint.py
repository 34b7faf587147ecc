"""Implicit midpoint: second order, symplectic, time-reversible, A-stable, no numerical damping.

    X = x + (h/2) V,   V = v + (h/2) a(t + h/2, X, V);   x+ = x + h V,   v+ = v + h a

Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), Sec. II.1.  Linear stability does
not carry over: stiff nonlinear problems at large steps may gain energy without bound.  With the
local/global solver it is `projective-midpoint` (Dinev, Liu, Kavan 2018, Eq. 30).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..accounting import middle_work
from ..contracts import Settled, State, Step, System
from ..solvers.equation import Solver
from ..solvers.newton import Newton
from ..solvers.settings import check_solver
from .stage import StageMemory, solve_stage


@dataclass(frozen=True)
class Midpoint:
    """solver: Newton() or LocalGlobal() (see stage.py)."""

    solver: Solver = field(default_factory=Newton)

    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_solver("midpoint", self.solver)

    @property
    def name(self) -> str:
        return f"{self.solver.prefix}midpoint"

    @property
    def remedy(self) -> str:
        return self.solver.remedy

    def start(self, system: System, state: State) -> StageMemory:
        return StageMemory()

    def resume(
        self, system: System, state: State, memory: StageMemory, settled: Settled
    ) -> StageMemory:
        return memory.resumed()

    def step(self, system: System, state: State, h: float, memory: StageMemory) -> Step:
        half = 0.5 * h
        stage = solve_stage(
            system,
            state,
            state.t + half,
            p=state.x + half * state.v,
            q=state.v,
            alpha=half * half,
            beta=half,
            travel=h * state.v,
            memory=memory,
            solver=self.solver,
        )
        new = state.moved(state.t + h, state.x + h * stage.v, state.v + h * stage.a)
        moved = middle_work(system, state, new)
        return Step(new, stage.memory, stage.work, notes=stage.notes, exchanged=moved)
