"""Wind on the triangles of cloth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from .checks import as_elements, as_number, per_element, require_below
from .fields import vector_of_time
from .part import Arranged, Particles
from .pattern import BlockPattern

AIR = 1.2  # kg/m^3 at sea level


class Wind:
    """Pressure on every triangle: F = density/2 C |u.n| (u.n) area n, u = wind - v, n its normal.

    triangles (s, 3): particle indices; wind: (3,) [m/s] or a function of t; v: mean velocity of
    the corners, each of which gets a third of F.  coefficient C: one number or (s,); the default
    is that of a flat plate across the flow.  The wind adds F.wind to the ledger, the air keeps
    F.(wind - v); in still air (wind = 0) only the latter is left: drag.
    """

    name = "wind"

    def __init__(
        self,
        triangles: Any,
        wind: Callable[[float], Any] | Any,
        *,
        coefficient: Any = 1.2,
        density: float = AIR,
    ) -> None:
        self.triangles = as_elements("triangle", triangles, 3)
        self._wind, self._steady = vector_of_time("wind", wind), not callable(wind)
        C = per_element("wind coefficient", coefficient, len(self.triangles))
        if np.any(C < 0.0):
            first = int(np.argmax(C < 0.0))
            raise InputError(f"wind coefficient[{first}] = {C[first]:g}: it must not be negative")
        self._pressure = 0.5 * as_number("wind density", density, above=0.0) * C

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("triangle", self.triangles, particles.count)
        t = self.triangles
        return np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])

    def prepare(self, particles: Arranged) -> PreparedWind:
        own = (particles.rows[self.triangles], self._pressure, self._wind)
        return PreparedWind(*own, not self._steady, particles.pattern)


class PreparedWind:
    velocity_dependent = True
    symmetric = False

    def __init__(
        self,
        triangles: np.ndarray,
        pressure: Array,
        wind: Callable[[float], Array],
        time_dependent: bool,
        pattern: BlockPattern,
    ) -> None:
        self._kernels = take(pattern.backend, "Wind", "wind_forces", "wind_tangents")
        self.time_dependent = time_dependent
        self._triangles, self._pressure, self._wind = triangles.astype(np.uint32), pressure, wind
        rows, columns = (np.repeat(triangles, 3, axis=1), np.tile(triangles, (1, 3)))
        self._slots = pattern.slots(rows.ravel(), columns.ravel()).reshape(-1, 3, 3)

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        self._kernels.wind_forces(x, v, self._triangles, self._wind(t), self._pressure, out)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        self._kernels.wind_tangents(
            x, v, self._triangles, self._wind(t), self._pressure, self._slots, stiffness, damping
        )

    def power(self, t: float, x: Array, v: Array) -> Power:
        f = np.zeros_like(x)
        self.add_force(t, x, v, f)
        wind = self._wind(t)
        added = float(f.sum(axis=0) @ wind) + 0.0  # no -0 in still air
        return Power(added=added, dissipated=max(0.0, float(np.vdot(f, wind - v))))
