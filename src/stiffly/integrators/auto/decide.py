"""Which method, at which step: rules make a short list, a race measures it, the cheapest wins."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from ...contracts import State, System
from ..verlet import Verlet
from .candidates import Case, candidates, for_a_step
from .content import Content, Scales
from .look import Look, look
from .offer import Decision, Offer
from .pilot import explore
from .race import FEW, Race

SAFETY = 0.7  # of rtol is aimed at: errors are taken to grow linearly, which is not always so
MARGIN = 0.95  # of Verlet's stability limit: stiffness changes along the way
DEVELOPS = 1.5  # times the error of the beginning: of a motion that gathers speed there
SHARE = 0.02  # of a run may go into looking at its beginning
CONTACT, POWER = 0.017, 0.4  # of the run, times a power of rtol: what acts between steps needs that
FEWEST, MOST = 16, 32  # steps of that
STAGES = ("rk4 even", "ladder", "even")  # the cheapest trial sets a price for the others


@dataclass(frozen=True)
class Known:
    """Of an earlier part of a motion: its content, the largest |x - start| and |v|, seconds of a
    step of Verlet; brief: only candidates whose trial costs next to nothing."""

    content: Content
    scales: Scales
    seconds: float
    brief: bool = False


def decide(
    system: System,
    state: State,
    duration: float,
    rtol: float,
    known: Known | None = None,
    every: float = inf,
) -> Decision:
    """For the next `duration` seconds, with a relative error of rtol at their end.

    known: of an earlier part of the motion, which then need not be explored; every: seconds
    between frames, which no step can be longer than.
    """
    facts = look(system, state)
    if known is None:
        content, seconds, limit = _motion(system, state, duration, facts)
        known = Known(content, (0.0, 0.0), seconds)
    else:
        content, seconds = known.content, known.seconds
        limit = min(MARGIN * facts.limit, duration / FEW)
    scales, allowed = content.expected(duration, known.scales), SAFETY * rtol
    longest = min(longest_step(facts, rtol, duration), every)
    limit = min(limit, longest)
    # from rest a motion has not yet shown what it will be
    develops = DEVELOPS if content.gathering else 1.0
    fast = 0.0 if facts.damped else content.fastest
    race = Race(system, state, duration, allowed, scales, limit, develops, fast)
    offers = [race.verlet(content, seconds)]
    for stage in STAGES:
        cost = 0.0 if known.brief else offers[0].cost
        case = Case(facts, rtol, offers[0].step, seconds, cost, content.gathering)
        for candidate in candidates(case, longest):
            if stage in (f"{candidate.name} {candidate.tried}", candidate.tried):
                found = race.offer(candidate, min(o.cost for o in offers))
                if found is not None:
                    offers.append(found)
        if race.scales != scales:  # whole runs have seen more of the motion
            offers[0] = race.verlet(content, seconds)
    return _decided(offers, facts, race.scales, rtol, seconds)


def decide_for(system: System, state: State, duration: float, rtol: float, step: float) -> Decision:
    """The method for a step that is given: the cheapest that meets rtol, else the most exact."""
    facts = look(system, state)
    content, seconds, limit = _motion(system, state, duration, facts)
    scales = content.expected(duration, (0.0, 0.0))
    offers = []
    if step <= limit:
        error = content.verlet_error(step, duration, duration, scales)
        offers = [Offer("verlet", Verlet(), step, seconds, duration / step * seconds, error)]
    race = Race(system, state, duration, rtol, scales, limit)
    for candidate in for_a_step(Case(facts, rtol, 0.0, inf, inf)):
        if step <= candidate.limit:
            offers.append(race.at(candidate, step))
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


def longest_step(facts: Look, rtol: float, duration: float) -> float:
    """[s], for what acts between the steps: no estimate sees it."""
    return CONTACT * rtol**POWER * duration if facts.settles else inf


def _motion(
    system: System, state: State, duration: float, facts: Look
) -> tuple[Content, float, float]:
    """What Verlet sees of the beginning, seconds per step, the longest step that it may take."""
    limit = min(MARGIN * facts.limit, duration / FEW)
    while True:
        h = min(0.5 * limit, duration / FEWEST)
        # what swings without end is seen at once; there is an exact method for it, too
        most = FEWEST if facts.constant else MOST
        count = min(max(ceil(SHARE * duration / h), FEWEST), most)
        found = explore(system, state, h, count)
        if found is not None:
            return (*found, limit)
        limit *= 0.5  # stiffer than it looked: a predicted limit is no proof
