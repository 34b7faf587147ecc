"""Forces against motion: dashpots and wind.  Serial, so that sums have one order; they take a small
share of any step.

Dashpots: f_i = -c (n.w) n = -f_j, n = (x_i - x_j)/|x_i - x_j|, w = v_i - v_j.  One of length zero
has no direction and does nothing.

Wind on triangles: F = q |p| p S / |S|^2, p = (wind - v).S, S the area vector, v the mean velocity
of the corners; q = density * coefficient / 2.  Every corner gets a third of F.
"""

from __future__ import annotations

import numpy as np

from ..names import NO_SLOT
from .jit import njit
from .small import add_to, difference, dot, length, plus, sum_of, vector_product


@njit
def dashpot_force(x, v, edges, coefficient, out):
    """Adds the force [N] to out (N, 3); edges (m, 2), coefficient (m,) [N s/m]."""
    for s in range(edges.shape[0]):
        i, j = edges[s]
        d = difference(x[i], x[j])
        square = dot(d, d)
        if square == 0.0:
            continue
        scale = coefficient[s] * dot(d, difference(v[i], v[j])) / square
        add_to(out[i], -scale, d)
        add_to(out[j], scale, d)


@njit
def dashpot_tangents(x, v, edges, coefficient, slots, stiffness, damping):
    """Adds K = -df/dx and D = -df/dv to blocks (nnz, 3, 3).

    slots (m, 4): where the blocks ii, ij, ji, jj are kept, NO_SLOT where they are not.
    D_ii = c n n^T; K_ii = c/L [n (P w)^T + (n.w) P], P = I - n n^T, since dn = P dd / L.
    """
    for s in range(edges.shape[0]):
        i, j = edges[s]
        d, w = difference(x[i], x[j]), difference(v[i], v[j])
        L = length(d)
        if L == 0.0:
            continue
        n = (d[0] / L, d[1] / L, d[2] / L)
        rate = dot(n, w)
        across = plus(w, -rate, n)
        c = coefficient[s]
        for block in range(4):
            slot = slots[s, block]
            if slot == NO_SLOT:
                continue
            sign = c if block == 0 or block == 3 else -c
            for a in range(3):
                for b in range(3):
                    normal = n[a] * n[b]
                    delta = 1.0 if a == b else 0.0
                    damping[slot, a, b] += sign * normal
                    turning = n[a] * across[b] + rate * (delta - normal)
                    stiffness[slot, a, b] += sign * turning / L


@njit(inline="always")
def _area(x, corner):
    a, b, c = x[corner[0]], x[corner[1]], x[corner[2]]
    n = vector_product(difference(b, a), difference(c, a))
    return 0.5 * n[0], 0.5 * n[1], 0.5 * n[2]


@njit(inline="always")
def _relative(v, corner, wind):
    total = sum_of(sum_of(v[corner[0]], v[corner[1]]), v[corner[2]])
    return wind[0] - total[0] / 3.0, wind[1] - total[1] / 3.0, wind[2] - total[2] / 3.0


@njit
def wind_forces(x, v, triangles, wind, pressure, out):
    """Adds the force [N] to out (N, 3); triangles (s, 3), wind (3,) [m/s], pressure (s,) =
    density * coefficient / 2 [kg/m^3]."""
    for s in range(triangles.shape[0]):
        S, u = _area(x, triangles[s]), _relative(v, triangles[s], wind)
        square, p = dot(S, S), dot(u, S)
        third = 0.0 if square == 0.0 else pressure[s] * abs(p) * p / square / 3.0
        for corner in triangles[s]:
            add_to(out[corner], third, S)


@njit
def _derivatives(S, u, q, dF, dv):
    """dF/dS into dF (3, 3), dF/dv of any one corner into dv (3, 3)."""
    square, p = dot(S, S), dot(u, S)
    inverse = 0.0 if square == 0.0 else 1.0 / square
    slope = 2.0 * q * abs(p) * inverse
    value = q * abs(p) * p * inverse
    for a in range(3):
        for b in range(3):
            dv[a, b] = -slope / 3.0 * S[a] * S[b]
            dF[a, b] = slope * S[a] * u[b] - 2.0 * value * inverse * S[a] * S[b]
        dF[a, a] += value


@njit
def wind_tangents(x, v, triangles, wind, pressure, slots, stiffness, damping):
    """Adds K = -df/dx and D = -df/dv to blocks (nnz, 3, 3); slots (s, 3, 3): where block
    (corner m, corner k) is kept, NO_SLOT where it is not."""
    dF, dv, dx = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for s in range(triangles.shape[0]):
        corner = triangles[s]
        _derivatives(_area(x, corner), _relative(v, corner, wind), pressure[s], dF, dv)
        for k in range(3):
            q, r = x[corner[(k + 2) % 3]], x[corner[(k + 1) % 3]]
            e0, e1, e2 = 0.5 * (q[0] - r[0]), 0.5 * (q[1] - r[1]), 0.5 * (q[2] - r[2])
            for a in range(3):  # dS/dx_k = [e]x, with [e]x d = e x d
                dx[a, 0] = dF[a, 1] * e2 - dF[a, 2] * e1
                dx[a, 1] = dF[a, 2] * e0 - dF[a, 0] * e2
                dx[a, 2] = dF[a, 0] * e1 - dF[a, 1] * e0
            for m in range(3):
                slot = slots[s, m, k]
                if slot != NO_SLOT:
                    for a in range(3):
                        for b in range(3):
                            stiffness[slot, a, b] -= dx[a, b] / 3.0
                            damping[slot, a, b] -= dv[a, b] / 3.0
