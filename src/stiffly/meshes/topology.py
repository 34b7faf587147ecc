"""What follows from triangles and edges alone: neighbours, borders, connected pieces, holes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..arrays import real_array
from ..contracts import Array
from ..errors import InputError
from .mesh import Mesh, grouped_edges, normals, row_keys, unique_rows, used_only


def triangle_edges(triangles: np.ndarray) -> np.ndarray:
    """Unique edges (m, 2), i < j, sorted."""
    triangles = as_triangles(triangles)
    return unique_rows(np.sort(sides(triangles), axis=1))


def bending_pairs(triangles: np.ndarray) -> np.ndarray:
    """The two vertices opposite each inner edge (b, 2): unique, i < j, sorted.

    Pairs that an edge joins already are left out, so a spring never repeats another. An edge with
    more than two triangles gives no pair: it has no single opposite.
    """
    triangles = as_triangles(triangles)
    key = row_keys(np.sort(sides(triangles), axis=1))
    opposite = triangles.T.ravel()  # side k of `sides` faces corner k
    order = np.argsort(key, kind="stable")
    _, start, count = np.unique(key[order], return_index=True, return_counts=True)
    inner = start[count == 2]
    pairs = np.stack([opposite[order[inner]], opposite[order[inner + 1]]], axis=1)
    pairs = unique_rows(np.sort(pairs, axis=1))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs[~rows_in(pairs, triangle_edges(triangles))]


def shell(
    positions: np.ndarray,
    triangles: np.ndarray,
    vertex_sets: Mapping[str, np.ndarray] | None = None,
) -> Mesh:
    """A triangle mesh with springs: groups 'structural' (its edges) and 'bending' (pairs)."""
    groups = {"structural": triangle_edges(triangles), "bending": bending_pairs(triangles)}
    edges, rows = grouped_edges(groups)
    sets = {} if vertex_sets is None else vertex_sets
    if not isinstance(sets, Mapping):
        raise InputError(f"vertex_sets must be a dict of names, not {type(sets).__name__}")
    x, corners = real_array("positions", positions), as_triangles(triangles)
    if x.ndim != 2 or x.shape[1] != 3 or not np.isfinite(x).all():
        raise InputError(f"positions must be finite numbers (N, 3), and have shape {x.shape}")
    if corners.max(initial=-1) >= len(x):
        raise InputError(
            f"triangles name vertex {corners.max()}: there are {len(x)}, counted from 0"
        )
    return Mesh(x, edges, triangles=corners, edge_groups=rows, vertex_sets=sets)


def as_triangles(value: Any) -> np.ndarray:
    """Integers (s, 3) that name vertices, as they are, or InputError."""
    try:
        given: np.ndarray = np.asarray(value)
        good = not np.ma.is_masked(value) and given.dtype.kind in "iu"
    except ValueError:  # rows of different lengths
        given, good = np.empty((0, 3)), False
    if not good or given.ndim != 2 or given.shape[1] != 3 or given.min(initial=0) < 0:
        raise InputError("triangles must be whole numbers (s, 3) from 0 on, of their vertices")
    return given


def require_closed(name: str, triangles: np.ndarray) -> None:
    """InputError names an edge that is not shared by exactly two oppositely running triangles."""
    if len(triangles) == 0:
        raise InputError(f"{name} has no triangles: give a closed surface")
    directed = sides(triangles)
    edges = np.sort(directed, axis=1)
    _, first, count = np.unique(row_keys(edges), return_index=True, return_counts=True)
    bad = np.flatnonzero(count != 2)
    if bad.size:
        (i, j), users = edges[first[bad[0]]], count[bad[0]]
        kind = "open" if users == 1 else "crowded"
        raise InputError(
            f"{name} is not closed: edge {i}-{j} belongs to {users} triangle"
            f"{'s' if users > 1 else ''}, not 2 ({bad.size} such edges, this one {kind}); "
            "close the holes or remove the extra sheets first"
        )
    repeat = first_repeat(directed)
    if repeat >= 0:
        i, j = directed[repeat]
        raise InputError(
            f"{name} is turned inside out in places: both triangles at edge {min(i, j)}-{max(i, j)}"
            " run along it the same way; turn one of them round"
        )


def is_closed(triangles: np.ndarray) -> bool:
    """Whether every edge lies in two triangles that run along it both ways."""
    directed = sides(triangles)
    _, count = np.unique(row_keys(np.sort(directed, axis=1)), return_counts=True)
    return count.size > 0 and bool((count == 2).all()) and first_repeat(directed) < 0


def is_one_closed(triangles: np.ndarray) -> bool:
    """Whether triangles form one connected surface that is closed."""
    if not is_closed(triangles):
        return False
    used, corners = used_only(np.arange(triangles.max() + 1), triangles)
    return components(len(used), sides(corners)).max() == 0


def first_repeat(rows: np.ndarray) -> int:
    """Index of the first row that equals an earlier one, or -1."""
    _, first, inverse = np.unique(row_keys(rows), return_index=True, return_inverse=True)
    later = np.flatnonzero(first[inverse] != np.arange(len(rows)))
    return int(later[0]) if later.size else -1


def rows_in(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Mask (m,): which pairs (m, 2) occur among the others, also pairs."""
    base = 1 + max(rows.max(initial=0), others.max(initial=0))
    return np.isin(rows[:, 0] * base + rows[:, 1], others[:, 0] * base + others[:, 1])


