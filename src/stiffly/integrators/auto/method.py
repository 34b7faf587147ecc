"""`auto` as a method among others: the best one for a step that somebody else has chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...contracts import Integrator, Settled, State, Step, System
from ...errors import InputError
from ..restart import resumed
from .decide import decide_for

RTOL = 1e-2
AHEAD = 200  # steps: how far a motion is looked ahead whose end nobody knows


class Chosen(NamedTuple):
    """The method that was taken, its own memory, and why it was."""

    method: Integrator
    memory: Any
    line: str


@dataclass(frozen=True)
class Auto:
    """rtol: wanted relative error at the end of the motion, of positions and of velocities.

    `simulate` chooses the step as well and goes on watching; in a loop that has its own step, the
    method is chosen at the first one, and kept.
    """

    rtol: float = RTOL

    name: ClassVar[str] = "auto"
    order: ClassVar[int] = 2  # at least
    adaptive: ClassVar[bool] = True  # takes an rtol

    def __post_init__(self) -> None:
        if not 0.0 < self.rtol < 1.0:
            raise InputError(f"auto: rtol must lie between 0 and 1, got {self.rtol}: try 1e-2")

    def start(self, system: System, state: State) -> None:
        return None

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        if memory is None:
            return None
        own = resumed(memory.method, system, state, memory.memory, settled)
        return memory._replace(memory=own)

    def step(self, system: System, state: State, h: float, memory: Chosen | None) -> Step:
        if memory is None:
            found = decide_for(system, state, AHEAD * h, self.rtol, h)
            method = found.offer.method
            memory = Chosen(method, method.start(system, state), found.line)
        taken = memory.method.step(system, state, h, memory.memory)
        kept = memory._replace(memory=taken.memory)
        return Step(taken.state, kept, taken.work, None, taken.notes, taken.exchanged)
