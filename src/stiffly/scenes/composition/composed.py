"""Bodies, loads, colliders and supports of a scene file, joined into one System."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import pi, sin
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import bodies as physics
from ... import collisions
from ...bodies import MomentumDamping, Rayleigh, System
from ...contracts import Array
from ...errors import InputError, unknown_name
from ...meshes import Mesh, quality
from ...meshes.skin import joined as joined_skins
from ...meshes.validate import surface_only
from ..schema import SceneFile
from ..schema import colliders as collider_tables
from ..schema import loads as load_tables
from ..schema.source import Source
from ..schema.types import Keyframes, Place, Swing
from .bodies import Built, built, elastic_parts, placed_mesh, selected


class Composition(NamedTuple):
    """Fields of a Scene: x0, v0 (N, 3) [m, m/s]; mesh: the union of all bodies; colliders: shapes
    to draw; note: how well bodies that were filled with tets came out."""

    system: System
    x0: Array
    v0: Array
    mesh: Mesh
    colliders: tuple[Any, ...]
    note: str


def compose(file: SceneFile, source: Source, folder: Path) -> Composition:
    """Build everything; InputError names the line of what does not fit."""
    joined = _joined(file, source, folder)
    mesh = _union(joined)
    parts: list[Any] = []
    for number, body in enumerate(joined.bodies):
        with source.at("body", number):
            parts += elastic_parts(body, _view(joined, number, mesh.positions))
    parts += _each(source, "load", file.load, lambda one: load(one, joined))
    touched = _each(source, "collider", file.collider, lambda one: collider(one, joined, folder))
    parts += [part for _, part in touched]
    parts += _each(source, "attachment", file.attachment, lambda one: attachment(one, joined))
    if file.contact is not None:
        with source.at("contact"):
            parts.append(contact(file.contact, joined))
    supports = _each(source, "support", file.support, lambda one: led(one.motion, joined.at(one)))
    pinned = _pinned(joined, source)
    with source.at():
        system = _system(file, joined, mesh, parts, pinned, supports)
    x0 = np.concatenate([body.start() for body in joined.bodies])
    v0 = np.concatenate([body.velocities() for body in joined.bodies])
    v0[system.fixed] = 0.0
    if file.contact is not None and file.contact.push_apart:
        with source.at("contact"):
            x0 = pushed_apart(file.contact, joined, x0, system.fixed)
    return Composition(system, x0, v0, mesh, tuple(shape for shape, _ in touched), _note(joined))


def _each(
    source: Source, key: str, tables: Iterable[Any], build: Callable[[Any], Any]
) -> list[Any]:
    """build(table) of every [[key]]; what is wrong with one names its line."""
    found = []
    for number, table in enumerate(tables):
        with source.at(key, number):
            found.append(build(table))
    return found


def _note(joined: Joined) -> str:
    filled = [body for body in joined.bodies if body.mesh.skin is not None]
    return "; ".join(f"{body.table.label} was filled: {quality(body.mesh)}" for body in filled)


def _joined(file: SceneFile, source: Source, folder: Path) -> Joined:
    bodies: list[Built] = []
    names: list[str] = []
    for number, table in enumerate(file.body or ()):
        with source.at("body", number):
            if table.name in names:
                raise InputError(f"name {table.name} is taken by an earlier body: choose another")
            names += [table.name] if table.name is not None else []
            bodies.append(built(table, folder))
    first = np.cumsum([0, *(body.count for body in bodies)])
    return Joined(bodies, first)


def _pinned(joined: Joined, source: Source) -> np.ndarray:
    found = [np.empty(0, dtype=np.int64)]
    for number, body in enumerate(joined.bodies):
        if body.table.pins is not None:
            with source.at("body", number, "pins"):
                found.append(joined.first[number] + selected(body, body.table.pins))
    return np.concatenate(found)


def _system(
    file: SceneFile,
    joined: Joined,
    mesh: Mesh,
    parts: list[Any],
    pinned: np.ndarray,
    supports: Sequence[Any],
) -> System:
    damping = None
    if file.damping is not None:
        damping = Rayleigh(file.damping.alpha, file.damping.beta)
        if file.damping.rate is not None or file.damping.per_step is not None:
            momentum = MomentumDamping(file.damping.rate, per_step=file.damping.per_step)
            parts = [*parts, momentum]
    return System(
        np.concatenate([body.mass for body in joined.bodies]),
        parts,
        fixed=pinned,
        rest=mesh.positions,
        damping=damping,
        supports=supports,
    )


def _view(joined: Joined, number: int, positions: Array) -> Mesh:
    """One body's mesh over the positions of all."""
    mesh, shift = joined.bodies[number].mesh, joined.first[number]
    skin = None
    if mesh.skin is not None:
        skin = mesh.skin.renumbered(shift + np.arange(len(mesh.positions)))
    sets = {name: shift + rows for name, rows in mesh.vertex_sets.items()}
    return Mesh(
        positions,
        mesh.edges + shift,
        mesh.tets + shift,
        mesh.triangles + shift,
        mesh.edge_groups,
        sets,
        skin,
    )


def _union(joined: Joined) -> Mesh:
    """All bodies in one mesh; with several, groups and sets have the body's name in front."""
    positions = np.concatenate([body.mesh.positions for body in joined.bodies])
    views = [_view(joined, number, positions) for number in range(len(joined.bodies))]
    edges, groups, sets = 0, {}, {}
    for body, view in zip(joined.bodies, views, strict=True):
        front = f"{body.table.label} " if len(views) > 1 else ""
        groups |= {front + name: edges + rows for name, rows in view.edge_groups.items()}
        sets |= {front + name: rows for name, rows in view.vertex_sets.items()}
        edges += len(view.edges)
    return Mesh(
        positions,
        *(
            np.concatenate([getattr(v, kind) for v in views])
            for kind in ("edges", "tets", "triangles")
        ),
        edge_groups=groups,
        vertex_sets=sets,
        skin=joined_skins([view.skin for view in views if view.skin is not None]),
    )


# ------------------------------------------------------------------ all bodies as one


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


# ------------------------------------------------------------------ loads


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
