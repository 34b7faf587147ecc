"""Candidates on trial: what a method would cost at the step at which it is accurate enough.

The best offer so far has a price.  A candidate that cannot beat it is given up as soon as that
shows; each may spend a share of that price, and once all of them have spent enough, none is tried
any more.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf, isfinite, sqrt

import numpy as np

from ...accounting import work
from ...contracts import State, System
from ..verlet import Verlet
from .bunch import together
from .candidates import Candidate
from .content import Content, Scales
from .ladder import Ladder
from .offer import Offer
from .pilot import FAILURES, Trial, one, timed, trial, verlet_step, wary

ENOUGH = 0.3  # of the best price so far: spent by all, it ends the race
TRIES = 4  # steps that are tried of a promising method
FEW = 8  # steps in all: a method that would need fewer to win cannot be judged by one
LOGGED = 5e-5  # seconds of the time loop for what it looks at and logs
WORTH_A_WORD = 3.0  # seconds of trials

log = logging.getLogger("stiffly")

_KNOWN: set[tuple[type, type]] = set()  # methods on systems that have made a step before


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
    fast: float = 0.0  # error of velocities if the phase of what is fast is lost, as it goes on
    spent: float = field(default=0.0, init=False)  # seconds, by the present candidate
    total: float = field(default=0.0, init=False)  # by all
    books: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """What the ledger takes for a step: power at three states, where there is any."""
        if not self.system.conservative:
            later = self.state.moved(
                self.state.t + 1e-6 * self.duration, self.state.x, self.state.v
            )
            job = lambda: timed(lambda: work(self.system, self.state, later))[1]  # noqa: E731
            self.books = min(job(), job())

    def offer(self, candidate: Candidate, best: float) -> Offer | None:
        """The candidate at its best step; None where it is not cheaper than `best` seconds."""
        if self.total > ENOUGH * best:
            return None
        self._warm_up(candidate)
        self.spent = 0.0
        tried = {"ladder": self._by_whole_runs, "even": self._even}
        try:
            with np.errstate(all="ignore"):
                found = tried[candidate.tried](candidate, candidate.ahead * best)
        except FAILURES:
            return None
        finally:
            self.total += self.spent
        return found if found is not None and found.cost < candidate.ahead * best else None

    def _by_whole_runs(self, candidate: Candidate, best: float) -> Offer | None:
        if candidate.budget * best > WORTH_A_WORD:
            text = f"auto: trying {candidate.name} for up to about {candidate.budget * best:.0f} s"
            log.warning(f"{text}; the best so far would take {best / candidate.ahead:.0f} s")
        return Ladder(self, candidate, best).climb()

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
        return self.priced(candidate, h, tried.seconds, self._error(candidate, tried))

    def _error(self, candidate: Candidate, tried: Trial) -> float:
        """rk4 has a factor of its own."""
        factor = wary(candidate.method)
        factor = self.develops if factor == 1.0 else factor
        return factor * tried.error(self.duration, self.scales)

    def priced(
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
