"""Tetrahedra that fill an implicit body, on a body-centred cubic lattice cut at its surface.

The method is isosurface stuffing (Labelle and Shewchuk, 2007): lattice vertices close to the
surface move onto it, what still crosses it is cut there. Diagonals of cut quads start at the deeper
vertex, which suits smooth fields; or, for fields of any kind (bounded), they end at the cut of the
longer edge where the two differ.  Then dihedral angles lie between 9 and 162 degrees wherever the
cuts are; the paper's parity rule, for bounds of 10.8 and 164.7, is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .grids import turned_positive
from .mesh import row_keys, tet_surface, unique_rows, used_only

NEAR_LONG, NEAR_SHORT = 0.24999, 0.41189  # parts of a lattice edge, Labelle and Shewchuk, table 1
CUT_STEPS = 3  # evaluations to find a cut; a last interpolation follows
SLOPE = 1.5  # how fast a field may change [m per m]; 1 for an exact distance
BLOCK = 6  # lattice vertices along the side of a block that is skipped as a whole
INSIDE, SHALLOW = np.uint8(1), np.uint8(2)  # of a lattice vertex, combined with |
CHUNK = 200_000  # points handed to a field at a time

# points (n, 3) -> values (n,) [m]: positive inside, about the distance to the surface, changing by
# at most 1.5 times the distance between two points.
Field = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Lattice:
    """Vertices (N, 3), depth (N,) [m] (positive inside), tets (t, 4) that reach inside.

    The first `corners` vertices are the corners of the cells, the others their centres.
    """

    points: Array
    depth: Array
    tets: np.ndarray
    corners: int


def fill(
    field: Field, low: Array, high: Array, spacing: float, *, bounded: bool = False
) -> tuple[Array, np.ndarray]:
    """Vertices (N, 3) and tets (t, 4) of the inside, with cells of size `spacing` [m].

    Both are empty where the body slips through the lattice.  bounded: angles are, for any field.
    """
    points, tets, _ = _stuffed(field, low, high, spacing, skin=False, bounded=bounded)
    return used_only(points, turned_positive(points, tets))


def skin(field: Field, low: Array, high: Array, spacing: float) -> tuple[Array, np.ndarray]:
    """Vertices (N, 3) and triangles (s, 3) of the surface, without filling the inside."""
    points, tets, on_surface = _stuffed(field, low, high, spacing, skin=True)
    triangles = tet_surface(turned_positive(points, tets))
    return used_only(points, triangles[on_surface[triangles].all(axis=1)])


def _stuffed(
    field: Field, low: Array, high: Array, spacing: float, *, skin: bool, bounded: bool = False
) -> tuple[Array, np.ndarray, np.ndarray]:
    """Vertices, tets (any orientation), and which vertices lie on the surface."""
    lattice = _lattice(field, low, high, spacing, skin=skin)
    side = np.sign(lattice.depth).astype(np.int8)
    edges = _crossing_edges(lattice.tets, side)
    cuts = _cut_points(field, lattice, edges)
    points, live = _warp(lattice, side, edges, cuts)  # side becomes 0 where a vertex moved
    tets = lattice.tets[(side[lattice.tets] > 0).any(axis=1)]
    if skin:
        tets = tets[(side[tets] <= 0).any(axis=1)]
    number = len(points) + np.arange(live.sum())
    kind = np.arange(len(points)) < lattice.corners if bounded else None
    tets = _stencils(tets, side, lattice.depth, edges[live], number, cuts[live], kind)
    on_surface = np.concatenate([side == 0, np.ones(len(number), dtype=bool)])
    return np.concatenate([points, cuts[live]]), tets, on_surface


def _lattice(field: Field, low: Array, high: Array, spacing: float, *, skin: bool) -> Lattice:
    origin, cells = _grid(low, high, spacing)
    middle = origin + 0.5 * spacing
    at_corner = _depth(field, origin, spacing, cells + 1)
    at_centre = _depth(field, middle, spacing, cells)
    corner = np.arange(at_corner.size).reshape(cells + 1)
    centre = at_corner.size + np.arange(at_centre.size).reshape(cells)
    depth = np.concatenate([at_corner.ravel(), at_centre.ravel()])
    # A vertex that may move to the surface is at most one edge away from an outer one.
    deepest = SLOPE * spacing if skin else np.inf
    number = (corner, centre)
    state = tuple((d > 0.0) * INSIDE | (d < deepest) * SHALLOW for d in (at_corner, at_centre))
    tets = np.concatenate([_axis_tets(number, state, axis) for axis in range(3)])
    rim = [np.take(at_corner, (0, -1), axis=axis).max() for axis in range(3)]
    if max(rim) > 0.0:
        raise InputError("the body reaches beyond its box: give a larger one")
    used = np.zeros(len(depth), dtype=bool)
    used[tets] = True
    corners = int(used[: corner.size].sum())
    place = np.stack(np.unravel_index(np.flatnonzero(used[: corner.size]), corner.shape), axis=1)
    other = np.stack(np.unravel_index(np.flatnonzero(used[corner.size :]), centre.shape), axis=1)
    points = np.concatenate([origin + spacing * place, middle + spacing * other])
    return Lattice(points, depth[used], (np.cumsum(used) - 1)[tets], corners)


def _grid(low: Array, high: Array, spacing: float) -> tuple[Array, np.ndarray]:
    """The first corner, and how many cells there are along each axis."""
    cells = np.ceil((np.asarray(high) - low) / spacing).astype(int) + 2
    return 0.5 * (np.asarray(low) + high - cells * spacing), cells


def nearest_vertices(points: Array, low: Array, high: Array, spacing: float) -> Array:
    """The vertices (k, 3) of the lattice that are nearest to any of the points (n, 3)."""
    origin, _ = _grid(low, high, spacing)
    place = (points - origin) / spacing
    corner, centre = np.round(place), np.floor(place) + 0.5
    apart = [np.sum((place - near) ** 2, axis=1) for near in (corner, centre)]
    nearest = np.where((apart[0] <= apart[1])[:, None], corner, centre)
    return origin + spacing * 0.5 * np.unique(np.round(2.0 * nearest), axis=0)


def _depth(field: Field, origin: Array, spacing: float, shape: np.ndarray) -> Array:
    """Field on a grid (shape): exact near the surface; elsewhere one value for a block of nodes.

    A block is skipped when its middle lies too far from the surface for any of its nodes to be on
    the other side, given that the field changes by at most SLOPE per metre.
    """
    blocks = -(-shape // BLOCK)
    middle = origin + spacing * (
        BLOCK * np.indices(tuple(blocks)).reshape(3, -1).T + 0.5 * (BLOCK - 1)
    )
    coarse = field(middle).reshape(blocks)
    depth = coarse
    for axis in range(3):
        depth = np.repeat(depth, BLOCK, axis=axis)
    depth = np.ascontiguousarray(depth[tuple(slice(n) for n in shape)])
    reach = SLOPE * spacing * 0.5 * np.sqrt(3.0) * BLOCK
    near = np.flatnonzero(np.abs(depth.ravel()) <= reach)
    for part in np.array_split(near, 1 + len(near) // CHUNK):
        points = origin + spacing * np.stack(np.unravel_index(part, depth.shape), axis=1)
        depth.ravel()[part] = field(points)
    return depth


def _axis_tets(
    number: tuple[np.ndarray, ...], state: tuple[np.ndarray, ...], axis: int
) -> np.ndarray:
    """Four tets round each line between neighbouring cell centres.

    number, state: of corners and of centres. Only tets with a vertex inside and a shallow one.
    """

    def line_and_face(corners: np.ndarray, centres: np.ndarray) -> tuple[list, list]:
        a, b = np.moveaxis(corners, axis, 0)[1:-1], np.moveaxis(centres, axis, 0)
        return [b[:-1], b[1:]], [a[:, :-1, :-1], a[:, 1:, :-1], a[:, 1:, 1:], a[:, :-1, 1:]]

    line, face = line_and_face(*number)
    line_state, face_state = line_and_face(*state)
    tets = []
    for k, after in ((0, 1), (1, 2), (2, 3), (3, 0)):
        state = line_state[0] | line_state[1] | face_state[k] | face_state[after]
        keep = state == (INSIDE | SHALLOW)
        tets.append(np.stack([n[keep] for n in (*line, face[k], face[after])], axis=1))
    return np.concatenate(tets)


def _crossing_edges(tets: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Edges (m, 2) from a vertex inside to one outside, sorted."""
    sides = side[tets]
    crossed = (sides < 0).any(axis=1)
    tets, inside, outside = tets[crossed], sides[crossed] > 0, sides[crossed] < 0
    found = []
    for i in range(4):
        for j in range(4):
            crosses = inside[:, i] & outside[:, j]
            found.append(np.stack([tets[crosses, i], tets[crosses, j]], axis=1))
    return unique_rows(np.concatenate(found))


