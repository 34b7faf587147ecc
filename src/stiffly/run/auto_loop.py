"""The time loop of integrator="auto": it watches its own error, and changes its mind."""

from __future__ import annotations

import logging
import time
import warnings
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from ..accounting import total_energy
from ..contracts import Array, State, System, Work
from ..errors import Diverged, NotConverged, StepTooSmall, StiffWarning
from ..integrators import EnergyMomentum
from ..integrators.auto import Bunch, Decision, Known, Offer, Watch, decide, decide_for, together
from ..integrators.auto.doubt import SWINGS, doubt
from ..integrators.auto.watch import SAFETY, SURPRISE
from ..recording.notes import FrameLog, StepLog
from .loop import SMALLEST, Loop

log = logging.getLogger("stiffly")

ENERGY = 1.0  # times rtol, of the energies seen: lost or gained at once, it tells of an error
INVENTED = 1.0  # numerical error, in energies seen before: the step is unstable
AT_ONCE = 0.3  # the same for one step that cannot be taken back
ODD = 20.0  # and of methods that take any step, whose work is not known as well
SURPRISES = 8  # between two checks: then surprises are the rule, and the checks must do
LEAST = 1e-5  # of the longest step taken: shorter ones are sought in vain
RETREATS = 12  # of one run: then it is not the step that is wrong
AGAIN = 2.0  # a step that should be shorter by more: perhaps another method is better now
CHEAPER = 0.8  # of the seconds to come: worth a change of method
WORTH = 0.02  # seconds to come, below which nobody thinks again


