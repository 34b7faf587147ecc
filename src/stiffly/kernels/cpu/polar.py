"""Signed singular values of many 3x3 matrices at once: F = U diag(sigma) V^T, U and V rotations.

One-sided Jacobi (Hestenes 1958): columns of B = F are rotated in pairs until they are orthogonal,
B = F V; then sigma_i are their lengths and u_i their directions.  Unlike the eigenvectors of
F^T F this keeps the small singular values (F^T F has rounding errors of eps sigma_1^2, which
drown everything below sqrt(eps) sigma_1).  The last column is u_3 = u_1 x u_2, and
sigma_3 = u_3 . b_3 takes the sign of det F.

A tile of LANES matrices lies transposed in a flat array `w`, entry k of lane l at k LANES + l,
and every loop over lanes is free of branches: the compiler turns it into vector instructions (3x
measured).  Offsets must stay literal for that, hence the forced inlining.  No fastmath: fused
multiply-adds are placed differently where the compiler inlines differently, and threaded callers
would get other bits than serial ones.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from .jit import PARALLEL_ROWS, both, inlined, strict
from .small import dot, plus, vector_product

LANES = 32
SWEEPS = 5  # three leave 1e-5, four reach rounding for 4 million random matrices; one to spare

# Rows of a tile: F on entry, its columns on exit B = U diag(sigma); then V, U and sigma.
B_ROW, V_ROW, U_ROW, SIGMA_ROW, SVD_ROWS = 0, 9, 18, 27, 30

_TINY = 1e-140  # keeps 0/0 away (its square must not underflow)
_SMALLEST = 1e-300  # a matrix below this counts as zero
_LOST = 1e-20  # after scaling to max|F| = 1 a column as short as this is rounding error


@inlined
def column(w, row, lane):
    """Three entries a column apart (rows row, row + 3, row + 6) of one lane."""
    k = row * LANES + lane
    return w[k], w[k + 3 * LANES], w[k + 6 * LANES]


@inlined
def set_column(w, row, lane, a, b, c):
    k = row * LANES + lane
    w[k] = a
    w[k + 3 * LANES] = b
    w[k + 6 * LANES] = c


@inlined
def _rotate(w, p, q, lane, c, s):
    """Columns p, q become c p - s q, s p + c q."""
    a, b = column(w, p, lane), column(w, q, lane)
    set_column(w, p, lane, c * a[0] - s * b[0], c * a[1] - s * b[1], c * a[2] - s * b[2])
    set_column(w, q, lane, s * a[0] + c * b[0], s * a[1] + c * b[1], s * a[2] + c * b[2])


@inlined
def _turn_pair(w, p, q):
    """Rotates columns p, q of B and V such that those of B become orthogonal.

    By the smaller of the angles with tan 2 a = g/d, d = |b_q|^2 - |b_p|^2, g = 2 b_p . b_q (Golub
    and Van Loan 2013, 8.5.2), from cos 2 a = |d|/r, r = sqrt(d^2 + g^2): cos a = (r + |d|)/n and
    sin a = sgn(d) g/n with n = sqrt(2 r (r + |d|)).
    """
    for lane in range(LANES):
        a, b = column(w, B_ROW + p, lane), column(w, B_ROW + q, lane)
        d = (b[0] - a[0]) * (b[0] + a[0]) + (b[1] - a[1]) * (b[1] + a[1])
        d += (b[2] - a[2]) * (b[2] + a[2])
        g = 2.0 * dot(a, b)
        e = abs(d) + _TINY
        r = math.sqrt(e * e + g * g)
        inverse = 1.0 / math.sqrt(2.0 * r * (r + e))
        c = (r + e) * inverse
        s = math.copysign(1.0, d) * g * inverse
        _rotate(w, B_ROW + p, B_ROW + q, lane, c, s)
        _rotate(w, V_ROW + p, V_ROW + q, lane, c, s)


@inlined
def _order_pair(w, p, q):
    """Longer column of B first; the swap is a quarter turn, so that V stays a rotation."""
    for lane in range(LANES):
        a, b = column(w, B_ROW + p, lane), column(w, B_ROW + q, lane)
        wrong = dot(a, a) < dot(b, b)
        c, s = 0.0 if wrong else 1.0, -1.0 if wrong else 0.0
        _rotate(w, B_ROW + p, B_ROW + q, lane, c, s)
        _rotate(w, V_ROW + p, V_ROW + q, lane, c, s)


@inlined
def _start(w):
    """V = I, and F scaled to max|F| = 1, so that no square over- or underflows."""
    for lane in range(LANES):
        scale = 0.0
        for k in range(9):
            scale = max(scale, abs(w[(B_ROW + k) * LANES + lane]))
        scale = scale if scale > _SMALLEST else 1.0
        w[SIGMA_ROW * LANES + lane] = scale
        inverse = 1.0 / scale
        for k in range(9):
            w[(B_ROW + k) * LANES + lane] *= inverse
            w[(V_ROW + k) * LANES + lane] = 1.0 if k % 4 == 0 else 0.0


@inlined
def _second_direction(a, b):
    """Length of b less its part along the unit vector a, and its direction (made up where lost)."""
    for _ in range(2):  # Gram-Schmidt, twice: b may be nothing but rounding error
        b = plus(b, -dot(a, b), a)
    size = math.sqrt(dot(b, b))
    lost = size < _LOST
    steep = abs(a[0]) > 0.6  # a x e_y is then far from zero, else a x e_x
    b0 = (-a[2] if steep else 0.0) if lost else b[0]
    b1 = (0.0 if steep else a[2]) if lost else b[1]
    b2 = (a[0] if steep else -a[1]) if lost else b[2]
    inverse = 1.0 / math.sqrt(b0 * b0 + b1 * b1 + b2 * b2)
    return 0.0 if lost else size, (b0 * inverse, b1 * inverse, b2 * inverse)


@inlined
def _finish(w):
    """U and sigma from the orthogonal columns of B."""
    for lane in range(LANES):
        scale = w[SIGMA_ROW * LANES + lane]
        a = column(w, B_ROW, lane)
        first = math.sqrt(dot(a, a))
        empty = first < _LOST
        inverse = 1.0 / (1.0 if empty else first)
        a = (1.0 if empty else a[0] * inverse, a[1] * inverse, a[2] * inverse)
        second, b = _second_direction(a, column(w, B_ROW + 1, lane))
        n = vector_product(a, b)
        second = min(second, first)  # in order despite rounding
        third = min(max(dot(n, column(w, B_ROW + 2, lane)), -second), second)
        set_column(w, U_ROW, lane, a[0], a[1], a[2])
        set_column(w, U_ROW + 1, lane, b[0], b[1], b[2])
        set_column(w, U_ROW + 2, lane, n[0], n[1], n[2])
        w[SIGMA_ROW * LANES + lane] = scale * first
        w[(SIGMA_ROW + 1) * LANES + lane] = scale * second
        w[(SIGMA_ROW + 2) * LANES + lane] = scale * third


@strict
def svd_tile(w):
    """Rows B_ROW of the flat tile w hold F; fills V, U and sigma (sorted, the last one signed)."""
    _start(w)
    for _ in range(SWEEPS):
        _turn_pair(w, 0, 1)
        _turn_pair(w, 0, 2)
        _turn_pair(w, 1, 2)
    _order_pair(w, 0, 1)
    _order_pair(w, 0, 2)
    _order_pair(w, 1, 2)
    _finish(w)


@both()
def _svd(F, U, sigma, V):
    for tile in prange(-(-len(F) // LANES)):
        w = np.zeros(SVD_ROWS * LANES)
        first = tile * LANES
        count = min(LANES, len(F) - first)
        for lane in range(count):
            for k in range(9):
                w[k * LANES + lane] = F[first + lane, k]
        svd_tile(w)
        for lane in range(count):
            for k in range(9):
                V[first + lane, k] = w[(V_ROW + k) * LANES + lane]
                U[first + lane, k] = w[(U_ROW + k) * LANES + lane]
            for k in range(3):
                sigma[first + lane, k] = w[(SIGMA_ROW + k) * LANES + lane]


def signed_svd(F):
    """U (m, 3, 3), sigma (m, 3), V (m, 3, 3) with F = U diag(sigma) V^T, det U = det V = 1.

    sigma_1 >= sigma_2 >= |sigma_3|, and sigma_3 has the sign of det F.
    """
    flat = np.ascontiguousarray(F, dtype=np.float64).reshape(-1, 9)
    U, V, sigma = np.empty_like(flat), np.empty_like(flat), np.empty((len(flat), 3))
    _svd[len(flat) >= PARALLEL_ROWS](flat, U, sigma, V)
    return U.reshape(-1, 3, 3), sigma, V.reshape(-1, 3, 3)
