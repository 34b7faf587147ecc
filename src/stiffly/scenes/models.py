"""Bodies that scenes share: scanned models or what stands in for them, elastic solids, balls.

Scanned models are not fetched: a scene takes `mesh="bunny.obj"`, any file that `meshes.read_mesh`
reads, and scales it to the scene's size; without one, a shape made by formulas stands in.  The note
that comes with the mesh says which it is.  Scenes have z upwards and x forwards; a file that has
another axis upwards is turned with `up`: "y", as most scans have it, leaves x where it is, and "x"
turns y forwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..bodies import LinearSprings, Springs, System, Tetrahedra, lumped_mass
from ..collisions import Sphere
from ..contracts import Array
from ..errors import InputError
from ..meshes import Mesh, creature, decimate, quality, read_mesh, shell, tetrahedralise
from ..meshes.mesh import used_only
from ..meshes.topology import require_closed
from .builder import plain, switch

X, Z = 0, 2
UPWARD = "the axis of the mesh file that points upwards, x, y or z"
UP = plain("z", UPWARD)  # a scene's parameter `up`
# a scene's parameter `frozen`
FROZEN = switch(False, "contacts are chosen once, before each step, as in the paper")
# a scene's parameter `linear`, see `constant_stiffness`
LINEAR = switch(False, "constant stiffness, the same in all directions, as in the paper's Table II")
STAND_IN = "a shape made by formulas stands in for the scanned model; or give mesh="
# turns, not mirrors: the file's axes that become x, y, z, and their signs
UPWARDS = {
    "x": ((1, 2, 0), (1.0, 1.0, 1.0)),
    "y": ((0, 2, 1), (1.0, -1.0, 1.0)),
    "z": ((0, 1, 2), (1.0, 1.0, 1.0)),
}


def constant_stiffness(springs: Sequence[Springs]) -> list[LinearSprings]:
    """The same springs with a stiffness matrix that never changes, that of the graph in x, y and z
    alike: a spring pulls its ends back to where they are at rest beside each other, wherever the
    body has turned.  With a pull along the spring alone, what is straight or flat at rest would be
    held by nothing across."""
    return [LinearSprings(part.edges, part.stiffness, across=1.0) for part in springs]


def solid(
    mesh: str,
    stand_in: str | Callable[[], Mesh],
    *,
    vertices: int,
    size: float,
    axis: int = Z,
    up: str = "z",
) -> tuple[Mesh, str]:
    """A mesh of tets, and the note: from a file with tets as it is, or filled with about `vertices`
    of them.  stand_in: a creature by its name, or what makes another mesh.  size [m]: along axis, X
    (length) or Z (height) as they are in the end; it stands on z = 0.  up: the file's own axis that
    points upwards."""
    found = _read(mesh, up)
    if found is None:
        made = stand_in() if callable(stand_in) else creature(vertices, shape=stand_in, height=size)
        return made, STAND_IN
    if len(found.tets) == 0:
        found = tetrahedralise(found, vertices, name=Path(mesh).name, close_holes=True)
    found = _scaled(found, size, axis)
    if found.skin is None:
        return found, f"the model is {Path(mesh).name}, {len(found.positions)} vertices"
    return found, f"the model is {Path(mesh).name}, filled: {quality(found)}"


def surface(
    mesh: str,
    stand_in: Callable[[], Mesh],
    *,
    vertices: int | None,
    size: float,
    axis: int = Z,
    up: str = "z",
    closed: bool = False,
) -> tuple[Mesh, str]:
    """A triangle mesh with groups 'structural' and 'bending', and the note; as `solid`.

    vertices: a file that has more is decimated to about so many; None: all are kept.
    closed: refuse a file whose surface has a border.
    """
    found = _read(mesh, up)
    if found is None:
        return stand_in(), STAND_IN
    name = Path(mesh).name
    if len(found.triangles) == 0:
        raise InputError(f"{name} has no triangles: a surface is needed")
    found = shell(*used_only(found.positions, found.triangles))
    if closed:
        require_closed(name, found.triangles)
    if vertices is not None and len(found.positions) > vertices:
        found = decimate(found, vertices, name=name)
    note = f"the model is {name}, {len(found.positions)} vertices"
    return _scaled(found, size, axis), note


def elastic(
    body: Mesh, young: float, poisson: float, density: float, *others: Any, fixed: Any = ()
) -> System:
    """Tets of one material (Young's modulus [Pa], [kg/m^3]), at rest where they are, and others."""
    x, tets = body.positions, body.tets
    parts = [Tetrahedra(tets, young, poisson), *others]
    return System(lumped_mass(x, tets, density), parts, fixed=fixed, rest=x)


def four_balls(radius: float, along: float, across: float) -> tuple[Sphere, ...]:
    """That far [m] before and behind, and beside the middle; they end at z = 0."""
    return tuple(
        Sphere((x, y, -radius), radius) for x in (-along, along) for y in (-across, across)
    )


def check_up(mesh: str, up: str) -> None:
    """up is an axis, and there is a file to turn."""
    if up not in UPWARDS:
        raise InputError(f"up = {up!r}: give {UPWARD}")
    if not mesh and up != "z":
        raise InputError(f"up = {up!r} is for a mesh file, and there is none: give mesh=")


def _read(mesh: str, up: str) -> Mesh | None:
    """The file with z upwards; None where there is none."""
    check_up(mesh, up)
    if not mesh:
        return None
    found = read_mesh(mesh, repair=True)
    axes, signs = UPWARDS[up]
    return replace(found, positions=found.positions[:, axes] * signs)


def _scaled(mesh: Mesh, size: float, axis: int) -> Mesh:
    """As long (X) or high (Z) as wanted [m], above the origin, on z = 0."""
    extent = np.ptp(mesh.positions[:, axis])
    if not extent > 0.0:
        raise InputError(
            f"the mesh has no extent along {'xyz'[axis]}: turn it with up=, z is upwards"
        )
    x: Array = mesh.positions * (size / extent)
    low, high = x.min(axis=0), x.max(axis=0)
    foot = np.array([0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), low[2]])
    return replace(mesh, positions=x - foot)
