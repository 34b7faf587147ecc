"""Lennard-Jones between all pairs: phi = 4 e (a^2 - a), a = (s^2 / r^2)^3 (Griebel et al. 2007).

e_ij = root_i root_j and s_ij = radius_i + radius_j (Lorentz-Berthelot).  Every pair is computed
twice, once for each of its atoms, so each atom gathers its own sum: the same bits whatever the
number of threads.  The partners of an atom are given as runs low <= j < high of all atoms, with
gaps where pairs are excluded: loops over a run use the vector unit, four times faster.

Derivatives are by r^2, which needs no root: with psi(r^2) the energy of a pair, the gradient is
2 psi' d and the tangent 2 psi' I + 4 psi'' d d^T.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .jit import both, njit

PARALLEL_PAIRS = 1 << 20  # about a millisecond of the serial loop (see threads.py)

_ROWS = 32  # atoms of one task
# error_model: a check for division by zero in every pair keeps loops from the vector unit
_VECTOR = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@njit(inline="always", **_VECTOR)
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


@njit(**_VECTOR)
def _energy_rows(task, x, radius, root, start, low, high, rows):
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


@njit(**_VECTOR)
def _gradient_rows(task, x, radius, root, start, low, high, out):
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


@njit(**_VECTOR)
def _product_rows(task, x, b, radius, root, start, low, high, out):
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


@both()
def _energy(x, radius, root, start, low, high, rows):
    for task in prange(-(-x.shape[1] // _ROWS)):
        _energy_rows(task, x, radius, root, start, low, high, rows)


@both()
def _gradient(x, radius, root, start, low, high, out):
    for task in prange(-(-x.shape[1] // _ROWS)):
        _gradient_rows(task, x, radius, root, start, low, high, out)


@both()
def _product(x, b, radius, root, start, low, high, out):
    for task in prange(-(-x.shape[1] // _ROWS)):
        _product_rows(task, x, b, radius, root, start, low, high, out)


def _columns(x):
    """(3, N): neighbouring atoms next to each other in memory, as the vector unit wants them."""
    return np.ascontiguousarray(x.T)


def lj_energy(x, radius, root, start, low, high):
    """Energy of all pairs in the runs (each pair is in two of them). x (N, 3); radius = s/2 and
    root = sqrt(e), both (N,); start (N + 1,), low, high (m,): runs of each atom."""
    rows = np.empty(len(x))
    _energy[len(x) ** 2 >= PARALLEL_PAIRS](_columns(x), radius, root, start, low, high, rows)
    return float(rows.sum())


def lj_gradient(x, radius, root, start, low, high, out):
    """Adds dE/dx to out (N, 3)."""
    _gradient[len(x) ** 2 >= PARALLEL_PAIRS](_columns(x), radius, root, start, low, high, out)


def lj_product(x, b, radius, root, start, low, high, out):
    """Adds (d2E/dx2) b to out, both (N, 3)."""
    _product[len(x) ** 2 >= PARALLEL_PAIRS](
        _columns(x), _columns(b), radius, root, start, low, high, out
    )
