"""Discrete gradients of tetrahedra: forces P g_k of the mean stress P (see mean_stretch.py).

A state of the elements is F, U, sigma, V of the signed singular values F = U diag(sigma) V^T, as
arrays (m, 9), (m, 9), (m, 3), (m, 9); stvk needs F only, and the others are empty.  A step asks for
many mean gradients that start from one state, so states are computed apart and kept.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .for_material import Slot, for_material
from .jit import both, inlined
from .mean_stretch import stretch
from .polar import signed_svd
from .small import IDENTITY, combine, load, row, times
from .tets import gather
from .threads import PARALLEL_ROWS

stress = Slot("mean.stress")


@both(error_model="numpy")
def _deform(x, tets, shape, F):
    for e in prange(len(tets)):
        t, g = tets[e], shape[e]
        o, p, q, r = x[t[0]], x[t[1]], x[t[2]], x[t[3]]
        for a in range(3):
            d1, d2, d3 = p[a] - o[a], q[a] - o[a], r[a] - o[a]
            for c in range(3):
                F[e, 3 * a + c] = d1 * g[c] + d2 * g[3 + c] + d3 * g[6 + c]


def tet_states(x, tets, shape, material):
    """F, U, sigma, V of every element at positions x (N, 3); arguments as in tet_energy."""
    F = np.empty((len(tets), 9))
    _deform[len(tets) >= PARALLEL_ROWS](x, tets, shape, F)
    U, sigma, V = signed_svd(F if material.mean.decomposed else F[:0])
    return F, U.reshape(-1, 9), sigma, V.reshape(-1, 9)


# ------------------------------------------------------------------ eigenbasis of the mean stretch


@both(error_model="numpy")
def _stretches(sigma0, V0, sigma1, V1, shift, U):
    for e in prange(len(U)):
        s0, s1 = row(sigma0[e], 0), row(sigma1[e], 0)
        mean = combine(0.5, stretch(load(V0[e]), s0), 0.5, stretch(load(V1[e]), s1))
        # only the last stretch can be negative: twice its size makes the mean positive
        shift[e] = 2.0 * max(0.0, -min(s0[2], s1[2]))
        mean = combine(1.0, mean, shift[e], IDENTITY)
        for k in range(9):
            U[e, k] = mean[k]


def mean_basis(before, after, mean):
    """B (m, 9) and u (m, 3), Um = B diag(u) B^T, where the mean stress wants them; empty else.

    From the singular values of Um made positive by a shift.
    """
    if not mean.turned:
        return np.empty((0, 9)), np.empty((0, 3))
    (_, _, sigma0, V0), (_, _, sigma1, V1) = before, after
    U, shift = np.empty_like(V0), np.empty(len(V0))
    _stretches[len(V0) >= PARALLEL_ROWS](sigma0, V0, sigma1, V1, shift, U)
    _, u, B = signed_svd(U)
    return B.reshape(-1, 9), u - shift[:, None]


# ------------------------------------------------------------------ gradient


@inlined
def _vertex_forces(P, g, f):
    """P g_k for the vertices 1, 2, 3 into f (12,); vertex 0 balances them."""
    for a in range(3):
        f[a] = 0.0
    for k in range(3):
        v = times(P, row(g, k))
        for a in range(3):
            f[3 * (k + 1) + a] = v[a]
            f[a] -= v[a]


@for_material(threads=True)
def _forces(before, after, middle, shape, moduli, forces):
    for e in prange(len(forces)):
        m = moduli[e]
        P = stress(m[0], m[1], before, after, middle, e)
        _vertex_forces(P, shape[e], forces[e])


def tet_mean_gradient(before, after, tets, shape, moduli, material, start, corner, out):
    """Adds g [N] to out (N, 3), g.(x1 - x0) = E(x1) - E(x0), for the states at x0 and x1.

    The rest as in tet_gradient.
    """
    forces = np.empty((len(tets), 12))
    middle = mean_basis(before, after, material.mean)
    _forces[material][len(tets) >= PARALLEL_ROWS](before, after, middle, shape, moduli, forces)
    gather(start, corner, forces, out)
