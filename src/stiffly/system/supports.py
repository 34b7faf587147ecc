"""Supports that move: keyframes, rotation about an axis, or any function of time.

A support holds its particles and carries them along; the work it does goes to the ledger as
*added*.  `place(t, start)` gives positions and velocities (k, 3) at time t of particles that
were at `start` (k, 3) when the run began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..contracts import Array
from ..errors import InputError, accepts
from ..parts.checks import as_numbers
from ..parts.terms import told_by
from ..parts.user_functions import time_derivative

MOST_LED = (
    64  # on a path that somebody wrote, in loops over many steps: each has a table of its own
)


class Support(Protocol):
    """particles: indices or a boolean mask, as for System(fixed=...)."""

    particles: Any

    def place(self, t: float, start: Array) -> tuple[Array, Array]: ...


def rigid(support: Any) -> bool:
    """Whether it says how it moves all of its particles at once; others do so one by one."""
    return told_by(support, "affine", ("place",))


class Keyframes:
    """Particles shifted together: by `offsets` (k, 3) [m] at `times` (k,) [s], eased in between.

    They rest before the first and after the last keyframe; in between they follow a monotone
    cubic (no overshoot) whose velocity is continuous and zero at both ends.
    """

    def __init__(self, particles: Any, times: Any, offsets: Any) -> None:
        self.particles = particles
        self._offset = Eased("keyframes", times, offsets, (3,))

    def place(self, t: float, start: Array) -> tuple[Array, Array]:
        shift, velocity = self._offset(t)
        return start + shift, np.broadcast_to(velocity, start.shape)

    def affine(self, times: Array) -> tuple[Array, Array, Array, Array]:
        """A (k, 3, 3), b (k, 3) of x = A start + b, and their rates, at all these times."""
        shift, velocity = self._offset(times)
        still = np.broadcast_to(np.eye(3), (len(times), 3, 3))
        return still, shift, np.zeros_like(still), velocity


class Rotation:
    """Particles turned about an axis: with `rate` [rad/s], or through `angles` at `times`.

    axis (3,) direction, centre (3,) [m] a point on it; angles are eased as Keyframes are.
    """

    def __init__(
        self,
        particles: Any,
        *,
        axis: Any,
        centre: Any = (0.0, 0.0, 0.0),
        rate: float | None = None,
        times: Any = None,
        angles: Any = None,
    ) -> None:
        self.particles = particles
        axis = as_numbers("rotation axis", axis, (3,))
        if not np.any(axis):
            raise InputError("rotation axis is zero: give its direction, e.g. (0, 0, 1)")
        self._axis = axis / np.linalg.norm(axis)
        self._centre = as_numbers("rotation centre", centre, (3,))
        turns = times is not None or angles is not None
        if (rate is None) != turns or (times is None) != (angles is None):
            raise InputError("rotation: give either rate=, or times= and angles=")
        if rate is not None:
            speed = float(as_numbers("rotation rate", rate, ()))
            self._angle: Callable[[Any], tuple[Any, Any]] = Steady(speed)
        else:
            self._angle = Eased("rotation", times, angles, ())

    def place(self, t: float, start: Array) -> tuple[Array, Array]:
        angle, rate = self._angle(t)
        arm = start - self._centre
        along = np.outer(arm @ self._axis, self._axis)
        across, normal = arm - along, np.cross(self._axis, arm)
        x = self._centre + along + np.cos(angle) * across + np.sin(angle) * normal
        return x, rate * np.cross(self._axis, x - self._centre)

    def affine(self, times: Array) -> tuple[Array, Array, Array, Array]:
        """As that of Keyframes."""
        angle, rate = (a[:, None, None] for a in self._angle(times))
        along, centre = np.outer(self._axis, self._axis), self._centre
        cross = np.cross(np.eye(3), self._axis)  # cross @ d = axis x d
        A = along + np.cos(angle) * (np.eye(3) - along) + np.sin(angle) * cross
        turning = rate * (cross @ A)
        return A, centre - A @ centre, turning, -(turning @ centre)


class Moving:
    """Particles on a path that the user writes: path(t, start) -> (k, 3), start (k, 3) at t = 0.

    velocity(t, start) -> (k, 3) [m/s]; without it, differences of the path over 1e-5 s: give it
    for motions that change within a millisecond.
    """

    def __init__(
        self,
        particles: Any,
        path: Callable[[float, Array], Any],
        velocity: Callable[[float, Array], Any] | None = None,
    ) -> None:
        for name, function in (("path", path), ("velocity", velocity)):
            missing = name == "velocity" and function is None
            if not missing and not accepts(function, 2):
                raise InputError(f"moving support: {name} must be a function of (t, start)")
        self.particles, self._path, self._velocity = particles, path, velocity

    def place(self, t: float, start: Array) -> tuple[Array, Array]:
        x = self._checked("path", self._path(t, start), start)
        if self._velocity is None:
            return x, time_derivative(
                lambda t: self._checked("path", self._path(t, start), start), t
            )
        return x, self._checked("velocity", self._velocity(t, start), start)

    def _checked(self, name: str, value: Any, start: Array) -> Array:
        try:
            value = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"moving support: {name} returned {type(value).__name__}, but an array of numbers "
                f"{start.shape} is needed"
            ) from None
        if value.shape != start.shape:
            raise InputError(
                f"moving support: {name} returned shape {value.shape}, but {start.shape} is needed"
            )
        if not np.isfinite(value).all():
            raise InputError(f"moving support: {name} returned NaN or infinite numbers")
        return value


# classes, and no functions inside functions: see fields.py


class Eased:
    """t -> value, derivative: monotone cubic through (times, values), at rest outside."""

    def __init__(self, name: str, times: Any, values: Any, shape: tuple[int, ...]) -> None:
        from scipy.interpolate import CubicHermiteSpline, PchipInterpolator  # slow to load

        times = as_numbers(f"{name} times", times)
        if times.ndim != 1 or times.size < 2 or np.any(np.diff(times) <= 0.0):
            raise InputError(f"{name}: times must be at least two increasing numbers")
        values = as_numbers(f"{name} values", values, (times.size, *shape))
        slopes = np.array(PchipInterpolator(times, values).derivative()(times))
        slopes[0] = slopes[-1] = 0.0
        self._value = CubicHermiteSpline(times, values, slopes)
        self._rate = self._value.derivative()
        self._first, self._last = float(times[0]), float(times[-1])

    def __call__(self, t: Any) -> tuple[Any, Any]:
        """At one time, or at many (k,)."""
        inside = np.clip(t, self._first, self._last)
        moves = np.asarray((self._first < t) & (t < self._last))
        rate = self._rate(inside)
        moves = moves.reshape(moves.shape + (1,) * (rate.ndim - moves.ndim))
        return self._value(inside), rate * moves


@dataclass(frozen=True, slots=True)
class Steady:
    """t -> rate t, rate."""

    rate: float

    def __call__(self, t: Any) -> tuple[Any, Any]:
        return self.rate * t, self.rate + 0.0 * t
