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
from .small import (
    ZERO,
    add_to,
    cofactor,
    determinant,
    difference,
    dot,
    length,
    mixed,
    plus,
    sum_of,
    times,
    vector_product,
)

NUDGE = 1e-4  # of the distance: for central differences
SAME = 1e-5  # distances that differ by less, relatively: the quotient is the derivative half-way
ROUNDING = 8 * 2.0**-52  # of the energies: a gap below is no force (system/discrete_gradient.py)


@njit(inline="always")
def barrier(d, t):
    return 0.5 * (t - d) ** 4 / (d * d) if d < t else 0.0


@njit(inline="always")
def slope(d, t):
    return -((t - d) ** 3) * (t + d) / d**3 if d < t else 0.0


@njit
def crossing(X, soft, gradient):
    """c = |u x v|^2 / soft of two edges, and its derivative (4, 3)."""
    u, v = difference(X[1], X[0]), difference(X[3], X[2])
    uu, uv, vv, n = dot(u, u), dot(u, v), dot(v, v), vector_product(u, v)
    for a in range(3):
        by_u = 2.0 * (vv * u[a] - uv * v[a]) / soft
        by_v = 2.0 * (uu * v[a] - uv * u[a]) / soft
        gradient[0, a], gradient[1, a] = -by_u, by_u
        gradient[2, a], gradient[3, a] = -by_v, by_v
    return dot(n, n) / soft


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
                add_to(out[i[c]], stiffness, G[c])


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


# ------------------------------------------------------------------ discrete gradients
# By the chain rule of difference quotients,
#
#     g = m* q n* + b* p c* + correction,  q = (b1 - b0)/(d1 - d0),  p = (m1 - m0)/(c1 - c0),
#
# with means * of both ends, freed of its resultant and its torque about the middle of the pair, and
# corrected along the strain (Gonzalez 1996), so that g.(x1 - x0) = E1 - E0 to the last digits and
# both momenta stay.  Its derivative is a central difference.


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
    for a in range(3):
        push = 0.0
        for i in range(points):
            push += F[i, a]
        push /= points
        for i in range(points):
            F[i, a] -= push
    a00 = a01 = a02 = a11 = a12 = a22 = 0.0
    torque = ZERO
    for i in range(points):
        p0, p1, p2 = Y[i, 0], Y[i, 1], Y[i, 2]
        a00 += p1 * p1 + p2 * p2
        a11 += p2 * p2 + p0 * p0
        a22 += p0 * p0 + p1 * p1
        a01 -= p0 * p1
        a02 -= p0 * p2
        a12 -= p1 * p2
        torque = sum_of(torque, vector_product(Y[i], F[i]))
    size = a00 + a11 + a22
    if not size > 0.0:
        return
    lift = 1e-14 * size  # points on one line: nothing turns about it
    A = (a00 + lift, a01, a02, a01, a11 + lift, a12, a02, a12, a22 + lift)
    cof = cofactor(A)
    det = determinant(A, cof)
    if not det > 0.0:
        return
    spin = times(cof, torque)
    spin = (spin[0] / det, spin[1] / det, spin[2] / det)
    for i in range(points):
        add_to(F[i], -1.0, vector_product(spin, Y[i]))


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
            add_to(out[i[c]], stiffness, G[c])


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


# ------------------------------------------------------------------ friction
# The gap of a contact is g = n . sum_i w_i x_i, with weights w (4,), sum_i w_i = 0, and a unit
# normal n (3,).  Energies are functions of gaps, so all forces are sum_c f_c w_ci n_c.


@njit
def pair_friction(v, inverse_mass, stencil, weights, normals, most):
    """Slows the sliding of all contacts at once, v (N, 3) in place; momentum stays.

    Each contact has a part of its particles, in whose mass its share s_i is that of |w_i| most
    among all contacts of the particle.  The impulse lies along the sliding velocity u of
    sum_i w_i v_i, across n, and is the smaller of most (m,) [N s] and what stops these parts,
    |u| / sum_i w_i^2 / (s_i m_i): never a reversal, and parts that join again have no more energy
    than apart, so kinetic energy only falls (docs/decisions/0116).  inverse_mass (N,) [1/kg]: zero
    for particles that are held.
    """
    pressed, change = np.zeros(len(v)), np.zeros(v.shape)
    for k in range(len(stencil)):
        for c in range(4):
            pressed[stencil[k, c]] += abs(weights[k, c]) * max(0.0, most[k])
    for k in range(len(stencil)):
        if most[k] <= 0.0:
            continue
        i, w, n = stencil[k], weights[k], normals[k]
        first = mixed(w[0], v[i[0]], w[1], v[i[1]])
        d = plus(plus(first, w[2], v[i[2]]), w[3], v[i[3]])  # sum_i w_i v_i
        u = plus(d, -dot(d, n), n)
        speed = length(u)
        light = 0.0
        for c in range(4):
            light += abs(w[c]) * inverse_mass[i[c]] * pressed[i[c]] / most[k]
        if speed == 0.0 or light == 0.0:
            continue
        impulse = min(most[k] / speed, 1.0 / light)
        for c in range(4):
            add_to(change[i[c]], -(impulse * w[c] * inverse_mass[i[c]]), u)
    v += change


@njit
def pair_impulses(v, inverse_mass, stencil, weights, normals, least):
    """Makes the two sides of each contact in turn part with at least n . sum_i w_i v_i = least (m,)
    [m/s], v (N, 3) in place, by an impulse along n; momentum stays."""
    for k in range(len(stencil)):
        i, w, n = stencil[k], weights[k], normals[k]
        first = mixed(w[0], v[i[0]], w[1], v[i[1]])
        missing = least[k] - dot(plus(plus(first, w[2], v[i[2]]), w[3], v[i[3]]), n)
        light = 0.0
        for c in range(4):
            light += w[c] * w[c] * inverse_mass[i[c]]
        if missing > 0.0 and light > 0.0:
            for c in range(4):
                add_to(v[i[c]], missing / light * w[c] * inverse_mass[i[c]], n)
