"""Bodies, loads, colliders and supports of a scene file, joined into one System."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...bodies import MomentumDamping, Rayleigh, System
from ...contracts import Array
from ...errors import InputError
from ...meshes import Mesh, quality
from ...meshes.skin import joined as joined_skins
from ..schema import SceneFile
from ..schema.source import Source
from . import acting
from .acting import Joined
from .bodies import Built, built, elastic_parts, selected


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
    parts += _each(source, "load", file.load, lambda one: acting.load(one, joined))
    touched = _each(
        source, "collider", file.collider, lambda one: acting.collider(one, joined, folder)
    )
    parts += [part for _, part in touched]
    parts += _each(
        source, "attachment", file.attachment, lambda one: acting.attachment(one, joined)
    )
    if file.contact is not None:
        with source.at("contact"):
            parts.append(acting.contact(file.contact, joined))
    supports = _each(
        source, "support", file.support, lambda one: acting.led(one.motion, joined.at(one))
    )
    pinned = _pinned(joined, source)
    with source.at():
        system = _system(file, joined, mesh, parts, pinned, supports)
    x0 = np.concatenate([body.start() for body in joined.bodies])
    v0 = np.concatenate([body.velocities() for body in joined.bodies])
    v0[system.fixed] = 0.0
    if file.contact is not None and file.contact.push_apart:
        with source.at("contact"):
            x0 = acting.pushed_apart(file.contact, joined, x0, system.fixed)
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
        *(np.concatenate([getattr(v, kind) for v in views]) for kind in ELEMENTS),
        edge_groups=groups,
        vertex_sets=sets,
        skin=joined_skins([view.skin for view in views if view.skin is not None]),
    )


ELEMENTS = ("edges", "tets", "triangles")
