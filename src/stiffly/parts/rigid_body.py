"""A rigid body that bounces off walls: the motion of a car, say, as a whole; and particles in a
frame that moves with it: their deformation, apart from that motion.

    m c'' = m g + F,   I w' + w x I w = T,   x_i(t) = c(t) + R(t) X_i(t)

F, T: what walls do to the corners of its bounding box (`bounce`).  In the frame, in its own axes
and with its spin w, particles feel

    f_i = -m_i (R^T (c'' - g) + w' x X_i + w x (w x X_i) + 2 w x X_i')

translation, Euler, centrifugal and Coriolis force.  Nothing is approximated, whatever the frame
does: forces between particles do not know that their axes move, and a wall is a shape that moves
(`Seen`).  Luan, Michels 2018 (Sec. 5.3) split a crash that way, with the frame of a rigid body for
the rebound of the car as a whole and springs for its dents; they print no more than that.

Why the wall's position enters the frame, and not the force that the rigid body met: a body that
yields under a given force goes on yielding for as long as the force lasts, and a slightly larger
force then means a collapse.  Given the position, it yields as far as it must.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contracts import Array, Power
from ..errors import InputError, NotConverged, accepts
from .checks import as_number, as_numbers, per_element
from .part import Arranged, Uncoupled

TIGHT = 1e-11  # relative error of the rigid motion, per step
CALLS = 16  # of the rate in a step of DOP853 with dense output, and a few that are tried again


@dataclass(frozen=True, slots=True)
class Pose:
    """A moving frame at one time: world x = centre + rotation X.

    centre (3,) [m] and its velocity (3,) [m/s], rotation (3, 3); spin w and its rate w' (3,)
    [rad/s, rad/s^2] in the frame's own axes; felt = R^T (c'' - g) (3,) [m/s^2], as a passenger
    feels it: zero in free fall.
    """

    centre: Array
    rotation: Array
    velocity: Array
    spin: Array
    spin_rate: Array
    felt: Array

    def world(self, X: Array) -> Array:
        """Positions (N, 3) in the world of particles at X (N, 3) in the frame."""
        return self.centre + X @ self.rotation.T

    def world_velocity(self, X: Array, V: Array) -> Array:
        """Velocities (N, 3) in the world."""
        return self.velocity + (V + np.cross(self.spin, X)) @ self.rotation.T

    def frame(self, x: Array, v: Array) -> tuple[Array, Array]:
        """X and V (N, 3) in the frame of particles at x, v (N, 3) in the world."""
        X = (x - self.centre) @ self.rotation
        return X, (v - self.velocity) @ self.rotation - np.cross(self.spin, X)


@dataclass(frozen=True, slots=True)
class RigidBody:
    """mass [kg], inertia (3, 3) [kg m^2] about the centre of mass, corners (k, 3) [m] from it."""

    mass: float
    inertia: Array
    corners: Array

    @staticmethod
    def of(positions: Any, mass: Any) -> tuple[RigidBody, Array]:
        """Of particles at positions (N, 3) with mass (N,) or a number each, in their bounding box;
        and the positions from the centre of mass."""
        x = as_numbers("positions", positions)
        if x.ndim != 2 or x.shape[1] != 3 or len(x) < 3:
            raise InputError(f"positions has shape {x.shape}, but (N, 3) with N >= 3 is needed")
        m = per_element("mass", mass, len(x))
        if not (m > 0.0).all():
            raise InputError("mass is not positive everywhere: give kilograms > 0")
        X = x - m @ x / m.sum()
        inertia = np.einsum("i,ij,ij->", m, X, X) * np.eye(3) - np.einsum("i,ij,ik->jk", m, X, X)
        sides = np.stack([X.min(axis=0), X.max(axis=0)])
        corners = np.array(np.meshgrid(*sides.T, indexing="ij")).reshape(3, -1).T
        return RigidBody(float(m.sum()), inertia, corners), X


def bounce(
    body: RigidBody,
    walls: Sequence[tuple[Any, Any]],
    *,
    centre: Any,
    velocity: Any,
    stiffness: float,
    restitution: float,
    duration: float,
    spin: Any = (0.0, 0.0, 0.0),
    gravity: Any = (0.0, 0.0, 0.0),
    max_steps: float = 1e5,
) -> RigidMotion:
    """The flight of a rigid body whose corners bounce off walls, for `duration` seconds.

    walls: (point, normal) of half-spaces that the corners stay out of.  A corner at depth d is
    pushed along the normal by k d (1 + c d'), never pulled (Hunt, Crossley 1975, J. Appl. Mech.
    42): the force begins and ends gently, and slow hits are more elastic than fast ones.  c is such
    that a flat hit at the initial speed |velocity| ends with the share `restitution` of it.
    stiffness k [N/m] per corner; centre, velocity, spin (3,): of the body at t = 0, when its axes
    are the world's.  max_steps: what is so stiff, or spins so fast, that it would take more is
    refused, or raises NotConverged on the way.
    """
    k = as_number("stiffness", stiffness, above=0.0)
    e = as_number("restitution", restitution, least=1e-9)
    if e > 1.0:
        raise InputError(f"restitution = {e:g}: it must be at most 1, which loses nothing")
    T = as_number("duration", duration, above=0.0)
    c, v = as_numbers("centre", centre, (3,)), as_numbers("velocity", velocity, (3,))
    from scipy.integrate import solve_ivp  # a hundred modules, which other bodies do not need

    speed = float(np.linalg.norm(v))
    if not isinstance(walls, (list, tuple)):
        raise InputError(f"walls must be a list of (point, normal), not {type(walls).__name__}")
    planes = [_as_wall(i, wall) for i, wall in enumerate(walls)]
    loss = loss_number(e) / speed if speed > 0.0 else 0.0
    most = as_number("max_steps", max_steps, above=0.0)
    flight = _Flight(body, planes, k, loss, as_numbers("gravity", gravity, (3,)), most)
    u0 = np.concatenate([c, [1.0, 0.0, 0.0, 0.0], v, as_numbers("spin", spin, (3,))])
    # never so long that a contact could be stepped over
    longest = min(T, np.sqrt(body.mass / (k * len(body.corners))))
    if most * longest < T:
        raise InputError(
            f"bounce would take more than max_steps = {most:g} steps, of {longest:.2g} s at most: "
            "soften the walls, or give a shorter duration"
        )
    size = max(np.abs(body.corners).max(), speed * longest)
    solved = solve_ivp(
        flight.rate,
        (0.0, T),
        u0,
        "DOP853",
        rtol=TIGHT,
        atol=TIGHT * size,
        max_step=longest,
        dense_output=True,
    )
    if not solved.success:
        raise NotConverged(f"the rigid body is stuck at t = {solved.t[-1]:.4g} s: soften the walls")
    return RigidMotion(flight, solved.sol, T)


def loss_number(restitution: float) -> float:
    """D = c v, impact speed v, for which F = k d (1 + c d') ends a flat hit with e v.

    With y = d' the equation of motion y dy/dd = -(k/m) d (1 + c y) separates; equal depths on the
    way in, y: v -> 0, and out, y: 0 -> -e v, give ln((1 + D)/(1 - e D)) = (1 + e) D.
    """
    from scipy.optimize import brentq

    e = restitution
    if e == 1.0:
        return 0.0

    def gap(D: float) -> float:
        return np.log1p(D) - np.log1p(-e * D) - (1.0 + e) * D

    # gap ~ -(1 - e^2) D^2/2 near 0, and grows without bound towards D = 1/e
    low, high = 1e-3 * (1.0 - e), (1.0 - 1e-15) / e
    return float(brentq(gap, low, high, xtol=1e-14))  # type: ignore[arg-type]  # one root


def _as_wall(i: int, wall: Any) -> tuple[Array, Array]:
    try:
        point, normal = wall
    except (TypeError, ValueError):
        raise InputError(f"wall {i} must be a pair (point, normal)") from None
    normal = as_numbers(f"normal of wall {i}", normal, (3,))
    length = np.linalg.norm(normal)
    if length == 0.0:
        raise InputError(f"normal of wall {i} is zero: give the direction away from the wall")
    return as_numbers(f"point of wall {i}", point, (3,)), normal / length


class _Flight:
    """Newton's and Euler's equations: u = (c, quaternion, c', w), w in the body's axes."""

    def __init__(
        self,
        body: RigidBody,
        walls: Sequence[tuple[Array, Array]],
        stiffness: float,
        loss: float,
        gravity: Array,
        steps: float,
    ) -> None:
        self.body, self._walls, self.gravity = body, walls, gravity
        self._steps, self._calls = steps, 0
        self._stiffness, self._loss = stiffness, loss
        self._inverse = np.linalg.inv(body.inertia)

    def rate(self, t: float, u: Array) -> Array:
        self._calls += 1
        if self._calls > CALLS * self._steps:
            raise NotConverged(
                f"bounce has taken max_steps = {self._steps:g} steps at t = {t:.4g} s: give slower "
                "spins, softer walls or a shorter duration"
            )
        pose = self.pose(u)
        w, q = pose.spin, u[3:7]
        turning = 0.5 * np.concatenate([[-q[1:] @ w], q[0] * w + cross_matrix(q[1:]) @ w])
        acceleration = pose.rotation @ pose.felt + self.gravity
        return np.concatenate([pose.velocity, turning, acceleration, pose.spin_rate])

    def pose(self, u: Array) -> Pose:
        R, w = _rotation(u[3:7]), u[10:13]
        force, torque = self._pushed(u[:3], R, u[7:10], w)
        I = self.body.inertia  # noqa: E741  # as every textbook has it
        spin_rate = self._inverse @ (torque - cross_matrix(w) @ I @ w)
        return Pose(u[:3], R, u[7:10], w, spin_rate, R.T @ force / self.body.mass)

    def _pushed(self, c: Array, R: Array, v: Array, w: Array) -> tuple[Array, Array]:
        """Force in the world's axes and torque in the body's, from all corners and walls."""
        arms = self.body.corners @ R.T
        speeds = v + self.body.corners @ (R @ cross_matrix(w)).T
        force, torque = np.zeros(3), np.zeros(3)
        for point, normal in self._walls:
            depth = np.maximum((point - c) @ normal - arms @ normal, 0.0)
            damping = np.maximum(1.0 - self._loss * (speeds @ normal), 0.0)
            push = self._stiffness * damping * depth
            force += push.sum() * normal
            torque += cross_matrix(push @ arms) @ normal
        return force, R.T @ torque


class RigidMotion:
    """The motion that `bounce` found: motion(t) is the Pose at t, 0 <= t <= duration [s]."""

    def __init__(
        self, flight: _Flight, solution: Callable[[float], Array], duration: float
    ) -> None:
        self._flight, self._solution, self.duration = flight, solution, duration

    def __call__(self, t: float) -> Pose:
        if not -1e-9 * self.duration <= t <= self.duration * (1.0 + 1e-9):
            raise InputError(
                f"the rigid motion is known up to t = {self.duration:g} s, not at {t:g} s: give "
                "bounce a longer duration"
            )
        return self._flight.pose(self._solution(t))


def _rotation(q: Array) -> Array:
    """R (3, 3) of a quaternion (w, x, y, z), whose length the integration does not keep."""
    s, v = q[0], q[1:]
    cross = cross_matrix(v)
    return np.eye(3) + 2.0 / (q @ q) * (s * cross + cross @ cross)


def cross_matrix(w: Array) -> Array:
    """[w] (3, 3) with [w] b = w x b."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


# ------------------------------------------------------------------ particles in a moving frame


class RigidFrame(Uncoupled):
    """Inertial forces on particles that are described in a moving frame; their work is *added*.

    motion(t) -> Pose, e.g. from bounce.  Positions are counted from the frame's origin;
    motion(t).world(X) leads back.  Gravity is in the motion already (see Pose.felt).
    """

    name = "frame"

    def __init__(self, motion: Callable[[float], Pose]) -> None:
        self._motion = _as_motion(motion)

    def prepare(self, particles: Arranged) -> PreparedFrame:
        if not particles.lumped:
            raise InputError("a rigid frame needs a lumped mass: give mass=M.sum(axis=1)")
        return PreparedFrame(self._motion, particles)


class PreparedFrame:
    time_dependent = True
    velocity_dependent = True
    symmetric = False  # the Euler force turns

    def __init__(self, motion: Callable[[float], Pose], particles: Arranged) -> None:
        self._motion, self._mass = motion, particles.mass[particles.order, None]
        self._pattern, self._free = particles.pattern, particles.free
        self._free_mass = self._mass[: particles.free, :, None]

    @property
    def _slots(self) -> np.ndarray:
        return self._pattern.diagonal[: self._free]

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
