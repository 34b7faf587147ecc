"""Shapes that bodies touch: plane, sphere, half ball; and what any other shape must offer.

A shape gives, for the middle of each step, a `Surface`: signed distance d(x) [m], negative inside,
with |grad d| = 1.  During the step the surface stands still, so contact is a potential like any
other.  A surface is a kind that the kernels know and rows of numbers: one row for all particles,
or one for each.  A shape without a closed formula (a mesh, a scanned field) gives each particle
the plane it touches, `planes(...)`, and sets `local`: such planes are renewed after every step.

Shapes move as supports do, keyframes, rotations and paths read as rigid motions.  A motion is
anything with `place(t, start) -> positions, velocities` (see system/supports.py); `keyframes`,
`rotation` and `path` make those that lead no particles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ..backends.cpu import CPU
from ..backends.kernels import take
from ..contracts import Array
from ..errors import InputError
from ..kernels.names import HEMISPHERE, PLANE, SPHERE, Solid
from ..parts.checks import as_indices, as_number, as_numbers
from ..parts.part import Arranged, Uncoupled
from ..parts.terms import told_by
from ..system.supports import Keyframes, Moving, Rotation

KERNELS = ("surface_distances", "surface_normals")
ON_CPU = take(CPU, "Surface", *KERNELS)

ROUNDED = 1e-15  # as far as rounding does
RIGID = 1e-6  # how far a path may stretch or bend a shape: differences of user functions are worse


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
        if not self.spin.any():
            return np.tile(self.velocity, (len(y), 1))
        return self.velocity + np.cross(self.spin, y - self.origin)


STILL = Frame(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))


def frame_at(motion: Any, t: float) -> Frame:
    """The frame of a motion at time t, from where it puts the origin and the three unit points."""
    if motion is None:
        return STILL
    corners = np.vstack([np.zeros(3), np.eye(3)])
    positions, velocities = (as_numbers("motion", a, (4, 3)) for a in motion.place(t, corners))
    R = (positions[1:] - positions[0]).T
    bent = np.abs(R.T @ R - np.eye(3)).max()
    if bent > RIGID or np.linalg.det(R) < 0.0:
        raise InputError(
            f"the motion of a shape is not rigid at t = {t:g} s: it may only shift and turn points"
        )
    if bent > ROUNDED:  # the nearest rotation: normals must have length one
        U, _, Vt = np.linalg.svd(R)
        R = U @ Vt
    # Rdot R^T is skew for a rigid motion: (omega x), of which the mean of both triangles is taken
    W = (velocities[1:] - velocities[0]).T @ R.T
    spin = 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])
    return Frame(R, positions[0], velocities[0].copy(), spin)


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Frames at m times: rotation (m, 3, 3), origin, velocity, spin (m, 3)."""

    rotation: Array
    origin: Array
    velocity: Array
    spin: Array

    def points(self, X: Array) -> Array:
        """Where a point (3,) of the thing at rest is: (m, 3)."""
        return self.directions(X) + self.origin

    def directions(self, n: Array) -> Array:
        return self.rotation @ n


def frames_at(motion: Any, times: Array) -> Frames:
    """The frames of a motion at many times; at once, where the motion knows how."""
    if not told_by(motion, "affine", ("place",)):
        every = [frame_at(motion, float(t)) for t in times]
        fields = ("rotation", "origin", "velocity", "spin")
        return Frames(*(np.array([getattr(frame, name) for frame in every]) for name in fields))
    R, origin, turning, velocity = motion.affine(times)
    W = turning @ np.swapaxes(R, 1, 2)
    return Frames(R, origin, velocity, np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1))


def same_place(one: Frame, two: Frame) -> bool:
    """Both put things into the same place, however they move there."""
    turned = np.array_equal(one.rotation, two.rotation)
    return turned and np.array_equal(one.origin, two.origin)


