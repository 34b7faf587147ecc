"""Where frames go: the contract between the time loop and what keeps its frames, and memory."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..contracts import Array, State, Work
from .energy_history import EnergyHistory
from .notes import FrameLog, StepLog
from .run import Run


class Frame(NamedTuple):
    """A frame as the loop hands it on; index counts from 0.

    positions, velocities: (particles, 3), or (n,) for SecondOrder; not copies.
    energies [J] by part; added, dissipated, invented [J], steps, work, seconds (of computing): so
    far.
    notes: what the steps since the last frame said (see notes.py).
    """

    index: int
    t: float
    positions: Array
    velocities: Array
    energies: dict[str, float]
    added: float
    dissipated: float
    invented: float
    steps: int
    work: Work
    seconds: float
    notes: dict[str, float]


class Progressing(Protocol):
    """What a sink reads of the loop; `saved`: what a checkpoint holds."""

    name: str
    step: float | None
    state: State
    log: StepLog | FrameLog
    recorded: int

    @property
    def seconds(self) -> float: ...
    def saved(self) -> dict[str, Any]: ...
    def stats(self) -> dict[str, Any]: ...
    def history(self) -> EnergyHistory: ...


class Sink(Protocol):
    def frame(self, frame: Frame) -> None: ...

    def between(self, loop: Progressing) -> None:
        """After every step, and after the frame that it may have ended: the loop can be saved."""
        ...

    def result(self, loop: Progressing, failure: BaseException | None = None) -> Any:
        """At the end, or where the run has stopped early."""
        ...


class Memory:
    """Keeps every frame as arrays."""

    def __init__(self) -> None:
        self._positions: list[Array] = []
        self._velocities: list[Array] = []

    def frame(self, frame: Frame) -> None:
        self._positions.append(np.array(frame.positions))
        self._velocities.append(np.array(frame.velocities))

    def between(self, loop: Progressing) -> None:
        pass

    def result(self, loop: Progressing, failure: BaseException | None = None) -> Run:
        energy = loop.history()
        assert isinstance(loop.log, StepLog)
        return Run(
            integrator=loop.name,
            step=loop.step,
            times=energy.times,
            positions=np.array(self._positions),
            velocities=np.array(self._velocities),
            energy=energy,
            stats=loop.stats(),
            diagnostics=loop.log.arrays(),
            wall_seconds=loop.seconds,
        )
