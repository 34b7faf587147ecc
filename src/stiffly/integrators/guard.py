"""A state within the energy allowed: whatever a step ends in, there is one on the way to it.

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

from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from ..accounting import Target, mean_work
from ..contracts import Energies, Power, State, System

SHRINK = (1e-3, 0.5)  # of s, where what is stored at x(s) does not fit
TRIES = 400  # 1e-3 at a time; at 0.5 a step of 1e-120 of the way: then s = 0


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