def _cut_points(field: Field, lattice: Lattice, edges: np.ndarray) -> Array:
    """Where each edge meets the surface (m, 3): false position, then halfway where that stalls."""
    inner, outer = lattice.points[edges[:, 0]], lattice.points[edges[:, 1]]
    depth_in, depth_out = lattice.depth[edges[:, 0]], lattice.depth[edges[:, 1]]
    for step in range(CUT_STEPS):
        part = depth_in / (depth_in - depth_out) if step % 2 == 0 else np.full(len(edges), 0.5)
        cut = inner + part[:, None] * (outer - inner)
        depth = field(cut)
        inside = depth > 0.0
        inner, outer = np.where(inside[:, None], cut, inner), np.where(inside[:, None], outer, cut)
        depth_in, depth_out = np.where(inside, depth, depth_in), np.where(inside, depth_out, depth)
    part = depth_in / np.where(depth_in > depth_out, depth_in - depth_out, 1.0)
    return inner + part[:, None] * (outer - inner)


def _warp(
    lattice: Lattice, side: np.ndarray, edges: np.ndarray, cuts: Array
) -> tuple[Array, np.ndarray]:
    """Move vertices with a cut close by onto that cut; the edges that stay cut.

    In each round the vertices move that are closer to their cut than every neighbour across the
    surface is to its own: the same as moving one after another, closest first.
    """
    points = lattice.points.copy()
    same = (edges[:, 0] < lattice.corners) == (edges[:, 1] < lattice.corners)  # long edges
    length = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)
    limit = np.where(same, NEAR_LONG, NEAR_SHORT) * length
    apart = np.linalg.norm(lattice.points[edges] - cuts[:, None], axis=2)  # (m, 2)
    live = np.ones(len(edges), dtype=bool)
    while True:
        close = (apart < limit[:, None]) & live[:, None]
        if not close.any():
            return points, live
        edge, end = np.nonzero(close)
        node, distance = edges[edge, end], apart[edge, end]
        order = np.lexsort((edge, distance))
        rank = np.full(len(points), len(order))  # place of a vertex in the queue
        np.minimum.at(rank, node[order], np.arange(len(order)))
        first = rank.copy()  # of a vertex and of its neighbours across the surface
        np.minimum.at(first, edges[live, 0], rank[edges[live, 1]])
        np.minimum.at(first, edges[live, 1], rank[edges[live, 0]])
        moving = np.flatnonzero((rank < len(order)) & (rank <= first))
        points[moving] = cuts[edge[order[rank[moving]]]]
        side[moving] = 0
        live &= (side[edges] != 0).all(axis=1)