def components(count: int, edges: np.ndarray) -> np.ndarray:
    """Label (count,) of the connected piece of each vertex, from 0."""
    ones = np.ones(len(edges), dtype=np.int8)
    graph = coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def boxes(count: int, piece: np.ndarray, points: Array) -> tuple[Array, Array]:
    """Lowest and highest corners (count, 3) of the points of every piece; piece: of each point."""
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, piece, points)
    np.maximum.at(high, piece, points)
    return low, high


def sides(triangles: np.ndarray) -> np.ndarray:
    """Directed sides (3 s, 2): first those that face corner 0, then corner 1, corner 2."""
    return np.concatenate([triangles[:, side] for side in ([1, 2], [2, 0], [0, 1])])


# ------------------------------------------------------------------ closing what is open


class Closed(NamedTuple):
    """A surface without border: positions (V + holes, 3), triangles (f + edges, 3).

    Vertices and triangles that were there come first.  holes, edges: how many loops, and sides of
    triangles along them, were closed; share: of the whole area that is new.
    """

    positions: Array
    triangles: np.ndarray
    holes: int
    edges: int
    share: float


def border(triangles: np.ndarray) -> np.ndarray:
    """Directed sides (m, 2) that no other triangle runs along the other way.

    Three triangles at one edge leave one such side; four, two each way, leave none.  As many begin
    as end at every vertex.
    """
    directed = sides(triangles)
    forward = directed[:, 0] < directed[:, 1]
    _, first, inverse = np.unique(
        row_keys(np.sort(directed, axis=1)), return_index=True, return_inverse=True
    )
    surplus = np.bincount(inverse, np.where(forward, 1, -1)).astype(int)
    edges = np.sort(directed[first], axis=1)
    edges[surplus < 0] = edges[surplus < 0, ::-1]
    return np.repeat(edges, np.abs(surplus), axis=0)


def loops(edges: np.ndarray) -> list[list[int]]:
    """Directed sides (m, 2) as simple closed walks; each side belongs to exactly one."""
    onward: dict[int, list[int]] = {}
    for a, b in edges[::-1].tolist():
        onward.setdefault(a, []).append(b)
    found = []
    for start in sorted(onward):
        while onward[start]:
            path, place = [start], {start: 0}
            while True:
                here = onward[path[-1]].pop()
                if here in place:  # a simple loop is complete; what led to it goes on
                    begin = place[here]
                    found.append(path[begin:])
                    for left in path[begin + 1 :]:
                        del place[left]
                    del path[begin + 1 :]
                    if begin == 0:
                        break
                    continue
                place[here] = len(path)
                path.append(here)
    return found


def closed(positions: Array, triangles: np.ndarray) -> Closed:
    """The surface with a cone to its centre over every hole: without border, whatever it was."""
    open_sides = border(triangles)
    found = loops(open_sides)
    if not found:
        return Closed(positions, triangles, 0, 0, 0.0)
    centres, caps = [], []
    for number, loop in enumerate(found, len(positions)):
        corners = np.array(loop)
        centres.append(positions[corners].mean(axis=0))
        caps.append(np.stack([np.roll(corners, -1), corners, np.full(len(loop), number)], axis=1))
    x = np.concatenate([positions, centres])
    whole = np.concatenate([triangles, *caps])
    areas = np.linalg.norm(normals(x, whole), axis=1)
    share = float(areas[len(triangles) :].sum() / max(areas.sum(), np.finfo(float).tiny))
    return Closed(x, whole, len(found), len(open_sides), share)
