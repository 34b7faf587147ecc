"""The shape of one body: made or read, thinned out, filled with tets, put in its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation as Turned

from ... import meshes
from ...bodies import fibers
from ...contracts import Array
from ...meshes import Mesh
from ...parts.fibers import FiberBody
from ..schema.bodies import BodyTable, Fibers, Placed
from ..schema.shapes import ROOTS, Particles, function_of


def placed_mesh(table: Placed, folder: Path) -> Mesh:
    """The mesh of a body or a collider, where the table puts it."""
    mesh = _own_mesh(table, folder)
    if table.decimate is not None:
        mesh = meshes.decimate(mesh, table.decimate, name=_name(table))
    target = getattr(table, "tetrahedralise", None)
    if target is not None:
        mesh = meshes.tetrahedralise(mesh, target, name=_name(table), close_holes=table.repair)
    return replace(mesh, positions=put(table, mesh.positions))


def _own_mesh(table: Placed, folder: Path) -> Mesh:
    shape: Any = table.shape
    if table.mesh is not None:
        return meshes.read_mesh(folder / table.mesh, repair=table.repair)
    if isinstance(shape, Particles):
        edges = np.array(shape.edges, dtype=np.int64).reshape(-1, 2)
        return Mesh(np.array(shape.positions), edges)
    return function_of(shape.kind)(**shape.arguments())


def _name(table: Placed) -> str:
    return table.kind_of_shape or f"mesh file {table.mesh}"


def placed_fibers(table: Fibers) -> FiberBody:
    """Fibers along the lines of the shape, where the table puts them."""
    shape: Any = table.shape
    if shape.kind in ROOTS:
        lines = function_of(shape.kind)(**shape.arguments()).centrelines(shape.segments)
    else:
        lines = _own_mesh(table, Path()).positions[None]
    return fibers(
        put(table, lines.reshape(-1, 3)).reshape(lines.shape),
        thickness=table.thickness,
        young=table.young,
        torsional=table.torsional,
        density=table.density,
        stretch=table.fiber_stretch,
        width=table.width,
    )


def _turn(table: Placed) -> Array:
    """Rotation (3, 3)."""
    if table.rotation is None:
        return np.eye(3)
    axis = np.array(table.rotation.axis)
    return Turned.from_rotvec(
        axis / np.linalg.norm(axis) * table.rotation.degrees, degrees=True
    ).as_matrix()


def put(table: Placed, points: Array) -> Array:
    """Points (n, 3) of the shape, scaled, turned about its origin, shifted."""
    return table.scale * points @ _turn(table).T + np.array(table.position)


def stretched(table: BodyTable, points: Array) -> Array:
    """Placed points (n, 3) at the start: stretched along the shape's own axes from its origin."""
    R, origin = _turn(table), np.array(table.position)
    if table.stretch == (1.0, 1.0, 1.0):
        return points.copy()
    return (points - origin) @ (R * np.array(table.stretch)) @ R.T + origin
