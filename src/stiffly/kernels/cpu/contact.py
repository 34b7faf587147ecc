"""Particles and surfaces with a formula: signed distances d, penalty contact.

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

from ..names import CONVEX, NO_SLOT, PLANE, SPHERE, TANGENT
from .jit import njit
from .small import NONE, add_symmetric, add_to, difference, dot, mixed, outer
from .small import length as length_of

CAP, FLAT, RIM = 0, 1, 2

_NEAR = 1e-20  # |x1 - x0|^2 / r^2: below this the correction of the normal is rounding


@njit(inline="always")
def _part(r, z, rho, length):
    if z >= 0.0:
        return CAP if length - r >= -z else FLAT
    return FLAT if rho <= r else RIM


@njit
def _half_ball(q, p):
    """The part of the half ball next to p; y, height z along the axis, w across it, |w|, |y|."""
    y = difference(p, q)
    a = (q[4], q[5], q[6])
    z = dot(a, y)
    w = mixed(1.0, y, -z, a)
    rho, length = length_of(w), length_of(y)
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
        y = difference(p, q)
        return q[4] * (length_of(y) - q[3])
    return _half_ball_distance(q, p)


@njit
def normal(kind, q, p):
    """grad d; zero at the centre of a sphere, which has no direction."""
    if kind == PLANE:
        return q[0], q[1], q[2]
    if kind == SPHERE:
        y = difference(p, q)
        length = length_of(y)
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
    return mixed(out / (rho * d), w, z / d, a)


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
        y = difference(p, q)
        length = length_of(y)
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
    t = mixed(-z / (rho * d), w, out / d, a)
    e = mixed(1.0 / rho, w, 0.0, w)
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
        y0, y1 = difference(p0, q), difference(p1, q)
        total = length_of(y0) + length_of(y1)
        scale = q[4] / total if total > 0.0 else 0.0
        return mixed(scale, y0, scale, y1)
    part0, y0, z0, w0, rho0, length0 = _half_ball(q, p0)
    part1, y1, z1, w1, rho1, length1 = _half_ball(q, p1)
    if part0 != part1:
        return _corrected(kind, q, p0, p1)
    if part0 == CAP:
        scale = 1.0 / (length0 + length1)
        return mixed(scale, y0, scale, y1)
    a = (q[4], q[5], q[6])
    if part0 == FLAT:
        return -a[0], -a[1], -a[2]
    out = rho0 + rho1 - 2.0 * q[3]
    both = distance(kind, q, p0) + distance(kind, q, p1)
    across = out / ((rho0 + rho1) * both)
    return mixed(1.0, mixed(across, w0, across, w1), (z0 + z1) / both, a)


@njit
def _corrected(kind, q, p0, p1):
    step = mixed(1.0, p1, -1.0, p0)
    n = normal(kind, q, mixed(0.5, p0, 0.5, p1))
    square = dot(step, step)
    if square <= _NEAR * q[3] * q[3]:
        return n
    gap = distance(kind, q, p1) - distance(kind, q, p0) - dot(n, step)
    return mixed(1.0, n, gap / square, step)


@njit(inline="always")
def _outer(s, a, b):
    return outer((s * a[0], s * a[1], s * a[2]), b)


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
    y0, y1 = difference(p0, q), difference(p1, q)
    total = length_of(y0) + length_of(y1)
    if total == 0.0:
        return NONE
    m, n1 = mean_normal(kind, q, p0, p1), normal(kind, q, p1)
    return _plus(_outer(-side / total, m, n1), NONE, side / total)


@njit
def mean_slope(kind, q, p0, p1):
    """dm/dp1 as nine numbers by rows; not symmetric."""
    if kind == PLANE:
        return NONE
    if kind == SPHERE:
        return _round_slope(kind, q, p0, p1, q[4])
    part0, _, _, w0, rho0, _ = _half_ball(q, p0)
    part1, _, _, w1, rho1, _ = _half_ball(q, p1)
    if part0 != part1:
        return _corrected_slope(kind, q, p0, p1)
    if part0 == CAP:
        return _round_slope(kind, q, p0, p1, 1.0)
    if part0 == FLAT:
        return NONE
    # rim: m = N/both, N = out P + (z0 + z1) a, P = (w0 + w1)/(rho0 + rho1)
    a = (q[4], q[5], q[6])
    wide = rho0 + rho1
    out, both = wide - 2.0 * q[3], distance(kind, q, p0) + distance(kind, q, p1)
    m, n1 = mean_normal(kind, q, p0, p1), normal(kind, q, p1)
    P = mixed(1.0 / wide, w0, 1.0 / wide, w1)
    e1 = mixed(1.0 / rho1, w1, 0.0, w1)
    S = _plus(_outer((1.0 - out / wide) / both, P, e1), _outer(-1.0 / both, m, n1), 0.0)
    return _plus(S, _outer((1.0 - out / wide) / both, a, a), out / (wide * both))


@njit
def _corrected_slope(kind, q, p0, p1):
    """m = n + c s with n at the middle, s = p1 - p0, c = (d1 - d0 - n.s)/s.s."""
    step = mixed(1.0, p1, -1.0, p0)
    middle = mixed(0.5, p0, 0.5, p1)
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
    dc = mixed(1.0, mixed(1.0, normal(kind, q, p1), -1.0, n), -1.0, Hs)
    dc = mixed(1.0 / square, dc, -2.0 * gap / (square * square), step)
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


# ------------------------------------------------------------------ penalty
# E = sum k/2 min(d - margin, 0)^2 (Dinev, Liu, Kavan 2018, Eq. 38).  With s = d - margin < 0:
# gradient k s n, tangent k n n^T + k s H, n and H the gradient and the Hessian of d.  The discrete
# gradient between two states is the divided difference of phi(d) = k/2 min(d - margin, 0)^2 times
# the mean normal.  Serial: few particles touch at a time, and the rest cost one distance each.


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
            add_to(out[i], stiffness[j] * s, normal(kind, _row(numbers, j), p))


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
        B = (
            *(k * n[0] * n[0] + f * H[0], k * n[1] * n[1] + f * H[1], k * n[2] * n[2] + f * H[2]),
            *(k * n[0] * n[1] + f * H[3], k * n[0] * n[2] + f * H[4], k * n[1] * n[2] + f * H[5]),
        )
        add_symmetric(blocks[diagonal[i]].reshape(9), 1.0, B)
        pressed[i] += -0.5 * f * lam


@njit(inline="always")
def divided(s0, s1, stiffness):
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
            f, _ = divided(s0, s1, stiffness[j])
            add_to(out[i], f, mean_normal(kind, _row(numbers, j), p0, p1))


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
        f, rate = divided(s0, s1, stiffness[j])
        m, S = mean_normal(kind, q, p0, p1), mean_slope(kind, q, p0, p1)
        n1 = normal(kind, q, p1)
        block = blocks[diagonal[i]]
        for a in range(3):
            for b in range(3):
                block[a, b] += rate * m[a] * n1[b] + f * S[3 * a + b]
