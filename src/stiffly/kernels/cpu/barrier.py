"""Pairs of a vertex and a triangle, a vertex and an edge, two edges, that repel without limit.

    E = sum m k/2 (t - d)^4 / d^2   over pairs closer than t

d is their distance; the function and its first three derivatives vanish at d = t, so that pairs
come and go without a trace; half-way in it is the penalty k/2 (t - d)^2; and it grows beyond all
bounds at d = 0, so that nothing gets through (the idea of incremental potential contact, Li et al.
2020, whose logarithm holds a heavy body only at distances beyond double precision).  For two edges
m = (2 - c) c, c = |u x v|^2 / soft where that is below 1, takes out the force where they are
parallel and the closest points jump; vertices stand in there.

The discrete gradient between x0 and x1 is the chain rule of difference quotients,

    g = m* q n* + b* p c* + correction,  q = (b1 - b0)/(d1 - d0),  p = (m1 - m0)/(c1 - c0),

with means * of both ends, freed of its resultant and its torque about the middle of the pair, and
corrected along the strain (Gonzalez 1996), so that g.(x1 - x0) = E1 - E0 to the last digits and
both momenta stay.  Its derivative, and the tangent, are central differences: good to eight digits,
and Newton's method needs no more.
"""

from __future__ import annotations

import math

import numpy as np

from ..constants import EDGE_EDGE, VERTEX_EDGE, VERTEX_FACE
from .closest import along_segment, on_edges, on_triangle
from .jit import njit

__all__ = [
    "EDGE_EDGE",
    "VERTEX_EDGE",
    "VERTEX_FACE",
    "barrier_blocks",
    "barrier_contacts",
    "barrier_energy",
    "barrier_gradient",
    "barrier_mean_blocks",
    "barrier_mean_gradient",
    "clear_share",
    "near_pairs",
    "pair_distances",
    "stays_clear",
]

SAME = 1e-5  # distances that differ by less, relatively: the quotient is the derivative half-way
ROUNDING = 8 * 2.0**-52  # of the energies: a gap below is no force (see bodies/discrete_gradient)
NUDGE = 1e-4  # of the distance: for central differences
KEPT = 0.1  # of a distance: what is left of it where a way is cut
ADVANCE = 0.9  # of what distance over speed allows: additive conservative advancement
PATIENCE = 10_000  # advances; whoever needs more is as good as touching


@njit(cache=True, inline="always")
def _gather(x, i, X):
    for c in range(4):
        p = x[i[c]]
        X[c, 0], X[c, 1], X[c, 2] = p[0], p[1], p[2]


@njit(cache=True)
def _distance(kind, X, w, r):
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


@njit(cache=True)
def _gap(kind, x, i):
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


@njit(cache=True, inline="always")
def _barrier(d, t):
    return 0.5 * (t - d) ** 4 / (d * d) if d < t else 0.0


@njit(cache=True, inline="always")
def _slope(d, t):
    return -((t - d) ** 3) * (t + d) / d**3 if d < t else 0.0


@njit(cache=True)
def _quotient(d0, d1, b0, b1, t):
    """(b1 - b0) / (d1 - d0)."""
    if abs(d1 - d0) <= SAME * min(d0, d1):
        return _slope(0.5 * (d0 + d1), t)
    return (b1 - b0) / (d1 - d0)


@njit(cache=True)
def _crossing(X, soft, gradient):
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


@njit(cache=True, inline="always")
def _share(c):
    return (2.0 - c) * c if c < 1.0 else 1.0


@njit(cache=True)
def _gradient(kind, X, t, soft, w, r, C, G):
    """Writes dE/dX / k into G (4, 3); returns E / k."""
    d = _distance(kind, X, w, r)
    G[:] = 0.0
    if d >= t:
        return 0.0
    if d == 0.0:
        G[:] = np.nan  # nothing is there to say which way
        return np.inf
    b, f = _barrier(d, t), _slope(d, t) / d
    m, rate = 1.0, 0.0
    if soft > 0.0:
        c = _crossing(X, soft, C)
        m = _share(c)
        rate = 2.0 - 2.0 * c if c < 1.0 else 0.0
    for i in range(4):
        for a in range(3):
            G[i, a] = m * f * w[i] * r[a]
            if rate != 0.0:
                G[i, a] += b * rate * C[i, a]
    return m * b


