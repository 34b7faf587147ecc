"""Regularised Stokeslets (Cortez 2001; Cortez, Fauci and Medovikov 2005, Eq. 6).

    u(x) = 1/(8 pi mu) sum_j [(r^2 + 2 e^2) g_j + (g_j.d) d] / (r^2 + e^2)^(3/2),  d = x - x_j

Every point gathers its own sum: the same bits whatever the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import njit, tasks
from .small import columns

PARALLEL_PAIRS = 1 << 18  # about a millisecond of the serial loop (see jit.py)

_ROWS = 16  # points of one task
_VECTOR = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@tasks(**_VECTOR)
def _velocities(task, x, y, g, square_blob, factor, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[1])):
        i = np.uint64(i)
        u0 = 0.0
        u1 = 0.0
        u2 = 0.0
        for j in range(np.uint64(y.shape[1])):
            d0 = x[0, i] - y[0, j]
            d1 = x[1, i] - y[1, j]
            d2 = x[2, i] - y[2, j]
            R2 = d0 * d0 + d1 * d1 + d2 * d2 + square_blob
            inverse = 1.0 / (R2 * math.sqrt(R2))
            same = (R2 + square_blob) * inverse
            along = (d0 * g[0, j] + d1 * g[1, j] + d2 * g[2, j]) * inverse
            u0 += same * g[0, j] + along * d0
            u1 += same * g[1, j] + along * d1
            u2 += same * g[2, j] + along * d2
        out[i, 0] = factor * u0
        out[i, 1] = factor * u1
        out[i, 2] = factor * u2


@tasks(**_VECTOR)
def _rates(task, x, b, g, square_blob, factor, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[1])):
        i = np.uint64(i)
        u0 = 0.0
        u1 = 0.0
        u2 = 0.0
        for j in range(np.uint64(x.shape[1])):
            d0 = x[0, i] - x[0, j]
            d1 = x[1, i] - x[1, j]
            d2 = x[2, i] - x[2, j]
            w0 = b[0, i] - b[0, j]
            w1 = b[1, i] - b[1, j]
            w2 = b[2, i] - b[2, j]
            R2 = d0 * d0 + d1 * d1 + d2 * d2 + square_blob
            inverse = 1.0 / (R2 * math.sqrt(R2))
            gd = d0 * g[0, j] + d1 * g[1, j] + d2 * g[2, j]
            gw = w0 * g[0, j] + w1 * g[1, j] + w2 * g[2, j]
            fall = 3.0 * (d0 * w0 + d1 * w1 + d2 * w2) / R2  # -d(R^-3)[w] / R^-3
            same = inverse * (fall * (2.0 / 3.0 * R2 - R2 - square_blob))
            along = inverse * (gw - fall * gd)
            across = inverse * gd
            u0 += same * g[0, j] + along * d0 + across * w0
            u1 += same * g[1, j] + along * d1 + across * w1
            u2 += same * g[2, j] + along * d2 + across * w2
        out[i, 0] = factor * u0
        out[i, 1] = factor * u1
        out[i, 2] = factor * u2


def stokeslet_velocities(targets, sources, forces, eps, mu, out):
    """Writes to out (n, 3) the velocity [m/s] at targets (n, 3) [m] of a fluid of viscosity mu
    [Pa s] that the forces (m, 3) [N] at sources (m, 3) push, spread over blobs of size eps [m]."""
    many = len(targets) * len(sources) >= PARALLEL_PAIRS
    factor = 1.0 / (8.0 * math.pi * mu)
    points = (columns(targets), columns(sources), columns(forces))
    _velocities[many](-(-len(targets) // _ROWS), *points, eps * eps, factor, out)


def stokeslet_rates(x, b, forces, eps, mu, out):
    """Writes to out (n, 3) how the velocity at the particles x changes when they, and with them
    the forces, move along b: (dS/dx [b]) g, all (n, 3)."""
    factor = 1.0 / (8.0 * math.pi * mu)
    points = (columns(x), columns(b), columns(forces))
    rates = _rates[len(x) ** 2 >= PARALLEL_PAIRS]
    rates(-(-len(x) // _ROWS), *points, eps * eps, factor, out)


@njit(error_model="numpy", fastmath={"contract"})
def stokeslet_matrix(x, eps, mu, out):
    """Writes S (3n, 3n) with velocities = S forces."""
    factor = 1.0 / (8.0 * math.pi * mu)
    for i in range(x.shape[0]):
        for j in range(i + 1):
            d0 = x[i, 0] - x[j, 0]
            d1 = x[i, 1] - x[j, 1]
            d2 = x[i, 2] - x[j, 2]
            R2 = d0 * d0 + d1 * d1 + d2 * d2 + eps * eps
            scale = factor / (R2 * math.sqrt(R2))
            same = (R2 + eps * eps) * scale
            d = (d0, d1, d2)
            for a in range(3):
                for c in range(3):
                    entry = scale * d[a] * d[c] + (same if a == c else 0.0)
                    out[3 * i + a, 3 * j + c] = entry
                    out[3 * j + c, 3 * i + a] = entry


@njit(error_model="numpy", fastmath={"contract"})
def stokeslet_rate_matrix(x, forces, eps, mu, out):
    """Writes the matrix (3n, 3n) of b -> (dS/dx [b]) g."""
    factor = 1.0 / (8.0 * math.pi * mu)
    out[:] = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            d = (x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2])
            g = (forces[j, 0], forces[j, 1], forces[j, 2])
            R2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps * eps
            scale = factor / (R2 * math.sqrt(R2))
            gd = g[0] * d[0] + g[1] * d[1] + g[2] * d[2]
            same = 2.0 - 3.0 * (R2 + eps * eps) / R2
            fall = 3.0 * gd / R2
            for a in range(3):
                for c in range(3):
                    entry = same * g[a] * d[c] + d[a] * g[c] - fall * d[a] * d[c]
                    if a == c:
                        entry += gd
                    out[3 * i + a, 3 * i + c] += scale * entry
                    out[3 * i + a, 3 * j + c] -= scale * entry
