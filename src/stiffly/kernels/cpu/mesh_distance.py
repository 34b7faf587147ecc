"""The point of a triangle mesh closest to each of many points, through a tree of boxes.

The tree is complete and binary: node k has the children 2k and 2k + 1, the root is node 1, and the
last half of the nodes are leaves of LEAF successive triangles.  Which feature is closest decides
the sign (see `nearest_points`): the angle-weighted pseudonormal of Baerentzen and Aanaes (2005)
is on the right side of every closed surface.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from ..names import LEAF
from .closest import difference, dot3, on_triangle
from .jit import both, njit

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
            d0 = p[0] - (g[0] * a[0] + g[1] * b[0] + g[2] * c[0])
            d1 = p[1] - (g[0] * a[1] + g[1] * b[1] + g[2] * c[1])
            d2 = p[2] - (g[0] * a[2] + g[1] * b[2] + g[2] * c[2])
            square = d0 * d0 + d1 * d1 + d2 * d2
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
    distance, size = math.sqrt(dot3(d, d)), math.sqrt(dot3(point, point))
    sign = -1.0 if dot3(d, n) < 0.0 else 1.0
    if distance > TOUCHING * size:
        normal[0], normal[1], normal[2] = (
            sign * d[0] / distance,
            sign * d[1] / distance,
            sign * d[2] / distance,
        )
    else:
        length = math.sqrt(dot3(n, n))
        if length < CANCELLED:
            n, length = difference(flat[f], (0.0, 0.0, 0.0)), 1.0
        normal[0], normal[1], normal[2] = n[0] / length, n[1] / length, n[2] / length
    return sign * distance


@both()
def _planes(p, x, faces, boxes, flat, side, corner, reach, points, normals, distances):
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
    flat, side, corner = pseudonormals
    _planes[len(p) >= PARALLEL_POINTS](
        p, x, faces, boxes, flat, side, corner, reach, points, normals, distances
    )
