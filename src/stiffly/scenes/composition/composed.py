"""Bodies, loads, colliders and supports of a scene file, joined into one System."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import pi, sin
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from ... import bodies as physics
from ... import collisions
from ...bodies import MomentumDamping, Rayleigh, System
from ...contracts import Array
from ...errors import Advice, InputError, levels_up, unknown_name
from ...meshes import Mesh, quality
from ...meshes.mesh import pairs as grid_pairs
from ...meshes.mesh import unique_rows
from ...meshes.skin import joined as joined_skins
from ...meshes.skin import joined_uv
from ...meshes.validate import surface_only
from ..builder import Setup
from ..schema import SceneFile
from ..schema import loads as load_tables
from ..schema.bodies import Loose
from ..schema.colliders import Attachment, Contact, Joint, Spring, Touched
from ..schema.source import Source
from ..schema.types import Place, Swing, Table
from .bodies import (
    GRAVITY,
    Built,
    Shelf,
    anchors,
    brace_stiffness,
    built,
    elastic_parts,
    look_of,
    placed_mesh,
    selected,
)

ELEMENTS = ("edges", "tets", "triangles")
# tables with these `kind`s have keys that are arguments, by name
SHAPES = {
    "plane": collisions.Plane,
    "sphere": collisions.Sphere,
    "hemisphere": collisions.Hemisphere,
}
DEPTH = 0.03  # of its size that a body which has fallen so far may dip in
CONTACTS = 20  # of a body that rests on another
TIES = 3  # springs that hold a particle to another body
SAME = 1e-9  # of a body's size: particles closer than that are at one place
PIN = 1e-3  # mass of a joint's pin over that of the lighter body
MOTIONS = {"keyframes": physics.Keyframes, "rotation": physics.Rotation}


def compose(
    file: SceneFile, source: Source, shelf: Shelf, own: Sequence[Callable[[Joined], Any]] = ()
) -> Setup:
    """Build everything; InputError names the line of what does not fit.

    own: what makes further parts, that no file can hold.
    mesh: the union of all bodies; note: how well bodies that were filled with tets came out.
    """
    joined = _joined(file, source, shelf)
    parts: list[Any] = _each(source, "spring", file.spring, lambda one: spring(one, joined))
    mesh = _union(joined, shelf.folder, [part.edges for part in parts])
    for number, body in enumerate(joined.bodies[: len(file.body or ())]):
        with source.at("body", number):
            view = _view(joined, number, mesh.positions)
            parts += elastic_parts(body, view, int(joined.first[number]))
    parts += _each(source, "load", file.load, lambda one: load(one, joined, file.duration))
    touched = _each(source, "collider", file.collider, lambda one: collider(one, joined, shelf))
    parts += [part for _, part in touched]
    parts += _each(source, "attachment", file.attachment, lambda one: attachment(one, joined))
    for number, table in enumerate(file.joint):
        with source.at("joint", number):
            parts += joint(table, joined, len(file.body or ()) + number)
    parts += [make(joined) for make in own]
    if file.contact is not None:
        with source.at("contact"):
            parts.append(contact(file.contact, joined))
    supports = _each(source, "support", file.support, lambda one: led(one.motion, joined.at(one)))
    masses, pinned = np.concatenate([b.mass for b in joined.bodies]), _pinned(joined, source)
    # what a user's own function raises is the user's own error
    with source.at() if not own else nullcontext():
        damping, slowed = _damping(file)
        held: dict[str, Any] = {"fixed": pinned, "supports": supports, "damping": damping}
        system = System(masses, [*parts, *slowed], rest=mesh.positions, **held)
    x0 = joined.positions()
    v0 = np.concatenate([body.velocities() for body in joined.bodies])
    v0[system.fixed] = 0.0
    if file.contact is not None and file.contact.push_apart:
        with source.at("contact"):
            faces, lines = joined.elements(file.contact.bodies)
            gap = _thickness(file.contact, joined)
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


def _joined(file: SceneFile, source: Source, shelf: Shelf) -> Joined:
    """The bodies, and behind them the pins of the joints."""
    bodies: list[Built] = []
    names: list[str] = []
    for number, table in enumerate(file.body or ()):
        with source.at("body", number):
            if table.name in names:
                raise InputError(f"name {table.name} is taken by an earlier body: choose another")
            names += [table.name] if table.name is not None else []
            bodies.append(built(table, shelf))
    for number, table in enumerate(file.joint):
        with source.at("joint", number):
            two = [bodies[_numbered(bodies, "bodies", name)] for name in table.bodies]
            bodies.append(_pin(table, number, two))
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


def _union(joined: Joined, folder: Path, springs: Sequence[np.ndarray]) -> Mesh:
    """All bodies and the springs between them in one mesh; with several, groups and sets have the
    body's name in front."""
    positions = np.concatenate([body.mesh.positions for body in joined.bodies])
    views = [_view(joined, number, positions) for number in range(len(joined.bodies))]
    edges, groups, sets, looks = 0, {}, {}, {}
    for body, view in zip(joined.bodies, views, strict=True):
        front = f"{body.table.label} " if len(views) > 1 else ""
        groups |= {front + name: edges + rows for name, rows in view.edge_groups.items()}
        sets |= {front + name: rows for name, rows in view.vertex_sets.items()}
        edges += len(view.edges)
    for turn, (body, first) in enumerate(zip(joined.bodies, joined.first, strict=False)):
        name, others = body.table.label, sum(known.startswith(body.table.label) for known in looks)
        name = f"{name} {others + 1}" if name in looks else name
        looks[name] = look_of(body, int(first), turn, folder)
    elements = {kind: np.concatenate([getattr(v, kind) for v in views]) for kind in ELEMENTS}
    elements["edges"] = np.concatenate([elements["edges"], *springs])
    return Mesh(
        positions,
        **elements,
        edge_groups=groups,
        vertex_sets=sets,
        skin=joined_skins([view.skin for view in views if view.skin is not None]),
        uv=joined_uv([(body.mesh.uv, len(body.mesh.triangles)) for body in joined.bodies]),
        bodies=looks,
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
        return [_numbered(self.bodies, "bodies", name) for name in names]

    def number(self, place: Place) -> int:
        """Of the body that a place names."""
        if place.body is None and len(self.bodies) > 1:
            labels = ", ".join(body.table.label for body in self.bodies)
            raise InputError(f"there are several bodies ({labels}): say which, body = 'NAME'")
        return 0 if place.body is None else _numbered(self.bodies, "body", place.body)

    def positions(self) -> Array:
        """(N, 3) [m] at the start."""
        return np.concatenate([body.start() for body in self.bodies])

    def particles(self, names: Sequence[str] | None) -> np.ndarray | None:
        """Of the bodies with these names; None for all."""
        if names is None:
            return None
        ranges = [np.arange(self.first[i], self.first[i + 1]) for i in self.named(names)]
        return np.unique(np.concatenate(ranges))

    def at(self, place: Place) -> np.ndarray:
        """Numbers (k,) among all particles of those at a place."""
        number = self.number(place)
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


def _numbered(bodies: Sequence[Built], key: str, name: str) -> int:
    """Of the body with that name."""
    labels = [body.table.label for body in bodies]
    if name not in labels:
        raise InputError(f"{key}: {unknown_name('body', name, labels)}")
    if labels.count(name) > 1:
        raise InputError(f"{key}: two bodies are called {name}: give them a name each")
    return labels.index(name)


# ------------------------------------------------------------------ loads


@dataclass(frozen=True)
class Swinging:
    """t -> value + amplitude sin(2 pi t / period), each (3,)."""

    value: tuple[float, float, float]
    amplitude: tuple[float, float, float]
    period: float

    def __call__(self, t: float) -> Array:
        return np.array(self.value) + sin(2.0 * pi * t / self.period) * np.array(self.amplitude)


class Walking:
    """t -> forces (k, 3) [N] on particles that were at `places` (k, 3): of the weight, wherever on
    its path it is, each has a share exp(-|x - path(t)|^2 / width^2)."""

    def __init__(self, walker: load_tables.Walker, places: Array) -> None:
        self._walker, self._places = walker, places

    def __call__(self, t: float) -> Array:
        walker, times = self._walker, self._walker.times
        forces = np.zeros(self._places.shape)
        if times[0] <= t <= times[-1]:
            here = [np.interp(t, times, way) for way in zip(*walker.path, strict=True)]
            far = ((self._places - here) ** 2).sum(axis=1)
            shares = np.exp((far.min() - far) / walker.width**2)
            forces[:, 2] = -walker.weight * shares / shares.sum()
        return forces


def _advise(walker: load_tables.Walker, places: Array, duration: float | None) -> None:
    """Warns of one that is nowhere near what carries it, or comes when all is over."""
    low, high = places.min(axis=0), places.max(axis=0)
    path = np.array(walker.path)
    apart = np.maximum(np.maximum(path.min(axis=0) - high, low - path.max(axis=0)), 0.0)
    far, said = float(np.linalg.norm(apart)), ""
    if far > max(float(np.linalg.norm(high - low)), walker.width):
        said = f"its path stays {far:.3g} m away from what carries it: check path and bodies"
    elif duration is not None and walker.times[0] >= duration:
        said = f"it comes at {walker.times[0]:g} s, when the {duration:g} s are over: check times"
    if said:
        warnings.warn(f"walker: {said}", Advice, stacklevel=levels_up())


def _varying(value: tuple[float, float, float], swing: Swing | None) -> Any:
    return value if swing is None else Swinging(value, swing.amplitude, swing.period)


def load(table: Any, joined: Joined, duration: float | None) -> Any:
    """The part that a [[load]] is; duration [s]: of the scene."""
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
        case load_tables.Walker():
            named = joined.particles(table.bodies)
            chosen = np.arange(joined.count) if named is None else named
            places = joined.positions()[chosen]
            _advise(table, places, duration)
            return physics.Force(chosen, Walking(table, places))
        case load_tables.Motor():
            base, counter = joined.at(table.base), joined.at(table.counter)
            return physics.MotorTorque(table.torque, base, counter)
        case load_tables.StokesFluid():
            particles = joined.particles(table.bodies)
            return physics.StokesFluid(table.viscosity, table.blob, particles)
    raise AssertionError(table)  # the schema knows no other


# ------------------------------------------------------------------ contact


def collider(table: Any, joined: Joined, shelf: Shelf) -> tuple[Any, Any]:
    """The shape of a [[collider]] and the part that lets it act."""
    shape = _shape(table, shelf)
    particles = joined.particles(table.bodies)
    margin = table.margin or 0.0
    if table.response == "projection":
        friction = 0.4 if table.friction is None else table.friction
        return shape, collisions.ProjectedContact(shape, friction, particles)
    if table.response == "held":
        return shape, collisions.Held(shape, table.stiffness, particles, margin=margin)
    how = {"margin": margin, "friction": table.friction or 0.0, "frozen": bool(table.frozen)}
    stiffness = _push(joined) if table.stiffness is None else table.stiffness
    return shape, collisions.Contact(shape, stiffness, particles, **how)


def _push(joined: Joined) -> Array:
    """k (N,) [N/m]: a body that has fallen by its own size L dips in by 3 % of it, and so
    k (0.03 L)^2 = 2 m g L for each of its particles."""
    each = [2.0 / DEPTH**2 * GRAVITY * body.mass / _size(body) for body in joined.bodies]
    return np.concatenate(each)


def _size(body: Built) -> float:
    """Of its box [m]; 1 for a single particle."""
    return float(np.linalg.norm(np.ptp(body.mesh.positions, axis=0))) or 1.0


def _shape(table: Any, shelf: Shelf) -> Any:
    motion = None if table.motion is None else led(table.motion, ())
    if table.kind in SHAPES:
        return SHAPES[table.kind](**table.own(Touched), motion=motion)
    mesh = surface_only(placed_mesh(table, shelf))
    return collisions.TriangleMesh(mesh.positions, mesh.triangles, motion, reach=table.reach)


def contact(table: Contact, joined: Joined) -> Any:
    """Twenty contacts hold the heaviest body half-way in, 20 k t/2 = M g, where nobody says
    otherwise; deeper in they push without limit."""
    thickness, stiffness = _thickness(table, joined), table.stiffness
    if stiffness is None:
        heaviest = max(float(joined.bodies[i].mass.sum()) for i in joined.named(table.bodies))
        stiffness = GRAVITY * heaviest / (0.5 * CONTACTS * thickness)
    push = {"thickness": thickness, "stiffness": stiffness, "friction": table.friction}
    return collisions.Repulsion(*joined.elements(table.bodies), **push)


def _thickness(table: Contact, joined: Joined) -> float:
    """[m]: 0.4 of the finest body's edges, by their median, where nobody says otherwise."""
    if table.thickness is not None:
        return table.thickness
    edges = [body.mesh.positions[body.mesh.edges] for body in joined.bodies if len(body.mesh.edges)]
    if not edges:
        raise InputError("thickness is missing, and no body has edges to take it from: give it")
    return 0.4 * min(float(np.median(np.linalg.norm(e[:, 0] - e[:, 1], axis=1))) for e in edges)


# ------------------------------------------------------------------ supports


def led(motion: Any, particles: Any) -> Any:
    """The support that leads particles so; without any, the motion alone."""
    return MOTIONS[motion.kind](particles, **motion.own(Table))


def attachment(table: Attachment, joined: Joined) -> Any:
    if table.to is not None:
        if joined.number(table) == joined.number(table.to):
            raise InputError("a body is attached to itself: name another body in to")
        return _ties(joined, joined.at(table), table.to, table.stiffness, "attachment")
    motion = None if table.motion is None else led(table.motion, ())
    return physics.Attachments(joined.at(table), table.stiffness, motion=motion)


# ------------------------------------------------------------------ from body to body


def spring(table: Spring, joined: Joined) -> physics.Springs:
    """From each particle of one end to the nearest of the other."""
    x = joined.positions()
    first, second = (joined.at(end) for end in table.ends)
    nearest = second[KDTree(x[second]).query(x[first])[1]]
    pairs = np.stack([first, nearest], axis=1)
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise InputError("a particle is at both ends of a spring: name two places apart")
    lengths = np.linalg.norm(np.subtract(*x[pairs.T]), axis=1)
    rest = lengths if table.length is None else np.full(len(pairs), table.length)
    return physics.Springs(pairs, table.stiffness, rest, name="springs")


def _ties(
    joined: Joined, tied: np.ndarray, to: Place, stiffness: float, name: str
) -> physics.Springs:
    """Springs from each of the particles to its three nearest at a place, to the one that is where
    it is, or to the anchors of a rigid body: as long as they are at the start."""
    number, x = joined.number(to), joined.positions()
    body = joined.bodies[number]
    if getattr(body.table, "elasticity", "") == "rigid":
        pairs = grid_pairs(tied[:, None], joined.first[number] + anchors(body))
    else:
        there = joined.at(to)
        count = min(TIES, len(there))
        found = KDTree(x[there]).query(x[tied], k=count)
        distances, near = (np.reshape(each, (len(tied), count)) for each in found)
        ends = there[np.where(distances[:, :1] <= SAME * _size(body), near[:, :1], near)]
        pairs = unique_rows(grid_pairs(tied[:, None], ends))
    lengths = np.linalg.norm(np.subtract(*x[pairs.T]), axis=1)
    lengths[lengths <= SAME * _size(body)] = 0.0
    return physics.Springs(pairs, stiffness, lengths, name=name)


def _pin(table: Joint, number: int, two: Sequence[Built]) -> Built:
    """The particles of a joint: one for a ball, two along the axis of a hinge."""
    places = [np.array(table.at)]
    if table.axis is not None:
        axis = np.array(table.axis) / np.linalg.norm(table.axis)
        half = 0.25 * min(map(_size, two))
        places = [places[0] - half * axis, places[0] + half * axis]
    mass = PIN * min(float(body.mass.sum()) for body in two)
    shape = {"kind": "particles", "positions": [place.tolist() for place in places]}
    taken = {"shape": shape, "elasticity": "none", "mass": mass, "color": "grey"}
    return built(Loose.model_validate({**taken, "name": f"joint {number + 1}"}), Shelf(Path()))


def joint(table: Joint, joined: Joined, pin: int) -> list[Any]:
    """pin: its number among the bodies."""
    pins = np.arange(joined.first[pin], joined.first[pin + 1])
    numbers = [_numbered(joined.bodies, "bodies", name) for name in table.bodies]
    two = [joined.bodies[number] for number in numbers]
    stiffness = table.stiffness or max(map(brace_stiffness, two))
    to = [Place(body=name, particles=["all"]) for name in table.bodies]
    parts: list[Any] = [_ties(joined, pins, place, stiffness, "joint") for place in to]
    if table.torque:
        counter, base = (
            joined.first[number] + anchors(body) for number, body in zip(numbers, two, strict=True)
        )
        parts.append(physics.MotorTorque(table.torque, base, counter, (pins[:1], pins[1:])))
    return parts
