"""Signed distances d of a point to a surface, their derivatives and their discrete gradients.

A surface is a kind and a row q of seven numbers:
    PLANE       n (3), p (3), c          d = n.(x - p) + c
    SPHERE      centre (3), r, side, -   d = side (|y| - r), y = x - centre
    HEMISPHERE  centre (3), r, axis a    half ball a.y >= 0: the cap |y| - r, the flat side -a.y,
                                         or the rim, a circle of radius r about the axis
Points are tuples (x, y, z): the compiler keeps them in registers.

`mean_normal` is m with m.(x1 - x0) = d(x1) - d(x0) exactly, m = grad d where x0 = x1, symmetric in
x0 and x1: through lengths, as |y1| - |y0| = (y0 + y1).(y1 - y0) / (|y0| + |y1|), so that a force
along m turns a body about a sphere's centre no more than the true force does.  Between two parts
of a half ball the midpoint's normal is corrected along x1 - x0 (Gonzalez 1996).
"""

from __future__ import annotations

import math

import numpy as np

from ..names import PLANE, SPHERE
from .jit import njit

CAP, FLAT, RIM = 0, 1, 2

_NEAR = 1e-20  # |x1 - x0|^2 / r^2: below this the correction of the normal is rounding


@njit(inline="always")
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(inline="always")
def combine(s, a, t, b):
    """s a + t b."""
    return s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]


@njit(inline="always")
def _from_centre(q, p):
    return p[0] - q[0], p[1] - q[1], p[2] - q[2]


@njit(inline="always")
def _part(r, z, rho, length):
    if z >= 0.0:
        return CAP if length - r >= -z else FLAT
    return FLAT if rho <= r else RIM


@njit
def _half_ball(q, p):
    """The part of the half ball next to p; y, height z along the axis, w across it, |w|, |y|."""
    y = _from_centre(q, p)
    a = (q[4], q[5], q[6])
    z = dot(a, y)
    w = combine(1.0, y, -z, a)
    rho, length = math.sqrt(dot(w, w)), math.sqrt(dot(y, y))
    return _part(q[3], z, rho, length), y, z, w, rho, length


@njit
def _half_ball_distance(q, p):
    part, _, z, _, rho, length = _half_ball(q, p)
    if part == CAP:
        return length - q[3]
    if part == FLAT:
        return -z
    return math.sqrt((rho - q[3]) ** 2 + z * z)


@njit(inline="always")
def distance(kind, q, p):
    """d [m]; inlined, since every particle is asked for it in every evaluation."""
    if kind == PLANE:
        n = (q[0], q[1], q[2])
        return dot(n, (p[0] - q[3], p[1] - q[4], p[2] - q[5])) + q[6]
    if kind == SPHERE:
        y = _from_centre(q, p)
        return q[4] * (math.sqrt(dot(y, y)) - q[3])
    return _half_ball_distance(q, p)


@njit
def normal(kind, q, p):
    """grad d; zero at the centre of a sphere, which has no direction."""
    if kind == PLANE:
        return q[0], q[1], q[2]
    if kind == SPHERE:
        y = _from_centre(q, p)
        length = math.sqrt(dot(y, y))
        scale = q[4] / length if length > 0.0 else 0.0
        return scale * y[0], scale * y[1], scale * y[2]
    part, y, z, w, rho, length = _half_ball(q, p)
    a = (q[4], q[5], q[6])
    if part == CAP:
        return y[0] / length, y[1] / length, y[2] / length
    if part == FLAT:
        return -a[0], -a[1], -a[2]
    out = rho - q[3]
    d = math.sqrt(out * out + z * z)
    return combine(out / (rho * d), w, z / d, a)


@njit(inline="always")
def _round(n, bend):
    """bend (I - n n^T), as 00, 11, 22, 01, 02, 12."""
    return (
        bend * (1.0 - n[0] * n[0]),
        bend * (1.0 - n[1] * n[1]),
        bend * (1.0 - n[2] * n[2]),
        -bend * n[0] * n[1],
        -bend * n[0] * n[2],
        -bend * n[1] * n[2],
    )


