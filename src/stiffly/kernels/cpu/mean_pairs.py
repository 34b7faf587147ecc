"""Discrete gradients of Lennard-Jones pairs, switched off before a cutoff (see listed_pairs.py).

A pair's energy psi is a function of q = r^2, and q1 - q0 = (d0 + d1).(d1 - d0), so

    g = [psi(q1) - psi(q0)] / (q1 - q0)  (d0 + d1)

gives the change of energy exactly (LaBudde, Greenspan 1974).  No quotient of differences is taken
where q1 ~ q0: with p = s^2/q and phi = 4 e (p^6 - p^3),

    [phi] = -(4 e / s^2) p0 p1 (p0^2 + p0 p1 + p1^2) (p0^3 + p1^3 - 1)
    [S phi] = (S0 + S1)/2 [phi] + (phi0 + phi1)/2 [S]

and [S] is a polynomial in both t times [t], which is the slope where t is not clipped.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .jit import both, njit
from .listed_pairs import PARALLEL_LISTED

_ROWS = 32  # atoms of one task
_STRICT = {"error_model": "numpy", "fastmath": {"contract"}}


@njit(inline="always", **_STRICT)
def _lennard_jones(q0, q1, sigma, epsilon):
    """phi0, phi1, dphi1/dq1, [phi], and d[phi]/dq1."""
    square = sigma * sigma
    a, b = square / q0, square / q1
    a3, b3 = a * a * a, b * b * b
    c = 4.0 * epsilon / square
    u = a * b * (a * a + a * b + b * b)
    du = a * (a * a + 2.0 * a * b + 3.0 * b * b)  # by p1
    v = a3 + b3 - 1.0
    turn = -b * b / square  # dp1/dq1
    slope = 4.0 * epsilon * (6.0 * b3 - 3.0) * b * b * turn
    first, second = 4.0 * epsilon * a3 * (a3 - 1.0), 4.0 * epsilon * b3 * (b3 - 1.0)
    return first, second, slope, -c * u * v, -c * (du * v + 3.0 * u * b * b) * turn


@njit(inline="always", **_STRICT)
def _switch(q0, q1, inner, slope):
    """S0 + S1 and its derivative by q1, [S], and d[S]/dq1."""
    a = min(1.0, max(0.0, (q0 - inner) * slope))
    b = min(1.0, max(0.0, (q1 - inner) * slope))
    both = 2.0 - a * a * a * (10.0 - 15.0 * a + 6.0 * a * a)
    both -= b * b * b * (10.0 - 15.0 * b + 6.0 * b * b)
    moves = slope if 0.0 < b < 1.0 else 0.0  # dt1/dq1
    two, three = a + b, a * a + a * b + b * b  # quotients of t^2, t^3, then t^4 and t^5
    four, five = two * (a * a + b * b), a * a * a * two + b * b * three
    polynomial = -10.0 * three + 15.0 * four - 6.0 * five
    by_t = -10.0 * (a + 2.0 * b) + 15.0 * (a * a + 2.0 * a * b + 3.0 * b * b)
    by_t -= 6.0 * (a * a * a + 2.0 * a * a * b + 3.0 * a * b * b + 4.0 * b * b * b)
    quotient, change = moves, 0.0
    if (a <= 0.0 or a >= 1.0 or b <= 0.0 or b >= 1.0) and q1 != q0:
        quotient = (b - a) / (q1 - q0)
        change = (moves - quotient) / (q1 - q0)
    flat = -30.0 * b * b * (1.0 - b) * (1.0 - b) * moves
    return both, flat, polynomial * quotient, by_t * moves * quotient + polynomial * change


@njit(inline="always", **_STRICT)
def _pair(q0, q1, sigma, epsilon, inner, slope):
    """[psi] and d[psi]/dq1."""
    first, second, steep, mean, curve = _lennard_jones(q0, q1, sigma, epsilon)
    both, flat, fade, bend = _switch(q0, q1, inner, slope)
    total = first + second
    return (
        0.5 * (both * mean + total * fade),
        0.5 * (flat * mean + both * curve + steep * fade + total * bend),
    )


@njit(**_STRICT)
def _rows(task, x0, x1, radius, root, start, neighbour, inner, slope, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x0.shape[0])):
        i = np.uint64(i)
        r, s = x0[i], x1[i]
        g0, g1, g2 = 0.0, 0.0, 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            p, q = x0[j], x1[j]
            a0, a1, a2 = r[0] - p[0], r[1] - p[1], r[2] - p[2]
            b0, b1, b2 = s[0] - q[0], s[1] - q[1], s[2] - q[2]
            q0, q1 = a0 * a0 + a1 * a1 + a2 * a2, b0 * b0 + b1 * b1 + b2 * b2
            scale, _ = _pair(q0, q1, radius[i] + radius[j], root[i] * root[j], inner, slope)
            g0 += scale * (a0 + b0)
            g1 += scale * (a1 + b1)
            g2 += scale * (a2 + b2)
        out[i, 0] += g0
        out[i, 1] += g1
        out[i, 2] += g2


@both()
def _gradient(x0, x1, radius, root, start, neighbour, inner, slope, out):
    for task in prange(-(-len(x0) // _ROWS)):
        _rows(task, x0, x1, radius, root, start, neighbour, inner, slope, out)


def lj_mean_gradient(x0, x1, radius, root, start, neighbour, inner, slope, out):
    """Adds g to out (N, 3), g.(x1 - x0) = E(x1) - E(x0); the list must hold every pair that is
    within the cutoff in either state, the rest as in lj_list_gradient."""
    _gradient[len(neighbour) >= PARALLEL_LISTED](
        x0, x1, radius, root, start, neighbour, inner, slope, out
    )


@njit(**_STRICT)
def lj_mean_blocks(x0, x1, radius, root, start, neighbour, inner, slope, coupling, own):
    """Writes dg/dx1: coupling (m, 3, 3) of each listed pair, own (N, 3, 3) of each atom."""
    a, b = np.empty(3), np.empty(3)
    for i in range(x0.shape[0]):
        i = np.uint64(i)
        own[i] = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            q0, q1 = 0.0, 0.0
            for n in range(3):
                a[n], b[n] = x0[i, n] - x0[j, n], x1[i, n] - x1[j, n]
                q0 += a[n] * a[n]
                q1 += b[n] * b[n]
            sigma, epsilon = radius[i] + radius[j], root[i] * root[j]
            scale, turn = _pair(q0, q1, sigma, epsilon, inner, slope)
            for n in range(3):
                for c in range(3):
                    block = 2.0 * turn * (a[n] + b[n]) * b[c]
                    if n == c:
                        block += scale
                    coupling[k, n, c] = -block
                    own[i, n, c] += block
