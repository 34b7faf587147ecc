"""Regularised Stokeslets (Cortez 2001; Cortez, Fauci and Medovikov 2005, Eq. 6).

    u(x) = 1/(8 pi mu) sum_j [(r^2 + 2 e^2) g_j + (g_j.d) d] / (r^2 + e^2)^(3/2),  d = x - x_j

Every point gathers its own sum: the same bits whatever the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import njit, tasks
from .small import ZERO, apart, columns, difference, dot, mixed, plus, point, sum_of

PARALLEL_PAIRS = 1 << 18  # about a millisecond of the serial loop (see jit.py)

_ROWS = 16  # points of one task
_VECTOR = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@tasks(**_VECTOR)
def _velocities(task, x, y, g, square_blob, factor, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[1])):
        i, u = np.uint64(i), ZERO
        for j in range(np.uint64(y.shape[1])):
            d, f = difference(point(x, i), point(y, j)), point(g, j)
            R2 = dot(d, d) + square_blob
            inverse = 1.0 / (R2 * math.sqrt(R2))
            u = sum_of(u, mixed((R2 + square_blob) * inverse, f, dot(d, f) * inverse, d))
        for a in range(3):
            out[i, a] = factor * u[a]


@tasks(**_VECTOR)
def _rates(task, x, b, g, square_blob, factor, out):
    for i in range(task * _ROWS, min((task + 1) * _ROWS, x.shape[1])):
        i, u = np.uint64(i), ZERO
        for j in range(np.uint64(x.shape[1])):
            d, w, f = apart(x, i, j), apart(b, i, j), point(g, j)
            R2 = dot(d, d) + square_blob
            inverse = 1.0 / (R2 * math.sqrt(R2))
            gd = dot(d, f)
            fall = 3.0 * dot(d, w) / R2  # -d(R^-3)[w] / R^-3
            same = inverse * (fall * (2.0 / 3.0 * R2 - R2 - square_blob))
            along = inverse * (dot(w, f) - fall * gd)
            u = sum_of(u, plus(mixed(same, f, along, d), inverse * gd, w))
        for a in range(3):
            out[i, a] = factor * u[a]


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
            d = difference(x[i], x[j])
            R2 = dot(d, d) + eps * eps
            scale = factor / (R2 * math.sqrt(R2))
            same = (R2 + eps * eps) * scale
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
            d, g = difference(x[i], x[j]), forces[j]
            R2 = dot(d, d) + eps * eps
            scale = factor / (R2 * math.sqrt(R2))
            gd = dot(g, d)
            same = 2.0 - 3.0 * (R2 + eps * eps) / R2
            fall = 3.0 * gd / R2
            for a in range(3):
                for c in range(3):
                    entry = same * g[a] * d[c] + d[a] * g[c] - fall * d[a] * d[c]
                    if a == c:
                        entry += gd
                    out[3 * i + a, 3 * i + c] += scale * entry
                    out[3 * i + a, 3 * j + c] -= scale * entry