def as_motion(motion: Any) -> Any:
    if motion is not None and not hasattr(motion, "place"):
        raise InputError(
            f"motion must be keyframes(...), rotation(...) or path(...), got "
            f"{type(motion).__name__}: see stiffly.collisions"
        )
    return motion


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A shape where it stands during one step, for m particles in a fixed order.

    kind: PLANE, SPHERE or HEMISPHERE; numbers (1, 7) or (m, 7), see kernels contact.
    frame: where the shape is and how it moves, for friction and for what is tied to it.
    kernels: those of KERNELS; a part that touches asks on its own backend, with `on`.
    """

    kind: int
    numbers: Array
    frame: Frame = STILL
    kernels: Any = field(default_factory=lambda: ON_CPU)

    def on(self, kernels: Any) -> Surface:
        return replace(self, kernels=kernels)

    def distances(self, x: Array) -> Array:
        """d (m,) [m] of all m particles at x (m, 3); inf where the surface is out of reach."""
        d = np.empty(len(x))
        self.kernels.surface_distances(x, self.kind, self.numbers, d)
        return d

    def normals(self, x: Array, rows: np.ndarray) -> Array:
        """grad d (k, 3) of the particles rows (k,), x (m, 3) being all of them."""
        n = np.empty((len(rows), 3))
        self.kernels.surface_normals(x, rows.astype(np.uint32), self.kind, self.numbers, n)
        return n

    def velocities(self, x: Array, rows: np.ndarray) -> Array:
        """(k, 3) [m/s] of the shape's material where those particles are."""
        return self.frame.velocities(x[rows])


class Shape(Protocol):
    """moving: its place depends on time; local: its surfaces hold near the given x only."""

    moving: bool
    local: bool

    def surface(self, t: float, x: Array, ahead: float = 0.0) -> Surface:
        """Where it is at time t [s], for particles at x (m, 3).

        ahead [m]: from how far particles may arrive before the next call (local shapes look).
        """
        ...

    def frame(self, t: float) -> Frame:
        """The same frame as that of `surface(t, x)`, for what is tied to the shape."""
        ...


class RigidShape:
    """What shapes share: a motion that shifts and turns them."""

    local = False
    kind: int  # of the surface, where there is a formula
    changing = ("_last",)  # by a run, and no part of what a system was given
    _last: tuple[Any, float, Frame] | None = None  # several ask where it is in the same step

    def __init__(self, motion: Any = None) -> None:
        self.motion = as_motion(motion)
        self.moving = motion is not None

    def frame(self, t: float) -> Frame:
        last = self._last
        if last is None or last[0] is not self.motion or last[1] != t:
            last = self._last = (self.motion, t, frame_at(self.motion, t))
        return last[2]

    def frames(self, times: Array) -> Frames:
        return frames_at(self.motion, times)

    def numbers(self, frame: Frame | Frames) -> Array:
        """(7,), or (m, 7) of as many frames: see kernels contact; of a shape with a formula."""
        raise NotImplementedError  # those without one have their own `surface`

    def surface(self, t: float, x: Array, ahead: float = 0.0) -> Surface:
        return self.placed(self.frame(t))

    def placed(self, frame: Frame) -> Surface:
        """The surface of a shape that has a formula."""
        return Surface(self.kind, self.numbers(frame)[None], frame)

    @property
    def solid(self) -> Solid | None:
        """Of a mesh that nothing of a user's own says otherwise of."""
        return None

    @property
    def has_formula(self) -> bool:
        """`placed` is all there is to it: no class of the user's own says where it is otherwise."""
        kind, own = type(self), RigidShape
        whole = all(getattr(kind, n) is getattr(own, n) for n in ("surface", "frame", "placed"))
        return whole and kind.numbers is not own.numbers and not self.local


def planes(points: Array, normals: Array, frame: Frame = STILL, far: Any = None) -> Surface:
    """A plane for each particle: d = n.(x - p), points p and unit normals n (m, 3).

    far (m,) mask: particles that nothing is near; their distance is infinite.
    """
    numbers = np.zeros((len(points), 7))
    numbers[:, :3], numbers[:, 3:6] = normals, points
    if far is not None:
        numbers[far] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.inf)
    return Surface(PLANE, numbers, frame)


