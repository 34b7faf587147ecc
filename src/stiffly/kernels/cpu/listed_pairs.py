"""Lennard-Jones between the pairs of a neighbour list, switched off smoothly before a cutoff.

psi = S(t) phi, t = (r^2 - inner) slope clipped to 0..1, S = 1 - 10 t^3 + 15 t^4 - 6 t^5: energy,
force and tangent are continuous at both ends of the switch.  Sums run in the order of the list
(no vector unit), so that neighbours beyond the cutoff add exact zeros: the result depends on
the positions alone, not on when the list was built.  Mixing rules as in pairs.py.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .jit import both, njit

PARALLEL_LISTED = 1 << 17  # about a millisecond of the serial loop (see threads.py)

_ROWS = 32  # atoms of one task
_STRICT = {"error_model": "numpy", "fastmath": {"contract"}}


@njit(inline="always", **_STRICT)
def _switched(square, sigma, epsilon, inner, slope):
    """psi, dpsi/d(r^2) and d2psi/d(r^2)^2."""
    inverse = 1.0 / square
    q = sigma * sigma * inverse
    a = q * q * q
    c = 4.0 * epsilon * a
    phi = c * (a - 1.0)
    first = c * (3.0 - 6.0 * a) * inverse
    second = c * (42.0 * a - 12.0) * inverse * inverse
    t = min(1.0, max(0.0, (square - inner) * slope))
    rest = 1.0 - t
    S = 1.0 - t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)
    S1 = -30.0 * t * t * rest * rest * slope
    S2 = -60.0 * t * rest * (rest - t) * slope * slope
    return S * phi, S * first + S1 * phi, S * second + 2.0 * S1 * first + S2 * phi


@njit(**_STRICT)
def _list_energy_rows(task, x, radius, root, start, neighbour, inner, slope, rows):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[0])):
        i = np.uint64(i)
        r = x[i]
        total = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            q = x[j]
            square = (r[0] - q[0]) ** 2 + (r[1] - q[1]) ** 2 + (r[2] - q[2]) ** 2
            sigma = radius[i] + radius[j]
            total += _switched(square, sigma, root[i] * root[j], inner, slope)[0]
        rows[i] = 0.5 * total


@njit(**_STRICT)
def _list_gradient_rows(task, x, radius, root, start, neighbour, inner, slope, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[0])):
        i = np.uint64(i)
        r = x[i]
        g0 = 0.0
        g1 = 0.0
        g2 = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            q = x[j]
            d0 = r[0] - q[0]
            d1 = r[1] - q[1]
            d2 = r[2] - q[2]
            square = d0 * d0 + d1 * d1 + d2 * d2
            sigma = radius[i] + radius[j]
            first = _switched(square, sigma, root[i] * root[j], inner, slope)[1]
            g0 += first * d0
            g1 += first * d1
            g2 += first * d2
        out[i, 0] += 2.0 * g0
        out[i, 1] += 2.0 * g1
        out[i, 2] += 2.0 * g2


@njit(**_STRICT)
def _list_product_rows(task, x, b, radius, root, start, neighbour, inner, slope, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[0])):
        i = np.uint64(i)
        r = x[i]
        u = b[i]
        g0 = 0.0
        g1 = 0.0
        g2 = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            q = x[j]
            w = b[j]
            d0 = r[0] - q[0]
            d1 = r[1] - q[1]
            d2 = r[2] - q[2]
            w0 = u[0] - w[0]
            w1 = u[1] - w[1]
            w2 = u[2] - w[2]
            square = d0 * d0 + d1 * d1 + d2 * d2
            sigma = radius[i] + radius[j]
            _, first, second = _switched(square, sigma, root[i] * root[j], inner, slope)
            along = 2.0 * second * (d0 * w0 + d1 * w1 + d2 * w2)
            g0 += first * w0 + along * d0
            g1 += first * w1 + along * d1
            g2 += first * w2 + along * d2
        out[i, 0] += 2.0 * g0
        out[i, 1] += 2.0 * g1
        out[i, 2] += 2.0 * g2


@both()
def _energy(x, radius, root, start, neighbour, inner, slope, rows):
    for task in prange(-(-len(x) // _ROWS)):
        _list_energy_rows(task, x, radius, root, start, neighbour, inner, slope, rows)


@both()
def _gradient(x, radius, root, start, neighbour, inner, slope, out):
    for task in prange(-(-len(x) // _ROWS)):
        _list_gradient_rows(task, x, radius, root, start, neighbour, inner, slope, out)


@both()
def _product(x, b, radius, root, start, neighbour, inner, slope, out):
    for task in prange(-(-len(x) // _ROWS)):
        _list_product_rows(task, x, b, radius, root, start, neighbour, inner, slope, out)


def lj_list_energy(x, radius, root, start, neighbour, inner, slope):
    """Energy of the listed pairs (each pair is listed twice). x (N, 3); radius = s/2 and
    root = sqrt(e), both (N,); start (N + 1,), neighbour (m,): partners of each atom, sorted."""
    rows = np.empty(len(x))
    _energy[len(neighbour) >= PARALLEL_LISTED](
        x, radius, root, start, neighbour, inner, slope, rows
    )
    return float(rows.sum())


def lj_list_gradient(x, radius, root, start, neighbour, inner, slope, out):
    """Adds dE/dx to out (N, 3)."""
    _gradient[len(neighbour) >= PARALLEL_LISTED](
        x, radius, root, start, neighbour, inner, slope, out
    )


def lj_list_product(x, b, radius, root, start, neighbour, inner, slope, out):
    """Adds (d2E/dx2) b to out, both (N, 3)."""
    _product[len(neighbour) >= PARALLEL_LISTED](
        x, b, radius, root, start, neighbour, inner, slope, out
    )


@njit(**_STRICT)
def lj_blocks(x, radius, root, start, neighbour, inner, slope, coupling, own):
    """Writes the tangent: coupling (m, 3, 3) of each listed pair, own (N, 3, 3) of each atom."""
    d = np.empty(3)
    for i in range(x.shape[0]):
        i = np.uint64(i)
        own[i] = 0.0
        for k in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[k]
            for a in range(3):
                d[a] = x[i, a] - x[j, a]
            square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            sigma = radius[i] + radius[j]
            _, first, second = _switched(square, sigma, root[i] * root[j], inner, slope)
            for a in range(3):
                for c in range(3):
                    block = 4.0 * second * d[a] * d[c]
                    if a == c:
                        block += 2.0 * first
                    coupling[k, a, c] = -block
                    own[i, a, c] += block
