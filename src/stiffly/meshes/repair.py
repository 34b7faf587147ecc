"""What can be repaired in a mesh without guessing."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from ..errors import InputError, StiffWarning
from .grids import turned_positive
from .mesh import Mesh, row_keys
from .orientation import facing_inwards, pieces
from .topology import sides
from .validate import (
    KINDS,
    loose,
    names_twice,
    referenced,
    require_arrays,
    validate,
    volumes_of,
    without_area,
)


def repaired(mesh: Mesh, *, name: str = "mesh") -> Mesh:
    """The mesh without what no simulation needs, everything turned the right way round.

    Dropped: elements that name a vertex twice, repeated elements, triangles without area on a
    border, unused vertices. Turned: inverted tets, triangles that run against most of their piece,
    closed surfaces that face inwards.
    A StiffWarning says what was done; what is left wrong is an InputError. Groups and sets follow.
    """
    require_arrays(mesh, name)
    done: list[str] = []
    for step in (_without_twice, _without_repeats, _tets_turned, _trimmed, _faces_turned):
        mesh = step(mesh, done)
    if not any(len(getattr(mesh, field)) for _, field, _ in KINDS):
        raise InputError(f"{name}: nothing is left once repaired ({', '.join(done)}): check it")
    used = referenced(mesh)
    if not used.all():
        lost = int((~used).sum())
        done.append(f"dropped {lost} unused {'vertex' if lost == 1 else 'vertices'}")
        mesh = kept_vertices(mesh, used)
    if done:
        warnings.warn(f"{name}: {', '.join(done)}", StiffWarning, stacklevel=2)
    validate(mesh, name=name)
    return mesh


def kept_vertices(mesh: Mesh, used: np.ndarray) -> Mesh:
    """The mesh without the vertices that are not `used` (mask); nothing may refer to those."""
    number = np.cumsum(used) - 1
    sets = {key: number[rows[used[rows]]] for key, rows in mesh.vertex_sets.items()}
    elements = {field: number[getattr(mesh, field)] for _, field, _ in KINDS}
    skin = None if mesh.skin is None else mesh.skin.renumbered(number)
    return replace(mesh, positions=mesh.positions[used], vertex_sets=sets, skin=skin, **elements)


def surface_only(mesh: Mesh) -> Mesh:
    """The triangles and their vertices alone: what lies inside a solid shape is left out."""
    used = np.zeros(len(mesh.positions), dtype=bool)
    used[mesh.triangles] = True
    return kept_vertices(Mesh(mesh.positions, mesh.edges[:0], triangles=mesh.triangles), used)


def _without_twice(mesh: Mesh, done: list[str]) -> Mesh:
    for kind, field, _ in KINDS:
        bad = names_twice(getattr(mesh, field))
        mesh = _kept(mesh, field, ~bad, f"{kind}(s) with a vertex twice", done)
    return mesh


def _without_repeats(mesh: Mesh, done: list[str]) -> Mesh:
    for kind, field, _ in KINDS:
        rows = getattr(mesh, field)
        _, first = np.unique(row_keys(np.sort(rows, axis=1)), return_index=True)
        kept = np.zeros(len(rows), dtype=bool)
        kept[first] = True
        mesh = _kept(mesh, field, kept, f"repeated {kind}(s)", done)
    return mesh


def _tets_turned(mesh: Mesh, done: list[str]) -> Mesh:
    inverted = volumes_of(mesh)[0] < 0.0
    if not inverted.any():
        return mesh
    done.append(f"turned {_count(int(inverted.sum()), 'inverted tet(s)')}")
    return replace(mesh, tets=turned_positive(mesh.positions, mesh.tets))


def _trimmed(mesh: Mesh, done: list[str]) -> Mesh:
    """Without the triangles without area whose loss tears nothing apart.

    Such a triangle lies along its longest side. Where nothing is joined to that side, or nothing
    to the other two, it is a fold of the border; else it joins its neighbours and must stay.
    """
    kept = np.ones(len(mesh.triangles), dtype=bool)
    while True:
        rows = np.flatnonzero(kept)
        directed = sides(mesh.triangles[rows])
        key = row_keys(np.sort(directed, axis=1))
        _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
        joined = (count[inverse] > 1).reshape(3, -1)
        length = np.linalg.norm(np.subtract(*mesh.positions[directed.T]), axis=1).reshape(3, -1)
        longest = np.arange(3)[:, None] == length.argmax(axis=0)
        free = ~(joined & longest).any(axis=0) | ~(joined & ~longest).any(axis=0)
        spare = free & without_area(mesh)[rows]
        if not spare.any():
            return _kept(mesh, "triangles", kept, "triangle(s) without area", done)
        kept[rows[spare]] = False


def _faces_turned(mesh: Mesh, done: list[str]) -> Mesh:
    numbers = np.flatnonzero(loose(mesh))
    triangles = mesh.triangles.copy()
    found = pieces(triangles[numbers])
    if found.against.any():
        triangles[numbers[found.against]] = triangles[numbers[found.against], ::-1]
        done.append(
            f"turned {_count(int(found.against.sum()), 'triangle(s)')} the way of the neighbours"
        )
    found = found._replace(against=np.zeros_like(found.against))
    inwards, volumes = facing_inwards(replace(mesh, triangles=triangles[numbers]), found)
    if inwards.any():
        turned = numbers[inwards[found.piece]]
        triangles[turned] = triangles[turned, ::-1]
        surfaces = _count(int(inwards.sum()), "closed surface(s)")
        done.append(f"turned {surfaces} outwards (volume {volumes[inwards].sum():.3g} m^3 before)")
    return replace(mesh, triangles=triangles)


def _kept(mesh: Mesh, field: str, kept: np.ndarray, what: str, done: list[str]) -> Mesh:
    """Only the rows `kept` (mask) of one kind of elements; groups of edges follow."""
    if kept.all():
        return mesh
    done.append(f"dropped {_count(int((~kept).sum()), what)}")
    if field == "edges":
        place = np.where(kept, np.cumsum(kept) - 1, -1)
        groups = {key: place[rows][kept[rows]] for key, rows in mesh.edge_groups.items()}
        mesh = replace(mesh, edge_groups=groups)
    return replace(mesh, **{field: getattr(mesh, field)[kept]})


def _count(number: int, what: str) -> str:
    return f"{number} {what.replace('(s)', '' if number == 1 else 's')}"