def _row(*parts: Any) -> Array:
    """Numbers side by side: of one place, or of many."""
    size = np.broadcast_shapes(*(np.shape(part)[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(p, (*size, np.shape(p)[-1])) for p in parts], axis=-1)


class Plane(RigidShape):
    """The half space below a plane is solid: d = n.(x - point).

    point (3,) [m] on it, normal (3,) pointing out of the solid (any length but zero).
    motion: keyframes, rotation or path.
    """

    kind = PLANE

    def __init__(self, point: Any, normal: Any, motion: Any = None) -> None:
        self.point = as_numbers("plane point", point, (3,))
        self.normal = as_direction("plane normal", normal)
        super().__init__(motion)

    def numbers(self, frame: Frame | Frames) -> Array:
        return _row(frame.directions(self.normal), frame.points(self.point), (0.0,))


class Sphere(RigidShape):
    """A solid ball, d = |x - centre| - radius; inside=True: the room within it, d = radius - |..|.

    centre (3,) [m], radius [m]; motion: keyframes, rotation or path.
    """

    kind = SPHERE

    def __init__(
        self, centre: Any, radius: float, inside: bool = False, motion: Any = None
    ) -> None:
        self.centre = as_numbers("sphere centre", centre, (3,))
        self.radius = as_number("sphere radius", radius, above=0.0)
        if not isinstance(inside, (bool, np.bool_)):  # a motion in its place would turn it round
            raise InputError(f"sphere inside must be True or False, got {type(inside).__name__}")
        self.inside = bool(inside)
        super().__init__(motion)

    def numbers(self, frame: Frame | Frames) -> Array:
        side = -1.0 if self.inside else 1.0
        return _row(frame.points(self.centre), (self.radius, side, 0.0, 0.0))


class Hemisphere(RigidShape):
    """A solid half ball: |x - centre| <= radius on the side that axis points to.

    centre (3,) [m] of its flat side, radius [m], axis (3,) from the flat side to the pole.
    Outside, the distance to the sharp rim is that to a circle, so it is rounded; inside, it is
    that to the nearer of cap and flat side.  motion: keyframes, rotation or path.
    """

    kind = HEMISPHERE

    def __init__(
        self, centre: Any, radius: float, axis: Any = (0.0, 0.0, 1.0), motion: Any = None
    ) -> None:
        self.centre = as_numbers("hemisphere centre", centre, (3,))
        self.radius = as_number("hemisphere radius", radius, above=0.0)
        self.axis = as_direction("hemisphere axis", axis)
        super().__init__(motion)

    def numbers(self, frame: Frame | Frames) -> Array:
        return _row(frame.points(self.centre), (self.radius,), frame.directions(self.axis))


def as_direction(name: str, value: Any) -> Array:
    """A unit vector (3,); InputError for zero."""
    direction = as_numbers(name, value, (3,))
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise InputError(f"{name} is zero: give a direction, e.g. (0, 0, 1)")
    return direction / length


def as_shapes(shapes: Any) -> list[Shape]:
    """One shape or a list of them."""
    given = shapes if isinstance(shapes, (list, tuple)) else [shapes]
    if not given:
        raise InputError("there is no shape to touch: give e.g. Plane((0, 0, 0), (0, 0, 1))")
    for shape in given:
        if isinstance(shape, type) or not hasattr(shape, "surface"):
            label = shape.__name__ if isinstance(shape, type) else type(shape).__name__
            raise InputError(
                f"{label} is no shape: give Plane(...), Sphere(...), Hemisphere(...) or "
                "TriangleMesh(positions, triangles)"
            )
    return list(given)


class OfShapes(Uncoupled):
    """What parts that touch shapes share."""

    name: str

    def __init__(self, shapes: Any, particles: Any) -> None:
        """particles: indices or a mask, None for all."""
        self.shapes, self.particles = as_shapes(shapes), particles

    @property
    def moving(self) -> bool:
        return any(shape.moving for shape in self.shapes)


class OnShapes:
    """What these parts share once prepared: _own (m,), the rows of the chosen particles that can
    move, sorted, and their _mass (m,) [kg]."""

    _config: Any

    def _choose(self, config: OfShapes, particles: Arranged) -> None:
        self._config, chosen = config, config.particles
        rows = np.arange(particles.count)
        if chosen is not None:
            rows = np.sort(particles.rows[as_indices(config.name, chosen, particles.count)])
        self._own = rows[particles.pattern.moves[rows]]
        self._mass = particles.mass[particles.order[self._own]]

    @property
    def drives(self) -> bool:
        return self._config.moving

    @property
    def _still(self) -> bool:
        """All of the shapes stand still and have formulas."""
        shapes = self._config.shapes
        known = all(isinstance(shape, RigidShape) and shape.has_formula for shape in shapes)
        return known and not self._config.moving


def as_stiffness(name: str, value: Any) -> Array:
    """k > 0 [N/m]: one number, or one for every particle."""
    stiffness = as_numbers(name, value)
    if not np.all(stiffness > 0.0):
        raise InputError(f"{name} must be positive, got {float(stiffness.min()):g}: give k in N/m")
    return stiffness
