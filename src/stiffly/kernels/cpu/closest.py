"""Closest points of a vertex and a triangle, a vertex and an edge, two edges.

Each answer is four weights w for the four particles of a stencil, such that sum_i w_i x_i is the
vector from the second closest point to the first: (1, -a, -b, -c) for a vertex and a triangle
with barycentric coordinates a, b, c; (1, -a, -b, 0) for a vertex and an edge; (1 - s, s, t - 1, -t)
for two edges.  The squared distance is a convex function, so its minimum is either where the
gradient vanishes or on the border, which is the same problem with one variable fewer: no cases
beyond that, and triangles or edges without extent need no care of their own.
"""

from __future__ import annotations

from .jit import njit

FLAT = 1e-14  # sine^2 below which a triangle has no inside and two edges are parallel


@njit(inline="always")
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(inline="always")
def difference(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@njit(inline="always")
def along_segment(p, a, b):
    """s in 0..1 of the point a + s (b - a) closest to p, and the squared distance."""
    e, r = difference(b, a), difference(p, a)
    square = dot3(e, e)
    s = 0.0 if square == 0.0 else min(1.0, max(0.0, dot3(r, e) / square))
    d = (r[0] - s * e[0], r[1] - s * e[1], r[2] - s * e[2])
    return s, dot3(d, d)


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
    uu, uv, vv = dot3(u, u), dot3(u, v), dot3(v, v)
    ru, rv = dot3(r, u), dot3(r, v)
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
    uu, uv, vv = dot3(u, u), dot3(u, v), dot3(v, v)
    ru, rv = dot3(r, u), dot3(r, v)
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
