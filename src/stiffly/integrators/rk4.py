"""The classical Runge-Kutta method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..contracts import Settled, State, Step, System, Tableau, Work
from .explicit import EndAcceleration, after_settling, opening
from .nystrom import fill

# the last row is the end of the step, whose acceleration opens the next one
A = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.5, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [1 / 6, 1 / 3, 1 / 3, 1 / 6, 0.0],
    ]
)


@dataclass(frozen=True)
class RungeKutta4:
    """The classical Runge-Kutta method on u' = (v, a(t, x, v)): fourth order.

    Kutta 1901; Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), Table
    II.1.2.  Stable for h omega < 2.83; it damps every oscillation by a factor
    1 - (h omega)^6 / 144 per step.
    """

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    adaptive: ClassVar[bool] = False
    tableau: ClassVar[Tableau] = Tableau(A.sum(axis=1), A @ A, A, 4, np.empty((0, 2, 5)))

    def start(self, system: System, state: State) -> Any:
        return None

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        a = system.backend.xp.empty((len(A), state.x.size))
        a[0], forces = opening(system, state, memory)
        new = fill(system, state, h, self.tableau, a, 1)
        work = Work(force_evaluations=self.tableau.end + forces)
        return Step(new, EndAcceleration(new, a[-1], new.v), work)

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return after_settling(state, memory)
