"""Pairs of a vertex and a triangle, a vertex and an edge, two edges: how far apart they are."""

from __future__ import annotations

import math

import numpy as np

from .closest import along_segment, on_edges, on_triangle
from .jit import njit


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
