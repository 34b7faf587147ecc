"""How much of a second step brings the energy of a first one to its target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..contracts import State

LEAST = 1e-3  # of the first share tried, from either end: a parabola needs three points
# Backward Euler goes towards the minimum of the incremental potential; the energy has its own a
# little further on.  Fitted on a hanging cloth; a bad guess costs an evaluation, nothing else.
LOWEST = 1.15
SEARCHES = 60  # energies tried for one share: bisection alone would reach 2^-60


class Candidate(NamedTuple):
    """A state with its energies, and by how much their sum exceeds the target [J]."""

    state: State
    energies: Mapping[str, float]
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
        return max(math.sqrt(part), LEAST)
    reach = LOWEST * LOWEST - (2.0 * LOWEST - 1.0) * part
    return min(max(LOWEST - math.sqrt(reach), LEAST), 1.0 - LEAST)


def _parabola_root(
    points: tuple[tuple[float, float], ...], low: float, high: float
) -> float | None:
    """Where the parabola through three points (share, error) vanishes inside (low, high)."""
    (x0, f0), (x1, f1), (x2, f2) = points
    d01, d12 = (f1 - f0) / (x1 - x0), (f2 - f1) / (x2 - x1)
    c = (d12 - d01) / (x2 - x0)
    b = d12 + c * (x2 - x1)
    inside = b * b - 4.0 * f2 * c
    if not np.isfinite(inside) or inside < 0.0:
        return None
    for sign in (1.0, -1.0):
        divisor = b + sign * np.sqrt(inside)
        if divisor != 0.0:
            root = x2 - 2.0 * f2 / divisor
            if low < root < high:
                return float(root)
    return None
