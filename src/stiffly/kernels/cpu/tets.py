"""Linear tetrahedra of an isotropic material: energy, gradient, tangent blocks, tangent product.

The deformation gradient of element e is F = sum_k (x_k - x_0) g_k^T, k = 1, 2, 3, with g_k the
gradient of vertex k's linear shape function at rest; its forces are P g_k (materials/material.py).
Elements go through polar.py's tiles of LANES lanes into a buffer per element, and every particle
(every block) then gathers its own sum: no races, the same bits whatever the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .for_material import energy, for_material, stress
from .jit import both, inlined, strict
from .polar import LANES, SIGMA_ROW, SVD_ROWS, U_ROW, V_ROW, column, dot, svd_tile
from .threads import PARALLEL_ROWS

# Rows of a tile after polar.py's: the shape gradients and the two moduli.
SHAPE_ROW, MODULI_ROW, ROWS = SVD_ROWS, SVD_ROWS + 9, SVD_ROWS + 11


@inlined
def triple(w, row, lane):
    """Three consecutive rows of one lane."""
    k = row * LANES + lane
    return w[k], w[k + LANES], w[k + 2 * LANES]


@inlined
def set_triple(w, row, lane, a, b, c):
    k = row * LANES + lane
    w[k] = a
    w[k + LANES] = b
    w[k + 2 * LANES] = c


@strict
def load_tile(tile, x, tets, shape, moduli):
    """A tile with F decomposed; lanes beyond the last element repeat it."""
    w = np.empty(ROWS * LANES)
    last = len(tets) - 1
    for lane in range(LANES):
        e = np.uint64(min(tile * LANES + lane, last))
        t, g, m = tets[e], shape[e], moduli[e]
        for k in range(9):
            w[(SHAPE_ROW + k) * LANES + lane] = g[k]
        w[MODULI_ROW * LANES + lane] = m[0]
        w[(MODULI_ROW + 1) * LANES + lane] = m[1]
        o, p, q, r = x[t[0]], x[t[1]], x[t[2]], x[t[3]]
        for a in range(3):
            d1, d2, d3 = p[a] - o[a], q[a] - o[a], r[a] - o[a]
            for c in range(3):
                w[(3 * a + c) * LANES + lane] = d1 * g[c] + d2 * g[3 + c] + d3 * g[6 + c]
    svd_tile(w)
    return w


@inlined
def turn_shapes(w):
    """h_k = V^T g_k in place of V: h_ki in row 3 k + i."""
    for lane in range(LANES):
        a, b, c = column(w, V_ROW, lane), column(w, V_ROW + 1, lane), column(w, V_ROW + 2, lane)
        for k in range(0, 9, 3):
            g = triple(w, SHAPE_ROW + k, lane)
            set_triple(w, V_ROW + k, lane, dot(a, g), dot(b, g), dot(c, g))


# ------------------------------------------------------------------ energy


@for_material()
def _tile_energy(tile, x, tets, shape, moduli):
    w = load_tile(tile, x, tets, shape, moduli)
    total = 0.0
    for lane in range(min(LANES, len(tets) - tile * LANES)):
        a, b, c = triple(w, SIGMA_ROW, lane)
        mu = w[MODULI_ROW * LANES + lane]
        lam = w[(MODULI_ROW + 1) * LANES + lane]
        total += energy(mu, lam, a, b, c)
    return total


@for_material(threads=True)
def _energy(x, tets, shape, moduli, sums):
    for tile in prange(sums.size):
        sums[tile] = _tile_energy(tile, x, tets, shape, moduli)


def tet_energy(x, tets, shape, moduli, material):
    """Energy [J] of elements tets (m, 4) at positions x (N, 3) [m].

    shape (m, 9): rows g_1, g_2, g_3 [1/m]; moduli (m, 2): mu and lam times the volume [J];
    material: see materials/material.py.
    """
    sums = np.empty(tile_count(tets))
    _energy[material][len(tets) >= PARALLEL_ROWS](x, tets, shape, moduli, sums)
    return float(sums.sum())


def tile_count(tets):
    return -(-len(tets) // LANES)


# ------------------------------------------------------------------ gradient


@for_material(forceinline=True)
def _stress_lanes(w):
    for lane in range(LANES):
        a, b, c = triple(w, SIGMA_ROW, lane)
        mu = w[MODULI_ROW * LANES + lane]
        lam = w[(MODULI_ROW + 1) * LANES + lane]
        a, b, c = stress(mu, lam, a, b, c)
        set_triple(w, SIGMA_ROW, lane, a, b, c)


@inlined
def _force_lanes(w):
    """Forces U (psi_i h_ki) of vertices 1, 2, 3, into the first nine rows."""
    for lane in range(LANES):
        p = triple(w, SIGMA_ROW, lane)
        for k in range(0, 9, 3):
            h = triple(w, V_ROW + k, lane)
            f = (p[0] * h[0], p[1] * h[1], p[2] * h[2])
            for a in range(3):
                w[(k + a) * LANES + lane] = dot(triple(w, U_ROW + 3 * a, lane), f)


@strict
def store_forces(tile, w, forces):
    """The first nine rows into forces (m, 12); vertex 0 balances the others."""
    first = tile * LANES
    for lane in range(min(LANES, len(forces) - first)):
        f = forces[np.uint64(first + lane)]
        for a in range(3):
            p, q, r = w[a * LANES + lane], w[(3 + a) * LANES + lane], w[(6 + a) * LANES + lane]
            f[a] = -(p + q + r)
            f[3 + a] = p
            f[6 + a] = q
            f[9 + a] = r


@for_material()
def _tile_forces(tile, x, tets, shape, moduli, forces):
    w = load_tile(tile, x, tets, shape, moduli)
    _stress_lanes(w)
    turn_shapes(w)
    _force_lanes(w)
    store_forces(tile, w, forces)


@for_material(threads=True)
def _forces(tiles, x, tets, shape, moduli, forces):
    for tile in prange(tiles):
        _tile_forces(tile, x, tets, shape, moduli, forces)


@both(error_model="numpy")
def _gather(start, corner, forces, out):
    for k in prange(len(out)):
        i = np.uint64(k)
        a, b, c = 0.0, 0.0, 0.0
        for p in range(start[i], start[i + np.uint64(1)]):
            f = forces[corner[p]]
            a += f[0]
            b += f[1]
            c += f[2]
        r = out[i]
        r[0] += a
        r[1] += b
        r[2] += c


def gather(start, corner, forces, out):
    """Adds the forces (m, 12) of each particle's corners to out (N, 3)."""
    _gather[len(forces) >= PARALLEL_ROWS](start, corner, forces.reshape(-1, 3), out)


def tet_gradient(x, tets, shape, moduli, material, start, corner, out):
    """Adds dE/dx [N] to out (N, 3).

    start (N + 1,), corner (4 m,): the corners of each particle, corner 4 e + k of element e.
    """
    forces = np.empty((len(tets), 12))
    fill = _forces[material][len(tets) >= PARALLEL_ROWS]
    fill(tile_count(tets), x, tets, shape, moduli, forces)
    gather(start, corner, forces, out)
