"""What acts on the bodies: loads, colliders, contact, supports, attachments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sin
from pathlib import Path
from typing import Any

import numpy as np

from ... import bodies as physics
from ... import collisions
from ...contracts import Array
from ...errors import InputError, unknown_name
from ...meshes.validate import surface_only
from ..schema import colliders as collider_tables
from ..schema import loads as load_tables
from ..schema.types import Keyframes, Place, Swing
from .bodies import Built, selected
from .geometry import placed_mesh


@dataclass(frozen=True, eq=False)
class Joined:
    """All bodies as one: particles of body i are numbered from first[i] on."""

    bodies: Sequence[Built]
    first: np.ndarray

    @property
    def count(self) -> int:
        return int(self.first[-1])

    def named(self, names: Sequence[str] | None) -> list[int]:
        """Numbers of the bodies with these names; all for None."""
        if names is None:
            return list(range(len(self.bodies)))
        return [self._number("bodies", name) for name in names]

    def _number(self, key: str, name: str) -> int:
        labels = [body.table.label for body in self.bodies]
        if name not in labels:
            raise InputError(f"{key}: {unknown_name('body', name, labels)}")
        if labels.count(name) > 1:
            raise InputError(f"{key}: two bodies are called {name}: give them a name each")
        return labels.index(name)

    def particles(self, names: Sequence[str] | None) -> np.ndarray | None:
        """Of the bodies with these names; None for all."""
        if names is None:
            return None
        ranges = [np.arange(self.first[i], self.first[i + 1]) for i in self.named(names)]
        return np.unique(np.concatenate(ranges))

    def at(self, place: Place) -> np.ndarray:
        """Numbers (k,) among all particles of those at a place."""
        if place.body is None and len(self.bodies) > 1:
            labels = ", ".join(body.table.label for body in self.bodies)
            raise InputError(f"there are several bodies ({labels}): say which, body = 'NAME'")
        number = 0 if place.body is None else self._number("body", place.body)
        return self.first[number] + selected(self.bodies[number], place.particles)

    def elements(self, names: Sequence[str] | None, kind: str) -> np.ndarray:
        """'triangles' or 'lines' of those bodies, with numbers among all particles."""
        found = []
        for i in self.named(names):
            body = self.bodies[i]
            own = body.mesh.triangles if kind == "triangles" else body.lines
            if kind == "triangles" or len(body.mesh.triangles) == 0:
                found.append(self.first[i] + own)
        columns = 3 if kind == "triangles" else 2
        return np.concatenate([np.empty((0, columns), dtype=np.int64), *found])


@dataclass(frozen=True)
class Swinging:
    """t -> value + amplitude sin(2 pi t / period), each (3,)."""

    value: tuple[float, float, float]
    amplitude: tuple[float, float, float]
    period: float

    def __call__(self, t: float) -> Array:
        return np.array(self.value) + sin(2.0 * pi * t / self.period) * np.array(self.amplitude)


def _varying(value: tuple[float, float, float], swing: Swing | None) -> Any:
    return value if swing is None else Swinging(value, swing.amplitude, swing.period)


def load(table: Any, joined: Joined) -> Any:
    """The part that a [[load]] is."""
    match table:
        case load_tables.Gravity():
            return physics.Gravity(table.g)
        case load_tables.FieldLoad():
            return physics.Field(_varying(table.acceleration, table.swing))
        case load_tables.Wind():
            triangles = joined.elements(table.bodies, "triangles")
            if len(triangles) == 0:
                raise InputError("wind blows on triangles, and there are none: use kind = 'drag'")
            wind = _varying(table.wind, table.swing)
            return physics.Wind(
                triangles, wind, coefficient=table.coefficient, density=table.density
            )
        case load_tables.Drag():
            coefficient: Any = table.coefficient
            if table.bodies is not None:
                coefficient = np.zeros(joined.count)
                coefficient[joined.particles(table.bodies)] = table.coefficient
            return physics.Drag(coefficient, table.power, _varying(table.wind, table.swing))
        case load_tables.Force():
            return physics.Force(joined.at(table), _varying(table.force, table.swing))
        case load_tables.Motor():
            base, counter = joined.at(table.base), joined.at(table.counter)
            return physics.MotorTorque(table.torque, base, counter)
        case load_tables.StokesFluid():
            particles = joined.particles(table.bodies)
            return physics.StokesFluid(table.viscosity, table.blob, particles)
    raise AssertionError(table)  # the schema knows no other


# ------------------------------------------------------------------ contact


def collider(table: Any, joined: Joined, folder: Path) -> tuple[Any, Any]:
    """The shape of a [[collider]] and the part that lets it act."""
    shape = _shape(table, folder)
    particles = joined.particles(table.bodies)
    margin = table.margin or 0.0
    if table.response == "projection":
        friction = 0.4 if table.friction is None else table.friction
        return shape, collisions.ProjectedContact(shape, friction, particles)
    if table.response == "held":
        return shape, collisions.Held(shape, table.stiffness, particles, margin=margin)
    friction = table.friction or 0.0
    part = collisions.Contact(shape, table.stiffness, particles, margin=margin, friction=friction)
    return shape, part


def _shape(table: Any, folder: Path) -> Any:
    motion = None if table.motion is None else led(table.motion, ())
    match table:
        case collider_tables.Plane():
            return collisions.Plane(table.point, table.normal, motion)
        case collider_tables.Sphere():
            return collisions.Sphere(table.centre, table.radius, table.inside, motion)
        case collider_tables.Hemisphere():
            return collisions.Hemisphere(table.centre, table.radius, table.axis, motion)
    mesh = surface_only(placed_mesh(table, folder))
    return collisions.TriangleMesh(mesh.positions, mesh.triangles, motion, reach=table.reach)


def contact(table: collider_tables.Contact, joined: Joined) -> Any:
    return collisions.Repulsion(
        joined.elements(table.bodies, "triangles"),
        joined.elements(table.bodies, "lines"),
        thickness=table.thickness,
        stiffness=table.stiffness,
        friction=table.friction,
    )


def pushed_apart(
    table: collider_tables.Contact, joined: Joined, x0: Array, fixed: np.ndarray
) -> Array:
    return collisions.push_apart(
        x0,
        joined.elements(table.bodies, "triangles"),
        joined.elements(table.bodies, "lines"),
        gap=table.thickness,
        fixed=fixed,
    )


# ------------------------------------------------------------------ supports


def led(motion: Any, particles: Any) -> Any:
    """The support that leads particles so; without any, the motion alone."""
    if isinstance(motion, Keyframes):
        return physics.Keyframes(particles, motion.times, motion.offsets)
    return physics.Rotation(
        particles,
        axis=motion.axis,
        centre=motion.centre,
        rate=motion.rate,
        times=motion.times,
        angles=motion.angles,
    )


def attachment(table: collider_tables.Attachment, joined: Joined) -> Any:
    motion = None if table.motion is None else led(table.motion, ())
    return physics.Attachments(joined.at(table), table.stiffness, motion=motion)
