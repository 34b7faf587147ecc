"""Discrete gradients of springs: exact in energy, free of net force and torque.

For two states with d0, d1 the vectors along a spring and L0, L1 their lengths,

    g = [phi(L1) - phi(L0)] / (L1 - L0)  (d0 + d1) / (L0 + L1)

obeys g . (d1 - d0) = phi(L1) - phi(L0) exactly, since (d0 + d1).(d1 - d0) = L1^2 - L0^2 (Simo,
Tarnow 1992; LaBudde, Greenspan 1974 for central forces).  The quotient is a polynomial in
e = L - l, so equal lengths need no care:

    linear   k (e0 + e1)/2
    cubic    k (e0 + e1)/2 (1 + (e0^2 + e1^2)/(2 l^2))

Half-springs are gathered as in springs.py.  A spring of length zero in both states pulls nowhere.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from ..names import NO_SLOT
from .jit import both, njit
from .springs import add_row
from .threads import PARALLEL_ROWS


@njit(inline="always")
def mean_scale(total, first, second, stiffness, rest, cubic):
    """a of g = a (d0 + d1), and da/dL1; total = L0 + L1 > 0, first, second = L0 - l, L1 - l."""
    both = 0.5 * stiffness * (first + second)
    slope = 0.5 * stiffness
    if cubic:
        inverse = 1.0 / (rest * rest)
        more = 1.0 + 0.5 * inverse * (first * first + second * second)
        slope = slope * more + both * second * inverse
        both *= more
    scale = both / total
    return scale, (slope - scale) / total


@njit(inline="always")
def mean_tangent(L0, L1, stiffness, rest, cubic):
    """a, c of dg/dd1 = a I + c (d0 + d1) d1^T; at length zero the slope along the spring."""
    total = L0 + L1
    if total == 0.0:
        return 0.5 * stiffness * (4.0 if cubic else 1.0), 0.0
    scale, slope = mean_scale(total, L0 - rest, L1 - rest, stiffness, rest, cubic)
    return scale, 0.0 if L1 == 0.0 else slope / L1


@njit(inline="always")
def _pull(r, s, q, w, stiffness, rest, cubic):
    """g of one spring between particles that move from r to s and from q to w."""
    a0, a1, a2 = r[0] - q[0], r[1] - q[1], r[2] - q[2]
    b0, b1, b2 = s[0] - w[0], s[1] - w[1], s[2] - w[2]
    L0 = math.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
    L1 = math.sqrt(b0 * b0 + b1 * b1 + b2 * b2)
    total = L0 + L1 if L0 + L1 > 0.0 else 1.0
    scale, _ = mean_scale(total, L0 - rest, L1 - rest, stiffness, rest, cubic)
    return scale * (a0 + b0), scale * (a1 + b1), scale * (a2 + b2)


@njit
def _gradient_serial(x0, x1, start, neighbour, stiffness, rest, cubic, out):
    """Every spring once: a lone thread may write to both ends, and roots are what takes time."""
    for i in range(np.uint64(len(x0))):
        r, s = x0[i], x1[i]
        t0, t1, t2 = 0.0, 0.0, 0.0
        for p in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[p]
            if j > i:
                g = _pull(r, s, x0[j], x1[j], stiffness[p], rest[p], cubic)
                t0, t1, t2 = t0 + g[0], t1 + g[1], t2 + g[2]
                row = out[j]
                row[0] -= g[0]
                row[1] -= g[1]
                row[2] -= g[2]
        add_row(out[i], (t0, t1, t2))


@njit(inline="always")
def _row_gradient(i, x0, x1, start, neighbour, stiffness, rest, cubic, out):
    t0, t1, t2 = 0.0, 0.0, 0.0
    for p in range(start[i], start[i + np.uint64(1)]):
        j = neighbour[p]
        g = _pull(x0[i], x1[i], x0[j], x1[j], stiffness[p], rest[p], cubic)
        t0, t1, t2 = t0 + g[0], t1 + g[1], t2 + g[2]
    add_row(out[i], (t0, t1, t2))


@njit(parallel=True)
def _gradient_parallel(x0, x1, start, neighbour, stiffness, rest, cubic, out):
    for i in prange(len(x0)):
        _row_gradient(np.uint64(i), x0, x1, start, neighbour, stiffness, rest, cubic, out)


def spring_mean_gradient(x0, x1, start, neighbour, stiffness, rest, out, cubic=False):
    """Adds g [N] to out (N, 3), g.(x1 - x0) = E(x1) - E(x0); half-springs as in spring_gradient."""
    gradient = _gradient_serial if len(x0) < PARALLEL_ROWS else _gradient_parallel
    gradient(x0, x1, start, neighbour, stiffness, rest, cubic, out)


@njit(inline="always")
def _row_blocks(i, x0, x1, half, cubic, diagonal, slot, blocks):
    start, neighbour, stiffness, rest = half
    r, s = x0[i], x1[i]
    own = blocks[diagonal[i]]
    for p in range(start[i], start[i + np.uint64(1)]):
        q, w = x0[neighbour[p]], x1[neighbour[p]]
        a = (r[0] - q[0], r[1] - q[1], r[2] - q[2])
        b = (s[0] - w[0], s[1] - w[1], s[2] - w[2])
        L0 = math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
        L1 = math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
        scale, extra = mean_tangent(L0, L1, stiffness[p], rest[p], cubic)
        other = slot[p]
        for k in range(3):
            for j in range(3):
                value = extra * (a[k] + b[k]) * b[j]
                if k == j:
                    value += scale
                own[3 * k + j] += value
                if other != NO_SLOT:
                    blocks[other, 3 * k + j] -= value


@both()
def _blocks(x0, x1, half, cubic, diagonal, slot, blocks):
    for i in prange(len(x0)):
        if diagonal[i] != NO_SLOT:
            _row_blocks(np.uint64(i), x0, x1, half, cubic, diagonal, slot, blocks)


def spring_mean_blocks(
    x0, x1, start, neighbour, stiffness, rest, diagonal, slot, blocks, cubic=False
):
    """Adds dg/dx1 [N/m] to blocks (nnz, 3, 3), not symmetric; slots as in spring_blocks."""
    half = (start, neighbour, stiffness, rest)
    _blocks[len(x0) >= PARALLEL_ROWS](x0, x1, half, cubic, diagonal, slot, blocks.reshape(-1, 9))
