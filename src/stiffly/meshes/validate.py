"""Checks of a mesh from outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InputError
from .mesh import Mesh, row_keys, tet_volumes
from .orientation import facing_inwards, pieces
from .topology import first_repeat

# A volume or an area below this part of the longest edge's cube or square: rounding decides.
FLAT = 1e-14
KINDS = (("edge", "edges", 2), ("triangle", "triangles", 3), ("tet", "tets", 4))


def validate(mesh: Mesh, *, name: str = "mesh") -> None:
    """InputError names the first vertex or element that cannot be simulated.

    Checked: shapes, finite coordinates, indices in range, an element naming a vertex twice, two
    elements with the same vertices, flat and inverted tets, triangles without area, triangles
    that run against their neighbours, closed surfaces that face inwards, vertices that nothing
    refers to.
    """
    require_arrays(mesh, name)
    for kind, field, _ in KINDS:
        twice = names_twice(getattr(mesh, field))
        if twice.any():
            raise InputError(
                f"{name}: {_label(mesh, kind, field, np.argmax(twice))} names a vertex twice: "
                "remove it, or read with repair=True"
            )
        repeat = first_repeat(np.sort(getattr(mesh, field), axis=1))
        if repeat >= 0:
            rows = np.sort(getattr(mesh, field), axis=1)
            first = np.flatnonzero((rows == rows[repeat]).all(axis=1))[0]
            raise InputError(
                f"{name}: {_label(mesh, kind, field, repeat)} has the vertices of {kind} {first}: "
                "remove one, or read with repair=True"
            )
    volumes, flat = volumes_of(mesh)
    if flat.any():
        raise InputError(
            f"{name}: {_label(mesh, 'tet', 'tets', np.argmax(flat))} is flat: "
            "move or merge its vertices"
        )
    if (volumes < 0.0).any():
        i = int(np.argmax(volumes < 0.0))
        raise InputError(
            f"{name}: {_label(mesh, 'tet', 'tets', i)} is inverted (volume {volumes[i]:.3g} m^3): "
            "exchange two of its vertices, or read with repair=True"
        )
    _require_triangles(mesh, name)
    lost = np.flatnonzero(~referenced(mesh))
    if lost.size:
        raise InputError(
            f"{name}: vertex {lost[0]}, counted from 0, belongs to no edge, triangle or tet "
            f"({lost.size} such): remove it, or read with repair=True"
        )


def _require_triangles(mesh: Mesh, name: str) -> None:
    flat = without_area(mesh)
    if flat.any():
        raise InputError(
            f"{name}: {_label(mesh, 'triangle', 'triangles', np.argmax(flat))} has no area: "
            "merge vertices or swap an edge"
        )
    numbers = np.flatnonzero(loose(mesh))
    free = replace(mesh, triangles=mesh.triangles[numbers])
    found = pieces(free.triangles)
    if found.against.any():
        first = numbers[np.argmax(found.against)]
        raise InputError(
            f"{name}: {_label(mesh, 'triangle', 'triangles', first)} runs against its neighbours "
            f"({found.against.sum()} such): exchange two of its vertices, or read with repair=True"
        )
    inwards, volumes = facing_inwards(free, found)
    if inwards.any():
        i = int(np.argmax(inwards))
        first = numbers[np.argmax(found.piece == i)]
        raise InputError(
            f"{name}: the closed surface of {_label(mesh, 'triangle', 'triangles', first)} faces "
            f"inwards (volume {volumes[i]:.3g} m^3): turn its triangles, or read with repair=True"
        )


def loose(mesh: Mesh) -> np.ndarray:
    """Mask (s,): triangles that are no face of a tet; tets say which way the others face."""
    if len(mesh.tets) == 0:
        return np.ones(len(mesh.triangles), dtype=bool)
    faces = np.concatenate([mesh.tets[:, f] for f in ([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2])])
    both = row_keys(np.sort(np.concatenate([mesh.triangles, faces]), axis=1))
    return ~np.isin(both[: len(mesh.triangles)], both[len(mesh.triangles) :])


def require_arrays(mesh: Mesh, name: str) -> None:
    positions = np.asarray(mesh.positions)
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise InputError(f"{name}: positions have shape {positions.shape}, (N, 3) is needed")
    if len(positions) == 0:
        raise InputError(f"{name} has no vertices: give some")
    bad = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if bad.size:
        where = ", ".join(f"{c:g}" for c in positions[bad[0]])
        raise InputError(
            f"{name}: vertex {bad[0]}, counted from 0, lies at ({where}): make it finite"
        )
    for kind, field, columns in KINDS:
        _require_indices(mesh, name, kind, field, columns)
    if not any(len(getattr(mesh, field)) for _, field, _ in KINDS):
        raise InputError(f"{name} has {len(positions)} vertices but no edge, triangle or tet")


def _require_indices(mesh: Mesh, name: str, kind: str, field: str, columns: int) -> None:
    rows, count = getattr(mesh, field), len(mesh.positions)
    if rows.ndim != 2 or rows.shape[1] != columns or not np.issubdtype(rows.dtype, np.integer):
        raise InputError(
            f"{name}: {field} have shape {rows.shape} and type {rows.dtype}, "
            f"integers (n, {columns}) are needed"
        )
    bad = np.flatnonzero(((rows < 0) | (rows >= count)).any(axis=1))
    if bad.size:
        raise InputError(
            f"{name}: {_label(mesh, kind, field, bad[0])} names a vertex that does not exist: "
            f"there are {count}"
        )


def _label(mesh: Mesh, kind: str, field: str, row: int | np.integer) -> str:
    return f"{kind} {row} ({'-'.join(map(str, getattr(mesh, field)[row]))}), counted from 0,"


def names_twice(rows: np.ndarray) -> np.ndarray:
    """Mask (n,): elements that name a vertex twice."""
    ordered = np.sort(rows, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def without_area(mesh: Mesh) -> np.ndarray:
    """Mask (s,): triangles whose corners lie on a line."""
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    longest = np.ptp(mesh.positions[mesh.triangles], axis=1).max(axis=1, initial=0.0)
    return area <= FLAT * longest**2


def volumes_of(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Signed volumes [m^3] and which tets are flat."""
    volumes = tet_volumes(mesh.positions, mesh.tets)
    corners = mesh.positions[mesh.tets]
    longest = np.ptp(corners, axis=1).max(axis=1, initial=0.0)
    return volumes, np.abs(volumes) <= FLAT * longest**3


def referenced(mesh: Mesh) -> np.ndarray:
    used = np.zeros(len(mesh.positions), dtype=bool)
    for _, field, _ in KINDS:
        used[getattr(mesh, field)] = True
    return used