@njit
def curvature(kind, q, p):
    """Hessian of d [1/m] as 00, 11, 22, 01, 02, 12, and its largest eigenvalue, >= 0."""
    flat = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if kind == PLANE:
        return flat, 0.0
    if kind == SPHERE:
        y = _from_centre(q, p)
        length = math.sqrt(dot(y, y))
        if length == 0.0:
            return flat, 0.0
        return _round(normal(kind, q, p), q[4] / length), max(0.0, q[4] / length)
    part, _, z, w, rho, length = _half_ball(q, p)
    if part == CAP:
        return _round(normal(kind, q, p), 1.0 / length), 1.0 / length
    if part == FLAT:
        return flat, 0.0
    # a ring: 1/d across the rim, (rho - r)/(rho d) along it
    a = (q[4], q[5], q[6])
    out = rho - q[3]
    d = math.sqrt(out * out + z * z)
    t = combine(-z / (rho * d), w, out / d, a)
    e = combine(1.0 / rho, w, 0.0, w)
    s, u = 1.0 / d, out / (rho * d)
    H = (
        s * t[0] * t[0] + u * (1.0 - a[0] * a[0] - e[0] * e[0]),
        s * t[1] * t[1] + u * (1.0 - a[1] * a[1] - e[1] * e[1]),
        s * t[2] * t[2] + u * (1.0 - a[2] * a[2] - e[2] * e[2]),
        s * t[0] * t[1] - u * (a[0] * a[1] + e[0] * e[1]),
        s * t[0] * t[2] - u * (a[0] * a[2] + e[0] * e[2]),
        s * t[1] * t[2] - u * (a[1] * a[2] + e[1] * e[2]),
    )
    return H, s


@njit
def mean_normal(kind, q, p0, p1):
    """m with m.(p1 - p0) = d(p1) - d(p0), see above."""
    if kind == PLANE:
        return q[0], q[1], q[2]
    if kind == SPHERE:
        y0, y1 = _from_centre(q, p0), _from_centre(q, p1)
        total = math.sqrt(dot(y0, y0)) + math.sqrt(dot(y1, y1))
        scale = q[4] / total if total > 0.0 else 0.0
        return combine(scale, y0, scale, y1)
    part0, y0, z0, w0, rho0, length0 = _half_ball(q, p0)
    part1, y1, z1, w1, rho1, length1 = _half_ball(q, p1)
    if part0 != part1:
        return _corrected(kind, q, p0, p1)
    if part0 == CAP:
        scale = 1.0 / (length0 + length1)
        return combine(scale, y0, scale, y1)
    a = (q[4], q[5], q[6])
    if part0 == FLAT:
        return -a[0], -a[1], -a[2]
    out = rho0 + rho1 - 2.0 * q[3]
    both = distance(kind, q, p0) + distance(kind, q, p1)
    across = out / ((rho0 + rho1) * both)
    return combine(1.0, combine(across, w0, across, w1), (z0 + z1) / both, a)


@njit
def _corrected(kind, q, p0, p1):
    step = combine(1.0, p1, -1.0, p0)
    n = normal(kind, q, combine(0.5, p0, 0.5, p1))
    square = dot(step, step)
    if square <= _NEAR * q[3] * q[3]:
        return n
    gap = distance(kind, q, p1) - distance(kind, q, p0) - dot(n, step)
    return combine(1.0, n, gap / square, step)


@njit(inline="always")
def _outer(s, a, b):
    return (
        s * a[0] * b[0], s * a[0] * b[1], s * a[0] * b[2],
        s * a[1] * b[0], s * a[1] * b[1], s * a[1] * b[2],
        s * a[2] * b[0], s * a[2] * b[1], s * a[2] * b[2],
    )  # fmt: skip


@njit(inline="always")
def _plus(A, B, s):
    """A + B + s I, all as nine numbers by rows."""
    return (
        A[0] + B[0] + s, A[1] + B[1], A[2] + B[2],
        A[3] + B[3], A[4] + B[4] + s, A[5] + B[5],
        A[6] + B[6], A[7] + B[7], A[8] + B[8] + s,
    )  # fmt: skip