@njit(cache=True)
def _free(points, Y, F):
    """Takes resultant and torque out of forces F (4, 3) at Y, about their centre, by the least
    change."""
    a00 = a01 = a02 = a11 = a12 = a22 = t0 = t1 = t2 = 0.0
    for a in range(3):
        push = 0.0
        for i in range(points):
            push += F[i, a]
        push /= points
        for i in range(points):
            F[i, a] -= push
    for i in range(points):
        p0, p1, p2 = Y[i, 0], Y[i, 1], Y[i, 2]
        f0, f1, f2 = F[i, 0], F[i, 1], F[i, 2]
        a00 += p1 * p1 + p2 * p2
        a11 += p2 * p2 + p0 * p0
        a22 += p0 * p0 + p1 * p1
        a01 -= p0 * p1
        a02 -= p0 * p2
        a12 -= p1 * p2
        t0 += p1 * f2 - p2 * f1
        t1 += p2 * f0 - p0 * f2
        t2 += p0 * f1 - p1 * f0
    size = a00 + a11 + a22
    if not size > 0.0:
        return
    lift = 1e-14 * size  # points on one line: nothing turns about it
    a00, a11, a22 = a00 + lift, a11 + lift, a22 + lift
    c00, c01, c02 = a11 * a22 - a12 * a12, a02 * a12 - a01 * a22, a01 * a12 - a02 * a11
    det = a00 * c00 + a01 * c01 + a02 * c02
    if not det > 0.0:
        return
    c11, c12, c22 = a00 * a22 - a02 * a02, a01 * a02 - a00 * a12, a00 * a11 - a01 * a01
    s0 = (c00 * t0 + c01 * t1 + c02 * t2) / det
    s1 = (c01 * t0 + c11 * t1 + c12 * t2) / det
    s2 = (c02 * t0 + c12 * t1 + c22 * t2) / det
    for i in range(points):
        p0, p1, p2 = Y[i, 0], Y[i, 1], Y[i, 2]
        F[i, 0] -= s1 * p2 - s2 * p1
        F[i, 1] -= s2 * p0 - s0 * p2
        F[i, 2] -= s0 * p1 - s1 * p0


@njit(cache=True)
def _middle(points, X0, X1, Y, D):
    """Writes the half-way positions about their centre, and the displacements."""
    for a in range(3):
        centre = 0.0
        for i in range(points):
            Y[i, a] = 0.5 * (X0[i, a] + X1[i, a])
            D[i, a] = X1[i, a] - X0[i, a]
            centre += Y[i, a]
        centre /= points
        for i in range(points):
            Y[i, a] -= centre


@njit(cache=True)
def _mean(kind, X0, X1, t, soft, S, G):
    """Writes the discrete gradient / k between X0 and X1 into G (4, 3); S (6, 4, 3): scratch."""
    C, N, Y, D, w, r = S[0], S[1], S[2], S[3], S[4, :, 0], S[5, 0]
    G[:] = 0.0
    d0 = _distance(kind, X0, w, r)
    if d0 > 0.0:
        for i in range(4):
            for a in range(3):
                N[i, a] = 0.5 * w[i] * r[a] / d0
    d1 = _distance(kind, X1, w, r)
    if d0 >= t and d1 >= t:
        return
    if not (d0 > 0.0 and d1 > 0.0):
        G[:] = np.nan
        return
    b0, b1 = _barrier(d0, t), _barrier(d1, t)
    q, m0, m1 = _quotient(d0, d1, b0, b1, t), 1.0, 1.0
    for i in range(4):
        for a in range(3):
            G[i, a] = q * (N[i, a] + 0.5 * w[i] * r[a] / d1)
    if soft > 0.0:
        c0, c1 = _crossing(X0, soft, N), _crossing(X1, soft, C)
        m0, m1 = _share(c0), _share(c1)
        p = 0.0
        if abs(c1 - c0) > SAME:
            p = (m1 - m0) / (c1 - c0)
        elif c1 < 1.0:
            p = 2.0 - c0 - c1
        for i in range(4):
            for a in range(3):
                G[i, a] = 0.5 * (m0 + m1) * G[i, a] + 0.25 * (b0 + b1) * p * (N[i, a] + C[i, a])
    points = 3 if kind == 1 else 4
    _middle(points, X0, X1, Y, D)
    _free(points, Y, G)
    _free(points, Y, D)
    e0, e1, slope, square = m0 * b0, m1 * b1, 0.0, 0.0
    for i in range(points):
        for a in range(3):
            slope += G[i, a] * (X1[i, a] - X0[i, a])
            square += D[i, a] * D[i, a]
    gap = e1 - e0 - slope
    if square > 0.0 and abs(gap) > ROUNDING * (e0 + e1 + abs(slope)):
        for i in range(points):
            for a in range(3):
                G[i, a] += (gap / square) * D[i, a]


