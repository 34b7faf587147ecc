"""Particles in a frame that moves: their deformation, apart from their motion as a whole.

    x_i(t) = c(t) + R(t) X_i(t)

In the frame, in its own axes and with its spin w, particles feel

    f_i = -m_i (R^T (c'' - g) + w' x X_i + w x (w x X_i) + 2 w x X_i')

translation, Euler, centrifugal and Coriolis force.  Nothing is approximated, whatever the frame
does: forces between particles do not know that their axes move, and a wall is a shape that moves
(`Seen`).  Luan, Michels 2018 (Sec. 5.3) split a crash that way, with the frame of a rigid body (see
rigid_body.py) for the car as a whole and springs for its dents; they print no more than that.

Why the wall's position enters the frame, and not the force that the rigid body met: a body that
yields under a given force goes on yielding for as long as the force lasts, and a slightly larger
force then means a collapse.  Given the position, it yields as far as it must.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..contracts import Array, Power
from ..errors import InputError
from .part import Arranged, Uncoupled
from .rigid_body import Pose, cross_matrix
from .user_functions import accepts


class RigidFrame(Uncoupled):
    """Inertial forces on particles that are described in a moving frame; their work is *added*.

    motion(t) -> Pose, e.g. from rigid_body.bounce.  Positions are counted from the frame's origin;
    motion(t).world(X) leads back.  Gravity is in the motion already (see Pose.felt).
    """

    name = "frame"

    def __init__(self, motion: Callable[[float], Pose]) -> None:
        self._motion = _as_motion(motion)

    def prepare(self, particles: Arranged) -> PreparedFrame:
        if not particles.lumped:
            raise InputError("a rigid frame needs a lumped mass: give mass=M.sum(axis=1)")
        slots = particles.pattern.diagonal[: particles.free]
        return PreparedFrame(self._motion, particles.mass[particles.order], slots)


class PreparedFrame:
    time_dependent = True
    velocity_dependent = True
    symmetric = False  # the Euler force turns

    def __init__(self, motion: Callable[[float], Pose], mass: Array, slots: np.ndarray) -> None:
        """mass (N,); slots (n,): of the free particles, which are the first."""
        self._motion, self._mass = motion, mass[:, None]
        self._slots, self._free_mass = slots, mass[: slots.size, None, None]

    def _force(self, t: float, x: Array, v: Array) -> Array:
        pose = self._motion(t)
        coriolis = 2.0 * v @ cross_matrix(pose.spin).T
        return -self._mass * (pose.felt + x @ _turning(pose).T + coriolis)

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        out += self._force(t, x, v)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        """K = m ([w'] + [w][w]), D = 2 m [w], with [w] b = w x b."""
        pose = self._motion(t)
        stiffness[self._slots] += self._free_mass * _turning(pose)
        damping[self._slots] += 2.0 * self._free_mass * cross_matrix(pose.spin)

    def power(self, t: float, x: Array, v: Array) -> Power:
        return Power(added=float(np.vdot(self._force(t, x, v), v)))


class Seen:
    """What stands still in the world, as seen from a moving frame: the motion of a wall there.

    `Plane(point, normal, motion=Seen(motion))`, with point and normal as they are in the world.
    """

    def __init__(self, motion: Callable[[float], Pose]) -> None:
        self._motion = _as_motion(motion)

    def place(self, t: float, start: Array) -> tuple[Array, Array]:
        """Positions and velocities (k, 3) in the frame of points at start (k, 3) in the world."""
        return self._motion(t).frame(start, np.zeros_like(start))


def _as_motion(motion: Callable[[float], Pose]) -> Callable[[float], Pose]:
    if not accepts(motion, 1) or not isinstance(motion(0.0), Pose):
        raise InputError("rigid frame: motion must be a function of t that returns a Pose")
    return motion


def _turning(pose: Pose) -> Array:
    """[w'] + [w][w] (3, 3): times X, the acceleration of a particle at rest in the frame."""
    turn = cross_matrix(pose.spin)
    return cross_matrix(pose.spin_rate) + turn @ turn
