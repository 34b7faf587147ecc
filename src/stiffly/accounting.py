"""What the energy ledger and energy-tracking integrators both compute: total energy and work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import numpy as np

from .contracts import Array, Power, Settled, State, System
from .errors import InputError

ROUNDING = 1e-12  # of coordinates, and of energies that are moved: below this nothing is judged
GAUSS = np.polynomial.legendre.leggauss(4)  # as accurate as the best of the states that it is given
NUDGE = 1e-6  # of the coordinates: large enough to see by energies what rounding them can store


def total_energy(system: System, s: State) -> float:
    """Kinetic and stored energy [J]."""
    return float(sum(system.energy(s).values()))


def rounding_energy(system: System, s: State, here: float | None = None) -> float:
    """What a body would store with its coordinates off by ROUNDING of their size [J]; here: its
    energy as it is, where that is known.

    A body that rests holds less, and its methods move it by less: that is no motion to be judged.
    By second differences, which leave out the work of forces that act already.
    """
    backend = system.backend
    (largest,) = backend.largest(float(np.abs(s.x).max(initial=0.0)))
    off = NUDGE * largest
    d = backend.halo(np.where(np.arange(s.x.size) % 2, off, -off))  # neighbours apart
    ahead, back = (total_energy(system, s.moved(s.t, s.x + k * d, s.v)) for k in (1, -1))
    here = total_energy(system, s) if here is None else here
    stored = (ROUNDING / NUDGE) ** 2 * abs(0.5 * (ahead + back) - here)
    return stored if np.isfinite(stored) else 0.0


def work(system: System, before: State, after: State) -> Power:
    """Energies [J, not W] that forcing added and damping took between two states."""
    if system.conservative:
        return Power()
    return work_between(system, before, after, system.power(before), system.power(after))


def work_between(system: System, before: State, after: State, first: Power, last: Power) -> Power:
    """The same where the powers [W] at both ends are known: Simpson's rule on the cubic through
    them."""
    h = after.t - before.t
    middle = before.moved(
        before.t + 0.5 * h,
        0.5 * (before.x + after.x) + (0.125 * h) * (before.v - after.v),
        (1.5 / h) * (after.x - before.x) - 0.25 * (before.v + after.v),
    )
    centre = system.power(middle)
    return Power(
        h / 6.0 * (first.added + 4.0 * centre.added + last.added),
        h / 6.0 * (first.dissipated + 4.0 * centre.dissipated + last.dissipated),
    )


def work_within(
    system: System, between: Callable[[float], State], start: float, end: float
) -> Power:
    """The same where the states in between are known: Gauss's rule of order 8."""
    middle, half = 0.5 * (start + end), 0.5 * (end - start)
    total = Power()
    for node, weight in zip(*GAUSS, strict=True):
        power = system.power(between(middle + half * float(node)))
        share = half * float(weight)
        total += Power(share * power.added, share * power.dissipated)
    return total


def middle_work(system: System, before: State, after: State) -> Power:
    """The same for methods whose loads and damping act as at the middle of the step.

    There M (v+ - v).(v + v+)/2 = h F.(v + v+)/2, so the power at the middle state is their work to
    the last digit, at any step; Simpson's rule would see oscillations that they do not follow.
    """
    return _middle(system, before, after, 0.5 * (before.v + after.v))


def mean_work(system: System, before: State, after: State) -> Power:
    """The same for implicit methods whose damping acts on w = (x+ - x)/h, the mean velocity.

    h w^T D w is what backward Euler, average acceleration and filtered damping take, and at most
    what the motion in between loses: where a step outlasts a decay it stays below the energy that
    was there, while any rule that looks at v exceeds it without bound.
    """
    return _middle(system, before, after, (after.x - before.x) / (after.t - before.t))


def _middle(system: System, before: State, after: State, v: Array) -> Power:
    """h times the power at the middle of a step, with the velocity v there."""
    if system.conservative:
        return Power()
    h = after.t - before.t
    power = system.power(before.moved(before.t + 0.5 * h, 0.5 * (before.x + after.x), v))
    return Power(h * power.added, h * power.dissipated)


@dataclass(frozen=True, slots=True)
class Target:
    """H_total = initial + added - dissipated [J]: what the energy should be.

    Dinev, Liu, Kavan 2018, Eq. 37.  Methods that steer by the energy carry it in their memory.
    """

    value: float

    @staticmethod
    def start(system: System, state: State, method: str) -> Target:
        """At the first state; InputError, naming the method, where there is nothing to steer by."""
        if not getattr(system, "energetic", True):
            raise InputError(
                f"{method} steers by the energy, but this system's force has no potential: give "
                "SecondOrder(..., potential=U)"
            )
        energy = total_energy(system, state)
        if not isfinite(energy):
            raise InputError(
                f"{method} steers by the energy, but this system's is not finite at the start: "
                "check its positions and its potential"
            )
        return Target(energy)

    def lowered(self, energy: float) -> Target:
        """Where what is missing has been given up: it does not come back."""
        return self if not energy < self.value else Target(energy)

    def moved(self, by: Power | Settled) -> Target:
        """After energies [J] were added and dissipated: in a step, or between two."""
        return Target(self.value + by.added - by.dissipated)
