"""Discrete gradients of tetrahedra: forces P g_k of the mean stress P (see mean_stress.py).

A state of the elements is F, U, sigma, V of the signed singular values F = U diag(sigma) V^T, as
arrays (m, 9), (m, 9), (m, 3), (m, 9); stvk needs F only, and the others are empty.  A step asks for
many mean gradients that start from one state, so states are computed apart and kept.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .jit import njit
from .materials import NEO_HOOKEAN, STVK
from .mean_stress import mean_stress, stretch, vertex_forces
from .polar import signed_svd
from .small import IDENTITY, combine, load, row
from .tets import gather
from .threads import PARALLEL_ROWS

__all__ = ["tet_mean_gradient", "tet_states"]

_options = {"cache": True, "error_model": "numpy"}
_parallel = {**_options, "parallel": True}


@njit(**_options, forceinline=True)
def _deform(x, t, g, F):
    o, p, q, r = x[t[0]], x[t[1]], x[t[2]], x[t[3]]
    for a in range(3):
        d1, d2, d3 = p[a] - o[a], q[a] - o[a], r[a] - o[a]
        for c in range(3):
            F[3 * a + c] = d1 * g[c] + d2 * g[3 + c] + d3 * g[6 + c]


@njit(**_options)
def _deform_serial(x, tets, shape, F):
    for e in range(len(tets)):
        _deform(x, tets[e], shape[e], F[e])


@njit(**_parallel)
def _deform_parallel(x, tets, shape, F):
    for e in prange(len(tets)):
        _deform(x, tets[e], shape[e], F[e])


def tet_states(x, tets, shape, material):
    """F, U, sigma, V of every element at positions x (N, 3); arguments as in tet_energy."""
    F = np.empty((len(tets), 9))
    deform = _deform_serial if len(tets) < PARALLEL_ROWS else _deform_parallel
    deform(x, tets, shape, F)
    U, sigma, V = signed_svd(F[:0] if material == STVK else F)
    return F, U.reshape(-1, 9), sigma, V.reshape(-1, 9)


# ------------------------------------------------------------------ eigenbasis of the mean stretch


@njit(**_options, forceinline=True)
def _mean_stretch(e, sigma0, V0, sigma1, V1, shift, U):
    s0, s1 = row(sigma0[e], 0), row(sigma1[e], 0)
    mean = combine(0.5, stretch(load(V0[e]), s0), 0.5, stretch(load(V1[e]), s1))
    # only the last stretch can be negative: twice its size makes the mean positive
    shift[e] = 2.0 * max(0.0, -min(s0[2], s1[2]))
    mean = combine(1.0, mean, shift[e], IDENTITY)
    for k in range(9):
        U[e, k] = mean[k]


@njit(**_options)
def _stretches_serial(sigma0, V0, sigma1, V1, shift, U):
    for e in range(len(U)):
        _mean_stretch(e, sigma0, V0, sigma1, V1, shift, U)


@njit(**_parallel)
def _stretches_parallel(sigma0, V0, sigma1, V1, shift, U):
    for e in prange(len(U)):
        _mean_stretch(e, sigma0, V0, sigma1, V1, shift, U)


def mean_basis(before, after, material):
    """B (m, 9) and u (m, 3), Um = B diag(u) B^T, for neo-hookean elements; empty for the others.

    From the singular values of Um made positive by a shift.
    """
    if material != NEO_HOOKEAN:
        return np.empty((0, 9)), np.empty((0, 3))
    (_, _, sigma0, V0), (_, _, sigma1, V1) = before, after
    U, shift = np.empty_like(V0), np.empty(len(V0))
    fill = _stretches_serial if len(V0) < PARALLEL_ROWS else _stretches_parallel
    fill(sigma0, V0, sigma1, V1, shift, U)
    _, u, B = signed_svd(U)
    return B.reshape(-1, 9), u - shift[:, None]


# ------------------------------------------------------------------ gradient


@njit(**_options)
def _forces_serial(before, after, middle, shape, moduli, material, forces):
    for e in range(len(forces)):
        m = moduli[e]
        P = mean_stress(e, before, after, middle, m[0], m[1], material)
        vertex_forces(P, shape[e], forces[e])


@njit(**_parallel)
def _forces_parallel(before, after, middle, shape, moduli, material, forces):
    for e in prange(len(forces)):
        m = moduli[e]
        P = mean_stress(e, before, after, middle, m[0], m[1], material)
        vertex_forces(P, shape[e], forces[e])


def tet_mean_gradient(before, after, tets, shape, moduli, material, start, corner, out):
    """Adds g [N] to out (N, 3), g.(x1 - x0) = E(x1) - E(x0), for the states at x0 and x1.

    The rest as in tet_gradient.
    """
    forces = np.empty((len(tets), 12))
    fill = _forces_serial if len(tets) < PARALLEL_ROWS else _forces_parallel
    middle = mean_basis(before, after, material)
    fill(before, after, middle, shape, moduli, material, forces)
    gather(start, corner, forces, out)
