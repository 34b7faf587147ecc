"""Where points lie to a triangle mesh: what is closest, and how often it winds round them.

Closest points are found through a tree of boxes.  It is complete and binary: node k has the
children 2k and 2k + 1, the root is node 1, and the last half of the nodes are leaves of LEAF
successive triangles.  Which feature is closest decides the sign (see `nearest_points`): the
angle-weighted pseudonormal of Baerentzen and Aanaes (2005) is on the right side of every closed
surface.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..names import LEAF
from .jit import both, njit
from .pair_distance import on_triangle
from .small import ZERO, difference, dot, length, mixed, plus

PARALLEL_POINTS = 2048  # about a millisecond of the serial loop
TASK = 32  # points
SNAP = 1e-12  # barycentric coordinates below this are zero
TOUCHING = 1e-12  # of the coordinates' size: closer points take the pseudonormal itself
CANCELLED = 1e-9  # on a fin without thickness pseudonormals cancel: there any triangle's will do


def tree_boxes(low, high):
    """Boxes (2p, 6) of all nodes, from the corners low, high (m, 3) of the triangles' boxes in
    their order; p is a power of two, p >= m / LEAF; nodes without a triangle have an empty box."""
    leaves = -(-len(low) // LEAF)
    width = 1 << max(0, leaves - 1).bit_length()
    boxes = np.empty((2 * width, 6))
    boxes[:, :3], boxes[:, 3:] = np.inf, -np.inf
    first = np.arange(0, len(low), LEAF)
    boxes[width : width + leaves, :3] = np.minimum.reduceat(low, first)
    boxes[width : width + leaves, 3:] = np.maximum.reduceat(high, first)
    while width > 1:
        pairs = boxes[width : 2 * width].reshape(-1, 2, 6)
        width //= 2
        boxes[width : 2 * width, :3] = pairs[:, :, :3].min(axis=1)
        boxes[width : 2 * width, 3:] = pairs[:, :, 3:].max(axis=1)
    return boxes


@njit(inline="always")
def _outside(p, box):
    """Squared distance of a point from a box, infinite for an empty one."""
    total = 0.0
    for a in range(3):
        d = max(0.0, max(box[a] - p[a], p[a] - box[a + 3]))
        total += d * d
    return total


@njit
def _nearest(p, x, faces, boxes, reach, stack, away):
    """Number and barycentric coordinates of the closest triangle, from the root down; -1 where
    none is within reach.  stack, away: nodes to visit, and their squared distances."""
    width = len(boxes) // 2
    best, found, bary = reach * reach, -1, (1.0, 0.0, 0.0)
    stack[0], away[0] = 1, _outside(p, boxes[1])
    depth = 1
    while depth:
        depth -= 1
        k = stack[depth]
        if away[depth] >= best:
            continue
        if k < width:
            near, far = 2 * k, 2 * k + 1
            a, b = _outside(p, boxes[near]), _outside(p, boxes[far])
            if b < a:
                near, far, a, b = far, near, b, a
            if b < best:
                stack[depth], away[depth] = far, b
                depth += 1
            if a < best:
                stack[depth], away[depth] = near, a
                depth += 1
            continue
        for f in range(LEAF * (k - width), min(LEAF * (k - width + 1), len(faces))):
            a, b, c = x[faces[f, 0]], x[faces[f, 1]], x[faces[f, 2]]
            g = on_triangle(p, a, b, c)
            d = difference(p, plus(mixed(g[0], a, g[1], b), g[2], c))
            square = dot(d, d)
            if square < best:
                best, found, bary = square, f, g
    return found, bary


@njit
def _pseudonormal(f, bary, faces, flat, side, corner):
    """Of the feature that a point of triangle f lies on: triangle, edge or vertex."""
    zero0, zero1, zero2 = bary[0] < SNAP, bary[1] < SNAP, bary[2] < SNAP
    if zero0 + zero1 + zero2 == 0:
        n = flat[f]
    elif zero0 + zero1 + zero2 == 1:
        n = side[f, 0 if zero0 else (1 if zero1 else 2)]
    else:
        n = corner[faces[f, 0 if not zero0 else (1 if not zero1 else 2)]]
    return (n[0], n[1], n[2])


@njit
def _plane(p, x, faces, boxes, flat, side, corner, reach, stack, away, point, normal):
    """Writes the closest point and the outward normal there; returns the signed distance."""
    f, g = _nearest(p, x, faces, boxes, reach, stack, away)
    if f < 0:
        point[:], normal[:] = 0.0, 0.0
        return np.inf
    a, b, c = x[faces[f, 0]], x[faces[f, 1]], x[faces[f, 2]]
    for k in range(3):
        point[k] = g[0] * a[k] + g[1] * b[k] + g[2] * c[k]
    d, n = difference(p, point), _pseudonormal(f, g, faces, flat, side, corner)
    distance = length(d)
    sign = -1.0 if dot(d, n) < 0.0 else 1.0
    if distance > TOUCHING * length(point):
        for k in range(3):
            normal[k] = sign * d[k] / distance
    else:
        size = length(n)
        if size < CANCELLED:
            n, size = difference(flat[f], ZERO), 1.0
        for k in range(3):
            normal[k] = n[k] / size
    return sign * distance


@both()
def _planes(p, x, faces, boxes, pseudonormals, reach, points, normals, distances):
    flat, side, corner = pseudonormals
    for task in prange(-(-len(p) // TASK)):
        stack, away = np.empty(64, dtype=np.int64), np.empty(64)
        for k in range(task * TASK, min((task + 1) * TASK, len(p))):
            distances[k] = _plane(
                p[k], x, faces, boxes, flat, side, corner, reach, stack, away, points[k], normals[k]
            )


def nearest_points(p, x, faces, boxes, pseudonormals, reach, points, normals, distances):
    """For points p (m, 3): writes the closest points of the mesh (m, 3), outward unit normals
    there (m, 3), and signed distances (m,), negative inside; where none is closer than reach [m],
    zeros and an infinite distance.

    x (N, 3), faces (f, 3) uint32; boxes of `tree_boxes`; pseudonormals: of triangles (f, 3), of
    their sides (f, 3, 3), side k facing corner k, and of vertices (N, 3), of any length.
    """
    planes = _planes[len(p) >= PARALLEL_POINTS]
    planes(p, x, faces, boxes, pseudonormals, reach, points, normals, distances)


# ------------------------------------------------------------------ winding numbers
# By rays along z.  A ray from a point upwards leaves the body where it meets a triangle that faces
# up and enters it where one faces down: the winding number is the sum of these signs.  For a
# surface without border it is a whole number wherever the ray goes, also where it crosses itself.


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
def winding_numbers(p, x, faces, low, cell, start, members, out):
    """Writes the winding numbers (m,) int64 of points p (m, 3).

    x (N, 3), faces (f, 3) of a surface without border.  Columns along z of width cell, from
    low (2,) on: column (i, j) may meet the triangles members[start[i, j] : start[i, j + 1]].
    """
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
