"""Störmer-Verlet in its velocity form: explicit, second order, symplectic, time-reversible.

    v' = v + (h/2) a(t, x, v),   x+ = x + h v',   v+ = v' + (h/2) a(t + h, x+, v*)

Hairer, Lubich, Wanner, Geometric numerical integration illustrated by the Störmer-Verlet method,
Acta Numerica 12 (2003).  Stable for h omega < 2.  Velocity-dependent forces are taken at
v* = v + h a: its error O(h^2) keeps the second order at one evaluation per step (symplecticity and
reversibility hold for forces of x alone).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..contracts import Array, State, Step, System, Work
from .restart import same_state

ONE_FORCE = Work(force_evaluations=1)
TWO_FORCES = Work(force_evaluations=2)


class VerletMemory(NamedTuple):
    """The state a step ended in and its acceleration, which opens the next step."""

    state: State
    acceleration: Array


@dataclass(frozen=True)
class Verlet:
    name: ClassVar[str] = "verlet"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> VerletMemory | None:
        return None

    def step(self, system: System, state: State, h: float, memory: VerletMemory | None) -> Step:
        if memory is not None and same_state(memory.state, state):
            a, work = memory.acceleration, ONE_FORCE
        else:
            a, work = system.acceleration(state), TWO_FORCES
        half = state.v + (0.5 * h) * a
        x = state.x + h * half
        a_new = system.acceleration(state.moved(state.t + h, x, half + (0.5 * h) * a))
        new = state.moved(state.t + h, x, half + (0.5 * h) * a_new)
        return Step(new, VerletMemory(new, a_new), work)
