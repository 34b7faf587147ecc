"""Which candidates are near enough to touch, where, and along which normal.

A pair counts only where the distance has a local minimum on what it meets: a vertex beside the
border of one triangle is nearer to the next triangle, and repelling it from both would be counting
twice (the same choice as the blocks of Chen et al. 2025, offset geometric contact).  Where edges
are met the minimum may be missed by a tilt, since on flat cloth rounding decides otherwise; the
share of such a contact in the stiffness fades with the tilt, and of two edges towards their ends,
so that contacts come and go without a jump in energy.

Triangles without an area and edges without a length are met at what is left of them, an edge or a
vertex.  Particles that coincide have no direction from one to the other, and rounding must not
give them one: what lies closer than a billionth of the limit does not lean.
"""

from __future__ import annotations

import math

import numpy as np

from .closest import along_segment, between_ends, difference, dot3, on_triangle
from .jit import njit

__all__ = ["near_edges", "near_strands", "near_triangles"]

SNAP = 1e-9  # barycentric coordinates below this are zero
NEARER = 1e-8  # how far into a neighbour, of its size, the closest point may lie for rounding
TINY = 1e-150  # [m] lengths below have no direction: their squares lose digits
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
    if length < TINY:
        return False, direction
    scale = 1.0 / length if dot3(direction, d) >= 0.0 else -1.0 / length
    n = (scale * direction[0], scale * direction[1], scale * direction[2])
    return dot3(d, n) + min(0.0, dot3(way, n)) < limit, n


@njit(cache=True, inline="always")
def _store(k, i, w, n, stencil, weights, normals):
    stencil[k, 0], stencil[k, 1], stencil[k, 2], stencil[k, 3] = i
    weights[k, 0], weights[k, 1], weights[k, 2], weights[k, 3] = w
    normals[k, 0], normals[k, 1], normals[k, 2] = n


# The loops are written out, with single arrays: a function for one pair that returns tuples, or
# arrays taken out of a tuple, would cost several times what the geometry does.


@njit(cache=True)
def _triangles(
    pairs, x, move, limit, faces, sides, o_start, o, r_start, r, stencil, weights, normals, shares,
    kind,
):  # fmt: skip
    found, one = 0, np.uint32(1)
    for k in range(len(pairs)):
        v, f = pairs[k, 0], pairs[k, 1]
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
            continue
        kind[found] = 1
        q = difference(p, d)
        if border == 1:
            side = sides[f, 0 if g0 == 0.0 else (1 if g1 == 0.0 else 2)]
            first, last = o_start[side], o_start[side + one]
            kind[found] = 2 if last - first > 1 else 3
            if _nearer_beyond(x, d, q, o, first, last):
                continue
        elif border == 2:
            corner = t0 if g0 > 0.0 else (t1 if g1 > 0.0 else t2)
            kind[found] = 4
            if _nearer_beyond(x, d, q, r, r_start[corner], r_start[corner + one]):
                continue
        shares[found] = 1.0
        _store(found, (v, t0, t1, t2), w, n, stencil, weights, normals)
        found += 1
    return found


@njit(cache=True, inline="always")
def _upright(x, n, p, around, first, last, limit):
    """1 where nothing around p leans towards p + n, 0 where it does by more than the tilt."""
    most = 0.0
    for k in range(first, last):
        e = difference(x[around[k]], p)
        length = math.sqrt(dot3(e, e))
        if length > max(TINY, SNAP * limit):
            most = max(most, dot3(n, e) / length)
    return max(0.0, 1.0 - (most / TILT) ** 2)


@njit(cache=True)
def _strands(pairs, x, move, limit, edges, r_start, r, stencil, weights, normals, shares, kind):
    found, one = 0, np.uint32(1)
    for k in range(len(pairs)):
        v, a, b = pairs[k, 0], edges[pairs[k, 1], 0], edges[pairs[k, 1], 1]
        s, _ = along_segment(x[v], x[a], x[b])
        s = 0.0 if s < SNAP else (1.0 if s > 1.0 - SNAP else s)
        w = (1.0, s - 1.0, -s, 0.0)
        d = _mean(w, x[v], x[a], x[b], x[a])
        close, n = _normal(d, d, _mean(w, move[v], move[a], move[b], move[a]), limit)
        if not close:
            continue
        first, last, back = r_start[v], r_start[v + one], (-n[0], -n[1], -n[2])
        kind[found], shares[found] = 2, 1.0
        if 0.0 < s < 1.0:
            shares[found] = _upright(x, back, x[v], r, first, last, limit)
            if shares[found] == 0.0:
                continue
        else:
            end = a if s == 0.0 else b
            kind[found] = 4
            if _nearer_beyond(x, (-d[0], -d[1], -d[2]), x[v], r, first, last):
                continue
            if _nearer_beyond(x, d, x[end], r, r_start[end], r_start[end + one]):
                continue
        _store(found, (v, a, b, a), w, n, stencil, weights, normals)
        found += 1
    return found


