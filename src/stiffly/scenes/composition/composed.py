"""Bodies, loads, colliders and supports of a scene file, joined into one System."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import pi, sin
from pathlib import Path
from typing import Any

import numpy as np

from ... import bodies as physics
from ... import collisions
from ...bodies import MomentumDamping, Rayleigh, System
from ...contracts import Array
from ...errors import InputError, unknown_name
from ...meshes import Mesh, quality
from ...meshes.skin import joined as joined_skins
from ...meshes.validate import surface_only
from ..builder import Setup
from ..schema import SceneFile
from ..schema import loads as load_tables
from ..schema.colliders import Attachment, Contact, Touched
from ..schema.source import Source
from ..schema.types import Place, Swing, Table
from .bodies import Built, built, elastic_parts, placed_mesh, selected

ELEMENTS = ("edges", "tets", "triangles")
# tables with these `kind`s have keys that are arguments, by name
SHAPES = {
    "plane": collisions.Plane,
    "sphere": collisions.Sphere,
    "hemisphere": collisions.Hemisphere,
}
MOTIONS = {"keyframes": physics.Keyframes, "rotation": physics.Rotation}


def compose(file: SceneFile, source: Source, folder: Path) -> Setup:
    """Build everything; InputError names the line of what does not fit.

    mesh: the union of all bodies; note: how well bodies that were filled with tets came out.
    """
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
    masses, pinned = np.concatenate([b.mass for b in joined.bodies]), _pinned(joined, source)
    with source.at():
        damping, slowed = _damping(file)
        held: dict[str, Any] = {"fixed": pinned, "supports": supports, "damping": damping}
        system = System(masses, [*parts, *slowed], rest=mesh.positions, **held)
    x0 = np.concatenate([body.start() for body in joined.bodies])
    v0 = np.concatenate([body.velocities() for body in joined.bodies])
    v0[system.fixed] = 0.0
    if file.contact is not None and file.contact.push_apart:
        with source.at("contact"):
            faces, lines = joined.elements(file.contact.bodies)
            gap = file.contact.thickness
            x0 = collisions.push_apart(x0, faces, lines, gap=gap, fixed=system.fixed)
    filled = [body for body in joined.bodies if body.mesh.skin is not None]
    note = "; ".join(f"{body.table.label} was filled: {quality(body.mesh)}" for body in filled)
    return Setup(system, x0, v0, mesh, tuple(shape for shape, _ in touched), note)


def _each(
    source: Source, key: str, tables: Iterable[Any], build: Callable[[Any], Any]
) -> list[Any]:
    """build(table) of every [[key]]; what is wrong with one names its line."""
    found = []
    for number, table in enumerate(tables):
        with source.at(key, number):
            found.append(build(table))
    return found


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


def _damping(file: SceneFile) -> tuple[Rayleigh | None, list[MomentumDamping]]:
    """Of the whole, and as a part."""
    table = file.damping
    if table is None:
        return None, []
    rayleigh = Rayleigh(table.alpha, table.beta)
    if table.rate is None and table.per_step is None:
        return rayleigh, []
    return rayleigh, [MomentumDamping(table.rate, per_step=table.per_step)]


def _view(joined: Joined, number: int, positions: Array) -> Mesh:
    """One body's mesh over the positions of all."""
    mesh, shift = joined.bodies[number].mesh, joined.first[number]
    skin = None
    if mesh.skin is not None:
        skin = mesh.skin.renumbered(shift + np.arange(len(mesh.positions)))
    sets = {name: shift + rows for name, rows in mesh.vertex_sets.items()}
    elements = (getattr(mesh, kind) + shift for kind in ELEMENTS)
    groups = mesh.edge_groups
    return Mesh(positions, *elements, edge_groups=groups, vertex_sets=sets, skin=skin)


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
        *(np.concatenate([getattr(v, kind) for v in views]) for kind in ELEMENTS),
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

    def elements(self, names: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray]:
        """Triangles (s, 3) of those bodies, and the lines (e, 2) of those that have none."""
        triangles, lines = [np.empty((0, 3), dtype=np.int64)], [np.empty((0, 2), dtype=np.int64)]
        for i in self.named(names):
            body = self.bodies[i]
            triangles.append(self.first[i] + body.mesh.triangles)
            if len(body.mesh.triangles) == 0:
                lines.append(self.first[i] + body.lines)
        return np.concatenate(triangles), np.concatenate(lines)


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
            triangles, _ = joined.elements(table.bodies)
            if len(triangles) == 0:
                raise InputError("wind blows on triangles, and there are none: use kind = 'drag'")
            wind = _varying(table.wind, table.swing)
            air = {"coefficient": table.coefficient, "density": table.density}
            return physics.Wind(triangles, wind, **air)
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
    how = {"margin": margin, "friction": table.friction or 0.0, "frozen": bool(table.frozen)}
    return shape, collisions.Contact(shape, table.stiffness, particles, **how)


def _shape(table: Any, folder: Path) -> Any:
    motion = None if table.motion is None else led(table.motion, ())
    if table.kind in SHAPES:
        return SHAPES[table.kind](**table.own(Touched), motion=motion)
    mesh = surface_only(placed_mesh(table, folder))
    return collisions.TriangleMesh(mesh.positions, mesh.triangles, motion, reach=table.reach)


def contact(table: Contact, joined: Joined) -> Any:
    push = {key: getattr(table, key) for key in ("thickness", "stiffness", "friction")}
    return collisions.Repulsion(*joined.elements(table.bodies), **push)


# ------------------------------------------------------------------ supports


def led(motion: Any, particles: Any) -> Any:
    """The support that leads particles so; without any, the motion alone."""
    return MOTIONS[motion.kind](particles, **motion.own(Table))


def attachment(table: Attachment, joined: Joined) -> Any:
    motion = None if table.motion is None else led(table.motion, ())
    return physics.Attachments(joined.at(table), table.stiffness, motion=motion)
