"""The two explicit Euler methods: one force evaluation, first order.

    forward:     x+ = x + h v,    v+ = v + h a(t, x, v)
    symplectic:  v+ = v + h a(t, x, v),    x+ = x + h v+

Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), Sec. I.1.2.  The symplectic one is
stable for h omega < 2; the forward one amplifies every undamped oscillation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..contracts import State, Step, System, Work

ONE_FORCE = Work(force_evaluations=1)


@dataclass(frozen=True)
class ForwardEuler:
    name: ClassVar[str] = "forward-euler"
    order: ClassVar[int] = 1
    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> None:
        return None

    def step(self, system: System, state: State, h: float, memory: None) -> Step:
        a = system.acceleration(state)
        new = state.moved(state.t + h, state.x + h * state.v, state.v + h * a)
        return Step(new, None, ONE_FORCE)


@dataclass(frozen=True)
class SymplecticEuler:
    name: ClassVar[str] = "symplectic-euler"
    order: ClassVar[int] = 1
    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> None:
        return None

    def step(self, system: System, state: State, h: float, memory: None) -> Step:
        v = state.v + h * system.acceleration(state)
        return Step(state.moved(state.t + h, state.x + h * v, v), None, ONE_FORCE)
