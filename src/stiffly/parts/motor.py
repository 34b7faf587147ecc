"""A motor that turns one group of particles against another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array, Power
from ..errors import InputError, NotConverged
from .checks import as_indices, as_number
from .part import Arranged, Particles
from .pattern import NO_SLOT, BlockPattern

ROUND = 1e-6  # smallest to largest moment of a group: below, it is a line and cannot be turned
SHORTEST = 1e-9  # of the extent of all its particles: an axis shorter than this has no direction
ON_A_LINE = "lie on one line, about which nothing can turn them"


class MotorTorque:
    """A constant torque T [N m] on the particles `base`, and -T on the particles `counter`.

    The axis a is the current direction from the centre of `counter` to the centre of `base`, or
    from `axis[0]` to `axis[1]`, each a particle or a group.  On each group act the forces of a
    rigid turn about its own centre c: f_i = w x r_i, r_i = x_i - c, J w = +-T a with
    J = sum (|r|^2 I - r r^T).  Their sum is zero and their torque is +-T a exactly, so the motor
    exerts neither a force nor a torque on the whole: what it drives must push against a fluid.
    T > 0 turns the base by the right-hand rule about a.

    Keep the groups small, a ring or two: every member feels every other, so m of them have
    3 m x 3 m derivatives. A tangent takes about 0.1 s for 300 members, but seconds for 1400.
    """

    name = "motor"

    def __init__(self, torque: float, base: Any, counter: Any, axis: Any = None) -> None:
        self.torque = as_number("torque", torque)
        self.base, self.counter, self.axis = base, counter, axis

    def couples(self, particles: Particles) -> np.ndarray:
        members = np.unique(np.concatenate(self._groups(particles.count)))
        i, j = np.triu_indices(len(members), 1)
        return np.stack([members[i], members[j]], axis=1)

    def prepare(self, particles: Arranged) -> PreparedMotor:
        groups = self._groups(particles.count)
        if particles.rest is not None:
            for name, group in zip(("base", "counter"), groups, strict=False):
                if _is_line(particles.rest[group]):
                    raise InputError(f"motor: the particles of {name} {ON_A_LINE}; give a ring")
            start, end = (particles.rest[group].mean(axis=0) for group in groups[2:])
            if _is_point(start, end, particles.rest[np.concatenate(groups)]):
                raise InputError("the motor's axis has no length: its two ends are at one place")
        rows = [particles.rows[group] for group in groups]
        return PreparedMotor(self.torque, rows, particles.pattern)

    def _groups(self, count: int) -> list[np.ndarray]:
        """Indices of base, counter, and the two ends of the axis."""
        if self.axis is None:
            ends = (self.counter, self.base)
        elif isinstance(self.axis, (tuple, list)) and len(self.axis) == 2:
            ends = self.axis
        else:
            raise InputError("axis must be two particles or two groups: axis=(0, 7)")
        names = ("base", "counter", "axis[0]", "axis[1]")
        values = (self.base, self.counter, *ends)
        groups = [as_indices(n, v, count) for n, v in zip(names, values, strict=True)]
        for name, group, least in zip(names, groups, (3, 3, 1, 1), strict=True):
            if len(group) < least:
                raise InputError(f"motor: {name} has {len(group)} particles, needs {least} or more")
        both = np.intersect1d(groups[0], groups[1])
        if both.size:
            raise InputError(f"motor: particle {both[0]} is in both base and counter: choose one")
        return groups


class PreparedMotor:
    """A PreparedLoad. Its forces depend on positions alone, but have no energy."""

    time_dependent = False
    velocity_dependent = False
    symmetric = False

    def __init__(self, torque: float, groups: list[np.ndarray], pattern: BlockPattern) -> None:
        self._torque = torque
        members = np.unique(np.concatenate(groups))
        self._members = members
        self._groups = [np.searchsorted(members, group) for group in groups]  # among the members
        m = len(members)
        rows, columns = np.repeat(members, m), np.tile(members, m)
        self._slots = pattern.slots(rows, columns).reshape(m, m)

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        out[self._members] += self._forces(x[self._members])

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        y = x[self._members]
        m = len(y)
        change = self._forces_along(y, np.eye(3 * m).reshape(3 * m, m, 3))  # (columns, m, 3)
        K = -change.reshape(m, 3, m, 3).transpose(2, 0, 3, 1)  # row particle, column particle
        kept = self._slots != NO_SLOT
        stiffness[self._slots[kept]] += K[kept]  # every pair has its own slot

    def power(self, t: float, x: Array, v: Array) -> Power:
        y = x[self._members]
        return Power(added=float(np.vdot(self._forces(y), v[self._members])))

    def _axis(self, y: Array) -> tuple[Array, float]:
        """a (3,) and the length of the axis before it is normalised."""
        start, end = (y[group].mean(axis=0) for group in self._groups[2:])
        if _is_point(start, end, y):
            raise NotConverged("the motor's axis has no length any more: its two ends have met")
        length = float(np.linalg.norm(end - start))
        return (end - start) / length, length

    def _forces(self, y: Array) -> Array:
        """y (m, 3): positions of the members."""
        a, _ = self._axis(y)
        out = np.zeros_like(y)
        for group, sign in zip(self._groups, (1.0, -1.0), strict=False):
            r = y[group] - y[group].mean(axis=0)
            w = np.linalg.solve(_checked_inertia(r), sign * self._torque * a)
            out[group] += np.cross(w, r)
        return out

    def _forces_along(self, y: Array, b: Array) -> Array:
        """The derivative of _forces along each b (k, m, 3):
        df_i = dw x r_i + w x dr_i, J dw = +-T da - dJ w, da = (I - a a^T) d(end - start) / |.|,
        dJ w = sum 2 (r.dr) w - dr (r.w) - r (dr.w)."""
        a, length = self._axis(y)
        first, last = (b[:, group].mean(axis=1) for group in self._groups[2:])
        da = (last - first) @ (np.eye(3) - np.outer(a, a)) / length  # (k, 3)
        out = np.zeros_like(b)
        for group, sign in zip(self._groups, (1.0, -1.0), strict=False):
            r = y[group] - y[group].mean(axis=0)
            dr = b[:, group] - b[:, group].mean(axis=1, keepdims=True)
            J = _checked_inertia(r)
            w = np.linalg.solve(J, sign * self._torque * a)
            dJw = 2.0 * np.einsum("ic,kic->k", r, dr)[:, None] * w
            dJw -= np.einsum("kic,i->kc", dr, r @ w) + np.einsum("ic,ki->kc", r, dr @ w)
            dw = np.linalg.solve(J, (sign * self._torque * da - dJw).T).T
            out[:, group] += np.cross(dw[:, None], r) + np.cross(w, dr)
        return out


def _inertia(r: Array) -> Array:
    """J = sum (|r|^2 I - r r^T) of r (n, 3)."""
    return np.sum(r * r) * np.eye(3) - r.T @ r


def _checked_inertia(r: Array) -> Array:
    if _is_line(r):
        raise NotConverged(
            f"the particles of a motor's group {ON_A_LINE}; give a ring that keeps its shape"
        )
    return _inertia(r)


def _is_line(x: Array) -> bool:
    if not np.isfinite(x).all():
        return False  # the run has diverged: its loop says so
    moments = np.linalg.eigvalsh(_inertia(x - x.mean(axis=0)))
    return bool(moments[0] <= ROUND * moments[-1])


def _is_point(start: Array, end: Array, members: Array) -> bool:
    """The axis has no length next to the extent of all particles involved, whatever the unit."""
    extent = np.ptp(members, axis=0).max()
    return bool(np.linalg.norm(end - start) <= SHORTEST * extent)
