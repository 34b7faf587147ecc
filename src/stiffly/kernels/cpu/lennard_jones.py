"""Lennard-Jones: phi = 4 e (a^2 - a), a = (s^2 / r^2)^3 (Griebel et al. 2007).

e_ij = root_i root_j and s_ij = radius_i + radius_j (Lorentz-Berthelot).  Every pair is computed
twice, once for each of its atoms, so each atom gathers its own sum: the same bits whatever the
number of threads.

Derivatives are by r^2, which needs no root: with psi(r^2) the energy of a pair, the gradient is
2 psi' d and the tangent 2 psi' I + 4 psi'' d d^T.
"""

from __future__ import annotations

import numpy as np

from .jit import njit, tasks
from .small import ZERO, add_to, columns, difference, dot, mixed, plus, sum_of

# about a millisecond of the serial loop (see jit.py)
PARALLEL_PAIRS, PARALLEL_LISTED = 1 << 20, 1 << 17

_ROWS = 32  # atoms of one task
# error_model: a check for division by zero in every pair keeps loops from the vector unit
_VECTOR = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}
_STRICT = {"error_model": "numpy", "fastmath": {"contract"}}


@njit(inline="always", **_STRICT)
def _slopes(square, sigma, epsilon):
    """phi, dphi/d(r^2) and d2phi/d(r^2)^2."""
    inverse = 1.0 / square
    q = sigma * sigma * inverse
    a = q * q * q
    c = 4.0 * epsilon * a
    phi = c * (a - 1.0)
    first = c * (3.0 - 6.0 * a) * inverse
    second = c * (42.0 * a - 12.0) * inverse * inverse
    return phi, first, second


def _count(x):
    """Tasks."""
    return -(-len(x) // _ROWS)


# ------------------------------------------------------------------ all pairs
# The partners of an atom are given as runs low <= j < high of all atoms, with gaps where pairs are
# excluded: loops over a run use the vector unit, four times faster.


@tasks(**_VECTOR)
def _energy(task, x, radius, root, start, low, high, rows):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[1])):
        i = np.uint64(i)
        total = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            for j in range(low[k], high[k]):
                d0 = x[0, i] - x[0, j]
                d1 = x[1, i] - x[1, j]
                d2 = x[2, i] - x[2, j]
                square = d0 * d0 + d1 * d1 + d2 * d2
                total += _slopes(square, radius[i] + radius[j], root[i] * root[j])[0]
        rows[i] = 0.5 * total


@tasks(**_VECTOR)
def _gradient(task, x, radius, root, start, low, high, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[1])):
        i = np.uint64(i)
        g0 = 0.0
        g1 = 0.0
        g2 = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            for j in range(low[k], high[k]):
                d0 = x[0, i] - x[0, j]
                d1 = x[1, i] - x[1, j]
                d2 = x[2, i] - x[2, j]
                square = d0 * d0 + d1 * d1 + d2 * d2
                first = _slopes(square, radius[i] + radius[j], root[i] * root[j])[1]
                g0 += first * d0
                g1 += first * d1
                g2 += first * d2
        out[i, 0] += 2.0 * g0
        out[i, 1] += 2.0 * g1
        out[i, 2] += 2.0 * g2


@tasks(**_VECTOR)
def _product(task, x, b, radius, root, start, low, high, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[1])):
        i = np.uint64(i)
        g0 = 0.0
        g1 = 0.0
        g2 = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            for j in range(low[k], high[k]):
                d0 = x[0, i] - x[0, j]
                d1 = x[1, i] - x[1, j]
                d2 = x[2, i] - x[2, j]
                w0 = b[0, i] - b[0, j]
                w1 = b[1, i] - b[1, j]
                w2 = b[2, i] - b[2, j]
                square = d0 * d0 + d1 * d1 + d2 * d2
                _, first, second = _slopes(square, radius[i] + radius[j], root[i] * root[j])
                along = 2.0 * second * (d0 * w0 + d1 * w1 + d2 * w2)
                g0 += first * w0 + along * d0
                g1 += first * w1 + along * d1
                g2 += first * w2 + along * d2
        out[i, 0] += 2.0 * g0
        out[i, 1] += 2.0 * g1
        out[i, 2] += 2.0 * g2


