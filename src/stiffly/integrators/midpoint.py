"""Implicit midpoint: second order, symplectic, time-reversible, A-stable, no numerical damping.

    X = x + (h/2) V,   V = v + (h/2) a(t + h/2, X, V);   x+ = x + h V,   v+ = v + h a

Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), Sec. II.1.  Linear stability does
not carry over: stiff nonlinear problems at large steps may gain energy without bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..contracts import State, Step, System
from .stage import MAX_ITERATIONS, TOLERANCE, StageMemory, solve_stage


@dataclass(frozen=True)
class Midpoint:
    """tolerance: relative residual of the Newton solve (see stage.py)."""

    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    name: ClassVar[str] = "midpoint"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> StageMemory:
        return StageMemory()

    def step(self, system: System, state: State, h: float, memory: StageMemory) -> Step:
        half = 0.5 * h
        stage = solve_stage(
            system,
            state.t + half,
            p=state.x + half * state.v,
            q=state.v,
            alpha=half * half,
            beta=half,
            travel=h * state.v,
            memory=memory,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
        )
        new = State(state.t + h, state.x + h * stage.v, state.v + h * stage.a)
        return Step(new, stage.memory, stage.work, notes=stage.notes)
