"""Penalty contact of particles with a surface, E = sum k/2 min(d - margin, 0)^2.

Dinev, Liu, Kavan 2018, Eq. 38.  With s = d - margin < 0: gradient k s n, tangent
k n n^T + k s H, n and H the gradient and the Hessian of d (see surfaces.py).  The discrete gradient
between two states is the divided difference of phi(d) = k/2 min(d - margin, 0)^2 times the mean
normal.  Serial: few particles touch at a time, and the rest cost one distance each.
"""

from __future__ import annotations

import numpy as np

from ..names import CONVEX, NO_SLOT, TANGENT
from .jit import njit
from .surfaces import curvature, distance, mean_normal, mean_slope, normal


@njit(inline="always")
def _row(numbers, j):
    """Of one row for all particles, or of one for each.

    To be taken where it is used: a row that is kept for a call behind a test costs a reference
    count for every particle, five times the distance itself.
    """
    return numbers[np.uint64(j if numbers.shape[0] > 1 else 0)]


@njit(inline="always")
def _point(x, i):
    p = x[i]
    return p[0], p[1], p[2]


@njit
def contact_energy(x, own, kind, numbers, stiffness, margin):
    """Energy [J]. x (N, 3) [m]; own (m,): particles that may touch; stiffness (m,) [N/m];
    kind, numbers (1 or m, 7): the surface; margin [m]."""
    total = 0.0
    for j in range(own.size):
        s = distance(kind, _row(numbers, j), _point(x, own[j])) - margin
        if s < 0.0:
            total += 0.5 * stiffness[j] * s * s
    return total


@njit
def contact_gradient(x, own, kind, numbers, stiffness, margin, out):
    """Adds dE/dx [N] to out (N, 3)."""
    for j in range(own.size):
        i = own[j]
        p = _point(x, i)
        s = distance(kind, _row(numbers, j), p) - margin
        if s < 0.0:
            n, f = normal(kind, _row(numbers, j), p), stiffness[j] * s
            g = out[i]
            g[0] += f * n[0]
            g[1] += f * n[1]
            g[2] += f * n[2]


@njit
def contact_blocks(
    x, own, kind, numbers, stiffness, margin, diagonal, blocks, pressed, form=TANGENT
):
    """Adds d2E/dx2 [N/m] to blocks (nnz, 3, 3), and to pressed (N,) half the negative stiffness:
    u^T K u >= k s u^T H u >= -k |s| lam |u|^2, lam the largest eigenvalue of H.

    diagonal (N,): slot of each particle's own block.  form: CONVEX leaves k s H out where it is
    negative (H has eigenvalues of one sign only).
    """
    for j in range(own.size):
        i = own[j]
        p = _point(x, i)
        s = distance(kind, _row(numbers, j), p) - margin
        if not s < 0.0 or diagonal[i] == NO_SLOT:
            continue
        q = _row(numbers, j)
        n, (H, lam) = normal(kind, q, p), curvature(kind, q, p)
        k = stiffness[j]
        f = 0.0 if form == CONVEX and lam > 0.0 else k * s
        b01 = k * n[0] * n[1] + f * H[3]
        b02 = k * n[0] * n[2] + f * H[4]
        b12 = k * n[1] * n[2] + f * H[5]
        block = blocks[diagonal[i]]
        for a in range(3):
            block[a, a] += k * n[a] * n[a] + f * H[a]
        block[0, 1] += b01
        block[1, 0] += b01
        block[0, 2] += b02
        block[2, 0] += b02
        block[1, 2] += b12
        block[2, 1] += b12
        pressed[i] += -0.5 * f * lam


@njit(inline="always")
def _divided(s0, s1, stiffness):
    """[phi(s1) - phi(s0)]/(s1 - s0) and its derivative by s1, phi(s) = k/2 min(s, 0)^2.

    No 0/0: where only one of the two is inside, they lie on both sides of zero.
    """
    half = 0.5 * stiffness
    if s0 < 0.0 and s1 < 0.0:
        return half * (s0 + s1), half
    if s1 < 0.0:
        share = s1 / (s1 - s0)
        return half * s1 * share, half * share * (2.0 - share)
    if s0 < 0.0:
        share = s0 / (s0 - s1)
        return half * s0 * share, half * share * share
    return 0.0, 0.0


@njit
def contact_mean_gradient(x0, x1, own, kind, numbers, stiffness, margin, out):
    """Adds g with g.(x1 - x0) = E(x1) - E(x0) to out (N, 3)."""
    for j in range(own.size):
        i = own[j]
        p0, p1 = _point(x0, i), _point(x1, i)
        s0 = distance(kind, _row(numbers, j), p0) - margin
        s1 = distance(kind, _row(numbers, j), p1) - margin
        if s0 < 0.0 or s1 < 0.0:
            f, _ = _divided(s0, s1, stiffness[j])
            m = mean_normal(kind, _row(numbers, j), p0, p1)
            g = out[i]
            g[0] += f * m[0]
            g[1] += f * m[1]
            g[2] += f * m[2]


@njit
def contact_mean_blocks(x0, x1, own, kind, numbers, stiffness, margin, diagonal, blocks):
    """Adds dg/dx1 = m f'(s1) n1^T + f dm/dx1 to blocks (nnz, 3, 3)."""
    for j in range(own.size):
        i = own[j]
        p0, p1 = _point(x0, i), _point(x1, i)
        s0 = distance(kind, _row(numbers, j), p0) - margin
        s1 = distance(kind, _row(numbers, j), p1) - margin
        if not (s0 < 0.0 or s1 < 0.0) or diagonal[i] == NO_SLOT:
            continue
        q = _row(numbers, j)
        f, rate = _divided(s0, s1, stiffness[j])
        m, S = mean_normal(kind, q, p0, p1), mean_slope(kind, q, p0, p1)
        n1 = normal(kind, q, p1)
        block = blocks[diagonal[i]]
        for a in range(3):
            for b in range(3):
                block[a, b] += rate * m[a] * n1[b] + f * S[3 * a + b]