def lj_energy(x, radius, root, start, low, high):
    """Energy of all pairs in the runs (each pair is in two of them). x (N, 3); radius = s/2 and
    root = sqrt(e), both (N,); start (N + 1,), low, high (m,): runs of each atom."""
    rows = np.empty(len(x))
    energy = _energy[len(x) ** 2 >= PARALLEL_PAIRS]
    energy(_count(x), columns(x), radius, root, start, low, high, rows)
    return float(rows.sum())


def lj_gradient(x, radius, root, start, low, high, out):
    """Adds dE/dx to out (N, 3)."""
    gradient = _gradient[len(x) ** 2 >= PARALLEL_PAIRS]
    gradient(_count(x), columns(x), radius, root, start, low, high, out)


def lj_product(x, b, radius, root, start, low, high, out):
    """Adds (d2E/dx2) b to out, both (N, 3)."""
    product = _product[len(x) ** 2 >= PARALLEL_PAIRS]
    product(_count(x), columns(x), columns(b), radius, root, start, low, high, out)


# ------------------------------------------------------------------ pairs of a neighbour list
# Switched off smoothly before a cutoff: psi = S(t) phi, t = (r^2 - inner) slope clipped to 0..1,
# S = 1 - 10 t^3 + 15 t^4 - 6 t^5: energy, force and tangent are continuous at both ends of the
# switch.  Sums run in the order of the list (no vector unit), so that neighbours beyond the cutoff
# add exact zeros: the result depends on the positions alone, not on when the list was built.


@njit(inline="always", **_STRICT)
def _switched(square, sigma, epsilon, inner, slope):
    """psi, dpsi/d(r^2) and d2psi/d(r^2)^2."""
    phi, first, second = _slopes(square, sigma, epsilon)
    t = min(1.0, max(0.0, (square - inner) * slope))
    rest = 1.0 - t
    S = 1.0 - t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)
    S1 = -30.0 * t * t * rest * rest * slope
    S2 = -60.0 * t * rest * (rest - t) * slope * slope
    return S * phi, S * first + S1 * phi, S * second + 2.0 * S1 * first + S2 * phi


@tasks(**_STRICT)
def _list_energy(task, x, radius, root, start, neighbour, inner, slope, rows):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[0])):
        i = np.uint64(i)
        total = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            d, sigma = difference(x[i], x[j]), radius[i] + radius[j]
            total += _switched(dot(d, d), sigma, root[i] * root[j], inner, slope)[0]
        rows[i] = 0.5 * total


@tasks(**_STRICT)
def _list_gradient(task, x, radius, root, start, neighbour, inner, slope, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[0])):
        i, g = np.uint64(i), ZERO
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            d, sigma = difference(x[i], x[j]), radius[i] + radius[j]
            g = plus(g, _switched(dot(d, d), sigma, root[i] * root[j], inner, slope)[1], d)
        add_to(out[i], 2.0, g)


@tasks(**_STRICT)
def _list_product(task, x, b, radius, root, start, neighbour, inner, slope, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[0])):
        i, g = np.uint64(i), ZERO
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            d, w = difference(x[i], x[j]), difference(b[i], b[j])
            sigma = radius[i] + radius[j]
            _, first, second = _switched(dot(d, d), sigma, root[i] * root[j], inner, slope)
            g = sum_of(g, mixed(first, w, 2.0 * second * dot(d, w), d))
        add_to(out[i], 2.0, g)


def lj_list_energy(x, radius, root, start, neighbour, inner, slope):
    """Energy of the listed pairs (each pair is listed twice). x (N, 3); radius = s/2 and
    root = sqrt(e), both (N,); start (N + 1,), neighbour (m,): partners of each atom, sorted."""
    rows = np.empty(len(x))
    energy = _list_energy[len(neighbour) >= PARALLEL_LISTED]
    energy(_count(x), x, radius, root, start, neighbour, inner, slope, rows)
    return float(rows.sum())


