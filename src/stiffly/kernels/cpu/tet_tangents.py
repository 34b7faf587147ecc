"""Tangents of linear tetrahedra: their frames, products with them, and 3x3 blocks.

In the frame of U, V an element's tangent is a handful of numbers (see materials/material.py).  With
h_k = V^T g_k the block of vertices k, l is K_kl = U T U^T,

    T_ii = psi_ii h_ki h_li + sum_(j != i) mean_ij h_kj h_lj
    T_ij = psi_ij h_ki h_lj + half_ij h_kj h_li

mean, half: half the sum, half the difference of the pair's symmetric and antisymmetric modes.  A
frame is 30 numbers: h, U, psi_ij, mean, half.  Vertex 0 follows from sum_l K_kl = 0.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from ..names import BLOCK_CHUNK
from .for_material import for_material, tangent
from .jit import PARALLEL_ROWS, both, inlined, strict, tasks
from .polar import LANES, SIGMA_ROW, V_ROW, column
from .small import NONE, add, dot, load, times, turned
from .tets import (
    gather,
    load_tile,
    moduli_of,
    set_triple,
    store_forces,
    tile_count,
    triple,
    turn_shapes,
)

# A frame's rows in a tile of tets.py: h lies in place of V, then U; the second derivatives
# overwrite sigma and the shape gradients.  Then the same rows, counted from the frame's first.
FRAME_ROW, FRAME_ROWS, SECOND_ROW = V_ROW, 30, SIGMA_ROW
H_ROW, U_ROW, PSI_ROW, MEAN_ROW, HALF_ROW = 0, 9, 18, 24, 27


# ------------------------------------------------------------------ frames


@for_material(forceinline=True)
def _second_lanes(w):
    for lane in range(LANES):
        a, b, c = triple(w, SIGMA_ROW, lane)
        mu, lam = moduli_of(w, lane)
        s = tangent(mu, lam, a, b, c)
        set_triple(w, SECOND_ROW, lane, s[0], s[1], s[2])
        set_triple(w, SECOND_ROW + 3, lane, s[3], s[4], s[5])
        set_triple(w, SECOND_ROW + 6, lane, s[6], s[7], s[8])
        set_triple(w, SECOND_ROW + 9, lane, s[9], s[10], s[11])


@strict
def clamp_negative(H):
    """Replaces the negative eigenvalues of the symmetric H (3, 3) by zero; untouched without any.

    Cyclic Jacobi (Golub and Van Loan 2013, 8.5.3).
    """
    A = H.copy()
    Q = np.eye(3)
    for _ in range(5):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            d = A[q, q] - A[p, p]
            g = 2.0 * A[p, q]
            if g == 0.0:
                continue
            t = math.copysign(1.0, d) * g / (abs(d) + math.hypot(d, g))
            cos = 1.0 / math.sqrt(1.0 + t * t)
            sin = cos * t
            for k in range(3):
                A[k, p], A[k, q] = cos * A[k, p] - sin * A[k, q], sin * A[k, p] + cos * A[k, q]
            for k in range(3):
                A[p, k], A[q, k] = cos * A[p, k] - sin * A[q, k], sin * A[p, k] + cos * A[q, k]
                Q[k, p], Q[k, q] = cos * Q[k, p] - sin * Q[k, q], sin * Q[k, p] + cos * Q[k, q]
    if min(A[0, 0], A[1, 1], A[2, 2]) >= 0.0:
        return
    H[:] = 0.0
    for m in range(3):
        value = max(A[m, m], 0.0)
        for i in range(3):
            for j in range(3):
                H[i, j] += value * Q[i, m] * Q[j, m]


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
        for k in range(SECOND_ROW + 6, SECOND_ROW + 9):
            s, t = w[k * LANES + lane], w[(k + 3) * LANES + lane]
            w[k * LANES + lane], w[(k + 3) * LANES + lane] = 0.5 * (s + t), 0.5 * (s - t)


@for_material()
def _tile_frames(tile, x, tets, shape, moduli, project):
    w = load_tile(tile, x, tets, shape, moduli)
    turn_shapes(w)
    _second_lanes(w)
    if project:
        _project_lanes(w)
    _mean_and_half(w)
    return w[FRAME_ROW * LANES : (FRAME_ROW + FRAME_ROWS) * LANES]


@for_material(tasks)
def _frames(tile, x, tets, shape, moduli, project, frames):
    frames[tile] = _tile_frames(tile, x, tets, shape, moduli, project)


def tet_frames(x, tets, shape, moduli, material, project):
    """What tet_product needs of the tangent at x: 30 numbers an element, in tiles.

    project: negative eigenvalues of each element's tangent are replaced by zero.
    """
    frames = np.empty((tile_count(tets), FRAME_ROWS * LANES))
    fill = _frames[material][len(tets) >= PARALLEL_ROWS]
    fill(len(frames), x, tets, shape, moduli, project, frames)
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


@tasks(error_model="numpy")
def _product(tile, frames, tets, b, forces):
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


def tet_product(frames, tets, start, corner, b, out):
    """Adds K b to out (N, 3): K the tangent of `frames`, b (N, 3); the rest as in tet_gradient."""
    forces = np.empty((len(tets), 12))
    _product[len(tets) >= PARALLEL_ROWS](len(frames), frames, tets, b, forces)
    gather(start, corner, forces, out)


# ------------------------------------------------------------------ blocks
# K_kl summed by pair.  Blocks of BLOCK_CHUNK elements at a time are written to a buffer that stays
# in cache, ten of the sixteen an element has (vertices ascend, so k <= l also in the numbering of
# the particles); then every pair of particles sums its own.


@inlined
def _block_lanes(t, k, m, out, row):
    """K_kl of vertices k + 1, l = m + 1 into nine rows of out."""
    for lane in range(LANES):
        h, g = triple(t, H_ROW + 3 * k, lane), triple(t, H_ROW + 3 * m, lane)
        own, pair = triple(t, PSI_ROW, lane), triple(t, PSI_ROW + 3, lane)
        mean, half = triple(t, MEAN_ROW, lane), triple(t, HALF_ROW, lane)
        p, q, r = h[0] * g[0], h[1] * g[1], h[2] * g[2]
        T = (
            own[0] * p + mean[0] * q + mean[1] * r,
            pair[0] * h[0] * g[1] + half[0] * h[1] * g[0],
            pair[1] * h[0] * g[2] + half[1] * h[2] * g[0],
            pair[0] * h[1] * g[0] + half[0] * h[0] * g[1],
            mean[0] * p + own[1] * q + mean[2] * r,
            pair[2] * h[1] * g[2] + half[2] * h[2] * g[1],
            pair[1] * h[2] * g[0] + half[1] * h[0] * g[2],
            pair[2] * h[2] * g[1] + half[2] * h[1] * g[2],
            mean[1] * p + mean[2] * q + own[2] * r,
        )
        u, v, n = triple(t, U_ROW, lane), triple(t, U_ROW + 3, lane), triple(t, U_ROW + 6, lane)
        for i in range(0, 9, 3):
            z = times(turned(T), triple(t, U_ROW + i, lane))
            set_triple(out, row + i, lane, dot(z, u), dot(z, v), dot(z, n))


@strict
def _store_blocks(lanes, w, elements):
    """The blocks of vertices 1, 2, 3 and, from sum_l K_kl = 0, those of vertex 0: (count, 90)."""
    for lane in range(lanes):
        e = elements[lane]
        for k in range(9):
            t = 3 * (k % 3) + k // 3  # the transposed entry
            b11, b12, b13 = _three_blocks(w, k, lane)
            b22, b23, b33 = _three_blocks(w, 27 + k, lane)
            b21, b31 = w[(9 + t) * LANES + lane], w[(18 + t) * LANES + lane]
            b32 = w[(36 + t) * LANES + lane]
            b01, b02, b03 = -(b11 + b21 + b31), -(b12 + b22 + b32), -(b13 + b23 + b33)
            e[k] = -(b01 + b02 + b03)
            e[9 + k], e[18 + k], e[27 + k] = b01, b02, b03
            e[36 + k], e[45 + k], e[54 + k] = b11, b12, b13
            e[63 + k], e[72 + k], e[81 + k] = b22, b23, b33


@inlined
def _three_blocks(w, row, lane):
    k = row * LANES + lane
    return w[k], w[k + 9 * LANES], w[k + 18 * LANES]


@for_material(tasks)
def _fill(n, first, x, tets, shape, moduli, project, elements):
    """The blocks of tile n of a chunk whose elements begin with `first`."""
    tile = first // LANES + n
    t = _tile_frames(tile, x, tets, shape, moduli, project)
    w = np.empty(54 * LANES)
    _block_lanes(t, 0, 0, w, 0)
    _block_lanes(t, 0, 1, w, 9)
    _block_lanes(t, 0, 2, w, 18)
    _block_lanes(t, 1, 1, w, 27)
    _block_lanes(t, 1, 2, w, 36)
    _block_lanes(t, 2, 2, w, 45)
    lanes = min(LANES, len(tets) - tile * LANES)
    _store_blocks(lanes, w, elements[tile * LANES - first :])


@inlined
def _add(block, factor, S):
    for k in range(9):
        block[k] += factor * S[k]


@inlined
def _sum_pair(pair, first, slot, mirror, start, source, elements, blocks):
    """Blocks (i, j) and (j, i) of one pair of particles; i = j is made exactly symmetric."""
    S = NONE
    for p in range(start[pair], start[pair + np.uint64(1)]):
        S = add(S, load(elements[source[p] - first]))
    half = 0.5 if slot[pair] == mirror[pair] else 1.0
    _add(blocks[slot[pair]], half, S)
    _add(blocks[mirror[pair]], half, turned(S))


@both(error_model="numpy")
def _sum(begin, end, first, slot, mirror, start, source, elements, blocks):
    for pair in prange(begin, end):
        _sum_pair(np.uint64(pair), first, slot, mirror, start, source, elements, blocks)


def tet_blocks(
    x, tets, shape, moduli, material, project, chunks, slot, mirror, start, source, blocks
):
    """Adds d2E/dx2 [N/m] to blocks (nnz, 3, 3).  The vertices of every element ascend.

    Pair p of particles i <= j: slot[p], mirror[p] of blocks (i, j) and (j, i); its elements'
    blocks are source[start[p]:start[p + 1]], block 10 e + n of element e, n counting
    00, 01, 02, 03, 11, 12, 13, 22, 23, 33.  Chunk c of BLOCK_CHUNK elements has the pairs
    chunks[c] to chunks[c + 1], each pair once.
    """
    elements = np.empty((min(len(tets), BLOCK_CHUNK), 90))
    many = len(tets) >= PARALLEL_ROWS
    flat = blocks.reshape(-1, 9)
    for chunk in range(len(chunks) - 1):
        first = chunk * BLOCK_CHUNK
        end = min(first + BLOCK_CHUNK, len(tets))
        tiles = -(-end // LANES) - first // LANES
        _fill[material][many](tiles, first, x, tets, shape, moduli, project, elements)
        offset = np.uint32(10 * first)
        pairs = chunks[chunk], chunks[chunk + 1], offset
        _sum[many](*pairs, slot, mirror, start, source, elements.reshape(-1, 9), flat)