@njit(cache=True)
def pair_distances(x, kinds, stencil, out):
    """Writes distances (m,) [m]; kinds (m,), stencil (m, 4) of which a vertex and an edge use 3."""
    X, w, r = np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencil)):
        _gather(x, stencil[k], X)
        out[k] = _distance(kinds[k], X, w, r)


@njit(cache=True)
def barrier_energy(x, kinds, stencil, reach, soft, stiffness):
    """[J]; reach (m,) is t [m], soft (m,) [m^4], zero but for two edges; stiffness k [N/m]."""
    X, w, r, C, G = np.empty((4, 3)), np.empty(4), np.empty(3), np.empty((4, 3)), np.empty((4, 3))
    total = 0.0
    for k in range(len(stencil)):
        if _gap(kinds[k], x, stencil[k]) >= reach[k]:
            continue
        _gather(x, stencil[k], X)
        total += _gradient(kinds[k], X, reach[k], soft[k], w, r, C, G)
    return stiffness * total


@njit(cache=True)
def barrier_gradient(x, kinds, stencil, reach, soft, stiffness, out):
    """Adds dE/dx to out (N, 3)."""
    X, w, r, C, G = np.empty((4, 3)), np.empty(4), np.empty(3), np.empty((4, 3)), np.empty((4, 3))
    for k in range(len(stencil)):
        i = stencil[k]
        if _gap(kinds[k], x, i) >= reach[k]:
            continue
        _gather(x, i, X)
        if _gradient(kinds[k], X, reach[k], soft[k], w, r, C, G) != 0.0:
            for c in range(4):
                for a in range(3):
                    out[i[c], a] += stiffness * G[c, a]


@njit(cache=True)
def barrier_contacts(x, kinds, stencil, reach, soft, stiffness, weights, normals, forces):
    """Writes weights (m, 4), normals (m, 3) and the forces (m,) [N] with which pairs repel."""
    X, r, C = np.empty((4, 3)), np.empty(3), np.empty((4, 3))
    for k in range(len(stencil)):
        _gather(x, stencil[k], X)
        d = _distance(kinds[k], X, weights[k], r)
        m = _share(_crossing(X, soft[k], C)) if soft[k] > 0.0 else 1.0
        forces[k] = -stiffness * m * _slope(d, reach[k]) if d > 0.0 else 0.0
        for a in range(3):
            normals[k, a] = r[a] / d if d > 0.0 else 0.0


@njit(cache=True)
def _close(points, H):
    """Completes blocks (4, 4, 3, 3) of the points after the first: a common shift does nothing."""
    for i in range(1, points):
        for j in range(1, points):
            for a in range(3):
                for b in range(3):
                    H[i, 0, a, b] -= H[i, j, a, b]
                    H[0, i, b, a] -= H[i, j, a, b]
                    H[0, 0, a, b] += H[i, j, a, b]


@njit(cache=True)
def barrier_blocks(x, kinds, stencil, reach, soft, stiffness, out):
    """Writes d2E/dx2 of every pair, (m, 4, 4, 3, 3), symmetric."""
    X, w, r, C = np.empty((4, 3)), np.empty(4), np.empty(3), np.empty((4, 3))
    one, two = np.empty((4, 3)), np.empty((4, 3))
    for k in range(len(stencil)):
        _gather(x, stencil[k], X)
        d, out[k] = _distance(kinds[k], X, w, r), 0.0
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


