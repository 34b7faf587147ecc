"""Which method, at which step: rules make a short list, a pilot measures it, the cheapest wins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from typing import Any

from ...contracts import State, System
from ..verlet import Verlet
from .candidates import ACCURATE, Candidate, candidates, last_resorts
from .content import Content, Scales
from .look import Look, look
from .pilot import FAILURES, Trial, explore, one, timed, trial, verlet_step

SAFETY = 0.5  # of rtol is aimed at: errors are taken to grow linearly, which is not always so
MARGIN = 0.9  # of Verlet's stability limit: stiffness changes along the way
SHARE = 0.03  # of a run may go into looking at its beginning
FEWEST, MOST = 16, 2000  # steps of that
TRIES = 4  # steps that are tried of a promising method
FEW = 8  # steps in all: a method that would need fewer to win cannot be judged by one


@dataclass(frozen=True)
class Offer:
    """A method at a step: seconds for a step and for all that is left; error: relative, expected;
    limit: no longer step than this [s]."""

    name: str
    method: Any  # an Integrator
    step: float
    seconds: float
    cost: float
    error: float
    limit: float = inf

    @property
    def words(self) -> str:
        return f"{self.name} at {_seconds(self.step)}"


@dataclass(frozen=True)
class Known:
    """Of an earlier part of a motion: its content, the largest |x - start| and |v|, seconds of a
    step of Verlet; worth: candidates that need a longer run to pay are left out."""

    content: Content
    scales: Scales
    seconds: float
    worth: int = 1000


@dataclass(frozen=True)
class Decision:
    """The offer that was taken, all others, and what was seen: scales of x and v to be expected."""

    offer: Offer
    others: tuple[Offer, ...]
    facts: Look
    scales: Scales
    rtol: float
    per_step: float  # seconds of a step of Verlet
    seconds: float = 0.0  # that it took to decide

    @property
    def line(self) -> str:
        """Why, in one line."""
        own, others = self.offer, sorted(self.others, key=lambda o: o.cost)
        h_omega = own.step * self.facts.omega
        text = f"auto: {own.words}: h omega = {h_omega:.2g}, error about {own.error:.1g}"
        text += f", about {_seconds(own.cost)} to compute"
        rivals = [o for o in others if o.name == "verlet"] or others
        if rivals and isfinite(rivals[0].cost):
            text += f"; {rivals[0].cost / own.cost:.1f}x cheaper than {rivals[0].words}"
        elif own.step >= ACCURATE * self.facts.limit:
            text += "; while it is stable nothing is cheaper"
        return text


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


# ------------------------------------------------------------------ decisions


def decide(
    system: System, state: State, duration: float, rtol: float, known: Known | None = None
) -> Decision:
    """For the next `duration` seconds, with a relative error of rtol at their end.

    known: of an earlier part of the motion, which then need not be explored.
    """
    facts = look(system, state)
    seen = (0.0, 0.0) if known is None else known.scales
    if known is None:
        content, seconds, limit = _motion(system, state, duration, facts)
    else:
        content, seconds = known.content, known.seconds
        limit = min(MARGIN * facts.limit, duration / FEW)
    scales = content.expected(duration, seen)
    h = verlet_step(content, limit, duration, duration, SAFETY * rtol, scales)
    error = content.verlet_error(h, duration, duration, scales)
    offers = [Offer("verlet", Verlet(), h, seconds, duration / h * seconds, error, limit)]
    run = _Pilot(system, state, duration, SAFETY * rtol, scales)
    for candidate in candidates(facts, rtol, h, offers[0].cost, seconds):
        if candidate.after is not None and not any(o.name == candidate.after for o in offers):
            continue
        if known is not None and candidate.worth > known.worth:
            continue
        found = run.offer(candidate, candidate.ahead * min(o.cost for o in offers))
        if found is not None:
            offers.append(found)
    return _decided(offers, facts, scales, rtol, seconds)


def decide_for(system: System, state: State, duration: float, rtol: float, step: float) -> Decision:
    """The method for a step that is given: the cheapest that meets rtol, else the most exact."""
    facts = look(system, state)
    content, seconds, limit = _motion(system, state, duration, facts)
    scales = content.expected(duration, (0.0, 0.0))
    offers = []
    if step <= limit:
        error = content.verlet_error(step, duration, duration, scales)
        offers = [Offer("verlet", Verlet(), step, seconds, duration / step * seconds, error)]
    run = _Pilot(system, state, duration, rtol, scales)
    for candidate in (*candidates(facts, rtol, 0.0, inf, seconds), *last_resorts()):
        if step <= candidate.limit:
            offers.append(run.at(candidate, step))
    good = [o for o in offers if o.error <= SAFETY * rtol]
    if not good:
        good = [min(offers, key=lambda o: o.error)]
    return _decided(good, facts, scales, rtol, seconds)


def _decided(
    offers: list[Offer], facts: Look, scales: Scales, rtol: float, seconds: float
) -> Decision:
    own = min(offers, key=lambda o: o.cost)
    others = tuple(o for o in offers if o is not own)
    return Decision(own, others, facts, scales, rtol, seconds)


def _motion(
    system: System, state: State, duration: float, facts: Look
) -> tuple[Content, float, float]:
    """What Verlet sees of the beginning, seconds per step, the longest step that it may take."""
    limit = min(MARGIN * facts.limit, duration / FEW)
    while True:
        h = min(0.5 * limit, duration / FEWEST)
        count = min(max(ceil(SHARE * duration / h), FEWEST), MOST)
        found = explore(system, state, h, count)
        if found is not None:
            return (*found, limit)
        limit *= 0.5  # stiffer than it looked: a predicted limit is no proof


# ------------------------------------------------------------------ candidates on trial


@dataclass(frozen=True)
class _Pilot:
    """allowed: relative error at the end of `duration`."""

    system: System
    state: State
    duration: float
    allowed: float
    scales: Scales

    def at(self, candidate: Candidate, h: float) -> Offer:
        """The candidate at this step."""
        tried = trial(self.system, candidate.method, self.state, h)
        return self._as_offer(candidate, tried)

    def offer(self, candidate: Candidate, best: float) -> Offer | None:
        """The candidate at its best step; None where it cannot be cheaper than `best` seconds.

        First at the step where it would break even: one that is not good enough there is out.
        """
        h, found = self._break_even(candidate, best), None
        longest = min(self.duration / FEW, candidate.limit)
        for _ in range(TRIES):
            if h is None or h > longest:
                break
            now = self.at(candidate, h)
            if not now.error <= self.allowed:
                break
            if found is None or now.cost < found.cost:
                found = now
            grow = (self.allowed / max(now.error, 1e-300)) ** (1.0 / candidate.method.order)
            h = min(0.95 * min(grow, 16.0) * h, longest)
            if h <= 1.15 * now.step:
                break
        return found if found is not None and found.cost < best else None

    def _break_even(self, candidate: Candidate, best: float) -> float | None:
        """The step at which it costs `best` seconds; None where that is too long to be tried."""
        if candidate.seconds is not None:
            return 1.1 * self.duration * candidate.seconds / best
        h = min(self.duration / (2.0 * candidate.worth), candidate.limit)
        for _ in range(2):  # what a step costs depends on its size
            try:
                seconds = min(self._timed(candidate, h) for _ in range(2))
            except FAILURES:
                return None
            if candidate.worth * seconds > best:
                return None
            wanted = 1.1 * self.duration * seconds / best
            if 0.5 < wanted / h < 2.0:
                break
            h = wanted
        return wanted

    def _timed(self, candidate: Candidate, h: float) -> float:
        return timed(lambda: one(self.system, candidate.method, self.state, h))[1]

    def _as_offer(self, candidate: Candidate, tried: Trial) -> Offer:
        error = tried.error(self.duration, self.scales)
        offer = Offer(candidate.name, candidate.method, tried.h, tried.seconds, inf, error)
        if not isfinite(error):
            return replace(offer, error=inf)
        cost = self.duration / tried.h * tried.seconds
        return replace(offer, cost=cost, limit=candidate.limit)
