"""Forces that vary with time only: uniform fields and forces on chosen particles.

They are forcing, not potentials: their work goes to the ledger as *added*.  A field that never
changes is `Gravity`, whose work is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..contracts import Array, Power
from ..errors import InputError
from .checks import as_indices, as_numbers
from .part import Arranged, Uncoupled
from .user_functions import accepts


class Field(Uncoupled):
    """Every particle is accelerated by a(t) (3,) [m/s^2]: force m_i a(t)."""

    name = "field"

    def __init__(self, acceleration: Callable[[float], Any] | Any) -> None:
        self._at = vector_of_time("field acceleration", acceleration)

    def prepare(self, particles: Arranged) -> PreparedForcing:
        return PreparedForcing(particles.mass[particles.order, None], self._at)


class Force(Uncoupled):
    """A force f(t) (3,) [N] on each of the given particles, constant or a function of time."""

    name = "force"

    def __init__(self, particles: Any, force: Callable[[float], Any] | Any) -> None:
        self._particles, self._at = particles, vector_of_time("force", force)

    def prepare(self, particles: Arranged) -> PreparedForcing:
        chosen = np.zeros((particles.count, 1))
        named = as_indices("force", self._particles, particles.count)
        chosen[particles.rows[named]] = 1.0
        return PreparedForcing(chosen, self._at)


class PreparedForcing:
    """weights (N, 1) times at(t) (3,): forces [N], the same wherever the particles are."""

    time_dependent = True
    velocity_dependent = False
    symmetric = True

    def __init__(self, weights: Array, at: Callable[[float], Array]) -> None:
        self._weights, self._at = weights, at

    def _forces(self, t: float) -> Array:
        return self._weights * self._at(t)

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        out += self._forces(t)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        """Depends neither on x nor on v."""

    def power(self, t: float, x: Array, v: Array) -> Power:
        return Power(added=float(np.vdot(self._forces(t), v)))


def vector_of_time(name: str, value: Any) -> Callable[[float], Array]:
    """t -> (3,), from a vector or a function of time, which is checked at every call."""
    if callable(value):
        if not accepts(value, 1):
            raise InputError(f"{name} must be a function of t alone")
        as_numbers(f"{name} at t = 0", value(0.0), (3,))
        return partial(_checked, name, value)
    return partial(_constant, as_numbers(name, value, (3,)))


# partials of these and no functions inside functions: what partials hold counts when a resumed
# run asks whether its system is the same (recording/provenance.py)


def _checked(name: str, function: Callable[[float], Any], t: float) -> Array:
    return as_numbers(f"{name} at t = {t:g}", function(t), (3,))


def _constant(vector: Array, t: float) -> Array:
    return vector
