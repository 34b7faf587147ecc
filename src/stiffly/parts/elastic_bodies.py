"""Meshes turned into springs: cloth, shells, solids. Trusses and ropes are Springs(mesh.edges, k).

Each function returns a list of parts for System(mass, parts, rest=mesh.positions).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, require_name
from ..meshes.mesh import Mesh
from ..meshes.topology import bending_pairs, triangle_edges
from .checks import as_number
from .springs import FaceSprings, Springs

OPTIONS = ("law", "yield_strain", "name")  # of Springs, that these functions hand on


def cloth_springs(
    mesh: Any,
    structural: float,
    shear: float | None = None,
    bending: float | None = None,
    **options: Any,
) -> list[Springs]:
    """Springs along the mesh's edge groups of these names, each with its stiffness [N/m].

    A group whose stiffness is None gets no springs. options: law, yield_strain, name (see Springs).
    """
    _require_mesh(mesh, options)
    given = {"structural": structural, "shear": shear, "bending": bending}
    edges, stiffness = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    for name, value in given.items():
        if value is None:
            continue
        if name not in mesh.edge_groups:
            known = ", ".join(mesh.edge_groups) or "none"
            raise InputError(
                f"this mesh has no {name} edges (its groups: {known}): leave {name} out, or use "
                "meshes.cloth"
            )
        rows = mesh.edge_groups[name]
        edges.append(mesh.edges[rows])
        stiffness.append(np.full(len(rows), as_number(name, value)))
    return [_springs(mesh, edges, stiffness, options)]


def shell_springs(
    mesh: Any, stiffness: float, bending: float | None = None, **options: Any
) -> list[Springs]:
    """Springs along the sides of the mesh's triangles, and softer ones from corner to corner
    across every side that two triangles share.

    bending [N/m]: by default stiffness/100 (Luan, Michels 2018, Sec. 5.3).
    options as for cloth_springs.
    """
    _require_mesh(mesh, options)
    if len(mesh.triangles) == 0:
        raise InputError("this mesh has no triangles: a shell is made of them; use Springs instead")
    sides, pairs = triangle_edges(mesh.triangles), bending_pairs(mesh.triangles)
    k = as_number("stiffness", stiffness)
    across = k / 100.0 if bending is None else as_number("bending", bending)
    both = [np.full(len(sides), k), np.full(len(pairs), across)]
    return [_springs(mesh, [sides, pairs], both, options)]


def tet_springs(
    mesh: Any, stiffness: Any, face: Any = None, **options: Any
) -> list[Springs | FaceSprings]:
    """Springs along the edges of the mesh's tets, and with `face` [N/m] from every vertex to the
    centre of the opposite face, which keep tets from collapsing (Michels, Luan, Tokman 2017,
    Sec. 4.1).  stiffness [N/m]: a number or one per edge.  options as for cloth_springs.
    """
    _require_mesh(mesh, options)
    if len(mesh.tets) == 0:
        raise InputError("this mesh has no tets: a solid is made of them; use Springs instead")
    parts: list[Springs | FaceSprings] = [
        Springs(mesh.edges, stiffness, rest_positions=mesh.positions, **options)
    ]
    if face is not None:
        parts.append(FaceSprings(mesh.tets, face, rest_positions=mesh.positions))
    return parts


def _require_mesh(mesh: Any, options: dict[str, Any]) -> None:
    if not isinstance(mesh, Mesh):
        raise InputError(f"mesh must be a Mesh, got {type(mesh).__name__}: see stiffly.meshes")
    for name in options:
        require_name("spring option", name, OPTIONS)


def _springs(mesh: Any, edges: list, stiffness: list, options: dict[str, Any]) -> Springs:
    """One part for all kinds: one pass over the particles."""
    return Springs(
        np.concatenate(edges),
        np.concatenate(stiffness),
        rest_positions=mesh.positions,
        **options,
    )
