"""How often a closed surface winds round each of many points, by rays along z.

A ray from a point upwards leaves the body where it meets a triangle that faces up and enters it
where one faces down: the winding number is the sum of these signs.  For a surface without border
it is a whole number wherever the ray goes, also where the surface crosses itself.
"""

from __future__ import annotations

import numpy as np

from .jit import njit


@njit(inline="always")
def _left(a, b, p0, p1):
    """Whether p lies to the left of the line from a to b, in the plane of x and y.

    The corners are taken in one order, whoever asks: two triangles agree on the side they share.
    """
    turned = b[1] < a[1] or (b[1] == a[1] and b[0] < a[0])
    if turned:
        a, b = b, a
    area = (b[0] - a[0]) * (p1 - a[1]) - (b[1] - a[1]) * (p0 - a[0])
    return area <= 0.0 if turned else area > 0.0


@njit(inline="always")
def _side(a, b, p0, p1):
    """+1 where the side from a to b passes p on the right going up, -1 going down, else 0."""
    if a[1] <= p1 < b[1]:
        return 1 if _left(a, b, p0, p1) else 0
    if b[1] <= p1 < a[1]:
        return 0 if _left(a, b, p0, p1) else -1
    return 0


@njit
def _height(a, b, c, p0, p1):
    """z of the triangle's plane above p, within the triangle's own heights."""
    low, high = min(a[2], b[2], c[2]), max(a[2], b[2], c[2])
    u0, u1, v0, v1 = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    area = u0 * v1 - u1 * v0
    if area == 0.0:
        return 0.5 * (low + high)
    r0, r1 = p0 - a[0], p1 - a[1]
    s, t = (r0 * v1 - r1 * v0) / area, (u0 * r1 - u1 * r0) / area
    return min(high, max(low, a[2] + s * (b[2] - a[2]) + t * (c[2] - a[2])))


@njit
def _wind(p, x, faces, low, cell, start, members, out):
    rows, columns = start.shape
    columns -= 1
    for k in range(len(p)):
        total, p0, p1 = 0, p[k, 0], p[k, 1]
        i, j = int(np.floor((p0 - low[0]) / cell)), int(np.floor((p1 - low[1]) / cell))
        if 0 <= i < rows and 0 <= j < columns:
            for m in range(start[i, j], start[i, j + 1]):
                f = members[m]
                a, b, c = x[faces[f, 0]], x[faces[f, 1]], x[faces[f, 2]]
                turn = _side(a, b, p0, p1) + _side(b, c, p0, p1) + _side(c, a, p0, p1)
                if turn != 0 and _height(a, b, c, p0, p1) > p[k, 2]:
                    total += turn
        out[k] = total


def winding_numbers(p, x, faces, low, cell, start, members, out):
    """Writes the winding numbers (m,) int64 of points p (m, 3).

    x (N, 3), faces (f, 3) of a surface without border.  Columns along z of width cell, from
    low (2,) on: column (i, j) may meet the triangles members[start[i, j] : start[i, j + 1]].
    """
    _wind(p, x, faces, low, cell, start, members, out)
