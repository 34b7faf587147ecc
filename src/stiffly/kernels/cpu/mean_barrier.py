"""Discrete gradients of pairs that repel (see barrier.py): the chain rule of difference quotients,

    g = m* q n* + b* p c* + correction,  q = (b1 - b0)/(d1 - d0),  p = (m1 - m0)/(c1 - c0),

with means * of both ends, freed of its resultant and its torque about the middle of the pair, and
corrected along the strain (Gonzalez 1996), so that g.(x1 - x0) = E1 - E0 to the last digits and
both momenta stay.  Its derivative is a central difference.
"""

from __future__ import annotations

import numpy as np

from .barrier import NUDGE, barrier, crossing, share, slope
from .jit import njit
from .pair_distance import distance, gap, gather

SAME = 1e-5  # distances that differ by less, relatively: the quotient is the derivative half-way
ROUNDING = 8 * 2.0**-52  # of the energies: a gap below is no force (system/discrete_gradient.py)


@njit
def _quotient(d0, d1, b0, b1, t):
    """(b1 - b0) / (d1 - d0)."""
    if abs(d1 - d0) <= SAME * min(d0, d1):
        return slope(0.5 * (d0 + d1), t)
    return (b1 - b0) / (d1 - d0)


@njit
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


@njit
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


@njit
def _mean(kind, X0, X1, t, soft, S, G):
    """Writes the discrete gradient / k between X0 and X1 into G (4, 3); S (6, 4, 3): scratch."""
    C, N, Y, D, w, r = S[0], S[1], S[2], S[3], S[4, :, 0], S[5, 0]
    G[:] = 0.0
    d0 = distance(kind, X0, w, r)
    if d0 > 0.0:
        for i in range(4):
            for a in range(3):
                N[i, a] = 0.5 * w[i] * r[a] / d0
    d1 = distance(kind, X1, w, r)
    if d0 >= t and d1 >= t:
        return
    if not (d0 > 0.0 and d1 > 0.0):
        G[:] = np.nan
        return
    b0, b1 = barrier(d0, t), barrier(d1, t)
    q, m0, m1 = _quotient(d0, d1, b0, b1, t), 1.0, 1.0
    for i in range(4):
        for a in range(3):
            G[i, a] = q * (N[i, a] + 0.5 * w[i] * r[a] / d1)
    if soft > 0.0:
        c0, c1 = crossing(X0, soft, N), crossing(X1, soft, C)
        m0, m1 = share(c0), share(c1)
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


@njit
def barrier_mean_gradient(x0, x1, kinds, stencil, reach, soft, stiffness, out):
    """Adds the discrete gradient between x0 and x1 to out (N, 3)."""
    X0, X1, G, S = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3)), np.zeros((6, 4, 3))
    for k in range(len(stencil)):
        i = stencil[k]
        if min(gap(kinds[k], x0, i), gap(kinds[k], x1, i)) >= reach[k]:
            continue
        gather(x0, i, X0)
        gather(x1, i, X1)
        _mean(kinds[k], X0, X1, reach[k], soft[k], S, G)
        for c in range(3 if kinds[k] == 1 else 4):
            for a in range(3):
                out[i[c], a] += stiffness * G[c, a]


@njit
def barrier_mean_blocks(x0, x1, kinds, stencil, reach, soft, stiffness, out):
    """Writes the derivative of the discrete gradient by x1, (m, 4, 4, 3, 3), not symmetric."""
    X0, X1, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    one, two, S = np.empty((4, 3)), np.empty((4, 3)), np.zeros((6, 4, 3))
    for k in range(len(stencil)):
        kind, t, s = kinds[k], reach[k], soft[k]
        gather(x0, stencil[k], X0)
        gather(x1, stencil[k], X1)
        d0, d1, out[k] = distance(kind, X0, w, r), distance(kind, X1, w, r), 0.0
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