def lj_list_gradient(x, radius, root, start, neighbour, inner, slope, out):
    """Adds dE/dx to out (N, 3)."""
    gradient = _list_gradient[len(neighbour) >= PARALLEL_LISTED]
    gradient(_count(x), x, radius, root, start, neighbour, inner, slope, out)


def lj_list_product(x, b, radius, root, start, neighbour, inner, slope, out):
    """Adds (d2E/dx2) b to out, both (N, 3)."""
    product = _list_product[len(neighbour) >= PARALLEL_LISTED]
    product(_count(x), x, b, radius, root, start, neighbour, inner, slope, out)


@njit(inline="always", **_STRICT)
def _write_block(coupling, own, s, a, b, scale):
    """s a b^T + scale I of a pair."""
    for n in range(3):
        for c in range(3):
            block = s * a[n] * b[c]
            if n == c:
                block += scale
            coupling[n, c] = -block
            own[n, c] += block


@njit(**_STRICT)
def lj_blocks(x, radius, root, start, neighbour, inner, slope, coupling, own):
    """Writes the tangent: coupling (m, 3, 3) of each listed pair, own (N, 3, 3) of each atom."""
    for i in range(x.shape[0]):
        i = np.uint64(i)
        own[i] = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            d, sigma = difference(x[i], x[j]), radius[i] + radius[j]
            _, first, second = _switched(dot(d, d), sigma, root[i] * root[j], inner, slope)
            _write_block(coupling[k], own[i], 4.0 * second, d, d, 2.0 * first)


# ------------------------------------------------------------------ discrete gradients
# A pair's energy psi is a function of q = r^2, and q1 - q0 = (d0 + d1).(d1 - d0), so
#
#     g = [psi(q1) - psi(q0)] / (q1 - q0)  (d0 + d1)
#
# gives the change of energy exactly (LaBudde, Greenspan 1974).  No quotient of differences is taken
# where q1 ~ q0: with p = s^2/q and phi = 4 e (p^6 - p^3),
#
#     [phi] = -(4 e / s^2) p0 p1 (p0^2 + p0 p1 + p1^2) (p0^3 + p1^3 - 1)
#     [S phi] = (S0 + S1)/2 [phi] + (phi0 + phi1)/2 [S]
#
# and [S] is a polynomial in both t times [t], which is the slope where t is not clipped.


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


@tasks(**_STRICT)
def _mean_gradient(task, x0, x1, radius, root, start, neighbour, inner, slope, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x0.shape[0])):
        i, g = np.uint64(i), ZERO
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            a, b = difference(x0[i], x0[j]), difference(x1[i], x1[j])
            sigma, epsilon = radius[i] + radius[j], root[i] * root[j]
            scale, _ = _pair(dot(a, a), dot(b, b), sigma, epsilon, inner, slope)
            g = plus(g, scale, sum_of(a, b))
        add_to(out[i], 1.0, g)


def lj_mean_gradient(x0, x1, radius, root, start, neighbour, inner, slope, out):
    """Adds g to out (N, 3), g.(x1 - x0) = E(x1) - E(x0); the list must hold every pair that is
    within the cutoff in either state, the rest as in lj_list_gradient."""
    gradient = _mean_gradient[len(neighbour) >= PARALLEL_LISTED]
    gradient(_count(x0), x0, x1, radius, root, start, neighbour, inner, slope, out)


@njit(**_STRICT)
def lj_mean_blocks(x0, x1, radius, root, start, neighbour, inner, slope, coupling, own):
    """Writes dg/dx1: coupling (m, 3, 3) of each listed pair, own (N, 3, 3) of each atom."""
    for i in range(x0.shape[0]):
        i = np.uint64(i)
        own[i] = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            a, b = difference(x0[i], x0[j]), difference(x1[i], x1[j])
            sigma, epsilon = radius[i] + radius[j], root[i] * root[j]
            scale, turn = _pair(dot(a, a), dot(b, b), sigma, epsilon, inner, slope)
            _write_block(coupling[k], own[i], 2.0 * turn, sum_of(a, b), b, scale)