def decided(
    system: System,
    state: State,
    duration: float,
    rtol: float,
    step: float | None,
    every: float | None = None,
) -> Decision:
    """The decision to begin with, and said; every: seconds between frames, if they are given."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # steps that explode are tried
        if step is None:
            decision = decide(system, state, duration, rtol, every=every or inf)
        else:
            decision = decide_for(system, state, duration, rtol, step)
    log.warning(decision.line)
    return replace(decision, seconds=time.perf_counter() - began)


class Good(NamedTuple):
    """The last state at which all was well, to go back to."""

    state: State
    added: float
    dissipated: float
    numerical: float = 0.0


class AutoLoop(Loop):
    """Begins with a decision, checks it along the way, and says what it did.

    Where nothing happens between two steps, several are taken in one go and logged as one.
    """

    def __init__(
        self,
        system: System,
        decision: Decision,
        state: State,
        frames: Array,
        log: StepLog | FrameLog,
        watched: bool = True,
    ) -> None:
        """watched: the step is free to change; else the user has given it."""
        offer = decision.offer
        method = Bunch(offer.method)
        super().__init__(system, method, "auto", state, frames, offer.step, None, log)
        self.began -= decision.seconds  # the pilot is part of the run
        self.lines, self.pilot_seconds = [decision.line], decision.seconds
        self.per_step = decision.per_step
        self.watch = Watch(decision, state, float(frames[-1]) - state.t)
        self.good = Good(state, 0.0, 0.0)
        self.watched, self.retreats, self.surprises, self.blind = watched, 0, 0, 0

    def _advance_fixed(self, target: float) -> bool:
        """A few steps, or a change of mind; True when the target is reached."""
        if self.interval is None:
            self.interval, self.done = self._interval(target), 0
        start, h, count = self.interval
        steps = float(self.frames[-1] - self.frames[0]) / h
        free = self.watched and self.system.conservative
        several = min(together(steps, free), count - self.done)
        if several != self.together:
            self.method, self.together = replace(self.method, count=several), several
        landed = self.done + several == count
        end = target if landed else start + (self.done + several) * h
        if not self._fair(several * h, h, end):
            return False
        self.done += several
        if landed:
            self.interval = None
        return self._watched(landed)

    def _fair(self, span: float, h: float, end: float) -> bool:
        """Steps of h over `span`, taken and accepted; False where they were not good enough."""
        try:
            taken = self._try(span)
        except (Diverged, NotConverged) as failure:
            return self._retreat(failure)
        wrong = ""
        if self.watched:
            wrong = self.watch.see(self.system, taken.state, taken.memory, h, span)
        if wrong == SURPRISE and self.surprises < SURPRISES and not self.system.settles:
            self.surprises += 1
            self.work += taken.work + Work(rejected_steps=1)
            self._shorter(0.35, wrong)
            self.watch.soon(self.state)
            return False
        if wrong and wrong != SURPRISE:
            return self._retreat(Diverged(self._words(wrong)))
        self._accept(taken, end)
        return True

    def _look(self) -> None:
        """`_kept` looks, and goes back where it sees nothing good."""

    def _watched(self, landed: bool) -> bool:
        """After good steps: is it time to think again?"""
        if landed:
            return self._landed()
        if self.watched and self.watch.due(self.state):
            if not self._kept():
                return False
            self._check()
        elif self.watched and self.system.settles and self.steps % 2 == 0:
            self._kept()  # what cannot be taken back has to be seen early
        return False

    def _landed(self) -> bool:
        """At the time of a frame: False where it is not worth recording."""
        if not self._kept():
            return False
        if self.watched and self.state.t >= self.frames[-1]:
            self.watch.finish(self.state)
        elif self.watched and self.watch.due(self.state):
            self._check()
        return True

    def _kept(self) -> bool:
        """This state is one to go back to; False where its energy says that it is none."""
        books, off = self.ledger, self._numerical()
        # what cannot be taken back is recorded as it is, and held against no later step
        before = self.good.numerical if self.system.settles else 0.0
        if off - before > self._much() * books.scale:
            if self.system.settles:
                self.good = self.good._replace(numerical=off)
            again = self._retreat(Diverged(self._words("energy comes out of nothing")))
            return again or self.system.settles
        jump = abs(off - self.good.numerical)
        judged = self.watched and self.system.conservative and self.surprises < SURPRISES
        if (
            judged
            and self.watch.telling
            and jump > max(ENERGY * self.watch.rtol, SWINGS) * books.scale
        ):
            self.surprises += 1
            self.state = self.good.state
            self._shorter(0.35, "energy is lost or gained")
            self.watch.soon(self.state)
            return False
        self.good = Good(self.state, books.added_now, books.dissipated_now, off)
        return True

    def _much(self) -> float:
        """Numerical error, in energies seen before, that makes a step unstable."""
        if not self.watch.telling:
            return ODD
        return AT_ONCE if self.system.settles else INVENTED

    def _numerical(self) -> float:
        """Energy that was invented or lost since the start [J], as far as it can be told."""
        books = self.ledger
        if not books.scale > books.floor or not getattr(self.system, "energetic", True):
            return 0.0
        gained = total_energy(self.system, self.state) - sum(books.start.values())
        return gained - books.added_now + books.dissipated_now

    def _words(self, why: str) -> str:
        return f"step {self.step:.3g} s diverged at t = {self.state.t:.4g} s: {why}"

    # ------------------------------------------------------------------ changes of mind

    def _check(self) -> None:
        self.surprises = 0
        own, wanted = self.watch.offer, self.watch.check(self.system, self.state)
        left = float(self.frames[-1]) - self.state.t
        thorough = wanted < own.step / AGAIN
        doubtful = self.watch.doubtful(self.state) and left / wanted * own.seconds > WORTH
        if thorough or doubtful:
            found = self._other_mind(thorough)
            if (
                found.offer.name != own.name
                and found.offer.cost < left / wanted * CHEAPER * own.seconds
            ):
                self._take(found.offer, f"{found.line}, from t = {self.state.t:.4g} s on")
                return
        if wanted != own.step and not (wanted > own.step >= self.frames[1] - self.frames[0]):
            offer = replace(own, step=wanted)
            self._take(offer, f"auto: {offer.words} from t = {self.state.t:.4g} s on")

    def _other_mind(self, thorough: bool) -> Decision:
        """What would be decided now; thorough: even where a trial costs several steps."""
        watch, left = self.watch, float(self.frames[-1]) - self.state.t
        known = Known(watch.latest, watch.scales, self.per_step, not thorough)
        told = known if watch.latest.time > 0.0 else None
        every = float(self.frames[1] - self.frames[0])
        return decide(self.system, self.state, left, watch.allowed() / SAFETY, told, every)

    def _take(self, offer: Offer, line: str) -> None:
        if offer.step < max(SMALLEST * self.frames[-1], LEAST * self.longest):
            raise StepTooSmall(
                f"the step fell below {offer.step:.1e} s at t = {self.state.t:.4g} s: rtol cannot "
                "be met; try a larger rtol, or check the forces for jumps"
            )
        self.lines.append(line)
        if offer.method != self.method.base:
            log.warning(line)  # a change of step alone is kept, but not told
            self.method, self.together = Bunch(offer.method), 1
        self.memory = self.method.start(self.system, self.state)
        self.step, self.interval = offer.step, None
        self.watch.follow(offer, self.state)

    # ------------------------------------------------------------------ when a step explodes

    def _retreat(self, failure: Diverged | NotConverged) -> bool:
        """Back to where all was well, and on with a quarter of the step; False: no frame yet."""
        self.retreats += 1
        offer = self.watch.offer
        if self.retreats > RETREATS:
            raise StepTooSmall(
                f"auto went back {RETREATS} times, at last to steps of {offer.step:.2g} s, and "
                f"still: {failure}; check the forces for jumps"
            ) from failure
        if self.system.settles:  # what happened between the steps cannot be undone
            self.blind += 1
        else:
            self.state = self.good.state
            self.ledger.added_now = self.good.added
            self.ledger.dissipated_now = self.good.dissipated
        if self.watched:
            self._shorter(0.25, str(failure))
        elif isinstance(self.method.base, EnergyMomentum):
            raise failure
        else:  # the step is the user's: only the method can change
            offer = replace(offer, name="energy-momentum", method=EnergyMomentum())
            self._take(offer, f"auto: {offer.words} from t = {self.state.t:.4g} s on: {failure}")
        return False

    def _shorter(self, factor: float, why: str) -> None:
        offer = self.watch.offer
        offer = replace(offer, step=factor * offer.step)
        self._take(offer, f"auto: {offer.words} from t = {self.state.t:.4g} s on: {why}")

    # ------------------------------------------------------------------ at the end

    def _warn_of_energy(self) -> None:
        reason = doubt(self.watch, self.system, self._drift(), self.blind) if self.watched else ""
        if not reason:
            return super()._warn_of_energy()
        text = f"auto: rtol = {self.watch.rtol:g} {reason}; try a smaller rtol"
        warnings.warn(text, StiffWarning, stacklevel=5)

    def _drift(self) -> float:
        """Numerical error against the energies seen."""
        return abs(self._numerical()) / max(self.ledger.scale, 1e-300)

    def stats(self) -> dict[str, Any]:
        own = {"auto": list(self.lines), "pilot_seconds": self.pilot_seconds}
        if self.watched:
            own["estimated_error"] = self.watch.error
        return {**super().stats(), **own}
