"""Which candidates are near enough to touch, where, and along which normal.

A pair counts only where the distance has a local minimum on what it meets: a vertex beside the
border of one triangle is nearer to the next triangle, and repelling it from both would be counting
twice (the same choice as the blocks of Chen et al. 2025, offset geometric contact).  Where edges
are met the minimum may be missed by a tilt, since on flat cloth rounding decides otherwise; the
share of such a contact in the stiffness fades with the tilt, and of two edges towards their ends,
so that contacts come and go without a jump in energy.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from .closest import along_segment, between_ends, difference, dot3, on_triangle
from .threads import PARALLEL_ROWS

__all__ = ["near_edges", "near_strands", "near_triangles"]

SNAP = 1e-9  # barycentric coordinates below this are zero
NEARER = 1e-8  # how far into a neighbour, of its size, the closest point may lie for rounding
TILT = 0.3  # sine of the angle between the normal of two edges and that of their surfaces
PARALLEL = 1e-6  # sine^2 below which the cross product of two edges is no normal


@njit(cache=True, inline="always")
def cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@njit(cache=True, inline="always")
def _snapped(a):
    return 0.0 if a < SNAP else a


@njit(cache=True, inline="always")
def _nearer_beyond(x, d, p, around, first, last):
    """Whether stepping from p towards one of the particles around it comes nearer to p + d."""
    found = False
    for k in range(first, last):
        e = difference(x[around[k]], p)
        found |= dot3(d, e) > NEARER * dot3(e, e)
    return found


@njit(cache=True, inline="always")
def _plus(p, s, u):
    return (p[0] + s * u[0], p[1] + s * u[1], p[2] + s * u[2])


@njit(cache=True, inline="always")
def _mean(w, a, b, c, d):
    """w_0 a + w_1 b + w_2 c + w_3 d."""
    return (
        w[0] * a[0] + w[1] * b[0] + w[2] * c[0] + w[3] * d[0],
        w[0] * a[1] + w[1] * b[1] + w[2] * c[1] + w[3] * d[1],
        w[0] * a[2] + w[1] * b[2] + w[2] * c[2] + w[3] * d[2],
    )


@njit(cache=True, inline="always")
def _normal(direction, d, way, limit):
    """The unit normal along d, and whether the pair is within the limit now or after its way."""
    length = math.sqrt(dot3(direction, direction))
    if length == 0.0:
        return False, direction
    scale = 1.0 / length if dot3(direction, d) >= 0.0 else -1.0 / length
    n = (scale * direction[0], scale * direction[1], scale * direction[2])
    return dot3(d, n) + min(0.0, dot3(way, n)) < limit, n


@njit(cache=True, inline="always")
def _triangle(x, move, limit, v, f, faces, sides, opposite_start, opposite, ring_start, ring):
    """Kind, weights and normal of vertex v at triangle f: see `near_triangles`."""
    t0, t1, t2 = faces[f, 0], faces[f, 1], faces[f, 2]
    p, a, b, c = x[v], x[t0], x[t1], x[t2]
    g0, g1, g2 = on_triangle(p, a, b, c)
    g0, g1, g2 = _snapped(g0), _snapped(g1), _snapped(g2)
    whole = g0 + g1 + g2
    w = (1.0, -g0 / whole, -g1 / whole, -g2 / whole)
    d = _mean(w, p, a, b, c)
    border = (g0 == 0.0) + (g1 == 0.0) + (g2 == 0.0)
    direction = cross(difference(b, a), difference(c, a)) if border == 0 else d
    way = _mean(w, move[v], move[t0], move[t1], move[t2])
    close, n = _normal(direction, d, way, limit)
    if not close:
        return 0, w, n
    if border == 0:
        return 1, w, n
    q = difference(p, d)
    if border == 1:
        side = sides[f, 0 if g0 == 0.0 else (1 if g1 == 0.0 else 2)]
        first, last = opposite_start[side], opposite_start[side + np.uint32(1)]
        if _nearer_beyond(x, d, q, opposite, first, last):
            return 0, w, n
        return 2 if last - first > 1 else 3, w, n
    corner = t0 if g0 > 0.0 else (t1 if g1 > 0.0 else t2)
    first, last = ring_start[corner], ring_start[corner + np.uint32(1)]
    return 0 if _nearer_beyond(x, d, q, ring, first, last) else 4, w, n


@njit(cache=True, inline="always")
def _store(i, w, n, stencil, weights, normal):
    stencil[0], stencil[1], stencil[2], stencil[3] = i
    weights[0], weights[1], weights[2], weights[3] = w
    normal[0], normal[1], normal[2] = n


# topology as single arrays: taking arrays out of a tuple in a loop costs more than the geometry
@njit(cache=True, parallel=True)
def _triangles_parallel(
    x, move, limit, pairs, faces, sides, o_start, o, r_start, r, stencil, weights, normals, shares,
    kind,
):  # fmt: skip
    for k in prange(len(pairs)):
        v, f = pairs[k, 0], pairs[k, 1]
        kind[k], w, n = _triangle(x, move, limit, v, f, faces, sides, o_start, o, r_start, r)
        shares[k] = 1.0
        if kind[k]:
            i = (v, faces[f, 0], faces[f, 1], faces[f, 2])
            _store(i, w, n, stencil[k], weights[k], normals[k])


@njit(cache=True)
def _triangles_serial(
    x, move, limit, pairs, faces, sides, o_start, o, r_start, r, stencil, weights, normals, shares,
    kind,
):  # fmt: skip
    for k in range(len(pairs)):
        v, f = pairs[k, 0], pairs[k, 1]
        kind[k], w, n = _triangle(x, move, limit, v, f, faces, sides, o_start, o, r_start, r)
        shares[k] = 1.0
        if kind[k]:
            i = (v, faces[f, 0], faces[f, 1], faces[f, 2])
            _store(i, w, n, stencil[k], weights[k], normals[k])


def near_triangles(x, move, limit, pairs, topology, stencil, weights, normals, shares, kind):
    """Vertices and triangles, pairs (m, 2): writes particles (m, 4) and weights (m, 4) as in
    closest.py, normals (m, 3) pointing from the triangle to the vertex, shares (m,) of the
    stiffness, 1 here, and kind (m,): 0 too far or not the nearest there (then the other rows are
    not written), 1 inside the triangle, 2 on an edge inside the surface, 3 on its border, 4 at a
    vertex.  Distances along the normal below
    limit [m] count, now or after move (N, 3) [m].  topology: triangles (f, 3), sides,
    opposite_start, opposite, ring_start, ring of collisions.Elements.
    """
    near = _triangles_serial if len(pairs) < PARALLEL_ROWS else _triangles_parallel
    faces, sides, o_start, o, r_start, r = topology
    around = (faces, sides, o_start, o, r_start, r)
    near(x, move, limit, pairs, *around, stencil, weights, normals, shares, kind)


@njit(cache=True, inline="always")
def _upright(x, n, p, around, first, last):
    """1 where nothing around p leans towards p + n, 0 where something does by more than the tilt."""
    most = 0.0
    for k in range(first, last):
        e = difference(x[around[k]], p)
        most = max(most, dot3(n, e) / math.sqrt(dot3(e, e)))
    return max(0.0, 1.0 - (most / TILT) ** 2)


@njit(cache=True, inline="always")
def _strand(x, move, limit, v, a, b, ring_start, ring):
    """Kind, share, weights and normal of vertex v at the loose edge a-b."""
    s, _ = along_segment(x[v], x[a], x[b])
    s = 0.0 if s < SNAP else (1.0 if s > 1.0 - SNAP else s)
    w = (1.0, s - 1.0, -s, 0.0)
    d = _mean(w, x[v], x[a], x[b], x[a])
    close, n = _normal(d, d, _mean(w, move[v], move[a], move[b], move[a]), limit)
    if not close:
        return 0, 0.0, w, n
    one = np.uint32(1)
    first, last = ring_start[v], ring_start[v + one]
    if 0.0 < s < 1.0:
        share = _upright(x, (-n[0], -n[1], -n[2]), x[v], ring, first, last)
        return 2 if share > 0.0 else 0, share, w, n
    beyond = _nearer_beyond(x, (-d[0], -d[1], -d[2]), x[v], ring, first, last)
    end = a if s == 0.0 else b
    beyond |= _nearer_beyond(x, d, x[end], ring, ring_start[end], ring_start[end + one])
    return 0 if beyond else 4, 1.0, w, n


@njit(cache=True)
def near_strands(x, move, limit, pairs, topology, stencil, weights, normals, shares, kind):
    """Vertices and loose edges, as `near_triangles`; topology: edges (e, 2), ring_start, ring.

    kind 2: between the ends, 4: at one of them.  The share fades where the vertex's own neighbours
    lean towards the edge: those meet it first.
    """
    edges, ring_start, ring = topology
    for k in range(len(pairs)):
        v, a, b = pairs[k, 0], edges[pairs[k, 1], 0], edges[pairs[k, 1], 1]
        kind[k], shares[k], w, n = _strand(x, move, limit, v, a, b, ring_start, ring)
        if kind[k]:
            _store((v, a, b, a), w, n, stencil[k], weights[k], normals[k])


@njit(cache=True, inline="always")
def _between(s, u, limit):
    """Grows from 0 at an end of the edge u to 1, within the limit [m] where a vertex takes over."""
    ramp = max(4.0, math.sqrt(dot3(u, u)) / limit)  # the middle half of any edge counts in full
    r = min(1.0, min(s, 1.0 - s) * ramp)
    return r * (2.0 - r)


@njit(cache=True, inline="always")
def _edge(x, move, limit, first, second, edges, start, opposite):
    """Share of the contact between two edges, 0 where there is none; weights and normal."""
    i, j, k, m = edges[first, 0], edges[first, 1], edges[second, 0], edges[second, 1]
    a, b, c, e = x[i], x[j], x[k], x[m]
    u, v = difference(b, a), difference(e, c)
    s, t = between_ends(u, v, difference(c, a))
    w = (1.0 - s, s, t - 1.0, -t)
    if min(s, 1.0 - s, t, 1.0 - t) < SNAP:
        return 0.0, w, u  # a vertex meets something there
    p, q = _plus(a, s, u), _plus(c, t, v)
    d, across = difference(p, q), cross(u, v)
    crossing = dot3(across, across) > PARALLEL * dot3(u, u) * dot3(v, v)
    way = _mean(w, move[i], move[j], move[k], move[m])
    close, n = _normal(across if crossing else d, d, way, limit)
    if not close:
        return 0.0, w, n
    one, back = np.uint32(1), (-n[0], -n[1], -n[2])
    share = _between(s, u, limit) * _between(t, v, limit)
    share *= _upright(x, n, q, opposite, start[second], start[second + one])
    share *= _upright(x, back, p, opposite, start[first], start[first + one])
    return share, w, n


@njit(cache=True, parallel=True)
def _edges_parallel(
    x, move, limit, pairs, edges, start, opposite, stencil, weights, normals, shares, kind
):
    for k in prange(len(pairs)):
        e, f = pairs[k, 0], pairs[k, 1]
        shares[k], w, n = _edge(x, move, limit, e, f, edges, start, opposite)
        kind[k] = shares[k] > 0.0
        if kind[k]:
            i = (edges[e, 0], edges[e, 1], edges[f, 0], edges[f, 1])
            _store(i, w, n, stencil[k], weights[k], normals[k])


@njit(cache=True)
def _edges_serial(
    x, move, limit, pairs, edges, start, opposite, stencil, weights, normals, shares, kind
):
    for k in range(len(pairs)):
        e, f = pairs[k, 0], pairs[k, 1]
        shares[k], w, n = _edge(x, move, limit, e, f, edges, start, opposite)
        kind[k] = shares[k] > 0.0
        if kind[k]:
            i = (edges[e, 0], edges[e, 1], edges[f, 0], edges[f, 1])
            _store(i, w, n, stencil[k], weights[k], normals[k])


def near_edges(x, move, limit, pairs, topology, stencil, weights, normals, shares, kind):
    """Edges and edges, as `near_triangles`; normals point from the second edge to the first.

    topology: edges (e, 2), opposite_start, opposite.  kind 1: between the ends of both; contacts
    at an end belong to a vertex.
    """
    near = _edges_serial if len(pairs) < PARALLEL_ROWS else _edges_parallel
    edges, start, opposite = topology
    near(x, move, limit, pairs, edges, start, opposite, stencil, weights, normals, shares, kind)
