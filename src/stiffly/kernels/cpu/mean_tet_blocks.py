"""Derivatives of the mean stress by the second state, as 3x3 blocks: not symmetric."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..names import MEAN_CHUNK
from .for_material import Slot, for_material
from .jit import strict
from .mean_tets import mean_basis
from .threads import PARALLEL_ROWS

columns = Slot("mean.columns")


@strict
def _complete(K, out):
    """All sixteen blocks (144,), block 4 k + l; rows and columns sum to zero."""
    for a in range(3):
        for b in range(3):
            corner = 0.0
            for k in range(3):
                in_row, in_column = 0.0, 0.0
                for n in range(3):
                    value = K[3 * k + a, 3 * n + b]
                    out[9 * (4 * (k + 1) + n + 1) + 3 * a + b] = value
                    in_row += value
                    in_column += K[3 * n + a, 3 * k + b]
                out[9 * 4 * (k + 1) + 3 * a + b] = -in_row
                out[9 * (k + 1) + 3 * a + b] = -in_column
                corner += in_row
            out[3 * a + b] = corner


@for_material(threads=True)
def _fill(first, count, before, after, middle, shape, moduli, elements):
    for n in prange(count):
        e, K = first + n, np.empty((9, 9))
        columns(moduli[e, 0], moduli[e, 1], before, after, middle, e, shape[e], K)
        _complete(K, elements[n])


@strict
def _sum(begin, end, first, slot, start, source, elements, blocks):
    for p in range(begin, end):
        block = blocks[slot[p]]
        for q in range(start[p], start[p + 1]):
            e = elements[source[q] - first]
            for k in range(9):
                block[k] += e[k]


def tet_mean_blocks(
    before, after, tets, shape, moduli, material, chunks, slot, start, source, blocks
):
    """Adds dg/dx1 [N/m] of tet_mean_gradient to blocks (nnz, 3, 3).

    slot[p] takes the blocks source[start[p]:start[p + 1]] of the elements, block 16 e + 4 k + l
    being that of vertices k, l of element e.  Chunk c of MEAN_CHUNK elements has the slots
    p = chunks[c] to chunks[c + 1].
    """
    elements = np.empty((min(len(tets), MEAN_CHUNK), 144))
    fill = _fill[material][len(tets) >= PARALLEL_ROWS]
    middle = mean_basis(before, after, material.mean)
    flat = blocks.reshape(-1, 9)
    for chunk in range(len(chunks) - 1):
        first = chunk * MEAN_CHUNK
        count = min(MEAN_CHUNK, len(tets) - first)
        fill(first, count, before, after, middle, shape, moduli, elements)
        own = chunks[chunk], chunks[chunk + 1], np.uint32(16 * first)
        _sum(*own, slot, start, source, elements.reshape(-1, 9), flat)
