"""Several steps in one go: where nothing has to be recorded or settled between them.

The books of a time loop cost as much as a step of a small system.  Verlet's half kicks join to
whole ones on the way: the same numbers up to rounding, with less arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...contracts import Array, Integrator, Power, Settled, State, Step, System, Work
from ..restart import resumed, same_state
from ..verlet import Verlet, VerletMemory

MOST = 16  # steps in one go
LOOKS = 60  # at the motion, at least


class Recent(NamedTuple):
    """memory of the base; three successive accelerations (or means over a step) and the state at
    the middle one."""

    memory: Any
    accelerations: Sequence[Array] = ()
    middle: State | None = None


def together(steps: float, conservative: bool) -> int:
    """Steps in one go, of a run of so many: nobody has to see them, and it is still watched."""
    return int(min(max(steps / LOOKS, 1.0), MOST)) if conservative else 1


@dataclass(frozen=True)
class Bunch:
    """count steps of the base in one of these."""

    base: Integrator
    count: int = 1

    @property
    def order(self) -> int:
        return self.base.order

    @property
    def adaptive(self) -> bool:
        return self.base.adaptive

    @property
    def dissipative(self) -> bool:
        return getattr(self.base, "dissipative", False)

    def start(self, system: System, state: State) -> Recent:
        return Recent(self.base.start(system, state))

    def resume(self, system: System, state: State, memory: Recent, settled: Settled) -> Recent:
        own = resumed(self.base, system, state, memory.memory, settled)
        return memory._replace(memory=own)

    def step(self, system: System, state: State, h: float, memory: Recent) -> Step:
        h /= self.count
        if isinstance(self.base, Verlet) and not system.velocity_dependent:
            return self._leapfrog(system, state, h, memory)
        work, own, recent, notes = Work(), memory.memory, memory.accelerations, {}
        moved: Power | None = None
        middle = state
        for _ in range(self.count):
            taken = self.base.step(system, state, h, own)
            if isinstance(taken.memory, VerletMemory):
                mean = taken.memory.acceleration
            else:
                mean = (taken.state.v - state.v) / h
            recent, middle = [*recent[-2:], mean], state
            state, own, notes, moved = taken.state, taken.memory, taken.notes, taken.exchanged
            work += taken.work
        moved = moved if self.count == 1 else None  # nothing is exchanged where steps are joined
        return Step(state, Recent(own, recent, middle), work, None, notes, moved)

    def _leapfrog(self, system: System, state: State, h: float, memory: Recent) -> Step:
        kept: VerletMemory | None = memory.memory
        known = kept is not None and same_state(kept.state, state)
        a = kept.acceleration if known else system.acceleration(state)  # type: ignore[union-attr]  # known
        recent = memory.accelerations if known else [a]
        x, t, v = state.x, state.t, state.v + (0.5 * h) * a
        middle = state
        for k in range(1, self.count + 1):
            x = x + h * v
            a = system.acceleration(state.moved(t + k * h, x, v))
            recent = [*recent[-2:], a]
            if k == self.count - 1:
                middle = state.moved(t + k * h, x, v + (0.5 * h) * a)
            if k < self.count:
                v = v + h * a
        end = state.moved(t + self.count * h, x, v + (0.5 * h) * a)
        work = Work(force_evaluations=self.count + (not known))
        return Step(end, Recent(VerletMemory(end, a), recent, middle), work)
