"""The one time loop: steps that land on frames or pass them, the ledger, and what went wrong."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, cast

import numpy as np

from ..accounting import work_within
from ..contracts import NOTHING, Array, Integrator, State, Step, System, Work
from ..errors import (
    Diverged,
    InputError,
    NotConverged,
    SimulationFailure,
    StepTooSmall,
    StiffWarning,
    levels_up,
)
from ..recording.checkpoint import plain
from ..recording.notes import FrameLog, StepLog
from ..recording.sinks import Frame, Progress, ProgressReport, Reporter, Sink
from .control import Controller, Tolerance
from .ledger import NUMERICAL, EnergyHistory, Ledger
from .stepper import Stepper, quiet

WORTH_A_WARNING = 0.05  # numerical error against the energy exchanged
LOOKS = 200  # at the energy of a run, at least, however few its frames
FEWEST = 10  # steps of a call: to begin one takes as long as a step
OFTEN = 0.1  # of the steps: then limits are no longer exceptions
SMALLEST = 1e-10  # of the duration: below this the controller gives up
# saved apart, or not at all
APART = ("system", "method", "state", "memory", "origin", "_chosen")


__all__ = ["Loop", "Progress", "ProgressReport", "StepLog"]


def frames_from(first: int, every: float, duration: float) -> Array:
    """Times first * every, (first + 1) * every, ...; the last one is `duration` [s]."""
    times = np.arange(first, int(duration / every * (1.0 + 1e-12)) + 1) * every
    if times.size == 0 or duration - times[-1] > 1e-9 * duration:
        times = np.append(times, duration)
    times[-1] = duration
    return times


def steps_within(span: float, step: float) -> int:
    """Equal steps, none longer than `step`, that fill the time between two frames."""
    return max(1, ceil(span / step * (1.0 - 1e-9)))


@dataclass(frozen=True, slots=True)
class Interval:
    """Fixed steps from one frame to the next: start [s], step h [s], how many."""

    start: float
    h: float
    count: int


class Loop(Stepper):
    """Everything that a run needs to go on from here; `saved` gives it as plain data.

    origin: x0, as it was given to `bind`.
    """

    ledger: Ledger
    origin: Array | None = None

    def __init__(
        self,
        system: System,
        method: Integrator,
        name: str,
        state: State,
        frames: Array,
        step: float | None,
        tolerance: Tolerance | None,
        log: StepLog | FrameLog,
    ) -> None:
        super().__init__(system, method, name, state, Ledger(system), log)
        self.frames, self.step, self.recorded = frames, step, 0
        self.interval: Interval | None = None  # between two frames
        self.done = 0  # steps of it
        self.next_look = 0.0  # [s]
        self.controller: Controller | None = None
        self.began = time.perf_counter()
        if tolerance is not None:
            shape = np.asarray(system.positions(state))
            order = getattr(method, "error_order", max(1, method.order - 1))
            self.controller = Controller.begin(tolerance, order, shape, state.x, frames[-1])
            self.h = step if step is not None else self._first_step(self.controller)

    def saved(self) -> dict[str, Any]:
        """Trees of plain data (see recording/checkpoint.py): `resumed` goes on with them."""
        own = {name: value for name, value in vars(self).items() if name not in APART}
        own["began"] = -self.seconds  # clocks differ between processes
        known, system = plain(self.method), cast("Any", self.system)
        return {
            "state": self.state,
            "origin": self.origin,
            "method": self.method if known else type(self.method).__qualname__,
            "known": known,
            "learnt": system.learnt() if hasattr(system, "learnt") else None,
            "memory": self.memory,
            "loop": own,
        }

    @classmethod
    def resumed(cls, system: System, method: Integrator, tree: Callable[..., Any]) -> Loop:
        """On a system that is bound; tree(name, like): one of the saved trees."""
        loop = object.__new__(cls)
        loop.system, loop.method = system, method
        loop._lay_out()
        loop.state, loop.origin = tree("state"), tree("origin")
        loop.memory = tree("memory", method.start(system, loop.state))
        vars(loop).update(tree("loop"))
        loop.ledger.system = system
        loop.began += time.perf_counter()
        learnt = tree("learnt")
        if learnt is not None:
            system.recall(learnt, loop.state)  # type: ignore[attr-defined]  # it has `learnt`
        return loop

    @property
    def seconds(self) -> float:
        """Of computing so far, before and after a checkpoint."""
        return time.perf_counter() - self.began

    def run(self, sink: Sink, progress: Progress | None = None) -> Any:
        """From here to the last frame; returns the sink's result."""
        report = None if progress is None else Reporter(progress, self)
        advance = self._advance_fixed
        if self.controller is not None:
            advance = partial(self._advance_adaptive, sink)
        try:
            with quiet():
                if self.recorded == 0:
                    self._record(sink, self.state)
                    sink.between(self)
                while self.recorded < len(self.frames):
                    landed = advance(float(self.frames[self.recorded]))
                    if landed:
                        self._record(sink, self.state)
                    elif self.state.t >= self.next_look:
                        self._look()
                    if report is not None:
                        report(landed)
                    sink.between(self)
        except BaseException as failure:
            run = sink.result(self, failure)
            if isinstance(failure, SimulationFailure):
                failure.run = run
            raise
        result = sink.result(self)
        self._warn_of_energy()
        self._warn_of_solves()
        self._warn_of_limits()
        return result

    def _look(self) -> None:
        """At the energy between two frames: how many are recorded decides nothing."""
        self.judge(self.looked(self.ledger.look))
        self.next_look = self.state.t + self._apart

    @property
    def energy_missed(self) -> float:
        """[J] that were invented, or lost where the method should not; 0 if not worth a word."""
        books = self.ledger
        damps = getattr(self.method, "dissipative", False)  # bdf1, bdf2: losing is their nature
        worst = max(books.high[NUMERICAL], 0.0 if damps else -books.low[NUMERICAL])
        return worst if worst > max(WORTH_A_WARNING * books.exchanged, books.floor) else 0.0

    def _warn_of_energy(self) -> None:
        worst, exchanged = self.energy_missed, self.ledger.exchanged
        if worst:
            share = f", {worst / exchanged:.0%} of the energy exchanged" if exchanged else ""
            self._warn(f"numerical error up to {worst:.3g} J{share}; {self._remedy(self.longest)}")

    def _warn_of_solves(self) -> None:
        """Steps whose equations were left unsolved by more than the method thinks right."""
        count, worst = self.log.unsolved()
        if count:
            remedy = getattr(self.method, "remedy", "try a smaller step")
            self._warn(
                f"{count} of {self.steps} steps were not solved well enough "
                f"(relative residual up to {worst:.2g}); {remedy}"
            )

    def _warn_of_limits(self) -> None:
        """Steps whose motion was cut to the energy allowed: bounded, but no longer the body's."""
        count = self.log.limited()
        if count > OFTEN * self.steps and self.ledger.exchanged > self.ledger.floor:
            self._warn(
                f"{count} of {self.steps} steps were cut to the energy allowed; "
                f"try step={self.longest / 4:.2g}, or energy-momentum"
            )

    def _warn(self, text: str) -> None:
        warnings.warn(f"{self.name}: {text}", StiffWarning, stacklevel=levels_up())

    # ------------------------------------------------------------------ steps

    def _advance_fixed(self, target: float) -> bool:
        """One step; True when it has reached the target."""
        if self.interval is None:
            self.interval, self.done = self._interval(target), 0
        now = self.interval
        if self._chosen[0] is not None:
            return self._take_many(now, target)
        taken, count = self._stretch(now) or (self._try(now.h), 1)
        ends = [now.start + k * now.h for k in range(self.done + 1, self.done + count + 1)]
        self.done += count
        landed = self.done == now.count
        self._accept(taken, [*ends[:-1], target] if landed else ends)
        if landed:
            self.interval = None
        return landed

    def _take_many(self, now: Interval, target: float) -> bool:
        """Explicit steps: as many of those that are left to the next frame as one call takes."""
        count = self._at_once(now)
        ends = now.start + now.h * np.arange(self.done + 1, self.done + count + 1)
        self.done += count
        landed = self.done == now.count
        if landed:
            ends[-1], self.interval = target, None
        self.take_all(now.h, ends)
        return landed

    def _at_once(self, now: Interval) -> int:
        """Not for so long that nobody could stop it."""
        elements = max(1, cast("Any", self.system).stretcher.elements)
        count = min(now.count - self.done, max(FEWEST, self._unseen(now)))
        return max(1, min(count, int(self.system.backend.at_once // elements)))

    def _unseen(self, now: Interval) -> int:
        """Steps that nobody looks at: up to the next frame, or the next look at the energy, where
        that comes much earlier."""
        left = now.count - self.done
        if left * now.h <= 1.5 * self._apart:
            return left
        return min(left, max(1, ceil((self.next_look - self.state.t) / now.h)))

    @property
    def _apart(self) -> float:
        """Seconds between two looks."""
        return float(self.frames[-1]) / LOOKS

    def _stretch(self, now: Interval) -> tuple[Step, int] | None:
        """Many steps at once, where method and system can."""
        stretch = getattr(self.method, "stretch", None)
        if stretch is None or not self.system.conservative:
            return None
        return stretch(self.system, self.state, now.h, self._unseen(now))

    def _interval(self, target: float) -> Interval:
        span, regular = target - self.state.t, float(self.frames[1] - self.frames[0])
        if abs(span - regular) <= 1e-9 * regular:
            span = regular  # the same bits in every step: what is kept for a step size stays valid
        count = steps_within(span, self.step)  # type: ignore[arg-type]  # fixed
        return Interval(self.state.t, span / count, count)

    def _first_step(self, controller: Controller) -> float:
        """To begin with [s]: what the method thinks right, or a thousandth of the run."""
        found, own = None, getattr(self.method, "first_step", None)
        if own is not None:
            sizes = controller.sizes(self.state, self.state)
            with np.errstate(over="ignore", invalid="ignore"):
                found = own(self.system, self.state, controller.tolerance.rtol, *sizes)
            self.work += Work(force_evaluations=2)
        return 1e-3 * float(self.frames[-1]) if found is None else found

    @property
    def _lands(self) -> bool:
        """Steps end at frames: others do not know what is between, or something happens there."""
        return self.system.settles or not getattr(self.method, "dense", False)

    def _advance_adaptive(self, sink: Sink, target: float) -> bool:
        """One attempt, which may be undone; True when it has reached the target.  Frames that it
        passes on the way are recorded."""
        assert self.controller is not None
        end = target if self._lands else float(self.frames[-1])
        left = end - self.state.t
        # land there without leaving a sliver behind
        h = left if left <= 1.0001 * self.h else min(self.h, 0.5 * left)
        try:
            taken = self._try(h)
            if taken.error is None:
                raise InputError(
                    f"{self.name} is adaptive, but its steps carry no error: return Step(..., "
                    "error=ErrorEstimate(x, v)), or set adaptive = False"
                )
            good, factor, self.controller = self.controller.judge(
                self.state, taken.state, taken.error
            )
        except (Diverged, NotConverged):  # too far for the linearisation: undo, go shorter
            good, factor, taken = False, 0.25, None
        if good and taken is not None:
            reached = end if h == left else taken.state.t
            self._accept(self._passed(sink, taken, reached), [reached])
            self.h = max(self.h, factor * h) if h < 0.9 * self.h else factor * h
        else:
            self.work += Work(rejected_steps=1) + (Work() if taken is None else taken.work)
            self.h = factor * h
        if self.h < SMALLEST * self.frames[-1]:
            raise StepTooSmall(
                f"the step fell below {self.h:.1e} s at t = {self.state.t:.4g} s: rtol cannot "
                "be met; try a larger rtol, or check the forces for jumps"
            )
        return self.state.t >= self.frames[self.recorded]

    def _passed(self, sink: Sink, taken: Step, end: float) -> Step:
        """The step, with the frames recorded that lie within it; its exchange of energy is then
        that of the rest."""
        if self.frames[self.recorded] >= end:
            return taken
        ahead = self.frames[self.recorded :]
        inside = ahead[ahead < end].tolist()
        if taken.between is None:
            raise InputError(
                f"{self.name} is dense, but its steps do not tell what is between: return "
                "Step(..., between=...), or set dense = False"
            )
        within, begun = taken.between(), self.state.t
        self.work += within.work
        for t in inside:
            state = within.state(t)
            if not self.system.conservative:
                moved = work_within(self.system, within.state, begun, t)
                self.ledger.step(self.state, state, moved)
                begun = t
            self._record(sink, state)
        if self.system.conservative:
            return taken
        return replace(taken, exchanged=work_within(self.system, within.state, begun, end))

    # ------------------------------------------------------------------ frames

    def _record(self, sink: Sink, state: State) -> None:
        growth, ledger = self.book(state), self.ledger
        self.next_look = state.t + self._apart  # a frame is a look
        x, v, fields = self._seen(state, getattr(sink, "single", False))
        frame = Frame(
            self.recorded,
            len(self.frames),
            state.t,
            x,
            v,
            {name: series[-1] for name, series in ledger.parts.items()},
            ledger.added_now,
            ledger.dissipated_now,
            ledger.invented_now,
            self.steps,
            self.work,
            self.seconds,
            self.log.frame(),
            fields,
        )
        sink.frame(frame)
        self.recorded += 1
        self.judge(growth)

    def _seen(self, state: State, single: bool) -> tuple[Array, Array, Mapping[str, Array]]:
        """Positions, velocities, and what parts record of themselves, which nobody changes while a
        sink has them; single: it will round them."""
        system = cast("Any", self.system)
        if hasattr(system, "in_frame"):
            return system.in_frame(state, single)
        fields = system.fields(state) if hasattr(system, "fields") else NOTHING
        return np.array(system.positions(state)), np.array(system.velocities(state)), fields

    @property
    def fixed(self) -> bool:
        return self.controller is None

    def history(self) -> EnergyHistory:
        return self.ledger.history()

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = {"steps": self.steps, **self.work._asdict()}
        if self.steps:
            found |= {"smallest_step": float(self.shortest), "largest_step": float(self.longest)}
        found["loop"] = self.way
        if "method" in self.notes:
            found["matrix_functions"] = self.notes["method"]
        if "solver" in self.notes:
            found["implicit_solver"] = self.notes["solver"]
        return found
