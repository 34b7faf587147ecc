"""Pairs of a vertex and a triangle, a vertex and an edge, two edges, that repel without limit.

    E = sum m k/2 (t - d)^4 / d^2   over pairs closer than t

d is their distance; the function and its first three derivatives vanish at d = t, so that pairs
come and go without a trace; half-way in it is the penalty k/2 (t - d)^2; and it grows beyond all
bounds at d = 0, so that nothing gets through (the idea of incremental potential contact, Li et al.
2020, whose logarithm holds a heavy body only at distances beyond double precision).  For two edges
m = (2 - c) c, c = |u x v|^2 / soft where that is below 1, takes out the force where they are
parallel and the closest points jump; vertices stand in there.  Tangents are
central differences: good to eight digits, and Newton's method needs no more.
"""

from __future__ import annotations

import numpy as np

from .jit import njit
from .pair_distance import distance, gap, gather

NUDGE = 1e-4  # of the distance: for central differences


@njit(inline="always")
def barrier(d, t):
    return 0.5 * (t - d) ** 4 / (d * d) if d < t else 0.0


@njit(inline="always")
def slope(d, t):
    return -((t - d) ** 3) * (t + d) / d**3 if d < t else 0.0


@njit
def crossing(X, soft, gradient):
    """c = |u x v|^2 / soft of two edges, and its derivative (4, 3)."""
    u0, u1, u2 = X[1, 0] - X[0, 0], X[1, 1] - X[0, 1], X[1, 2] - X[0, 2]
    v0, v1, v2 = X[3, 0] - X[2, 0], X[3, 1] - X[2, 1], X[3, 2] - X[2, 2]
    uu, vv = u0 * u0 + u1 * u1 + u2 * u2, v0 * v0 + v1 * v1 + v2 * v2
    uv = u0 * v0 + u1 * v1 + u2 * v2
    n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
    for a in range(3):
        u, v = X[1, a] - X[0, a], X[3, a] - X[2, a]
        by_u, by_v = 2.0 * (vv * u - uv * v) / soft, 2.0 * (uu * v - uv * u) / soft
        gradient[0, a], gradient[1, a] = -by_u, by_u
        gradient[2, a], gradient[3, a] = -by_v, by_v
    return (n0 * n0 + n1 * n1 + n2 * n2) / soft


@njit(inline="always")
def share(c):
    return (2.0 - c) * c if c < 1.0 else 1.0


@njit
def _gradient(kind, X, t, soft, w, r, C, G):
    """Writes dE/dX / k into G (4, 3); returns E / k."""
    d = distance(kind, X, w, r)
    G[:] = 0.0
    if d >= t:
        return 0.0
    if d == 0.0:
        G[:] = np.nan  # nothing is there to say which way
        return np.inf
    b, f = barrier(d, t), slope(d, t) / d
    m, rate = 1.0, 0.0
    if soft > 0.0:
        c = crossing(X, soft, C)
        m = share(c)
        rate = 2.0 - 2.0 * c if c < 1.0 else 0.0
    for i in range(4):
        for a in range(3):
            G[i, a] = m * f * w[i] * r[a]
            if rate != 0.0:
                G[i, a] += b * rate * C[i, a]
    return m * b


@njit
def barrier_energy(x, kinds, stencil, reach, soft, stiffness):
    """[J]; reach (m,) is t [m], soft (m,) [m^4], zero but for two edges; stiffness k [N/m]."""
    X, w, r, C, G = np.empty((4, 3)), np.empty(4), np.empty(3), np.empty((4, 3)), np.empty((4, 3))
    total = 0.0
    for k in range(len(stencil)):
        if gap(kinds[k], x, stencil[k]) >= reach[k]:
            continue
        gather(x, stencil[k], X)
        total += _gradient(kinds[k], X, reach[k], soft[k], w, r, C, G)
    return stiffness * total


@njit
def barrier_gradient(x, kinds, stencil, reach, soft, stiffness, out):
    """Adds dE/dx to out (N, 3)."""
    X, w, r, C, G = np.empty((4, 3)), np.empty(4), np.empty(3), np.empty((4, 3)), np.empty((4, 3))
    for k in range(len(stencil)):
        i = stencil[k]
        if gap(kinds[k], x, i) >= reach[k]:
            continue
        gather(x, i, X)
        if _gradient(kinds[k], X, reach[k], soft[k], w, r, C, G) != 0.0:
            for c in range(4):
                for a in range(3):
                    out[i[c], a] += stiffness * G[c, a]


@njit
def barrier_contacts(x, kinds, stencil, reach, soft, stiffness, weights, normals, forces):
    """Writes weights (m, 4), normals (m, 3) and the forces (m,) [N] with which pairs repel."""
    X, r, C = np.empty((4, 3)), np.empty(3), np.empty((4, 3))
    for k in range(len(stencil)):
        gather(x, stencil[k], X)
        d = distance(kinds[k], X, weights[k], r)
        m = share(crossing(X, soft[k], C)) if soft[k] > 0.0 else 1.0
        forces[k] = -stiffness * m * slope(d, reach[k]) if d > 0.0 else 0.0
        for a in range(3):
            normals[k, a] = r[a] / d if d > 0.0 else 0.0


@njit
def _close(points, H):
    """Completes blocks (4, 4, 3, 3) of the points after the first: a common shift does nothing."""
    for i in range(1, points):
        for j in range(1, points):
            for a in range(3):
                for b in range(3):
                    H[i, 0, a, b] -= H[i, j, a, b]
                    H[0, i, b, a] -= H[i, j, a, b]
                    H[0, 0, a, b] += H[i, j, a, b]


@njit
def barrier_blocks(x, kinds, stencil, reach, soft, stiffness, out):
    """Writes d2E/dx2 of every pair, (m, 4, 4, 3, 3), symmetric."""
    X, w, r, C = np.empty((4, 3)), np.empty(4), np.empty(3), np.empty((4, 3))
    one, two = np.empty((4, 3)), np.empty((4, 3))
    for k in range(len(stencil)):
        gather(x, stencil[k], X)
        d, out[k] = distance(kinds[k], X, w, r), 0.0
        if not 0.0 < d < reach[k]:
            continue
        h, points = NUDGE * d, 3 if kinds[k] == 1 else 4
        for j in range(1, points):
            for b in range(3):
                here = X[j, b]
                X[j, b] = here + h
                _gradient(kinds[k], X, reach[k], soft[k], w, r, C, one)
                X[j, b] = here - h
                _gradient(kinds[k], X, reach[k], soft[k], w, r, C, two)
                X[j, b] = here
                for i in range(1, points):
                    for a in range(3):
                        half = 0.25 * stiffness * (one[i, a] - two[i, a]) / h
                        out[k, i, j, a, b] += half
                        out[k, j, i, b, a] += half
        _close(points, out[k])
