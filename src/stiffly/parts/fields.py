"""Fields and other loads: gravity, forces that vary with time, drag, wind on cloth, dashpots.

Gravity never changes: it is a potential, whose work is stored.  The others are no potentials: the
work of forcing goes to the ledger as *added*, what air and dashpots take as *dissipated*.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError, accepts
from .checks import (
    as_array,
    as_elements,
    as_indices,
    as_number,
    as_numbers,
    per_element,
    require,
    require_below,
)
from .part import Arranged, Arrays, Particles, Uncoupled
from .terms import DashpotTerm, DragTerm, FieldTerm, ForceTerm, Term, WindTerm
from .user_functions import STEP, step_for

AIR = 1.2  # kg/m^3 at sea level


class Gravity(Uncoupled):
    """E = -sum_i m_i g.x_i, with g (3,) [m/s^2]."""

    name = "gravity"
    arrays = Arrays()

    def __init__(self, g: Any = (0.0, 0.0, -9.81)) -> None:
        self.g = as_numbers("gravity g", g, (3,))

    def prepare(self, particles: Arranged) -> PreparedGravity:
        return PreparedGravity(self.g, particles)


class PreparedGravity:
    """The gradient is the same at every position: weight (N, 3) [N], pointing up."""

    linear = bounded = pairwise = True
    internal = True  # uniform: it moves a body, and does not turn it
    bars = 0

    def __init__(self, g: Array, particles: Arranged) -> None:
        self._kernels = take(particles.pattern.backend, "Gravity", "column_dot")
        self._weight, self._g = np.empty((particles.count, 3)), g
        for column, along in zip(self._weight.T, -g, strict=True):  # rows of N, not of three
            np.multiply(particles.mass[particles.order], along, out=column)

    def terms(self) -> list[Term]:
        return [FieldTerm(self._g)]

    def energy(self, x: Array) -> float:
        return float(self._kernels.column_dot(self._weight.ravel(), x.ravel()))

    def add_gradient(self, x: Array, out: Array) -> None:
        out += self._weight

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        out += self._weight

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        """A constant force has no tangent."""

    def add_bars(self, x: Array, bars: Array, own: Array, pressed: Array) -> None:
        """Nor here."""


# ------------------------------------------------------------------ forcing


class Field(Uncoupled):
    """Every particle is accelerated by a(t) (3,) [m/s^2]: force m_i a(t)."""

    name = "field"
    arrays = Arrays()

    def __init__(self, acceleration: Callable[[float], Any] | Any) -> None:
        self._at = vector_of_time("field acceleration", acceleration)

    def prepare(self, particles: Arranged) -> PreparedForcing:
        return PreparedForcing(particles.mass[particles.order, None], self._at)


class Force(Uncoupled):
    """Forces [N] on k particles: (3,) on each of them, or (k, 3), one for each, in the order of
    their numbers.

    force: constant, or a function of t, of (t, x) or of (t, x, v) that returns them, where x and v
    (k, 3) are the places and velocities of those particles; each force may depend on its own
    particle's alone (derivatives are differences).  Its work is *added*; a force that has an energy
    is a Potential, whose work is stored.
    """

    name = "force"
    arrays = Arrays(chosen="_particles")

    def __init__(self, particles: Any, force: Callable[..., Any] | Any) -> None:
        self._particles, self._force = particles, force
        self._arguments = 0
        if callable(force):
            self._arguments = next((n for n in (1, 2, 3) if accepts(force, n)), 4)
            if self._arguments == 4:
                raise InputError("force must be a function of t, of (t, x) or of (t, x, v)")
        elif as_array("force", force).ndim == 1:
            as_numbers("force", force, (3,))

    @property
    def alike(self) -> bool:
        """The same on all of them, wherever they are."""
        first: Any = self._force(0.0) if self._arguments == 1 else self._force
        if isinstance(first, (int, float)):
            raise InputError(
                "force(t = 0) has shape (), but (3,) is needed: a function of one argument gets "
                "the time; for places write it of (t, x), or of (t, x, v)"
            )
        return self._arguments < 2 and np.ndim(first) < 2

    def prepare(self, particles: Arranged) -> PreparedForcing | PreparedForces:
        named = as_indices("force", self._particles, particles.count)
        if self.alike:
            chosen = np.zeros((particles.count, 1))
            chosen[particles.rows[named]] = 1.0
            return PreparedForcing(chosen, vector_of_time("force", self._force))
        made = PreparedForces(self._force, self._arguments, particles.rows[named], particles)
        if self._arguments < 2 or particles.rest is not None:
            x = np.zeros((particles.count, 3)) if particles.rest is None else particles.rest
            made.at(0.0, x[particles.order], np.zeros_like(x))
        return made


class PreparedForces:
    """Forces on the particles in `rows`, each as it pleases."""

    def __init__(self, force: Any, arguments: int, rows: np.ndarray, particles: Arranged) -> None:
        self._force, self._arguments, self._rows = force, arguments, rows
        self.time_dependent, self.velocity_dependent = arguments > 0, arguments == 3
        self.symmetric = arguments < 2
        self._free, self._pattern = np.flatnonzero(rows < particles.free), particles.pattern

    def at(self, t: float, x: Array, v: Array) -> Array:
        """(k, 3) [N]; users get copies."""
        given = (t, x[self._rows], v[self._rows])[: self._arguments]
        found = self._force(*given) if self._arguments else self._force
        shape = (self._rows.size, 3)
        one = np.shape(found) == (3,)
        name = f"force(t = {t:g})" if self._arguments else "force"
        forces = as_numbers(name, found, (3,) if one else shape)
        return np.broadcast_to(forces, shape)

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        out[self._rows] += self.at(t, x, v)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        """Central differences: particles move together, since none feels another."""
        if self._arguments >= 2:
            e = step_for(x[self._rows])
            self._add(lambda b: self.at(t, x + b, v), e, x.shape, stiffness)
        if self._arguments == 3:
            e = STEP * max(1.0, float(np.abs(v[self._rows]).max(initial=0.0)))
            self._add(lambda b: self.at(t, x, v + b), e, x.shape, damping)

    def _add(self, at: Callable[[Array], Array], e: float, shape: Any, blocks: Array) -> None:
        slots = self._pattern.diagonal[self._rows[self._free]]
        for axis in range(3):
            b = np.zeros(shape)
            b[self._rows, axis] = e
            blocks[slots, :, axis] -= ((at(b) - at(-b)) / (2.0 * e))[self._free]

    def power(self, t: float, x: Array, v: Array) -> Power:
        return Power(added=float(np.vdot(self.at(t, x, v), v[self._rows])))


class PreparedForcing:
    """weights (N, 1) times at(t) (3,): forces [N], the same wherever the particles are."""

    time_dependent = True
    velocity_dependent = False
    symmetric = True

    def __init__(self, weights: Array, at: Callable[[float], Array]) -> None:
        self._weights, self._at = weights, at

    def terms(self) -> list[Term]:
        return [ForceTerm(self._weights[:, 0], self._at)]

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
        as_numbers(f"{name}(t = 0)", value(0.0), (3,))
        return partial(_checked, name, value)
    return partial(_constant, as_numbers(name, value, (3,)))


# partials of these and no functions inside functions: what partials hold counts when a resumed
# run asks whether its system is the same (recording/provenance.py)


def _checked(name: str, function: Callable[[float], Any], t: float) -> Array:
    return as_numbers(f"{name}(t = {t:g})", function(t), (3,))


def _constant(vector: Array, t: float) -> Array:
    return vector


# ------------------------------------------------------------------ air


class PreparedAir:
    """A load of air that moves.  The wind adds f.wind to the ledger, the air keeps f.(wind - v); in
    still air (wind = 0) only the latter is left."""

    velocity_dependent = True
    symmetric = False

    def __init__(self, config: Drag | Wind) -> None:
        self._wind, self.time_dependent = config._wind, not config._steady

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        raise NotImplementedError  # drag and wind have their own

    def power(self, t: float, x: Array, v: Array) -> Power:
        f, wind = np.zeros_like(x), self._wind(t)
        self.add_force(t, x, v, f)
        added = float(f.sum(axis=0) @ wind) + 0.0  # no -0 in still air
        return Power(added=added, dissipated=max(0.0, float(np.vdot(f, wind - v))))


class Drag(Uncoupled):
    """f_i = -c_i u for power = 1, -c_i |u| u for power = 2, u = v_i - wind(t).

    coefficient c: one number or (N,), in kg/s (power 1) or kg/m (power 2); wind: (3,) [m/s] or a
    function of t.  In still air drag takes energy (*dissipated*); wind adds f.wind and the air
    keeps f.(wind - v).  Drag proportional to mass in still air is Rayleigh(alpha), which keeps
    the faster form of the exponential methods.
    """

    name = "drag"
    arrays = Arrays(weights=("_coefficient",))

    def __init__(
        self, coefficient: Any, power: int = 1, wind: Callable[[float], Any] | Any = (0.0, 0.0, 0.0)
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
        return PreparedDrag(self, c, particles)


class PreparedDrag(PreparedAir):
    symmetric = True

    def __init__(self, config: Drag, coefficient: Array, particles: Arranged) -> None:
        super().__init__(config)
        self._c, self._power = coefficient[particles.order, None], config._power
        self._free = particles.free  # the first
        self._pattern = particles.pattern

    @property
    def _slots(self) -> np.ndarray:
        return self._pattern.diagonal[: self._free]

    def terms(self) -> list[Term]:
        still = not self.time_dependent and not np.any(self._wind(0.0))
        return [DragTerm(self._c[:, 0], self._power, self._wind, still)]

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        u = v - self._wind(t)
        out += -self._c * u if self._power == 1 else -self._c * _lengths(u) * u

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


def _lengths(u: Array) -> Array:
    return np.linalg.norm(u, axis=1, keepdims=True)


class Wind:
    """Pressure on every triangle: F = density/2 C |u.n| (u.n) area n, u = wind - v, n its normal.

    triangles (s, 3): particle indices; wind: (3,) [m/s] or a function of t; v: mean velocity of
    the corners, each of which gets a third of F.  coefficient C: one number or (s,); the default
    is that of a flat plate across the flow.  The wind adds F.wind to the ledger, the air keeps
    F.(wind - v); in still air (wind = 0) only the latter is left: drag.
    """

    name = "wind"
    arrays = Arrays(("triangles", "_pressure"))

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

    @property
    def steady(self) -> bool:
        return self._steady

    def velocity(self, t: float) -> Array:
        """Of the air (3,) [m/s]."""
        return self._wind(t)

    def blowing(self, wind: Any) -> Wind:
        """The same surface in another wind."""
        new = copy.copy(self)
        new._wind, new._steady = vector_of_time("wind", wind), not callable(wind)
        return new

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("triangle", self.triangles, particles.count)
        t = self.triangles
        return np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])

    def prepare(self, particles: Arranged) -> PreparedWind:
        return PreparedWind(self, particles)


class PreparedWind(PreparedAir):
    def __init__(self, config: Wind, particles: Arranged) -> None:
        super().__init__(config)
        pattern, triangles = particles.pattern, particles.rows[config.triangles]
        self._kernels = take(pattern.backend, "Wind", "wind_forces", "wind_tangents")
        self._triangles, self._pressure = triangles.astype(np.uint32), config._pressure
        self._pattern = pattern

    @cached_property
    def _slots(self) -> np.ndarray:
        rows, columns = np.repeat(self._triangles, 3, axis=1), np.tile(self._triangles, (1, 3))
        return self._pattern.slots(rows.ravel(), columns.ravel()).reshape(-1, 3, 3)

    def terms(self) -> list[Term]:
        return [WindTerm(self._triangles, self._pressure, self._wind)]

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        self._kernels.wind_forces(x, v, self._triangles, self._wind(t), self._pressure, out)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        self._kernels.wind_tangents(
            x, v, self._triangles, self._wind(t), self._pressure, self._slots, stiffness, damping
        )


# ------------------------------------------------------------------ dashpots


class Dashpots:
    """f_i = -c (n.w) n = -f_j, n the direction of the edge, w = v_i - v_j.

    edges (m, 2): particle indices; coefficient c [N s/m]: one number or (m,).  They take only
    from stretching, not from flying or spinning, however far a body has turned: both momenta
    stay.  (Rayleigh's beta K0 is cheaper, but belongs to the rest shape: a body that has turned
    by a quarter feels it as soon as it spins.)
    """

    name = "dashpots"
    arrays = Arrays(("edges", "_coefficient"))

    def __init__(self, edges: Any, coefficient: Any) -> None:
        self.edges = as_elements("dashpot", edges, 2)
        self._coefficient = per_element("coefficient", coefficient, len(self.edges))
        good = self._coefficient >= 0.0
        require("dashpot", self.edges, good, "coefficient is negative", "give c >= 0")

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("dashpot", self.edges, particles.count)
        return self.edges

    def prepare(self, particles: Arranged) -> PreparedDashpots:
        return PreparedDashpots(self, particles)


class PreparedDashpots:
    time_dependent = False
    velocity_dependent = True
    symmetric = False

    def __init__(self, config: Dashpots, particles: Arranged) -> None:
        pattern, edges = particles.pattern, particles.rows[config.edges]
        self._kernels = take(pattern.backend, "Dashpots", "dashpot_force", "dashpot_tangents")
        self._edges, self._coefficient = edges.astype(np.uint32), config._coefficient
        self._pattern = pattern

    @cached_property
    def _slots(self) -> np.ndarray:
        rows, columns = self._edges[:, [0, 0, 1, 1]], self._edges[:, [0, 1, 0, 1]]
        return self._pattern.slots(rows.ravel(), columns.ravel()).reshape(-1, 4)

    def terms(self) -> list[Term]:
        return [DashpotTerm(self._edges, self._coefficient)]

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        self._kernels.dashpot_force(x, v, self._edges, self._coefficient, out)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        self._kernels.dashpot_tangents(
            x, v, self._edges, self._coefficient, self._slots, stiffness, damping
        )

    def power(self, t: float, x: Array, v: Array) -> Power:
        f = np.zeros_like(x)
        self.add_force(t, x, v, f)
        return Power(dissipated=max(0.0, -float(np.vdot(f, v))))  # but for rounding it is
