"""NumPy twins of kernels.cpu.lennard_jones: discrete gradients."""

from __future__ import annotations

import numpy as np


def _power_quotient(a, b, n):
    """(b^n - a^n)/(b - a), and its derivative by b."""
    terms = [a ** (n - 1 - k) * b**k for k in range(n)]
    slopes = [k * a ** (n - 1 - k) * b ** (k - 1) for k in range(1, n)]
    return sum(terms), sum(slopes)


def _fade(q0, q1, inner, slope):
    """S0 + S1 and its derivative by q1, [S], and d[S]/dq1."""
    a, b = (np.clip((q - inner) * slope, 0.0, 1.0) for q in (q0, q1))
    S = [1 - 10 * t**3 + 15 * t**4 - 6 * t**5 for t in (a, b)]
    moves = np.where((b > 0) & (b < 1), slope, 0.0)
    P, dP = np.zeros_like(b), np.zeros_like(b)
    for n, factor in ((3, -10), (4, 15), (5, -6)):
        value, by_t = _power_quotient(a, b, n)
        P, dP = P + factor * value, dP + factor * by_t
    clipped = ((a <= 0) | (a >= 1) | (b <= 0) | (b >= 1)) & (q0 != q1)
    apart = np.where(clipped, q1 - q0, 1.0)
    quotient = np.where(clipped, (b - a) / apart, moves)
    change = np.where(clipped, (moves - quotient) / apart, 0.0)
    flat = (-30 * b**2 + 60 * b**3 - 30 * b**4) * moves
    return S[0] + S[1], flat, P * quotient, dP * moves * quotient + P * change


def _pairs(x0, x1, radius, root, start, neighbour, inner, slope):
    """Atoms i and j of each pair, d0 + d1, d1, and [psi] with its derivative by q1."""
    i = np.repeat(np.arange(len(x0)), np.diff(start.astype(np.int64)))
    j = neighbour.astype(np.int64)
    d0, d1 = x0[i] - x0[j], x1[i] - x1[j]
    q0, q1 = np.sum(d0 * d0, axis=1), np.sum(d1 * d1, axis=1)
    s, epsilon = (radius[i] + radius[j]) ** 2, root[i] * root[j]
    p0, p1 = s / q0, s / q1
    phi = [4 * epsilon * (p**6 - p**3) for p in (p0, p1)]
    turn = -s / q1**2  # dp1/dq1
    per_p = -p0 * p1 / s  # (p1 - p0)/(q1 - q0)
    six, dsix = _power_quotient(p0, p1, 6)
    three, dthree = _power_quotient(p0, p1, 3)
    mean = 4 * epsilon * per_p * (six - three)
    curve = 4 * epsilon * turn * (per_p * (dsix - dthree) - p0 / s * (six - three))
    steep = 4 * epsilon * turn * (6 * p1**5 - 3 * p1**2)
    both, flat, fade, bend = _fade(q0, q1, inner, slope)
    total = phi[0] + phi[1]
    value = 0.5 * (both * mean + total * fade)
    return i, d0 + d1, d1, value, 0.5 * (flat * mean + both * curve + steep * fade + total * bend)


def lj_mean_gradient(x0, x1, radius, root, start, neighbour, inner, slope, out):
    i, d, _, value, _ = _pairs(x0, x1, radius, root, start, neighbour, inner, slope)
    np.add.at(out, i, value[:, None] * d)


def lj_mean_blocks(x0, x1, radius, root, start, neighbour, inner, slope, coupling, own):
    i, d, d1, value, turn = _pairs(x0, x1, radius, root, start, neighbour, inner, slope)
    blocks = value[:, None, None] * np.eye(3)
    blocks += 2 * turn[:, None, None] * d[:, :, None] * d1[:, None, :]
    coupling[:] = -blocks
    own[:] = 0.0
    np.add.at(own, i, blocks)
