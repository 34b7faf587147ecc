"""Air drag on particles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contracts import Array, Power
from ..errors import InputError
from .checks import per_element
from .fields import vector_of_time
from .part import Arranged, Uncoupled

_STILL = (0.0, 0.0, 0.0)


class Drag(Uncoupled):
    """f_i = -c_i u for power = 1, -c_i |u| u for power = 2, u = v_i - wind(t).

    coefficient c: one number or (N,), in kg/s (power 1) or kg/m (power 2); wind: (3,) [m/s] or a
    function of t.  In still air drag takes energy (*dissipated*); wind adds f.wind and the air
    keeps f.(wind - v).  Drag proportional to mass in still air is Rayleigh(alpha), which keeps
    the faster form of the exponential methods.
    """

    name = "drag"

    def __init__(
        self, coefficient: Any, power: int = 1, wind: Callable[[float], Any] | Any = _STILL
    ) -> None:
        if not isinstance(power, int) or power not in (1, 2):
            raise InputError(f"drag power = {power!r:.20}: 1 (viscous) or 2 (turbulent)")
        self._coefficient, self._power = coefficient, power
        self._wind, self._steady = vector_of_time("drag wind", wind), not callable(wind)

    def prepare(self, particles: Arranged) -> PreparedDrag:
        c = per_element("drag coefficient", self._coefficient, particles.count)
        bad = np.flatnonzero(c < 0.0)
        if bad.size:
            raise InputError(
                f"drag coefficient[{bad[0]}] = {c[bad[0]]:g}: give a number that is not negative"
            )
        own = particles.pattern.diagonal[: particles.free]
        return PreparedDrag(c[particles.order], self._power, self._wind, not self._steady, own)


class PreparedDrag:
    velocity_dependent = True
    symmetric = True

    def __init__(
        self,
        coefficient: Array,
        power: int,
        wind: Callable[[float], Array],
        time_dependent: bool,
        slots: np.ndarray,
    ) -> None:
        """coefficient (N,); slots (n,): of the free particles, which are the first."""
        self.time_dependent = time_dependent
        self._c, self._power, self._wind = coefficient[:, None], power, wind
        self._slots, self._free = slots, slots.size

    def _force(self, t: float, v: Array) -> Array:
        u = v - self._wind(t)
        return -self._c * u if self._power == 1 else -self._c * _lengths(u) * u

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        out += self._force(t, v)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        """D = c I, or c (|u| I + u u^T / |u|)."""
        c = self._c[: self._free, :, None]
        if self._power == 1:
            damping[self._slots] += c * np.eye(3)
            return
        u = v[: self._free] - self._wind(t)
        speed = _lengths(u)
        direction = u / np.where(speed > 0.0, speed, 1.0)
        along = speed[:, :, None] * direction[:, :, None] * direction[:, None, :]
        damping[self._slots] += c * (speed[:, :, None] * np.eye(3) + along)

    def power(self, t: float, x: Array, v: Array) -> Power:
        f = self._force(t, v)
        wind = self._wind(t)
        added = float(f.sum(axis=0) @ wind) + 0.0  # no -0 in still air
        return Power(added=added, dissipated=float(np.vdot(f, wind - v)))


def _lengths(u: Array) -> Array:
    return np.linalg.norm(u, axis=1, keepdims=True)