@njit(cache=True, inline="always")
def _between(s, u, limit):
    """Grows from 0 at an end of the edge u to 1, within the limit [m] where a vertex takes over."""
    ramp = max(4.0, math.sqrt(dot3(u, u)) / limit)  # the middle half of any edge counts in full
    r = min(1.0, min(s, 1.0 - s) * ramp)
    return r * (2.0 - r)


@njit(cache=True)
def _edges(pairs, x, move, limit, edges, start, opposite, stencil, weights, normals, shares, kind):
    found, one = 0, np.uint32(1)
    for row in range(len(pairs)):
        e, f = pairs[row, 0], pairs[row, 1]
        i, j, k, m = edges[e, 0], edges[e, 1], edges[f, 0], edges[f, 1]
        a, c = x[i], x[k]
        u, v = difference(x[j], a), difference(x[m], c)
        s, t = between_ends(u, v, difference(c, a))
        if min(s, 1.0 - s, t, 1.0 - t) < SNAP:
            continue  # a vertex meets something there
        w = (1.0 - s, s, t - 1.0, -t)
        p, q = _plus(a, s, u), _plus(c, t, v)
        d, across = difference(p, q), cross(u, v)
        crossing = dot3(across, across) > PARALLEL * dot3(u, u) * dot3(v, v)
        way = _mean(w, move[i], move[j], move[k], move[m])
        close, n = _normal(across if crossing else d, d, way, limit)
        if not close:
            continue
        share = _between(s, u, limit) * _between(t, v, limit)
        share *= _upright(x, n, q, opposite, start[f], start[f + one], limit)
        back = (-n[0], -n[1], -n[2])
        share *= _upright(x, back, p, opposite, start[e], start[e + one], limit)
        if share > 0.0:
            kind[found], shares[found] = 1, share
            _store(found, (i, j, k, m), w, n, stencil, weights, normals)
            found += 1
    return found


def _kept(loop, pairs, *arguments):
    """The rows that a loop writes, in order; what it does not reach of the arrays costs nothing.

    Serial: a tenth of a microsecond for a pair, half of what finding it costs.
    """
    m = len(pairs)
    shapes = ((m, 4), (m, 4), (m, 3), (m,), (m,))
    out = [np.empty(s, t) for s, t in zip(shapes, ("u4", "f8", "f8", "f8", "u1"), strict=True)]
    count = loop(pairs, *arguments, *out)
    return tuple(a[:count].copy() for a in out)


def near_triangles(x, move, limit, pairs, topology):
    """Contacts of vertices and triangles among pairs (m, 2).

    Returns, of those that count, particles (c, 4) and weights (c, 4) as in closest.py, normals
    (c, 3) pointing from the triangle to the vertex, shares (c,) of the stiffness, 1 here, and kinds
    (c,): 1 inside the triangle, 2 on an edge inside the surface, 3 on its border, 4 at a vertex.
    Distances along the normal below limit [m] count, now or after move (N, 3) [m].
    topology: triangles (f, 3), sides, opposite_start, opposite, ring_start, ring of
    collisions.Elements.
    """
    return _kept(_triangles, pairs, x, move, limit, *topology)


def near_strands(x, move, limit, pairs, topology):
    """Contacts of vertices and loose edges, as `near_triangles`; kind 2: between the ends, 4: at
    one of them.  topology: edges (e, 2), ring_start, ring.

    The share fades where the vertex's own neighbours lean towards the edge: those meet it first.
    """
    return _kept(_strands, pairs, x, move, limit, *topology)


def near_edges(x, move, limit, pairs, topology):
    """Contacts of two edges between their ends, as `near_triangles`; kind 1; normals point from the
    second edge to the first.  topology: edges (e, 2), opposite_start, opposite.

    Contacts at an end belong to a vertex.
    """
    return _kept(_edges, pairs, x, move, limit, *topology)
