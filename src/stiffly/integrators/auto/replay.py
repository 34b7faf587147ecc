"""A trial that was good enough is the run: its steps are handed out again, not computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...contracts import Integrator, Settled, State, Step, System
from ..restart import LAST_DIGITS, resumed, same_state

ROOM = 2**27  # bytes of states that a trial may keep


class Turn(NamedTuple):
    """How many steps were handed out; the base's own memory where it has taken over."""

    done: int
    own: Any = None
    left: bool = False  # something else has happened: the rest is not to be used


@dataclass(frozen=True, eq=False)
class Replayed:
    """steps of size h from the state `begin` on, as the base has taken them."""

    base: Integrator
    begin: State
    h: float
    steps: tuple[Step, ...]

    @property
    def order(self) -> int:
        return self.base.order

    @property
    def adaptive(self) -> bool:
        return self.base.adaptive

    def start(self, system: System, state: State) -> Turn:
        if same_state(state, self.begin):
            return Turn(0)
        return Turn(0, self.base.start(system, state), True)

    def resume(self, system: System, state: State, memory: Turn, settled: Settled) -> Turn:
        if not memory.left:
            return Turn(0, self.base.start(system, state), True)
        return Turn(0, resumed(self.base, system, state, memory.own, settled), True)

    def step(self, system: System, state: State, h: float, memory: Turn) -> Step:
        done = memory.done
        if not memory.left:
            expected = self.steps[done - 1].state if done else self.begin
            alike = done < len(self.steps) and abs(h - self.h) <= LAST_DIGITS * self.h
            if alike and same_state(expected, state):
                return replace(self.steps[done], memory=Turn(done + 1))
            memory = Turn(0, self.base.start(system, state), True)
        taken = self.base.step(system, state, h, memory.own)
        return replace(taken, memory=Turn(0, taken.memory, True))


def fits(count: int, size: int) -> bool:
    """So many states of this size may be kept."""
    return 16 * count * size <= ROOM
