"""Pairs of a vertex and a triangle, a vertex and an edge, two edges: how far apart they are, how
far they may move before they meet, and which may meet at all.

A pair's closest points are four weights w for the four particles of its stencil, such that
sum_i w_i x_i is the vector from the second point to the first: (1, -a, -b, -c) for a vertex and a
triangle with barycentric coordinates a, b, c; (1, -a, -b, 0) for a vertex and an edge;
(1 - s, s, t - 1, -t) for two edges.  The squared distance is a convex function, so its minimum is
either where the gradient vanishes or on the border, which is the same problem with one variable
fewer: no cases beyond that, and triangles or edges without extent need no care of their own.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import njit
from .small import difference, dot, plus

FLAT = 1e-14  # sine^2 below which a triangle has no inside and two edges are parallel
KEPT = 0.1  # of a distance: what is left of it where a way is cut
ADVANCE = 0.9  # of what distance over speed allows: additive conservative advancement
PATIENCE = 10_000  # advances; whoever needs more is as good as touching


# ------------------------------------------------------------------ closest points


@njit(inline="always")
def along_segment(p, a, b):
    """s in 0..1 of the point a + s (b - a) closest to p, and the squared distance."""
    e, r = difference(b, a), difference(p, a)
    square = dot(e, e)
    s = 0.0 if square == 0.0 else min(1.0, max(0.0, dot(r, e) / square))
    d = plus(r, -s, e)
    return s, dot(d, d)


@njit(inline="always")
def on_border(p, a, b, c):
    """Barycentric coordinates of the point closest to p on the sides of a triangle."""
    s, best = along_segment(p, a, b)
    x, y, z = 1.0 - s, s, 0.0
    s, other = along_segment(p, b, c)
    if other < best:
        best = other
        x, y, z = 0.0, 1.0 - s, s
    s, other = along_segment(p, c, a)
    if other < best:
        x, y, z = s, 0.0, 1.0 - s
    return x, y, z


@njit(inline="always")
def on_triangle(p, a, b, c):
    """Barycentric coordinates of the point of a triangle closest to p."""
    u, v, r = difference(b, a), difference(c, a), difference(p, a)
    uu, uv, vv = dot(u, u), dot(u, v), dot(v, v)
    ru, rv = dot(r, u), dot(r, v)
    det = uu * vv - uv * uv
    y, z = vv * ru - uv * rv, uu * rv - uv * ru
    if det > FLAT * uu * vv and y >= 0.0 and z >= 0.0 and y + z <= det:
        return 1.0 - (y + z) / det, y / det, z / det
    return on_border(p, a, b, c)


@njit(inline="always")
def _beside(uu, uv, vv, ru, rv):
    """s, t in the middle of the stretch where two parallel edges run beside each other."""
    first, last = ru / uu, (ru + uv) / uu  # where the second edge's ends lie along the first
    low, high = max(0.0, min(first, last)), min(1.0, max(first, last))
    if low > high:
        return -1.0, -1.0
    s = 0.5 * (low + high)
    return s, min(1.0, max(0.0, (s * uv - rv) / vv))


@njit(inline="always")
def between_ends(u, v, r):
    """s, t where the lines a + s u and c + t v, r = c - a, are closest, in the middle of where
    parallel ones run beside each other; outside 0..1 where that is not on both edges."""
    uu, uv, vv = dot(u, u), dot(u, v), dot(v, v)
    ru, rv = dot(r, u), dot(r, v)
    det = uu * vv - uv * uv
    if det > FLAT * uu * vv:
        return (vv * ru - uv * rv) / det, (uv * ru - uu * rv) / det
    if uu > 0.0 and vv > 0.0:
        return _beside(uu, uv, vv, ru, rv)
    return -1.0, -1.0


@njit(inline="always")
def on_edges(a, b, c, d):
    """s, t of the closest points a + s (b - a) and c + t (d - c)."""
    s, t = between_ends(difference(b, a), difference(d, c), difference(c, a))
    if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
        return s, t
    t, best = along_segment(a, c, d)
    s = 0.0
    other, square = along_segment(b, c, d)
    if square < best:
        best = square
        s, t = 1.0, other
    other, square = along_segment(c, a, b)
    if square < best:
        best = square
        s, t = other, 0.0
    other, square = along_segment(d, a, b)
    if square < best:
        s, t = other, 1.0
    return s, t


# ------------------------------------------------------------------ distances


@njit(inline="always")
def gather(x, i, X):
    for c in range(4):
        p = x[i[c]]
        X[c, 0], X[c, 1], X[c, 2] = p[0], p[1], p[2]


@njit
def distance(kind, X, w, r):
    """Writes the weights w (4,) and the vector r = sum_i w_i X_i between the closest points."""
    if kind == 0:
        a, b, c = on_triangle(X[0], X[1], X[2], X[3])
        w[0], w[1], w[2], w[3] = 1.0, -a, -b, -c
    elif kind == 1:
        s, _ = along_segment(X[0], X[1], X[2])
        w[0], w[1], w[2], w[3] = 1.0, s - 1.0, -s, 0.0
    else:
        s, t = on_edges(X[0], X[1], X[2], X[3])
        w[0], w[1], w[2], w[3] = 1.0 - s, s, t - 1.0, -t
    square = 0.0
    for a in range(3):
        # differences first: coordinates far from the origin keep their digits
        r[a] = w[1] * (X[1, a] - X[0, a]) + w[2] * (X[2, a] - X[0, a]) + w[3] * (X[3, a] - X[0, a])
        square += r[a] * r[a]
    return math.sqrt(square)


@njit
def gap(kind, x, i):
    """The largest distance along an axis between the boxes of both sides: a lower bound of the
    distance at a tenth of its cost."""
    gap = 0.0
    if kind == 2:
        a, b, c, d = x[i[0]], x[i[1]], x[i[2]], x[i[3]]
        for k in range(3):
            ahead = min(c[k], d[k]) - max(a[k], b[k])
            gap = max(gap, ahead, min(a[k], b[k]) - max(c[k], d[k]))
    else:
        p, b, c, d = x[i[0]], x[i[1]], x[i[2]], x[i[3]]
        for k in range(3):
            ahead = min(b[k], c[k], d[k]) - p[k]
            gap = max(gap, ahead, p[k] - max(b[k], c[k], d[k]))
    return gap


@njit
def pair_distances(x, kinds, stencil, out):
    """Writes distances (m,) [m]; kinds (m,), stencil (m, 4) of which a vertex and an edge use 3."""
    X, w, r = np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencil)):
        gather(x, stencil[k], X)
        out[k] = distance(kinds[k], X, w, r)


# ------------------------------------------------------------------ ways


@njit
def _speed(kind, D):
    """Frees displacements D (4, 3) of their mean; returns the largest of one side plus that of
    the other: no pair of points of the two sides approaches by more."""
    points = 3 if kind == 1 else 4
    for a in range(3):
        mean = 0.0
        for i in range(points):
            mean += D[i, a] / points
        for i in range(points):
            D[i, a] -= mean
    first = second = 0.0
    for i in range(points):
        way = D[i, 0] ** 2 + D[i, 1] ** 2 + D[i, 2] ** 2
        if i < (2 if kind == 2 else 1):
            first = max(first, way)
        else:
            second = max(second, way)
    return math.sqrt(first) + math.sqrt(second)


@njit
def _cleared(kind, X, D, floor, w, r):
    """The share of the way from X along D (4, 3) on which the distance stays above `floor` [m].

    Additive continuous collision detection (Li et al. 2021): the way is safe as far as the distance
    divided by the speed with which points of the two sides can approach.
    """
    points, speed = 3 if kind == 1 else 4, _speed(kind, D)
    d, share = distance(kind, X, w, r), 0.0
    for _ in range(PATIENCE):
        if not speed > 0.0 or d - floor >= speed * (1.0 - share):
            return 1.0
        if d <= floor:
            return share
        step = ADVANCE * (d - floor) / speed
        for i in range(points):
            for a in range(3):
                X[i, a] += step * D[i, a]
        share += step
        d = distance(kind, X, w, r)
        if (d - floor) < 0.01 * floor:
            return share
    return share


@njit
def clear_share(x, move, kinds, stencil):
    """The share 0..1 of the way from x to x + move (N, 3) on which every pair keeps a tenth of
    its distance."""
    X, D, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    best = 1.0
    for k in range(len(stencil)):
        gather(move, stencil[k], D)
        D *= best
        if gap(kinds[k], x, stencil[k]) * (1.0 - KEPT) >= _speed(kinds[k], D):
            continue
        gather(x, stencil[k], X)
        d = distance(kinds[k], X, w, r)
        best *= _cleared(kinds[k], X, D, KEPT * d, w, r)
    return best


@njit
def stays_clear(x0, x1, kinds, stencil):
    """Whether no pair passes through itself on the straight way from x0 to x1 (N, 3); also False
    where one comes ten times closer in between than it is at either end."""
    X, D, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencil)):
        gather(x0, stencil[k], X)
        gather(x1, stencil[k], D)
        D -= X
        if gap(kinds[k], x0, stencil[k]) * (1.0 - KEPT) >= _speed(kinds[k], D):
            continue
        gather(x1, stencil[k], D)
        d1 = distance(kinds[k], D, w, r)
        d0 = distance(kinds[k], X, w, r)
        D -= X
        if _cleared(kinds[k], X, D, KEPT * min(d0, d1), w, r) < 1.0:
            return False
    return True


@njit
def stop_crossings(x, move, inverse_mass, kinds, stencil, reach, restitution, shares):
    """Stops each pair in turn that would come closer than a tenth of its reach, or of its distance,
    on the straight way from x to x + move (N, 3), which is changed; shares (m,) of the way that
    each had before.

    The impulse acts where the pair meets, along the line n between the closest points, and takes
    what these approach by, n . sum_i w_i move_i, and `restitution` (0 to 1) of it again: so
    momentum stays.  inverse_mass (N,) [1/kg]: zero for particles that are held.
    """
    X, D, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencil)):
        i, kind, shares[k] = stencil[k], kinds[k], 1.0
        gather(move, i, D)
        if gap(kind, x, i) * (1.0 - KEPT) >= _speed(kind, D):
            continue
        gather(x, i, X)
        d = distance(kind, X, w, r)
        shares[k] = _cleared(kind, X, D, KEPT * min(d, reach[k]), w, r)
        if shares[k] == 1.0:
            continue
        d = distance(kind, X, w, r)  # where they meet
        closing, light = 0.0, 0.0
        for c in range(4):
            light += w[c] * w[c] * inverse_mass[i[c]]
            for a in range(3):
                closing += w[c] * move[i[c], a] * r[a] / d
        if closing < 0.0 and light > 0.0:
            impulse = -(1.0 + restitution) * closing / light
            for c in range(4):
                for a in range(3):
                    move[i[c], a] += impulse * w[c] * inverse_mass[i[c]] * r[a] / d


@njit
def near_pairs(x, move, rest, piece, kinds, stencil, thickness, room, parallel, reach, soft):
    """Of candidates, those that may come closer than they reach: a mask (m,).

    Writes reach (m,), the thickness [m] or, where both sides belong to one piece (N,), half their
    distance at rest (N, 3), if that is less; and soft (m,), `parallel` times |u|^2 |v|^2 at rest,
    neither taken for shorter than the thickness, for two edges, else 0.  x, move (N, 3) [m], room
    [m]: all particles are on the same share of the way from x to x + move, each up to room off it
    in every coordinate.
    """
    X, w, r, near = np.empty((4, 3)), np.empty(4), np.empty(3), np.zeros(len(stencil), np.bool_)
    for k in range(len(stencil)):
        i, kind = stencil[k], kinds[k]
        reach[k], soft[k] = thickness, 0.0
        gather(rest, i, X)
        if piece[i[0]] == piece[i[2]]:
            reach[k] = min(thickness, 0.5 * distance(kind, X, w, r))
        if kind == 2:
            uu = vv = 0.0
            for a in range(3):
                uu += (X[1, a] - X[0, a]) ** 2
                vv += (X[3, a] - X[2, a]) ** 2
            soft[k] = parallel * max(uu, thickness**2) * max(vv, thickness**2)
        gather(x, i, X)
        d, way = distance(kind, X, w, r), 0.0
        split = 2 if kind == 2 else 1
        for b in range(split):
            for c in range(split, 3 if kind == 1 else 4):
                square = 0.0
                for a in range(3):
                    square += (move[i[c], a] - move[i[b], a]) ** 2
                way = max(way, square)
        # points of the two sides, weighted means of their corners, approach by no more than the
        # corners move against each other, plus rooms
        least = d - math.sqrt(way) - 2.0 * math.sqrt(3.0) * room
        near[k] = reach[k] > 0.0 and least < reach[k]
    return near
