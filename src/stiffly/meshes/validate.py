"""Meshes from outside: what is wrong with them, and what can be repaired without guessing."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import InputError, StiffWarning
from .grids import turned_positive
from .mesh import Mesh, normals, require_mesh, row_keys, tet_faces, tet_volumes
from .topology import boxes, components, first_repeat, sides

# A volume or an area below this part of the longest edge's cube or square: rounding decides.
FLAT = 1e-14
KINDS = (("edge", "edges", 2), ("triangle", "triangles", 3), ("tet", "tets", 4))
EXCHANGE, OR_REPAIR = "exchange two of its vertices", ", or read with repair=True"
NO_VOLUME = 1e-12  # part of the cube of a piece's size below which it has no inside


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
            cause = f"names a vertex twice: remove it{OR_REPAIR}"
            raise _fault(mesh, name, kind, np.argmax(twice), cause)
        rows = np.sort(getattr(mesh, field), axis=1)
        repeat = first_repeat(rows)
        if repeat >= 0:
            first = np.flatnonzero((rows == rows[repeat]).all(axis=1))[0]
            cause = f"has the vertices of {kind} {first}: remove one{OR_REPAIR}"
            raise _fault(mesh, name, kind, repeat, cause)
    volumes, flat = volumes_of(mesh)
    if flat.any():
        raise _fault(mesh, name, "tet", np.argmax(flat), "is flat: move or merge its vertices")
    if (volumes < 0.0).any():
        i = int(np.argmax(volumes < 0.0))
        cause = f"is inverted (volume {volumes[i]:.3g} m^3): {EXCHANGE}{OR_REPAIR}"
        raise _fault(mesh, name, "tet", i, cause)
    _require_triangles(mesh, name)
    lost = np.flatnonzero(~referenced(mesh))
    if lost.size:
        raise InputError(
            f"{name}: vertex {lost[0]}, counted from 0, belongs to no edge, triangle or tet "
            f"({lost.size} such): remove it{OR_REPAIR}"
        )


def _require_triangles(mesh: Mesh, name: str) -> None:
    flat = without_area(mesh)
    if flat.any():
        cause = "has no area: merge vertices or swap an edge"
        raise _fault(mesh, name, "triangle", np.argmax(flat), cause)
    numbers = np.flatnonzero(loose(mesh))
    free = replace(mesh, triangles=mesh.triangles[numbers])
    found = pieces(free.triangles)
    if found.against.any():
        cause = f"runs against its neighbours ({found.against.sum()} such): {EXCHANGE}{OR_REPAIR}"
        raise _fault(mesh, name, "triangle", numbers[np.argmax(found.against)], cause)
    inwards, volumes = facing_inwards(free, found)
    if inwards.any():
        i = int(np.argmax(inwards))
        first = numbers[np.argmax(found.piece == i)]
        cause = f"faces inwards (volume {volumes[i]:.3g} m^3): turn its triangles{OR_REPAIR}"
        raise _fault(mesh, name, "triangle", first, cause, "the closed surface of ")


def loose(mesh: Mesh) -> np.ndarray:
    """Mask (s,): triangles that are no face of a tet; tets say which way the others face."""
    if len(mesh.tets) == 0:
        return np.ones(len(mesh.triangles), dtype=bool)
    both = row_keys(np.sort(np.concatenate([mesh.triangles, tet_faces(mesh.tets)]), axis=1))
    return ~np.isin(both[: len(mesh.triangles)], both[len(mesh.triangles) :])


def require_arrays(mesh: Mesh, name: str) -> None:
    require_mesh(name, mesh)
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
        cause = f"names a vertex that does not exist: there are {count}"
        raise _fault(mesh, name, kind, bad[0], cause)


def _fault(
    mesh: Mesh, name: str, kind: str, row: int | np.integer, cause: str, what: str = ""
) -> InputError:
    """About one of the elements of a kind, or what it belongs to."""
    corners = "-".join(map(str, getattr(mesh, f"{kind}s")[row]))
    return InputError(f"{name}: {what}{kind} {row} ({corners}), counted from 0, {cause}")


def names_twice(rows: np.ndarray) -> np.ndarray:
    """Mask (n,): elements that name a vertex twice."""
    ordered = np.sort(rows, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def without_area(mesh: Mesh) -> np.ndarray:
    """Mask (s,): triangles whose corners lie on a line."""
    area = 0.5 * np.linalg.norm(normals(mesh.positions, mesh.triangles), axis=1)
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


# ------------------------------------------------------------------ which way triangles face


class Pieces(NamedTuple):
    """Triangles joined across edges that two of them share.

    piece (s,): number of the piece; against (s,): which triangles run against most of their piece
    (none in a one-sided piece, such as a Moebius strip); closed (p,): pieces without border.
    """

    piece: np.ndarray
    against: np.ndarray
    closed: np.ndarray


def pieces(triangles: np.ndarray) -> Pieces:
    """The two sides of every triangle are nodes of a graph; neighbours join the sides that agree.

    A piece with two sides falls into two components, a one-sided piece into one.
    """
    count = len(triangles)
    all_sides = sides(triangles)
    key = row_keys(np.sort(all_sides, axis=1))
    order = np.argsort(key, kind="stable")
    _, start, inverse, shared = np.unique(
        key[order], return_index=True, return_inverse=True, return_counts=True
    )
    one, two = order[start[shared == 2]], order[start[shared == 2] + 1]
    same_way = all_sides[one, 0] == all_sides[two, 0]
    t, u = one % count, two % count
    joined = np.stack([t, u + count * same_way], axis=1)
    mirrored = np.stack([t + count, u + count * ~same_way], axis=1)
    label = components(2 * count, np.concatenate([joined, mirrored])).reshape(2, count)
    _, first, piece = np.unique(label.min(axis=0), return_index=True, return_inverse=True)
    turned = label[0] != label[0, first][piece]
    turned &= label[0] != label[1]
    size = np.bincount(piece)
    most = 2 * np.bincount(piece, weights=turned) > size
    closed = np.ones(len(size), dtype=bool)
    closed[piece[order[shared[inverse] != 2] % count]] = False
    closed[piece[label[0] == label[1]]] = False  # a one-sided piece has no inside
    return Pieces(piece, turned ^ (most[piece] & (label[0] != label[1])), closed)


def facing_inwards(mesh: Mesh, found: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """Which pieces are closed and inside out (p,), and the signed volume [m^3] of each (p,).

    A piece inside another may bound a cavity, so the outermost one decides for all in its box.
    `found.against` must be all False.
    """
    count = len(found.closed)
    corners = mesh.positions[mesh.triangles]
    low, high = boxes(count, np.repeat(found.piece, 3), corners.reshape(-1, 3))
    volumes = np.zeros(count)
    a, b, c = (corners[:, k] - low[found.piece] for k in range(3))
    np.add.at(volumes, found.piece, np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0)
    size = (high - low).max(axis=1, initial=0.0)
    inwards = np.zeros(count, dtype=bool)
    if not (found.closed & (volumes < -NO_VOLUME * size**3)).any():
        return inwards, volumes
    outermost: list[int] = []
    for i in np.argsort(-np.prod(high - low, axis=1), kind="stable"):
        if not found.closed[i] or abs(volumes[i]) <= NO_VOLUME * size[i] ** 3:
            continue
        around = (low[outermost] <= low[i]).all(axis=1) & (high[outermost] >= high[i]).all(axis=1)
        if around.any():
            inwards[i] = inwards[outermost[int(np.argmax(around))]]
        else:
            outermost.append(int(i))
            inwards[i] = volumes[i] < 0.0
    return inwards, volumes


# ------------------------------------------------------------------ repairs


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
