"""Tangents of linear tetrahedra: their frames, and products with them.

In the frame of U, V an element's tangent is a handful of numbers (see materials/material.py).  With
h_k = V^T g_k the block of vertices k, l is K_kl = U T U^T,

    T_ii = psi_ii h_ki h_li + sum_(j != i) mean_ij h_kj h_lj
    T_ij = psi_ij h_ki h_lj + half_ij h_kj h_li

mean, half: half the sum, half the difference of the pair's symmetric and antisymmetric modes.  A
frame is 30 numbers: h, U, psi_ij, mean, half.  Vertex 0 follows from sum_l K_kl = 0.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .eigen import clamp_negative
from .for_material import for_material, tangent
from .jit import both, inlined, strict
from .polar import LANES, SIGMA_ROW, V_ROW, column, dot
from .tets import (
    MODULI_ROW,
    gather,
    load_tile,
    set_triple,
    store_forces,
    tile_count,
    triple,
    turn_shapes,
)
from .threads import PARALLEL_ROWS

# A frame's rows in a tile of tets.py: h lies in place of V, then U; the second derivatives
# overwrite sigma and the shape gradients.  Then the same rows, counted from the frame's first.
FRAME_ROW, FRAME_ROWS, SECOND_ROW = V_ROW, 30, SIGMA_ROW
H_ROW, U_ROW, PSI_ROW, MEAN_ROW, HALF_ROW = 0, 9, 18, 24, 27


# ------------------------------------------------------------------ frames


@for_material(forceinline=True)
def _second_lanes(w):
    for lane in range(LANES):
        a, b, c = triple(w, SIGMA_ROW, lane)
        mu = w[MODULI_ROW * LANES + lane]
        lam = w[(MODULI_ROW + 1) * LANES + lane]
        s = tangent(mu, lam, a, b, c)
        set_triple(w, SECOND_ROW, lane, s[0], s[1], s[2])
        set_triple(w, SECOND_ROW + 3, lane, s[3], s[4], s[5])
        set_triple(w, SECOND_ROW + 6, lane, s[6], s[7], s[8])
        set_triple(w, SECOND_ROW + 9, lane, s[9], s[10], s[11])


@strict
def _project_lanes(w):
    """Negative eigenvalues become zero: modes one by one, psi_ij where it is not definite."""
    H = np.empty((3, 3))
    for lane in range(LANES):
        for k in range(SECOND_ROW + 6, SECOND_ROW + 12):
            w[k * LANES + lane] = max(w[k * LANES + lane], 0.0)
        a, b, c = triple(w, SECOND_ROW, lane)
        p, q, r = triple(w, SECOND_ROW + 3, lane)
        minor = a * b - p * p
        if (
            a > 0.0
            and minor > 0.0
            and a * (b * c - r * r) - p * (p * c - q * r) > q * (q * b - p * r)
        ):
            continue
        H[0, 0], H[1, 1], H[2, 2] = a, b, c
        H[0, 1] = H[1, 0] = p
        H[0, 2] = H[2, 0] = q
        H[1, 2] = H[2, 1] = r
        clamp_negative(H)
        set_triple(w, SECOND_ROW, lane, H[0, 0], H[1, 1], H[2, 2])
        set_triple(w, SECOND_ROW + 3, lane, H[0, 1], H[0, 2], H[1, 2])


@inlined
def _mean_and_half(w):
    for lane in range(LANES):
        s = triple(w, SECOND_ROW + 6, lane)
        t = triple(w, SECOND_ROW + 9, lane)
        set_triple(
            w, SECOND_ROW + 6, lane, 0.5 * (s[0] + t[0]), 0.5 * (s[1] + t[1]), 0.5 * (s[2] + t[2])
        )
        set_triple(
            w, SECOND_ROW + 9, lane, 0.5 * (s[0] - t[0]), 0.5 * (s[1] - t[1]), 0.5 * (s[2] - t[2])
        )


@for_material()
def tile_frames(tile, x, tets, shape, moduli, project):
    w = load_tile(tile, x, tets, shape, moduli)
    turn_shapes(w)
    _second_lanes(w)
    if project:
        _project_lanes(w)
    _mean_and_half(w)
    return w[FRAME_ROW * LANES : (FRAME_ROW + FRAME_ROWS) * LANES]


@for_material(threads=True)
def _frames(x, tets, shape, moduli, project, frames):
    for tile in prange(len(frames)):
        frames[tile] = tile_frames(tile, x, tets, shape, moduli, project)


def tet_frames(x, tets, shape, moduli, material, project):
    """What tet_product needs of the tangent at x: 30 numbers an element, in tiles.

    project: negative eigenvalues of each element's tangent are replaced by zero.
    """
    frames = np.empty((tile_count(tets), FRAME_ROWS * LANES))
    fill = _frames[material][len(tets) >= PARALLEL_ROWS]
    fill(x, tets, shape, moduli, project, frames)
    return frames


# ------------------------------------------------------------------ product


@inlined
def _product_lanes(t, w):
    """Displacements of vertices 1, 2, 3 relative to 0 in the nine rows of w become forces."""
    for lane in range(LANES):
        u, v, n = column(t, U_ROW, lane), column(t, U_ROW + 1, lane), column(t, U_ROW + 2, lane)
        d, e, f = triple(w, 0, lane), triple(w, 3, lane), triple(w, 6, lane)
        # the rows a, b, c of U^T dF V = sum_k (U^T d_k) h_k^T
        h, i, j = column(t, H_ROW, lane), column(t, H_ROW + 1, lane), column(t, H_ROW + 2, lane)
        y = (dot(u, d), dot(u, e), dot(u, f))
        a0, a1, a2 = dot(y, h), dot(y, i), dot(y, j)
        y = (dot(v, d), dot(v, e), dot(v, f))
        b0, b1, b2 = dot(y, h), dot(y, i), dot(y, j)
        y = (dot(n, d), dot(n, e), dot(n, f))
        c0, c1, c2 = dot(y, h), dot(y, i), dot(y, j)
        own, pair = triple(t, PSI_ROW, lane), triple(t, PSI_ROW + 3, lane)
        mean, half = triple(t, MEAN_ROW, lane), triple(t, HALF_ROW, lane)
        p = (
            own[0] * a0 + pair[0] * b1 + pair[1] * c2,
            mean[0] * a1 + half[0] * b0,
            mean[1] * a2 + half[1] * c0,
        )
        q = (
            mean[0] * b0 + half[0] * a1,
            pair[0] * a0 + own[1] * b1 + pair[2] * c2,
            mean[2] * b2 + half[2] * c1,
        )
        r = (
            mean[1] * c0 + half[1] * a2,
            mean[2] * c1 + half[2] * b2,
            pair[1] * a0 + pair[2] * b1 + own[2] * c2,
        )
        for k in range(0, 9, 3):
            g = triple(t, H_ROW + k, lane)
            z = (dot(p, g), dot(q, g), dot(r, g))
            for a in range(3):
                w[(k + a) * LANES + lane] = dot(triple(t, U_ROW + 3 * a, lane), z)


@strict
def _tile_product(tile, frames, tets, b, forces):
    w = np.empty(9 * LANES)
    last = len(tets) - 1
    for lane in range(LANES):
        t = tets[np.uint64(min(tile * LANES + lane, last))]
        o, p, q, r = b[t[0]], b[t[1]], b[t[2]], b[t[3]]
        for a in range(3):
            w[a * LANES + lane] = p[a] - o[a]
            w[(3 + a) * LANES + lane] = q[a] - o[a]
            w[(6 + a) * LANES + lane] = r[a] - o[a]
    _product_lanes(frames[tile], w)
    store_forces(tile, w, forces)


@both(error_model="numpy")
def _product(frames, tets, b, forces):
    for tile in prange(len(frames)):
        _tile_product(tile, frames, tets, b, forces)


def tet_product(frames, tets, start, corner, b, out):
    """Adds K b to out (N, 3): K the tangent of `frames`, b (N, 3); the rest as in tet_gradient."""
    forces = np.empty((len(tets), 12))
    _product[len(tets) >= PARALLEL_ROWS](frames, tets, b, forces)
    gather(start, corner, forces, out)
