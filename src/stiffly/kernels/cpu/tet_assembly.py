"""Tangents of linear tetrahedra as 3x3 blocks: K_kl = U T U^T of tet_tangents.py, summed by pair.

Blocks of BLOCK_CHUNK elements at a time are written to a buffer that stays in cache, ten of the
sixteen an element has (vertices ascend, so k <= l also in the numbering of the particles); then
every pair of particles sums its own.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..names import BLOCK_CHUNK
from .for_material import for_material
from .jit import both, inlined, strict
from .polar import LANES, dot
from .tet_tangents import H_ROW, HALF_ROW, MEAN_ROW, PSI_ROW, U_ROW, tile_frames
from .tets import set_triple, triple
from .threads import PARALLEL_ROWS


@inlined
def _block_lanes(t, k, m, out, row):
    """K_kl of vertices k + 1, l = m + 1 into nine rows of out."""
    for lane in range(LANES):
        h, g = triple(t, H_ROW + 3 * k, lane), triple(t, H_ROW + 3 * m, lane)
        own, pair = triple(t, PSI_ROW, lane), triple(t, PSI_ROW + 3, lane)
        mean, half = triple(t, MEAN_ROW, lane), triple(t, HALF_ROW, lane)
        p, q, r = h[0] * g[0], h[1] * g[1], h[2] * g[2]
        a = (
            own[0] * p + mean[0] * q + mean[1] * r,
            pair[0] * h[0] * g[1] + half[0] * h[1] * g[0],
            pair[1] * h[0] * g[2] + half[1] * h[2] * g[0],
        )
        b = (
            pair[0] * h[1] * g[0] + half[0] * h[0] * g[1],
            mean[0] * p + own[1] * q + mean[2] * r,
            pair[2] * h[1] * g[2] + half[2] * h[2] * g[1],
        )
        c = (
            pair[1] * h[2] * g[0] + half[1] * h[0] * g[2],
            pair[2] * h[2] * g[1] + half[2] * h[1] * g[2],
            mean[1] * p + mean[2] * q + own[2] * r,
        )
        u, v, n = triple(t, U_ROW, lane), triple(t, U_ROW + 3, lane), triple(t, U_ROW + 6, lane)
        for i in range(0, 9, 3):
            s = triple(t, U_ROW + i, lane)
            z = (
                s[0] * a[0] + s[1] * b[0] + s[2] * c[0],
                s[0] * a[1] + s[1] * b[1] + s[2] * c[1],
                s[0] * a[2] + s[1] * b[2] + s[2] * c[2],
            )
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


@for_material()
def _tile_blocks(tile, first, x, tets, shape, moduli, project, elements):
    t = tile_frames(tile, x, tets, shape, moduli, project)
    w = np.empty(54 * LANES)
    _block_lanes(t, 0, 0, w, 0)
    _block_lanes(t, 0, 1, w, 9)
    _block_lanes(t, 0, 2, w, 18)
    _block_lanes(t, 1, 1, w, 27)
    _block_lanes(t, 1, 2, w, 36)
    _block_lanes(t, 2, 2, w, 45)
    lanes = min(LANES, len(tets) - tile * LANES)
    _store_blocks(lanes, w, elements[tile * LANES - first :])


@for_material(threads=True)
def _fill(first, end, x, tets, shape, moduli, project, elements):
    for tile in prange(first // LANES, -(-end // LANES)):
        _tile_blocks(tile, first, x, tets, shape, moduli, project, elements)


@inlined
def _add(b, factor, b0, b1, b2, b3, b4, b5, b6, b7, b8):
    b[0] += factor * b0
    b[1] += factor * b1
    b[2] += factor * b2
    b[3] += factor * b3
    b[4] += factor * b4
    b[5] += factor * b5
    b[6] += factor * b6
    b[7] += factor * b7
    b[8] += factor * b8


@inlined
def _sum_pair(pair, first, slot, mirror, start, source, elements, blocks):
    """Blocks (i, j) and (j, i) of one pair of particles; i = j is made exactly symmetric."""
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for p in range(start[pair], start[pair + np.uint64(1)]):
        e = elements[source[p] - first]
        s00, s01, s02 = s00 + e[0], s01 + e[1], s02 + e[2]
        s10, s11, s12 = s10 + e[3], s11 + e[4], s12 + e[5]
        s20, s21, s22 = s20 + e[6], s21 + e[7], s22 + e[8]
    half = 0.5 if slot[pair] == mirror[pair] else 1.0
    _add(blocks[slot[pair]], half, s00, s01, s02, s10, s11, s12, s20, s21, s22)
    _add(blocks[mirror[pair]], half, s00, s10, s20, s01, s11, s21, s02, s12, s22)


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
        _fill[material][many](first, end, x, tets, shape, moduli, project, elements)
        offset = np.uint32(10 * first)
        pairs = chunks[chunk], chunks[chunk + 1], offset
        _sum[many](*pairs, slot, mirror, start, source, elements.reshape(-1, 9), flat)
