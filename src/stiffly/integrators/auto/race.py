"""Candidates on trial: what a method would cost at the step at which it is accurate enough.

The best offer so far has a price.  A candidate that cannot beat it is given up as soon as that
shows, and all trials together may cost no more than a share of that price.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite, log2, sqrt
from typing import NamedTuple

import numpy as np

from ...accounting import work
from ...contracts import State, Step, System
from ..verlet import Verlet
from ..wrapped import iterates
from .bunch import together
from .candidates import Candidate
from .content import Content, Scales
from .offer import Offer
from .pilot import FAILURES, Trial, apart, one, timed, trial, verlet_step, wary
from .replay import Replayed, fits

ENOUGH = 0.3  # of it: for the trials of all
TRIES = 4  # steps that are tried of a promising method
FEW = 8  # steps in all: a method that would need fewer to win cannot be judged by one
DEAR = 5.0  # times a short step of an implicit method: one of half the run
LOGGED = 5e-5  # seconds of the time loop for what it looks at and logs
LOST = 0.25  # relative: two runs that differ by more say nothing about their order
HOPELESS = 8.0  # relative error times steps: far from any order
STUCK = 0.75  # of the error of half as many steps: more of them do not help
AHEAD = 4.0  # times the steps of a ladder: so far its error is extrapolated
SMALL, PRUDENT = 0.05, 1.5  # error that needs no second opinion, and the price of having none
FALL = 4.0  # times the error before: of an exponential method, at most
RATE = 0.8  # order that a ladder must show, or no step is predicted


_KNOWN: set[tuple[type, type]] = set()  # methods on systems that have made a step before


class Whole(NamedTuple):
    """A whole run: its steps (the last only, where all are too much to keep), the scales it has
    seen, seconds of a step, which the books do not contain where the method has its own."""

    steps: tuple[Step, ...]
    scales: Scales
    seconds: float
    booked: bool

    @property
    def end(self) -> State:
        return self.steps[-1].state


@dataclass
class Race:
    """allowed: relative error at the end of `duration`; develops: errors in the beginning times
    this are those later on."""

    system: System
    state: State
    duration: float
    allowed: float
    scales: Scales
    limit: float  # of Verlet's step [s]
    develops: float = 1.0
    spent: float = field(default=0.0, init=False)  # seconds, by the present candidate
    total: float = field(default=0.0, init=False)  # by all
    books: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """What the ledger takes for a step: power at three states, where there is any."""
        if not self.system.conservative:
            later = State(self.state.t + 1e-6 * self.duration, self.state.x, self.state.v)
            job = lambda: timed(lambda: work(self.system, self.state, later))[1]  # noqa: E731
            self.books = min(job(), job())

    def offer(self, candidate: Candidate, best: float) -> Offer | None:
        """The candidate at its best step; None where it is not cheaper than `best` seconds."""
        if self.total > ENOUGH * best:
            return None
        self._warm_up(candidate)
        self.spent = 0.0
        tried = {"ladder": self._ladder, "even": self._even}
        try:
            with np.errstate(all="ignore"):
                found = tried[candidate.tried](candidate, candidate.ahead * best)
        except FAILURES:
            return None
        finally:
            self.total += self.spent
        return found if found is not None and found.cost < candidate.ahead * best else None

    def _warm_up(self, candidate: Candidate) -> None:
        """The first step of a kind in a process loads its kernels: nothing to judge it by."""
        kind = type(candidate.method), type(self.system)
        if kind not in _KNOWN:
            _KNOWN.add(kind)
            with suppress(*FAILURES), np.errstate(all="ignore"):
                one(self.system, candidate.method, self.state, 0.1 * self.limit)

    def verlet(self, content: Content, seconds: float) -> Offer:
        """Verlet's error is computed, not tried; seconds: of a step."""
        T, scales = self.duration, self.scales
        h = verlet_step(content, self.limit, T, T, self.allowed / self.develops, scales)
        error = content.verlet_error(h, T, T, scales)
        seconds += self._besides(h)
        return Offer("verlet", Verlet(), h, seconds, T / h * seconds, error, self.limit)

    def _besides(self, h: float, booked: bool = True) -> float:
        """Seconds that the time loop takes for a step."""
        logged = LOGGED / together(self.duration / h, self.system.conservative)
        return logged + (self.books if booked else 0.0)

    def at(self, candidate: Candidate, h: float) -> Offer:
        """The candidate at this step, by one step against two halves."""
        tried = self._tried(candidate, h)
        return self._priced(candidate, h, tried.seconds, self._error(candidate, tried))

    def _error(self, candidate: Candidate, tried: Trial) -> float:
        """rk4 has a factor of its own."""
        factor = wary(candidate.method)
        factor = self.develops if factor == 1.0 else factor
        return factor * tried.error(self.duration, self.scales)

    def _priced(
        self, candidate: Candidate, h: float, seconds: float, error: float, booked: bool = True
    ) -> Offer:
        h = min(h, candidate.limit)
        seconds += self._besides(h, booked)
        cost = self.duration / h * seconds if isfinite(error) else inf
        name, method = candidate.name, candidate.method
        return Offer(name, method, h, seconds, cost, error, candidate.limit)

    # ------------------------------------------------------------------ at break-even

    def _even(self, candidate: Candidate, best: float) -> Offer | None:
        """First at the step where it would break even: one that is not good enough there is out."""
        h, found = self._break_even(candidate, best), None
        longest = min(self.duration / FEW, candidate.limit)
        for _ in range(TRIES):
            if h is None or h > longest:
                break
            now = self.at(candidate, h)
            if not now.error <= self.allowed:
                if found is None:
                    break
                h = sqrt(h * found.step)  # errors grow faster than by the order near the limit
                continue
            if found is None or now.cost < found.cost:
                found = now
            grow = (self.allowed / max(now.error, 1e-300)) ** (1.0 / candidate.method.order)
            h = min(0.95 * min(grow, 16.0) * h, longest)
            if h <= 1.15 * now.step:
                break
        return found

    def _break_even(self, candidate: Candidate, best: float) -> float | None:
        """The step at which it costs `best` seconds; None where a trial there costs too much."""
        h, wanted = min(self.duration / 64, candidate.limit), inf
        for _ in range(2):  # what a step costs depends on its size
            job = lambda h=h: one(self.system, candidate.method, self.state, h)  # noqa: E731
            seconds = timed(job)[1]
            self.spent += seconds
            wanted = 1.1 * self.duration * (seconds + self._besides(h)) / best
            if self.spent + 3.0 * seconds > candidate.budget * best:
                return None
            if 0.5 < wanted / h < 2.0:
                break
            h = min(wanted, candidate.limit)
        return wanted

    def _tried(self, candidate: Candidate, h: float) -> Trial:
        tried = trial(self.system, candidate.method, self.state, h)
        self.spent += 3.0 * tried.seconds if isfinite(tried.seconds) else 0.0
        return tried

    # ------------------------------------------------------------------ by whole runs

    def _ladder(self, candidate: Candidate, best: float) -> Offer | None:
        """The whole run in 2, 4, 8, ... steps: two that agree tell the error of the coarser."""
        method = candidate.method
        budget = candidate.budget * best
        if candidate.solved:
            # a step of half the run may cost many times a short one
            job = lambda: one(self.system, method, self.state, self.duration / 64)  # noqa: E731
            self.spent += timed(job)[1]
            if DEAR * self.spent > budget:
                return None
        coarser = 2.0**method.order / (2.0**method.order - 1.0)
        count, before, last, hopeless = self._coarsest(candidate), inf, None, False
        while True:
            now = self._whole(candidate, count, best)
            if now is None:
                return None
            if last is not None:
                scales = self._seen(last, now)
                error = coarser * apart(last.end, now.end, scales)
                if candidate.erratic:  # two runs may agree by chance: no faster fall is believed
                    error = max(error, before / FALL) if isfinite(before) else error
                if error < LOST:
                    self.scales = scales
                found = self._judged(candidate, count // 2, error, before)
                if found is not None:
                    return self._found(candidate, *found, now, count)
                if error < LOST and error > STUCK * before:
                    return None
                hopeless = error > LOST and error * count > HOPELESS
                before = error
            easier = candidate.eases if last is None else min(now.seconds / last.seconds, 1.0)
            last, count = now, 2 * count
            price = count * easier * now.seconds  # shorter steps are solved faster
            if hopeless or self.spent + price > budget:
                return None

    def _seen(self, last: Whole, now: Whole) -> Scales:
        """A coarse run may overshoot: what two of them have seen counts."""
        small = [min(pair) for pair in zip(last.scales, now.scales, strict=True)]
        return max(self.scales[0], small[0]), max(self.scales[1], small[1])

    def _found(
        self, candidate: Candidate, needed: float, error: float, last: Whole, count: int
    ) -> Offer:
        """At as many steps as are needed; the last run itself, of `count` steps, if it will do."""
        h, own = self.duration / needed, last.seconds
        if needed > count or len(last.steps) < count:
            return self._priced(candidate, h, own, error, last.booked)
        h, error = self.duration / count, error * needed / count
        replayed = Replayed(candidate.method, self.state, h, last.steps)
        offer = self._priced(replace(candidate, method=replayed), h, 0.0, error, last.booked)
        return replace(offer, made=count * own)

    def _judged(
        self, candidate: Candidate, count: int, error: float, before: float
    ) -> tuple[float, float] | None:
        """Steps that are enough, and their error; error: of `count` steps, before: of half as many.

        Solves that are broken off may agree on the wrong motion: only errors that fall tell.
        """
        rate = min(log2(before / error) if isfinite(before) else 0.0, candidate.method.order)
        falls = rate >= RATE and error < LOST
        doubted = iterates(candidate.method) or candidate.linear
        if error <= self.allowed and (falls or not doubted):
            return count, error
        needed = count * (error / self.allowed) ** (1.0 / max(rate, RATE))
        if falls and needed <= AHEAD * count:
            return needed, self.allowed
        if candidate.linear and error < SMALL:  # short steps from the start: they are near enough
            return PRUDENT * needed, self.allowed
        return None

    def _whole(self, candidate: Candidate, count: int, best: float) -> Whole | None:
        """The run in so many steps; None where it fails or costs too much."""
        method, state, h = candidate.method, self.state, self.duration / count
        memory, total, booked, far, fast = method.start(self.system, state), 0.0, True, 0.0, 0.0
        quickest, steps, room = inf, [], fits(count, self.system.size)
        for k in range(count):
            taken, seconds = timed(lambda s=state, m=memory: method.step(self.system, s, h, m))
            state, memory, booked = taken.state, taken.memory, taken.exchanged is None
            if not room:
                steps.clear()
            # without the method's memory, which may hold factors of matrices
            steps.append(replace(taken, memory=None))
            total, quickest = total + seconds, min(quickest, seconds)
            self.spent += seconds
            if (
                k == 0
                and count == self._coarsest(candidate)
                and not self._worth(candidate, seconds, best)
            ):
                return None
            if not isfinite(far):
                return None
            far = max(far, float(np.linalg.norm(state.x - self.state.x)))
            fast = max(fast, float(np.linalg.norm(state.v)))
        if not isfinite(far + fast):
            return None
        each = quickest if candidate.once else total / count
        return Whole(tuple(steps), (far, fast), each, booked)

    def _coarsest(self, candidate: Candidate) -> int:
        """Steps of the first run: at least one to a frame, as the run itself will have."""
        frames = self.duration / candidate.limit
        return max(candidate.first, ceil(frames * (1.0 - 1e-9)))

    def _worth(self, candidate: Candidate, seconds: float, best: float) -> bool:
        """Five more steps of a ladder; the first may have made what all others use."""
        most = 2.0 * candidate.budget
        return candidate.once or self.spent + 5.0 * seconds <= most * best