@njit
def _round_slope(kind, q, p0, p1, side):
    """m = side (y0 + y1)/total, and d total/dp1 = side n1."""
    y0, y1 = _from_centre(q, p0), _from_centre(q, p1)
    total = math.sqrt(dot(y0, y0)) + math.sqrt(dot(y1, y1))
    zero = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if total == 0.0:
        return zero
    m, n1 = mean_normal(kind, q, p0, p1), normal(kind, q, p1)
    return _plus(_outer(-side / total, m, n1), zero, side / total)


@njit
def mean_slope(kind, q, p0, p1):
    """dm/dp1 as nine numbers by rows; not symmetric."""
    zero = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if kind == PLANE:
        return zero
    if kind == SPHERE:
        return _round_slope(kind, q, p0, p1, q[4])
    part0, _, _, w0, rho0, _ = _half_ball(q, p0)
    part1, _, _, w1, rho1, _ = _half_ball(q, p1)
    if part0 != part1:
        return _corrected_slope(kind, q, p0, p1)
    if part0 == CAP:
        return _round_slope(kind, q, p0, p1, 1.0)
    if part0 == FLAT:
        return zero
    # rim: m = N/both, N = out P + (z0 + z1) a, P = (w0 + w1)/(rho0 + rho1)
    a = (q[4], q[5], q[6])
    wide = rho0 + rho1
    out, both = wide - 2.0 * q[3], distance(kind, q, p0) + distance(kind, q, p1)
    m, n1 = mean_normal(kind, q, p0, p1), normal(kind, q, p1)
    P = combine(1.0 / wide, w0, 1.0 / wide, w1)
    e1 = combine(1.0 / rho1, w1, 0.0, w1)
    S = _plus(_outer((1.0 - out / wide) / both, P, e1), _outer(-1.0 / both, m, n1), 0.0)
    return _plus(S, _outer((1.0 - out / wide) / both, a, a), out / (wide * both))


@njit
def _corrected_slope(kind, q, p0, p1):
    """m = n + c s with n at the middle, s = p1 - p0, c = (d1 - d0 - n.s)/s.s."""
    step = combine(1.0, p1, -1.0, p0)
    middle = combine(0.5, p0, 0.5, p1)
    n, (H, _) = normal(kind, q, middle), curvature(kind, q, middle)
    half = (
        0.5 * H[0], 0.5 * H[3], 0.5 * H[4], 0.5 * H[3], 0.5 * H[1], 0.5 * H[5],
        0.5 * H[4], 0.5 * H[5], 0.5 * H[2],
    )  # fmt: skip
    square = dot(step, step)
    if square <= _NEAR * q[3] * q[3]:
        return half
    gap = distance(kind, q, p1) - distance(kind, q, p0) - dot(n, step)
    Hs = (dot(half[0:3], step), dot(half[3:6], step), dot(half[6:9], step))
    dc = combine(1.0, combine(1.0, normal(kind, q, p1), -1.0, n), -1.0, Hs)
    dc = combine(1.0 / square, dc, -2.0 * gap / (square * square), step)
    return _plus(half, _outer(1.0, step, dc), gap / square)


@njit
def surface_distances(x, kind, numbers, out):
    """d [m] of each point of x (m, 3) to out (m,); numbers (1, 7), or (m, 7): a row for each."""
    each = numbers.shape[0] > 1
    for j in range(x.shape[0]):
        p = x[j]
        out[j] = distance(kind, numbers[np.uint64(j if each else 0)], (p[0], p[1], p[2]))


@njit
def surface_normals(x, rows, kind, numbers, out):
    """grad d (k, 3) of the points rows (k,) of x (m, 3)."""
    each = numbers.shape[0] > 1
    for i in range(rows.size):
        j = rows[i]
        p = x[j]
        n = normal(kind, numbers[j if each else np.uint32(0)], (p[0], p[1], p[2]))
        out[i, 0], out[i, 1], out[i, 2] = n
