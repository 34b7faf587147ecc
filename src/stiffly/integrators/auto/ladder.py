"""Whole runs in more and more steps: two of them tell the error of the coarser one.

The finer one, once it is good enough, is the run itself (see replay.py).  So all that a ladder
costs beyond its last rung is what the rungs before it cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...contracts import State, Step
from ..exponential_rosenbrock import ExponentialRosenbrock
from ..wrapped import iterates
from .candidates import COARSE, Candidate
from .content import Scales
from .offer import Offer
from .pilot import apart, one, timed
from .replay import Replayed, fits

if TYPE_CHECKING:
    from .race import Race

EASY = 300  # coordinates, up to which no step is so dear that another has to tell beforehand
DEAR = 5.0  # times a short step of an implicit method: one of half the run
LOST = 0.25  # relative: two runs that differ by more say nothing about their order
PROMISING = 2.0  # times the budget, once two runs agree roughly
HOPELESS = 16.0  # relative error times steps: far from any order
STUCK = 0.4  # order below which more steps do not help
RATE = 0.8  # order that a ladder must show, or be taken to have
FALL = 4.0  # times the error before: of an exponential method, at most
SMALL = 0.05  # error that needs no second opinion
AHEAD = 5.0  # times the steps so far: a rung that skips others
SPARE = 1.05  # times the steps that such a rung needs
LONG = 10.0  # seconds: a run that takes longer is not made in secret


class Whole(NamedTuple):
    """A whole run in `count` steps: these (the last only, where all are too much to keep), the
    scales it has seen, seconds of a step, which the books do not contain where the method has its
    own; divided: some step was, so that its count is none; unsolved: some step was left so."""

    count: int
    steps: tuple[Step, ...]
    scales: Scales
    seconds: float
    booked: bool
    divided: bool
    unsolved: bool

    @property
    def end(self) -> State:
        return self.steps[-1].state

    @property
    def kept(self) -> bool:
        return len(self.steps) == self.count


class Rung(NamedTuple):
    """What two runs have told: steps and error of the coarser one, error of the finer one, the
    order that errors fall with, if it is known."""

    count: int
    coarse: float
    fine: float
    rate: float | None

    @property
    def falls(self) -> bool:
        return self.rate is not None and self.rate >= RATE and self.coarse < LOST


@dataclass
class Ladder:
    """best: seconds that must not be exceeded."""

    race: Race
    candidate: Candidate
    best: float
    frames: int = field(init=False)  # of the run: every rung has so many steps, or twice, or ...
    first: int = field(init=False)  # steps of the coarsest run

    def __post_init__(self) -> None:
        frames = self.race.duration / self.candidate.limit
        self.frames = max(1, ceil(frames * (1.0 - 1e-9)))
        self.first = self._whole_frames(max(self.candidate.first, COARSE))

    def _whole_frames(self, count: float) -> int:
        return self.frames * max(1, ceil(count / self.frames))

    def climb(self) -> Offer | None:
        """The first run that is good enough; None where there is none worth its price."""
        if self._too_dear():
            return None
        count, last, rung = self.first, None, None
        while True:
            now = self._whole(count)
            if now is None:
                return None
            if last is not None and not last.divided:
                rung = self._compared(last, now, rung)
                if self._good(rung) and not now.unsolved:
                    return self._offer(now, rung.fine + self._unseen)
                if self._hopeless(rung, now):
                    return None
            eases = self.candidate.eases if last is None else min(now.seconds / last.seconds, 1.0)
            (count, final), last = self._next(now, rung), now
            price = count * eases * now.seconds  # shorter steps are solved faster
            near = rung is not None and rung.coarse < LOST
            allowed = self._budget * (PROMISING if near else 1.0)
            # what is to be the last run is no loss, as it is the run itself
            if price > self.best or (not final and self.race.spent + price > allowed):
                return None
            if final and price > LONG:
                return self._unmade(count, now)

    @property
    def _budget(self) -> float:
        return self.candidate.budget * self.best

    def _too_dear(self) -> bool:
        """A step of half the run may cost many times a short one: a short one is tried first."""
        race = self.race
        if not self.candidate.solved or race.system.size <= EASY:
            return False
        h = race.duration / 64
        race.spent += timed(lambda: one(race.system, self.candidate.method, race.state, h))[1]
        return DEAR * race.spent > self._budget

    def _whole(self, count: int) -> Whole | None:
        """The run in so many steps; None where it fails or costs too much."""
        race, method = self.race, self.candidate.method
        state, h = race.state, race.duration / count
        memory, total, quickest, far, fast = method.start(race.system, state), 0.0, inf, 0.0, 0.0
        steps: list[Step] = []
        divided, unsolved, room = False, False, fits(count, race.system.size)
        for k in range(count):
            taken, seconds = timed(lambda s=state, m=memory: method.step(race.system, s, h, m))
            state, memory = taken.state, taken.memory
            total, quickest = total + seconds, min(quickest, seconds)
            race.spent += seconds
            far = max(far, float(np.linalg.norm(state.x - race.state.x)))
            fast = max(fast, float(np.linalg.norm(state.v)))
            dear = k == 0 and count == self.first and not self._worth(seconds)
            if dear or not isfinite(far + fast):
                return None
            divided = divided or bool(taken.notes.get("halvings"))
            unsolved = unsolved or bool(taken.notes.get("under_solved"))
            if not room:
                steps.clear()
            # without the method's memory, which may hold factors of matrices
            steps.append(replace(taken, memory=None))
        each = quickest if self.candidate.once else total / count
        booked = steps[-1].exchanged is None
        return Whole(count, tuple(steps), (far, fast), each, booked, divided, unsolved)

    def _worth(self, seconds: float) -> bool:
        """Five more steps; the first may have made what all others use."""
        return self.candidate.once or self.race.spent + 5.0 * seconds <= 2.0 * self._budget

    def _compared(self, last: Whole, now: Whole, before: Rung | None) -> Rung:
        """Both runs, in the light of those before."""
        order, ratio = self.candidate.method.order, now.count / last.count
        # a coarse run may overshoot: what two of them have seen counts
        small = [min(pair) for pair in zip(last.scales, now.scales, strict=True)]
        scales = max(self.race.scales[0], small[0]), max(self.race.scales[1], small[1])
        error = _apart(last, now, scales) / (1.0 - ratio**-order)
        rate = RATE if self.candidate.linear and error < SMALL else None
        if before is not None:
            if self.candidate.erratic:  # two runs may agree by chance: no faster fall is believed
                error = max(error, before.coarse / FALL)
            fell = log(before.coarse / max(error, 1e-300)) / log(last.count / before.count)
            rate = min(fell, order)
        if error < LOST:
            self.race.scales = scales
        rung = Rung(last.count, error, error, rate)
        return rung._replace(fine=error / ratio**rate) if rate and rung.falls else rung

    def _good(self, rung: Rung) -> bool:
        """Solves that are broken off may agree on the wrong motion: only errors that fall tell."""
        doubted = iterates(self.candidate.method)
        met = rung.fine + self._unseen <= self.race.allowed
        return met and (rung.falls or not doubted)

    @property
    def _unseen(self) -> float:
        """What implicit methods do to fast modes, relative: their phases are lost in all runs, and
        two runs that lose them alike do not tell."""
        if isinstance(self.candidate.method, ExponentialRosenbrock):
            return 0.0
        return self.race.fast / max(self.race.scales[1], 1e-300)

    def _hopeless(self, rung: Rung, now: Whole) -> bool:
        if rung.coarse < LOST:
            stuck = rung.rate is not None and rung.rate < STUCK
            return stuck or self._unseen > self.race.allowed
        return rung.coarse * now.count > HOPELESS

    def _next(self, now: Whole, rung: Rung | None) -> tuple[int, bool]:
        """Steps of the next run, and whether they should be enough, by the last two runs."""
        if rung is not None and rung.rate and rung.falls:
            left = self.race.allowed - self._unseen
            needed = SPARE * now.count * (rung.fine / left) ** (1.0 / rung.rate)
            if now.count < needed <= AHEAD * now.count:
                return self._whole_frames(needed), True
        return 2 * now.count, False

    def _unmade(self, count: int, like: Whole) -> Offer:
        """A run in so many steps, to be made with its frames, checkpoints and progress."""
        race, h = self.race, self.race.duration / count
        return race.priced(self.candidate, h, like.seconds, race.allowed, like.booked)

    def _offer(self, run: Whole, error: float) -> Offer:
        """The run itself, if its steps were kept."""
        race, candidate = self.race, self.candidate
        h = race.duration / run.count
        if not run.kept:
            return race.priced(candidate, h, run.seconds, error, run.booked)
        played = Replayed(candidate.method, race.state, h, run.steps)
        offer = race.priced(replace(candidate, method=played), h, 0.0, error, run.booked)
        return replace(offer, made=run.count * run.seconds)


def _apart(coarse: Whole, fine: Whole, scales: Scales) -> float:
    """At the end, and one long step before: implicit methods turn what is much faster than a step
    over in each of them, so that all even numbers of steps agree about it."""
    found = apart(coarse.end, fine.end, scales)
    if coarse.kept and fine.kept and fine.count == 2 * coarse.count:
        before = coarse.steps[-2].state, fine.steps[-3].state
        found = max(found, apart(*before, scales))
    return found
