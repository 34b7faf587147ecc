"""How colliders move: the supports' keyframes, rotations and paths, read as rigid motions.

A motion is anything with `place(t, start) -> positions, velocities` (see system/supports.py);
`keyframes`, `rotation` and `path` make those that lead no particles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..parts.checks import as_numbers
from ..system.supports import Keyframes, Moving, Rotation

RIGID = 1e-6  # how far a path may stretch or bend a shape: differences of user functions are worse


class Motion(Protocol):
    """Positions and velocities (k, 3) at time t [s] of points that were at start (k, 3)."""

    def place(self, t: float, start: Array) -> tuple[Array, Array]: ...


def keyframes(times: Any, offsets: Any) -> Keyframes:
    """Shifted by offsets (k, 3) [m] at times (k,) [s], eased in between, at rest outside."""
    return Keyframes((), times, offsets)


def rotation(
    *,
    axis: Any,
    centre: Any = (0.0, 0.0, 0.0),
    rate: float | None = None,
    times: Any = None,
    angles: Any = None,
) -> Rotation:
    """Turned about an axis through centre [m]: with rate [rad/s], or through angles at times."""
    return Rotation((), axis=axis, centre=centre, rate=rate, times=times, angles=angles)


def path(
    function: Callable[[float, Array], Any], velocity: Callable[[float, Array], Any] | None = None
) -> Moving:
    """A user's rigid motion: function(t, start) -> (k, 3), velocity(t, start) -> (k, 3) [m/s]."""
    return Moving((), function, velocity)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where a rigid thing is: y = R X + origin, moving with velocity + spin x (y - origin).

    rotation R (3, 3), origin (3,) [m], velocity of the origin (3,) [m/s], spin (3,) [rad/s].
    """

    rotation: Array
    origin: Array
    velocity: Array
    spin: Array

    def points(self, X: Array) -> Array:
        """Points (..., 3) of the thing at rest, where they are now."""
        return X @ self.rotation.T + self.origin

    def directions(self, n: Array) -> Array:
        return n @ self.rotation.T

    def home(self, y: Array) -> Array:
        """The inverse of `points`."""
        return (y - self.origin) @ self.rotation

    def velocities(self, y: Array) -> Array:
        """(m, 3) [m/s] of the thing's material at y (m, 3)."""
        return self.velocity + np.cross(self.spin, y - self.origin)


STILL = Frame(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))


def frame_at(motion: Motion | None, t: float) -> Frame:
    """The frame of a motion at time t, from where it puts the origin and the three unit points."""
    if motion is None:
        return STILL
    corners = np.vstack([np.zeros(3), np.eye(3)])
    positions, velocities = (as_numbers("motion", a, (4, 3)) for a in motion.place(t, corners))
    R = (positions[1:] - positions[0]).T
    if np.abs(R.T @ R - np.eye(3)).max() > RIGID or np.linalg.det(R) < 0.0:
        raise InputError(
            f"the motion of a shape is not rigid at t = {t:g} s: it may only shift and turn points"
        )
    U, _, Vt = np.linalg.svd(R)  # the nearest rotation: normals must have length one
    R = U @ Vt
    # Rdot R^T is skew for a rigid motion: (omega x), of which the mean of both triangles is taken
    W = (velocities[1:] - velocities[0]).T @ R.T
    spin = 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])
    return Frame(R, positions[0], velocities[0].copy(), spin)


def same_place(one: Frame, two: Frame) -> bool:
    """Both put things into the same place, however they move there."""
    turned = np.array_equal(one.rotation, two.rotation)
    return turned and np.array_equal(one.origin, two.origin)


def as_motion(motion: Any) -> Motion | None:
    if motion is not None and not hasattr(motion, "place"):
        raise InputError(
            f"motion must be keyframes(...), rotation(...) or path(...), got "
            f"{type(motion).__name__}: see stiffly.collisions"
        )
    return motion
