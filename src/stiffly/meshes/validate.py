"""Checks of a mesh from outside, and what can be repaired without guessing."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from ..errors import InputError, StiffWarning
from .mesh import Mesh, row_keys, tet_volumes
from .topology import first_repeat

FLAT = 1e-14  # volume below this part of the longest edge's cube: rounding decides its sign
KINDS = (("edge", "edges", 2), ("triangle", "triangles", 3), ("tet", "tets", 4))


def validate(mesh: Mesh, *, name: str = "mesh") -> None:
    """InputError names the first vertex or element that cannot be simulated.

    Checked: shapes, finite coordinates, indices in range, an element naming a vertex twice, two
    elements with the same vertices, flat and inverted tets, vertices that nothing refers to.
    """
    _require_arrays(mesh, name)
    for kind, field, _ in KINDS:
        repeat = first_repeat(np.sort(getattr(mesh, field), axis=1))
        if repeat >= 0:
            rows = np.sort(getattr(mesh, field), axis=1)
            first = np.flatnonzero((rows == rows[repeat]).all(axis=1))[0]
            raise InputError(
                f"{name}: {_label(mesh, kind, field, repeat)} has the vertices of {kind} {first}: "
                "remove one, or read with repair=True"
            )
    volumes, flat = _volumes(mesh)
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
    lost = np.flatnonzero(~_referenced(mesh))
    if lost.size:
        raise InputError(
            f"{name}: vertex {lost[0]} belongs to no edge, triangle or tet ({lost.size} such): "
            "remove it, or read with repair=True"
        )


def repaired(mesh: Mesh, *, name: str = "mesh") -> Mesh:
    """The mesh with inverted tets turned, repeated elements and unused vertices dropped.

    A StiffWarning says what was done; what is left wrong is an InputError. Groups and sets follow.
    """
    _require_arrays(mesh, name)
    done = []
    kept = {field: _first_of_each(getattr(mesh, field)) for _, field, _ in KINDS}
    for kind, field, _ in KINDS:
        dropped = len(getattr(mesh, field)) - len(kept[field])
        if dropped:
            done.append(f"dropped {_count(dropped, f'repeated {kind}')}")
    place = np.full(len(mesh.edges), -1)
    place[kept["edges"]] = np.arange(len(kept["edges"]))
    groups = {key: place[rows][place[rows] >= 0] for key, rows in mesh.edge_groups.items()}
    mesh = replace(mesh, **{f: getattr(mesh, f)[rows] for f, rows in kept.items()})
    mesh = replace(mesh, edge_groups=groups)
    inverted = _volumes(mesh)[0] < 0.0
    if inverted.any():
        tets = mesh.tets.copy()
        tets[inverted, 2:] = mesh.tets[inverted, :1:-1]
        mesh = replace(mesh, tets=tets)
        done.append(f"turned {_count(int(inverted.sum()), 'inverted tet')}")
    used = _referenced(mesh)
    if not used.all():
        done.append(f"dropped {_count(int((~used).sum()), 'unused vertex')}")
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
    return replace(mesh, positions=mesh.positions[used], vertex_sets=sets, **elements)


def _require_arrays(mesh: Mesh, name: str) -> None:
    positions = np.asarray(mesh.positions)
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise InputError(f"{name}: positions have shape {positions.shape}, (N, 3) is needed")
    if len(positions) == 0:
        raise InputError(f"{name} has no vertices")
    bad = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if bad.size:
        where = ", ".join(f"{c:g}" for c in positions[bad[0]])
        raise InputError(f"{name}: vertex {bad[0]} lies at ({where}): coordinates must be finite")
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
            f"there are {count}, numbered from 0"
        )
    ordered = np.sort(rows, axis=1)
    bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bad.size:
        raise InputError(
            f"{name}: {_label(mesh, kind, field, bad[0])} names a vertex twice: remove it"
        )


def _label(mesh: Mesh, kind: str, field: str, row: int | np.integer) -> str:
    return f"{kind} {row} ({'-'.join(map(str, getattr(mesh, field)[row]))})"


def _count(number: int, what: str) -> str:
    plural = "unused vertices" if what == "unused vertex" else f"{what}s"
    return f"{number} {what if number == 1 else plural}"


def _volumes(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Signed volumes [m^3] and which tets are flat."""
    volumes = tet_volumes(mesh.positions, mesh.tets)
    corners = mesh.positions[mesh.tets]
    longest = np.ptp(corners, axis=1).max(axis=1, initial=0.0)
    return volumes, np.abs(volumes) <= FLAT * longest**3


def _referenced(mesh: Mesh) -> np.ndarray:
    used = np.zeros(len(mesh.positions), dtype=bool)
    for _, field, _ in KINDS:
        used[getattr(mesh, field)] = True
    return used


def _first_of_each(rows: np.ndarray) -> np.ndarray:
    """Sorted indices of the rows whose vertices no earlier row has."""
    _, first = np.unique(row_keys(np.sort(rows, axis=1)), return_index=True)
    return np.sort(first)
