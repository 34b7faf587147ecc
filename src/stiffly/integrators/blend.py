"""States between two, found by their energy.

`search`: how much of a second step brings the energy of a first one to its target.

`fitted`: a state within the energy allowed; whatever a step ends in, there is one on the way to it.
From the start (x, v) towards any end (x', v'), with s in [0, 1]:

    x(s) = x + s (x' - x),   v(s) = v + s (v' - v),   E(x(s)) <= H(s)
    v+ = v(s) sqrt(min(1, (H(s) - E(x(s))) / K(v(s))))

H(s) [J] is the target with the work that loads, damping and supports do along x(s) - x; without
such work it is the target itself, which held E(x) when the step began.  So s = 0 fits always, and
s > 0 where there was any motion, or where x' lies downhill.  What stands still is done no work and
does none: the work is that of the displacement, not of the velocities, which are what is scaled.
Where parts have changed between the steps so that x stores more than H, that much is let pass in
E(x(s)), and there is no motion until it has gone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from ..accounting import Target, mean_work
from ..contracts import Energies, Power, State, System

LEAST = 1e-3  # of the first share tried, from either end: a parabola needs three points
# Backward Euler goes towards the minimum of the incremental potential; the energy has its own a
# little further on.  Fitted on a hanging cloth; a bad guess costs an evaluation, nothing else.
LOWEST = 1.15
SEARCHES = 60  # energies tried for one share: bisection alone would reach 2^-60
SHRINK = (1e-3, 0.5)  # of s, where what is stored at x(s) does not fit
TRIES = 400  # 1e-3 at a time; at 0.5 a step of 1e-120 of the way: then s = 0


class Candidate(NamedTuple):
    """A state with its energies, and by how much their sum exceeds the target [J]."""

    state: State
    energies: Energies
    error: float

    @property
    def total(self) -> float:
        return float(sum(self.energies.values()))


def search(
    at: Callable[[float], Candidate],
    first: Candidate,
    last: Candidate,
    band: float,
) -> tuple[Candidate, float]:
    """A share in (0, 1] whose error is at most `band`; errors at the two ends differ in sign.

    Where the paper bisects, this puts a parabola through the last three points: one to three
    energies instead of seven.  Bisection takes over where the bracket does not shrink by half.
    """
    (low, good), (high, bad) = (0.0, first), (1.0, last)
    if abs(last.error) <= band:
        return last, 1.0
    share = _first_share(first.error, last.error)
    middle = at(share)
    for _ in range(SEARCHES):
        if abs(middle.error) <= band:
            return middle, share
        width = high - low
        points = ((low, good.error), (share, middle.error), (high, bad.error))
        if (middle.error > 0.0) == (good.error > 0.0):
            low, good = share, middle
        else:
            high, bad = share, middle
        guess = _parabola_root(points, low, high)
        stuck = high - low > 0.5 * width
        share = 0.5 * (low + high) if guess is None or stuck else guess
        if not low < share < high:  # nothing lies between them in double precision
            break
        middle = at(share)
    return min(((good, low), (bad, high)), key=lambda end: abs(end[0].error))


def _first_share(start: float, end: float) -> float:
    """Where a parabola from error `start` at 0 to `end` at 1 vanishes.

    Downwards it has its minimum at LOWEST; upwards at 0, for forward Euler of something stiff adds
    energy with the square of its share.
    """
    part = start / (start - end)
    if start < 0.0:
        return max(sqrt(part), LEAST)
    reach = LOWEST * LOWEST - (2.0 * LOWEST - 1.0) * part
    return min(max(LOWEST - sqrt(reach), LEAST), 1.0 - LEAST)


def _parabola_root(
    points: tuple[tuple[float, float], ...], low: float, high: float
) -> float | None:
    """Where the parabola through three points (share, error) vanishes inside (low, high)."""
    (x0, f0), (x1, f1), (x2, f2) = points
    d01, d12 = (f1 - f0) / (x1 - x0), (f2 - f1) / (x2 - x1)
    c = (d12 - d01) / (x2 - x0)
    b = d12 + c * (x2 - x1)
    inside = b * b - 4.0 * f2 * c
    if not isfinite(inside) or inside < 0.0:
        return None
    for sign in (1.0, -1.0):
        divisor = b + sign * sqrt(inside)
        if divisor != 0.0:
            root = x2 - 2.0 * f2 / divisor
            if low < root < high:
                return float(root)
    return None


class Fitted(NamedTuple):
    """share s of the way; scale: of the velocities; moved [J]: the work along the way."""

    state: State
    energies: Energies
    moved: Power
    share: float
    scale: float


def finite(system: System, s: State) -> bool:
    """One inner product sees every infinity and NaN in either vector (inf * 0 is NaN)."""
    return all(map(isfinite, system.backend.dots([(s.x, s.v), (s.x, s.x)])))


def fitted(system: System, start: State, end: State, target: Target) -> Fitted:
    """The first of x(s), s = 1 and shrinking, that fits; end: finite."""
    still = end.moved(end.t, start.x, start.v)
    held = mean_work(system, start, still)  # by supports, while the rest stands still
    least, room = _stored(system.energy(still)), target.moved(held).value
    surplus = max(least - room, 0.0)  # stored between the steps, by nobody's work
    share = 1.0
    for _ in range(TRIES):
        at = _between(start, end, share)
        energies, moved = system.energy(at), mean_work(system, start, at)
        allowed = target.moved(moved).value
        excess = _stored(energies) - surplus - allowed
        if excess <= 0.0:  # not so where any of them is no number
            return _scaled(at, energies, moved, share, allowed)
        part = max(room - least, 0.0) / (max(room - least, 0.0) + excess)
        share *= min(max(sqrt(part), SHRINK[0]), SHRINK[1]) if isfinite(part) else SHRINK[0]
    return _scaled(still, system.energy(still), held, 0.0, room)


def _between(start: State, end: State, share: float) -> State:
    if share == 1.0:
        return end
    x, v = start.x + share * (end.x - start.x), start.v + share * (end.v - start.v)
    return end.moved(end.t, x, v)


def _scaled(at: State, energies: Energies, moved: Power, share: float, allowed: float) -> Fitted:
    kinetic, left = energies["kinetic"], allowed - _stored(energies)
    if kinetic <= left:
        return Fitted(at, energies, moved, share, 1.0)
    scale = sqrt(max(left, 0.0) / kinetic) if isfinite(kinetic) else 0.0
    state = at.moved(at.t, at.x, scale * at.v)
    return Fitted(state, {**energies, "kinetic": scale * scale * kinetic}, moved, share, scale)


def _stored(energies: Energies) -> float:
    """All but the motion [J]; what is no number counts as infinitely much."""
    total = float(sum(value for name, value in energies.items() if name != "kinetic"))
    return total if not np.isnan(total) else inf
