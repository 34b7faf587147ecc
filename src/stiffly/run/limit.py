"""Steps too long for an explicit method, told before the first one is taken.

The fastest oscillation at the start is found by a few Lanczos steps on differences of forces: no
matrix is made, and Ritz values are never above the largest eigenvalue, so the frequency that is
named is there, or a faster one.  Rayleigh's damping is taken to act on it as on what it
brakes most, since forces of velocity make steps shorter.  Contact that has not begun, and springs
that will stiffen, are not seen: whoever is told nothing may still be too fast, and the run says so
when its energy grows.

A step is too long where rounding errors, or whatever else moves at that frequency, double until the
end of the run.  Where the force is linear and nothing damps, rounding grows for certain in all that
hangs together with what moves: a step with which it would fill all digits twice over is refused;
any other is told as Advice, also where something fast stays at zero, since nothing pulls at it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from sys import float_info
from typing import Any

import numpy as np

from ..contracts import Array, Backend, Mass, Splitting, State, Tableau
from ..errors import Advice, InputError, levels_up
from ..integrators.auto import verlet_limit, viscous_rate
from ..integrators.explicit import acceleration, amplification, scheme_of
from ..matfun.bounds import largest_ritz_value
from ..system.few import Few
from ..system.mass import as_mass

PRODUCTS = 8  # Lanczos steps, which find a frequency to a few percent; no more than steps
SMALL = 3000  # coordinates, whose springs take no room worth a word to lay out for single forces
# growth by the end of a run, as logarithms
DOUBLED, CERTAIN = log(2.0), 2.0 * log(1.0 / float_info.epsilon)


def require_stable(
    system: Any, state: State, method: Any, name: str, step: float, duration: float
) -> None:
    """system: bound; InputError or Advice where steps of this size [s] are too long for it."""
    scheme = scheme_of(method)
    if scheme is None:
        return
    method.start(system, state)  # what it refuses is refused before a step is complained of
    getattr(system, "stretcher", None)  # the loops of the run: their forces are asked, then
    products = min(PRODUCTS, max(1, round(duration / step)))
    with np.errstate(all="ignore"):
        found = largest_ritz_value(_of_few(system, state) or _of_all(system, state), products)
    if not (np.isfinite(found) and found > 0.0):
        return
    growth = _Growth(scheme, sqrt(found), viscous_rate(system), duration)
    told = growth(step)
    if told <= DOUBLED:
        return
    limit = growth.limit(step)
    text = (
        f"{name}: steps of {step:.3g} s are too long: the fastest oscillation at the start, "
        f"{growth.omega / (2.0 * np.pi):.3g} Hz or more, takes steps of at most {limit:.2g} s; "
        f"give step={0.9 * limit:.2g} (--step), or a method that solves equations"
    )
    if told > CERTAIN and _linear(system, state):
        with np.errstate(all="ignore"):
            stiffness = _of_all(system, state)
            moved = largest_ritz_value(stiffness, products, stiffness.here + state.v)
        if moved > 0.0 and _Growth(scheme, sqrt(moved), 0.0, duration)(step) > CERTAIN:
            raise InputError(text)
    warnings.warn(text, Advice, stacklevel=levels_up())


def longest_step(system: Any, state: State) -> float:
    """Verlet's longest stable step [s] in this state, or a few percent more."""
    with np.errstate(all="ignore"):
        found = largest_ritz_value(_of_few(system, state) or _of_all(system, state), PRODUCTS)
    omega = sqrt(found) if np.isfinite(found) and found > 0.0 else 0.0
    return verlet_limit(omega, viscous_rate(system))


def _linear(system: Any, state: State) -> bool:
    """The force is -K x and nothing else, K symmetric: what grows in one step grows in all."""
    if not system.conservative or system.settles:
        return False
    assembly = getattr(system, "assembly", None)
    if assembly is not None:
        return bool(assembly.linear)
    tangent = system.tangent(state)  # a user's own equations
    return bool(tangent.constant and tangent.symmetric and tangent.damping is None)


@dataclass(frozen=True)
class _Growth:
    """log of how much an oscillation of omega [1/s], damped at a rate [1/s], has grown after the
    duration [s]."""

    scheme: Splitting | Tableau
    omega: float
    rate: float
    duration: float

    def __call__(self, step: float) -> float:
        growth = amplification(self.scheme, step * self.omega, step * self.rate)
        return self.duration / step * log(growth)

    def limit(self, above: float) -> float:
        """The longest step below `above`, which is too long, with which nothing doubles."""
        low, high = 0.0, above
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self(middle) > DOUBLED else (middle, high)
        return high


@dataclass(frozen=True)
class _Stiffness:
    """b -> M^-1 K b at x (n,), from differences of accelerations a(x): one force for each."""

    backend: Backend
    mass: Mass
    acceleration: Callable[[Array], Array]
    x: Array
    here: Array  # the acceleration at x
    length: float  # [m] of a body, to tell what a small displacement is

    @property
    def size(self) -> int:
        return self.x.size

    def dot(self, a: Array, b: Array) -> Any:
        return self.mass.dot(a, b)

    def apply(self, b: Array) -> Array:
        (largest,) = self.backend.largest(max(float(b.max()), -float(b.min())))
        if largest == 0.0:
            return np.zeros_like(b)
        e = sqrt(float_info.epsilon) * self.length / largest
        x = e * b  # in place from here on: every vector of a large body takes time
        x += self.x
        a = self.acceleration(x)
        np.subtract(self.here, a, out=a)
        a /= e
        return a


def _of_all(system: Any, s: State) -> _Stiffness:
    def moved(x: Array) -> Array:
        return _acceleration(system, s.moved(s.t, x, s.v))

    here = _acceleration(system, s)
    return _Stiffness(system.backend, system.mass, moved, s.x, here, _extent(system, s))


def _of_few(system: Any, s: State) -> _Stiffness | None:
    """Of some of many bodies that nothing ties together; None where there are no such."""
    stretcher: Any = getattr(system, "laid_out", None)
    if system.backend.shared or not hasattr(stretcher, "few"):
        return None
    few: Few | None = stretcher.few(s)
    if few is None:
        return None

    def moved(x: Array) -> Array:
        return few.acceleration(x.reshape(-1, 3)).ravel()

    x = few.x.ravel()
    mass = as_mass(np.repeat(few.mass, 3), x.size, system.backend)
    return _Stiffness(system.backend, mass, moved, x, moved(x), _extent(system, s))


def _extent(system: Any, s: State) -> float:
    """The size of the body [m]; of a single point its distance."""
    high, low = system.backend.largest(float(s.x.max()), -float(s.x.min()))
    return (high + low) or max(high, low) or 1.0


def _acceleration(system: Any, s: State) -> Array:
    """Of a small body by the system itself: for one force no loop over steps is worth beginning."""
    small = system.backend.count(system.size) < SMALL
    return system.acceleration(s) if small else acceleration(system, s)
