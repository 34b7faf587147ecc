"""Step by step, and on through an explosion: what the figures of stability are drawn from.

`simulate` stops a run whose energy is lost.  These experiments want to see how far it goes, so they
step by themselves, as far as a number can hold it, and keep the series that the paper draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stiffly.contracts import Array, Integrator
from stiffly.errors import SimulationFailure
from stiffly.integrators import integrator as find_integrator
from stiffly.run import Balance, StepLog, Stepper, quiet
from stiffly.scenes import Scene

from .bench import Row
from .energy_history import COUNTS
from .harness import Record
from .trial import OutOfTime, in_time, processor_seconds

EXPLODED = 1.0  # of the energy at the start: invented by the method, in one sum
HOPELESS = 1e9  # times that energy
SIDE = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])  # x to the right, z upwards
DOTS = 700  # vertices drawn

Look = Callable[[Array, Array], dict[str, float]]


def spin(x: Array, v: Array, mass: Array, centre: Array | None = None) -> Array:
    """Angular momentum (3,) [kg m^2/s] about a point, or about the centre of mass."""
    arm = x - (mass @ x / mass.sum() if centre is None else centre)
    return mass @ np.cross(arm, v)


class Album:
    """A look for `watched`: what `measure` sees, and some frames as dots seen from the side.

    frames: those to keep, their numbers as keys; every: as that of `watched`, in frames; view
    (3, 2): axes of the page, as columns; dots: about how many, None: all vertices.
    """

    def __init__(
        self,
        measure: Look,
        frames: Iterable[int],
        *,
        every: int = 1,
        view: Array = SIDE,
        dots: int | None = DOTS,
    ) -> None:
        self.measure, self.frames, self.every, self.view = measure, set(frames), every, view
        self.dots, self.frame, self.pages = dots, 0, {}

    def __call__(self, x: Array, v: Array) -> dict[str, float]:
        if self.frame in self.frames:
            some = x[:: max(1, len(x) // self.dots)] if self.dots else x
            self.pages[str(self.frame)] = np.round(some @ self.view, 4)
        self.frame += self.every
        return self.measure(x, v)


class StepByStep:
    """A method on a scene, one step at a time, with its books."""

    def __init__(self, scene: Scene, integrator: str | Integrator, step: float) -> None:
        self.system, state = scene.system.bind(scene.x0, scene.v0)
        method = find_integrator(integrator)
        books, self.log = Balance(self.system), StepLog()
        self.stepper = Stepper(self.system, method, str(integrator), state, books, self.log)
        self.h, self.start_time = step, state.t
        self.stepper.book()

    @property
    def positions(self) -> Array:
        return np.asarray(self.system.positions(self.stepper.state))

    @property
    def velocities(self) -> Array:
        return np.asarray(self.system.velocities(self.stepper.state))

    @property
    def energy(self) -> float:
        """Kinetic and stored [J]."""
        return float(sum(self.stepper.ledger.now.values()))

    @property
    def kinetic(self) -> float:
        return float(self.stepper.ledger.now["kinetic"])

    @property
    def invented(self) -> float:
        """What the method has added (+) or lost (-) since the start [J]."""
        return float(self.stepper.ledger.numerical)

    @property
    def alpha(self) -> float | None:
        return self.stepper.notes.get("alpha")

    def take(self) -> float:
        """One step; its processor seconds.  SimulationFailure where it cannot be taken."""
        began = processor_seconds()
        with quiet():
            self.stepper.take(self.h, self.start_time + (self.stepper.steps + 1) * self.h)
        seconds = processor_seconds() - began
        self.stepper.book()
        return seconds


def watched(
    scene: Scene,
    integrator: str | Integrator,
    steps: int,
    *,
    step: float | None = None,
    look: Look | None = None,
    every: int = 1,
    until: float = HOPELESS,
    scale: float | None = None,
) -> Row:
    """Series of a run of so many steps, or fewer where it fails: energy, invented, kinetic [J],
    alpha and whatever look(x, v) returns, at every so-many steps; and what it cost.

    scale [J]: default the energy at the start, which with gravity is any number: give one there.
    until: times the scale that a method may invent or lose before it is left alone.
    exploded: the first step at which the method has invented as much as the scale, or could not go
    on; None where it came through, or was stopped by a time limit (see trial.py).
    """
    h = scene.step if step is None else step
    watch = StepByStep(scene, integrator, h)
    scale = watch.energy if scale is None else scale
    series: dict[str, list[Any]] = {"step": []}
    exploded, failure, seconds = None, None, 0.0

    def note() -> None:
        now = {"energy": watch.energy, "invented": watch.invented, "kinetic": watch.kinetic}
        now |= {"alpha": watch.alpha}
        now |= {} if look is None else look(watch.positions, watch.velocities)
        series["step"].append(watch.stepper.steps)
        for name, value in now.items():
            series.setdefault(name, []).append(value)

    note()
    for n in range(1, steps + 1):
        try:
            in_time()
            seconds += watch.take()
        except OutOfTime as late:
            failure = str(late)
            break
        except SimulationFailure as stopped:
            failure, exploded = str(stopped), exploded or n
            break
        if exploded is None and not watch.invented <= EXPLODED * scale:
            exploded = n
        hopeless = not abs(watch.invented) <= until * scale
        if n % every == 0 or n == steps or hopeless:
            note()
        if hopeless:
            break
    alphas = watch.log.arrays().get("alpha")
    cost = {"seconds": seconds, "steps": watch.stepper.steps, **watch.stepper.work._asdict()}
    return {
        **series,
        "time_step": h,
        "exploded": exploded,
        "failure": failure,
        "mean_alpha": None if alphas is None else float(np.nanmean(np.abs(alphas))),
        "cost": cost,
    }


def a_step(row: Row) -> tuple[float, float]:
    """Forces and milliseconds of a step of a row of `watched`."""
    cost = row["cost"]
    steps = max(cost["steps"], 1)
    return cost["force_evaluations"] / steps, 1e3 * cost["seconds"] / steps


def record(method: str, row: Row) -> Record:
    """What a row of `watched` cost, as a line of the result's table."""
    cost = {name: row["cost"][name] for name in ("seconds", *COUNTS)}
    drift = float(np.abs(row["invented"]).max())
    return Record(method, row["time_step"], energy_drift=drift, **cost)
