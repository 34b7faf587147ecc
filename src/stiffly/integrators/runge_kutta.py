"""Runge-Kutta methods on u' = (v, a(t, x, v)) with fixed steps, as Nyström methods (nystrom.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..contracts import Settled, State, Step, System, Tableau, Work
from .explicit import EndAcceleration, after_settling, opening
from .nystrom import fill


def _tableau(*rows: tuple[float, ...]) -> Tableau:
    """From the rows of A; the last is the end of the step, whose acceleration opens the next."""
    m = len(rows)
    A = np.array([(*row, *(0.0,) * (m - len(row))) for row in rows])
    return Tableau(A.sum(axis=1), A @ A, A, m - 1, np.empty((0, 2, m)))


class _RungeKutta:
    adaptive: ClassVar[bool] = False
    tableau: ClassVar[Tableau]

    def start(self, system: System, state: State) -> Any:
        return None

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        a = system.backend.xp.empty((len(self.tableau.c), state.x.size))
        a[0], forces = opening(system, state, memory)
        new = fill(system, state, h, self.tableau, a, 1)
        work = Work(force_evaluations=self.tableau.end + forces)
        return Step(new, EndAcceleration(new, a[-1], new.v), work)

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return after_settling(state, memory)


@dataclass(frozen=True)
class ForwardEuler(_RungeKutta):
    """x+ = x + h v, v+ = v + h a(t, x, v): first order.

    It amplifies every undamped oscillation.  Hairer, Lubich, Wanner, Geometric Numerical
    Integration (2006), Sec. I.1.2.
    """

    name: ClassVar[str] = "forward-euler"
    order: ClassVar[int] = 1
    tableau: ClassVar[Tableau] = _tableau((), (1.0,))


@dataclass(frozen=True)
class RungeKutta4(_RungeKutta):
    """The classical Runge-Kutta method: fourth order.

    Kutta 1901; Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), Table
    II.1.2.  Stable for h omega < 2.83; it damps every oscillation by a factor
    1 - (h omega)^6 / 144 per step.
    """

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    tableau: ClassVar[Tableau] = _tableau(
        (), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    )
