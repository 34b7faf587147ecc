"""Symplectic splittings of x'' = a(t, x) into kicks and drifts, of high order.

    v <- v + b_i h a(t, x),   then   x <- x + a_i h v,  t <- t + a_i h,   and so on, a kick last

Symplectic and, where the coefficients read the same backwards, time-reversible.  The last kick of a
step and the first of the next have one acceleration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..contracts import Array, Between, Splitting, State, Step, System, Work
from .explicit import EndAcceleration, opening
from .interpolation import Hermite
from .nystrom import require_no_velocities

KICKS = (0.0414649985182624, 0.198128671918067, -0.0400061921041533, 0.0752539843015807,
         -0.0115113874206879)  # fmt: skip
DRIFTS = (0.123229775946271, 0.290553797799558, -0.127049212625417, -0.246331761062075,
          0.357208872795928)  # fmt: skip


def _palindrome(half: tuple[float, ...], middle: tuple[float, ...]) -> Array:
    return np.array((*half, *middle, *reversed(half)))


@dataclass(frozen=True)
class BlanesMoan6:
    """Order 6 at eleven forces a step: twelve kicks and eleven drifts.

    Blanes, Moan, Practical symplectic partitioned Runge-Kutta and Runge-Kutta-Nyström methods, J.
    Comput. Appl. Math. 142 (2002), SRKN_11^b.  Its order rests on kicks that commute with one
    another, that is on forces without velocities; others are refused.  Stable for h omega < 9.
    """

    name: ClassVar[str] = "rkn6"
    order: ClassVar[int] = 6
    adaptive: ClassVar[bool] = False
    splitting: ClassVar[Splitting] = Splitting(
        _palindrome(KICKS, (0.5 - sum(KICKS),) * 2),
        _palindrome(DRIFTS, (1.0 - 2.0 * sum(DRIFTS),)),
    )

    def start(self, system: System, state: State) -> Any:
        require_no_velocities(system, self.name)

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        first, forces = opening(system, state, memory)
        kicks, drifts = self.splitting
        t, x, a = state.t, state.x, first
        v = state.v + (kicks[0] * h) * a
        for kick, drift in zip(kicks[1:], drifts, strict=True):
            t, x = t + drift * h, x + (drift * h) * v
            a = system.acceleration(state.moved(t, x, v))
            v = v + (kick * h) * a
        new = state.moved(state.t + h, x, v)
        work = Work(force_evaluations=len(drifts) + forces)

        def between() -> Between:
            return Between(Hermite(state, new, h, first, a), Work())

        return Step(new, EndAcceleration(new, a, v), work, between=between)
