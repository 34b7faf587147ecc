"""What follows from triangles and edges alone: neighbours, borders, connected pieces."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..errors import InputError
from .mesh import Mesh, grouped_edges, row_keys, unique_rows


def triangle_edges(triangles: np.ndarray) -> np.ndarray:
    """Unique edges (m, 2), i < j, sorted."""
    return unique_rows(np.sort(sides(triangles), axis=1))


def bending_pairs(triangles: np.ndarray) -> np.ndarray:
    """The two vertices opposite each inner edge (b, 2): unique, i < j, sorted.

    Pairs that an edge joins already are left out, so a spring never repeats another. An edge with
    more than two triangles gives no pair: it has no single opposite.
    """
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
    sets = vertex_sets or {}
    return Mesh(positions, edges, triangles=triangles, edge_groups=rows, vertex_sets=sets)


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


def is_one_closed(triangles: np.ndarray) -> bool:
    """Whether triangles form one connected surface, each edge in two triangles run both ways."""
    directed = sides(triangles)
    _, count = np.unique(row_keys(np.sort(directed, axis=1)), return_counts=True)
    if (count != 2).any() or first_repeat(directed) >= 0:
        return False
    used, corners = np.unique(triangles, return_inverse=True)
    return components(len(used), sides(corners.reshape(-1, 3))).max() == 0


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


def sides(triangles: np.ndarray) -> np.ndarray:
    """Directed sides (3 s, 2): first those that face corner 0, then corner 1, corner 2."""
    return np.concatenate([triangles[:, side] for side in ([1, 2], [2, 0], [0, 1])])