def _stencils(
    tets: np.ndarray,
    side: np.ndarray,
    depth: Array,
    edges: np.ndarray,
    number: np.ndarray,
    cuts: Array,
    kind: np.ndarray | None = None,
) -> np.ndarray:
    """Each lattice tet cut down to its inside: vertices inside (deepest first), on, outside.

    kind (N,): of a vertex, corner or centre; edges between two of a kind are the long ones.
    """
    rank = np.empty(len(depth), dtype=np.int64)
    rank[np.argsort(-depth, kind="stable")] = np.arange(len(depth))  # one order for all tets
    key = rank[tets] - side[tets].astype(np.int64) * len(depth)
    tets = np.take_along_axis(tets, np.argsort(key, axis=1), axis=1)
    inside, outside = (side[tets] > 0).sum(axis=1), (side[tets] < 0).sum(axis=1)
    edge_key = row_keys(np.concatenate([edges, [[len(depth), len(depth)]]]))[:-1]
    base = len(depth) + 1

    def cut(p: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Number of the vertex where the edge from p to m is cut; m itself if it lies on."""
        place = np.minimum(np.searchsorted(edge_key, p * base + m), max(len(number) - 1, 0))
        return np.where(side[m] < 0, number[place] if len(number) else m, m)

    whole = tets[outside == 0]
    a, b, c, d = tets[(inside == 1) & (outside > 0)].T
    single = np.stack([a, cut(a, b), cut(a, c), cut(a, d)], axis=1)
    a, b, z, m = _ordered(tets[(inside == 2) & (outside == 1)], 2, kind).T
    wedge = [(z, a, b, cut(b, m)), (z, a, cut(b, m), cut(a, m))]
    four = tets[(inside == 2) & (outside == 2)]
    mixed = (
        np.zeros(len(four), dtype=bool) if kind is None else kind[four[:, 0]] != kind[four[:, 1]]
    )
    a, b, m, n = four[~mixed].T
    double = _double(a, b, cut(a, m), cut(a, n), cut(b, m), cut(b, n), cuts, number)
    if kind is not None:
        a, b, m, n = four[mixed].T
        m, n = np.where(kind[a] == kind[m], m, n), np.where(kind[a] == kind[m], n, m)
        am, bn = cut(a, m), cut(b, n)  # of the long edges
        double += [(a, b, am, bn), (b, cut(b, m), bn, am), (a, cut(a, n), am, bn)]
    a, b, c, m = _ordered(tets[(inside == 3) & (outside == 1)], 3, kind).T
    u, v, w = cut(a, m), cut(b, m), cut(c, m)
    triple = [(a, b, c, w), (a, b, v, w), (a, u, v, w)]
    return np.concatenate(
        [whole, single, *(np.stack(t, axis=1) for t in (*wedge, *double, *triple))]
    )


def _ordered(tets: np.ndarray, inside: int, kind: np.ndarray | None) -> np.ndarray:
    """Tets with so many vertices inside and the last one outside: those inside in the order in
    which diagonals start at them, the one with the long edge to the outside last."""
    if kind is None:
        return tets
    long = kind[tets[:, :inside]] == kind[tets[:, -1:]]
    if inside == 2:
        long &= ~long.all(axis=1, keepdims=True)  # then so is the edge between them: no difference
    order = np.argsort(long, axis=1, kind="stable")
    return np.concatenate(
        [np.take_along_axis(tets[:, :inside], order, 1), tets[:, inside:]], axis=1
    )


def _double(a, b, am, an, bm, bn, cuts: Array, number: np.ndarray) -> list[tuple]:
    """A prism between (a, am, an) and (b, bm, bn); its outer quad is cut along the shorter way."""
    start = number[0] if len(number) else 0
    across = np.linalg.norm(cuts[am - start] - cuts[bn - start], axis=1)
    other = np.linalg.norm(cuts[an - start] - cuts[bm - start], axis=1)
    swap = other < across
    am, an, bm, bn = (
        np.where(swap, an, am), np.where(swap, am, an),
        np.where(swap, bn, bm), np.where(swap, bm, bn),
    )  # fmt: skip
    return [(a, b, bm, bn), (a, am, an, bn), (a, am, bn, bm)]
