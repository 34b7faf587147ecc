"""The classical Runge-Kutta method on u' = (v, a(t, x, v)): explicit, fourth order.

Kutta 1901; Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), Table II.1.2.
Stable for h omega < 2.83; it damps every oscillation by a factor 1 - (h omega)^6 / 144 per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..contracts import State, Step, System, Work

FOUR_FORCES = Work(force_evaluations=4)


@dataclass(frozen=True)
class RungeKutta4:
    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> None:
        return None

    def step(self, system: System, state: State, h: float, memory: None) -> Step:
        t, x, v = state.t, state.x, state.v
        middle, end = t + 0.5 * h, t + h
        a1 = system.acceleration(state)
        v2 = v + (0.5 * h) * a1
        a2 = system.acceleration(state.moved(middle, x + (0.5 * h) * v, v2))
        v3 = v + (0.5 * h) * a2
        a3 = system.acceleration(state.moved(middle, x + (0.5 * h) * v2, v3))
        v4 = v + h * a3
        a4 = system.acceleration(state.moved(end, x + h * v3, v4))
        new = state.moved(
            end,
            x + (h / 6.0) * (v + 2.0 * (v2 + v3) + v4),
            v + (h / 6.0) * (a1 + 2.0 * (a2 + a3) + a4),
        )
        return Step(new, None, FOUR_FORCES)
