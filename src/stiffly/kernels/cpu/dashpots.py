"""Dashpots f_i = -c (n.w) n = -f_j, n = (x_i - x_j)/|x_i - x_j|, w = v_i - v_j.

Serial, so that sums have one order.  A dashpot of length zero has no direction and does nothing.
"""

from __future__ import annotations

import math

import numpy as np

from ..names import NO_SLOT
from .jit import njit


@njit
def dashpot_force(x, v, edges, coefficient, out):
    """Adds the force [N] to out (N, 3); edges (m, 2), coefficient (m,) [N s/m]."""
    for s in range(edges.shape[0]):
        i, j = edges[s]
        d0, d1, d2 = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
        square = d0 * d0 + d1 * d1 + d2 * d2
        if square == 0.0:
            continue
        rate = d0 * (v[i, 0] - v[j, 0]) + d1 * (v[i, 1] - v[j, 1]) + d2 * (v[i, 2] - v[j, 2])
        scale = coefficient[s] * rate / square
        out[i, 0] -= scale * d0
        out[i, 1] -= scale * d1
        out[i, 2] -= scale * d2
        out[j, 0] += scale * d0
        out[j, 1] += scale * d1
        out[j, 2] += scale * d2


@njit
def dashpot_tangents(x, v, edges, coefficient, slots, stiffness, damping):
    """Adds K = -df/dx and D = -df/dv to blocks (nnz, 3, 3).

    slots (m, 4): where the blocks ii, ij, ji, jj are kept, NO_SLOT where they are not.
    D_ii = c n n^T; K_ii = c/L [n (P w)^T + (n.w) P], P = I - n n^T, since dn = P dd / L.
    """
    n, w, across = np.empty(3), np.empty(3), np.empty(3)
    for s in range(edges.shape[0]):
        i, j = edges[s]
        square = 0.0
        for a in range(3):
            n[a] = x[i, a] - x[j, a]
            w[a] = v[i, a] - v[j, a]
            square += n[a] * n[a]
        if square == 0.0:
            continue
        length = math.sqrt(square)
        rate = 0.0
        for a in range(3):
            n[a] /= length
            rate += n[a] * w[a]
        for a in range(3):
            across[a] = w[a] - rate * n[a]
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
                    stiffness[slot, a, b] += sign * turning / length