@njit(cache=True)
def barrier_mean_gradient(x0, x1, kinds, stencil, reach, soft, stiffness, out):
    """Adds the discrete gradient between x0 and x1 to out (N, 3)."""
    X0, X1, G, S = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3)), np.zeros((6, 4, 3))
    for k in range(len(stencil)):
        i = stencil[k]
        if min(_gap(kinds[k], x0, i), _gap(kinds[k], x1, i)) >= reach[k]:
            continue
        _gather(x0, i, X0)
        _gather(x1, i, X1)
        _mean(kinds[k], X0, X1, reach[k], soft[k], S, G)
        for c in range(3 if kinds[k] == 1 else 4):
            for a in range(3):
                out[i[c], a] += stiffness * G[c, a]


@njit(cache=True)
def barrier_mean_blocks(x0, x1, kinds, stencil, reach, soft, stiffness, out):
    """Writes the derivative of the discrete gradient by x1, (m, 4, 4, 3, 3), not symmetric."""
    X0, X1, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    one, two, S = np.empty((4, 3)), np.empty((4, 3)), np.zeros((6, 4, 3))
    for k in range(len(stencil)):
        kind, t, s = kinds[k], reach[k], soft[k]
        _gather(x0, stencil[k], X0)
        _gather(x1, stencil[k], X1)
        d0, d1, out[k] = _distance(kind, X0, w, r), _distance(kind, X1, w, r), 0.0
        if (d0 >= t and d1 >= t) or not (d0 > 0.0 and d1 > 0.0):
            continue
        h = NUDGE * min(d1, t)
        for j in range(3 if kind == 1 else 4):
            for b in range(3):
                here = X1[j, b]
                X1[j, b] = here + h
                _mean(kind, X0, X1, t, s, S, one)
                X1[j, b] = here - h
                _mean(kind, X0, X1, t, s, S, two)
                X1[j, b] = here
                for i in range(4):
                    for a in range(3):
                        out[k, i, j, a, b] = 0.5 * stiffness * (one[i, a] - two[i, a]) / h


@njit(cache=True)
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


@njit(cache=True)
def _cleared(kind, X, D, floor, w, r):
    """The share of the way from X along D (4, 3) on which the distance stays above `floor` [m].

    Additive continuous collision detection (Li et al. 2021): the way is safe as far as the distance
    divided by the speed with which points of the two sides can approach.
    """
    points, speed = 3 if kind == 1 else 4, _speed(kind, D)
    d, share = _distance(kind, X, w, r), 0.0
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
        d = _distance(kind, X, w, r)
        if (d - floor) < 0.01 * floor:
            return share
    return share


@njit(cache=True)
def clear_share(x, move, kinds, stencil):
    """The share 0..1 of the way from x to x + move (N, 3) on which every pair keeps a tenth of
    its distance."""
    X, D, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    best = 1.0
    for k in range(len(stencil)):
        _gather(move, stencil[k], D)
        D *= best
        if _gap(kinds[k], x, stencil[k]) * (1.0 - KEPT) >= _speed(kinds[k], D):
            continue
        _gather(x, stencil[k], X)
        d = _distance(kinds[k], X, w, r)
        best *= _cleared(kinds[k], X, D, KEPT * d, w, r)
    return best


@njit(cache=True)
def stays_clear(x0, x1, kinds, stencil):
    """Whether no pair passes through itself on the straight way from x0 to x1 (N, 3); also False
    where one comes ten times closer in between than it is at either end."""
    X, D, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencil)):
        _gather(x0, stencil[k], X)
        _gather(x1, stencil[k], D)
        D -= X
        if _gap(kinds[k], x0, stencil[k]) * (1.0 - KEPT) >= _speed(kinds[k], D):
            continue
        _gather(x1, stencil[k], D)
        d1 = _distance(kinds[k], D, w, r)
        d0 = _distance(kinds[k], X, w, r)
        D -= X
        if _cleared(kinds[k], X, D, KEPT * min(d0, d1), w, r) < 1.0:
            return False
    return True


@njit(cache=True)
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
        _gather(rest, i, X)
        if piece[i[0]] == piece[i[2]]:
            reach[k] = min(thickness, 0.5 * _distance(kind, X, w, r))
        if kind == 2:
            uu = vv = 0.0
            for a in range(3):
                uu += (X[1, a] - X[0, a]) ** 2
                vv += (X[3, a] - X[2, a]) ** 2
            soft[k] = parallel * max(uu, thickness**2) * max(vv, thickness**2)
        _gather(x, i, X)
        d, way = _distance(kind, X, w, r), 0.0
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
