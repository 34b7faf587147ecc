"""Matrices of bars: the stiffness of springs, every block between two particles -(a I + e e^T).

Four numbers for a block instead of nine, and no block of its own for the way back: products read
half as much memory as from 3x3 blocks, which is what they wait for.  bars (nnz, 4): a, e, in the
slots of the block matrix; those on the diagonal are zero, and own (N, 6) holds the symmetric
diagonal blocks: xx, yy, zz, xy, xz, yz.  Rows are multiplied by weights as in blocks.py.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .blocks import NO_WEIGHT, apply_rows, extreme_eigenvalues, product_of, unsigned
from .jit import PARALLEL_ROWS, both, njit


@njit(fastmath={"contract"}, inline="always")
def bar_row1(i, indptr, indices, data, x):
    bars, own, weight = data
    r = x[i]
    d = own[i]
    a0 = d[0] * r[0] + d[3] * r[1] + d[4] * r[2]
    a1 = d[3] * r[0] + d[1] * r[1] + d[5] * r[2]
    a2 = d[4] * r[0] + d[5] * r[1] + d[2] * r[2]
    for p in range(indptr[i], indptr[i + 1]):
        r = x[indices[p]]
        e = bars[p]
        u = e[1] * r[0] + e[2] * r[1] + e[3] * r[2]
        a0 -= e[0] * r[0] + u * e[1]
        a1 -= e[0] * r[1] + u * e[2]
        a2 -= e[0] * r[2] + u * e[3]
    m = weight[i] if weight.size else 1.0
    return m * a0, m * a1, m * a2


@njit(fastmath={"contract"}, inline="always")
def bar_row2(i, indptr, indices, data, x):
    bars, own, weight = data
    r = x[i]
    d = own[i]
    a0 = d[0] * r[0] + d[3] * r[2] + d[4] * r[4]
    a1 = d[0] * r[1] + d[3] * r[3] + d[4] * r[5]
    a2 = d[3] * r[0] + d[1] * r[2] + d[5] * r[4]
    a3 = d[3] * r[1] + d[1] * r[3] + d[5] * r[5]
    a4 = d[4] * r[0] + d[5] * r[2] + d[2] * r[4]
    a5 = d[4] * r[1] + d[5] * r[3] + d[2] * r[5]
    for p in range(indptr[i], indptr[i + 1]):
        r = x[indices[p]]
        e = bars[p]
        u = e[1] * r[0] + e[2] * r[2] + e[3] * r[4]
        v = e[1] * r[1] + e[2] * r[3] + e[3] * r[5]
        a0 -= e[0] * r[0] + u * e[1]
        a1 -= e[0] * r[1] + v * e[1]
        a2 -= e[0] * r[2] + u * e[2]
        a3 -= e[0] * r[3] + v * e[2]
        a4 -= e[0] * r[4] + u * e[3]
        a5 -= e[0] * r[5] + v * e[3]
    m = weight[i] if weight.size else 1.0
    return m * a0, m * a1, m * a2, m * a3, m * a4, m * a5


_apply = product_of(bar_row1, bar_row2)


def bar_apply(indptr, indices, bars, own, b, weight=NO_WEIGHT):
    """As block_apply."""
    return apply_rows(_apply, *unsigned(indptr, indices), (bars, own, weight), b)


@both()
def _gershgorin(indptr, bars, own, weight, low, high, largest):
    for i in prange(indptr.size - 1):
        row = np.uint64(i)
        radius = 0.0
        for p in range(indptr[row], indptr[row + np.uint64(1)]):
            e = bars[p]
            along = e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]
            radius += max(abs(e[0]), abs(along))
        smallest, top = extreme_eigenvalues(own[row])
        m = weight[row] if weight.size else 1.0
        low[i] = m * (smallest - radius)
        high[i] = m * (top + radius)
        largest[i] = m * top


def bar_gershgorin(indptr, bars, own, weight=NO_WEIGHT):
    """As block_gershgorin; the norm of a bar is known exactly."""
    ends = np.empty((3, len(own)))
    _gershgorin.watched(len(own), 1, unsigned(indptr, indptr)[0], bars, own, weight, *ends)
    return float(ends[0].min()), float(ends[1].max()), float(ends[2].max())


@both()
def _blocks(indptr, indices, bars, own, blocks):
    for i in prange(indptr.size - 1):
        row = np.uint64(i)
        for p in range(indptr[row], indptr[row + np.uint64(1)]):
            e, block = bars[p], blocks[p]
            for a in range(3):
                for b in range(3):
                    block[a, b] = -e[1 + a] * e[1 + b]
                block[a, a] -= e[0]
            if indices[p] == row:
                d = own[row]
                for a in range(3):
                    block[a, a] = d[a]
                    for b in range(a):
                        block[a, b] = block[b, a] = d[2 + a + b]


def bar_blocks(indptr, indices, bars, own):
    """The same matrix in blocks (nnz, 3, 3)."""
    blocks = np.empty((len(bars), 3, 3))
    _blocks[len(own) >= PARALLEL_ROWS](*unsigned(indptr, indices), bars, own, blocks)
    return blocks
