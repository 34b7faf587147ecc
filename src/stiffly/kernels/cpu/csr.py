"""Products with sparse matrices of numbers; how symmetric they are, and their 3x3 blocks.

A matrix K' of N rows also acts on 3N coordinates, as K' (x) I_3: x, y and z of a particle lie side
by side and share one pass over the row.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .blocks import unsigned
from .jit import CHUNK, both, chunks, njit, strict

ALIKE = 3  # coordinates that share a row of K'


@njit(fastmath={"contract"}, inline="always")
def csr_row1(i, indptr, indices, data, x):
    a0 = 0.0
    for p in range(indptr[i], indptr[i + np.uint64(1)]):
        a0 += data[p] * x[indices[p]][0]
    return (a0,)


@njit(fastmath={"contract"}, inline="always")
def csr_row2(i, indptr, indices, data, x):
    a0 = 0.0
    a1 = 0.0
    for p in range(indptr[i], indptr[i + np.uint64(1)]):
        r = x[indices[p]]
        d = data[p]
        a0 += d * r[0]
        a1 += d * r[1]
    return a0, a1


@njit(fastmath={"contract"}, inline="always")
def csr_row3(i, indptr, indices, data, x):
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    for p in range(indptr[i], indptr[i + np.uint64(1)]):
        r = x[indices[p]]
        d = data[p]
        a0 += d * r[0]
        a1 += d * r[1]
        a2 += d * r[2]
    return a0, a1, a2


@njit(fastmath={"contract"}, inline="always")
def csr_row6(i, indptr, indices, data, x):
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    a3 = 0.0
    a4 = 0.0
    a5 = 0.0
    for p in range(indptr[i], indptr[i + np.uint64(1)]):
        r = x[indices[p]]
        d = data[p]
        a0 += d * r[0]
        a1 += d * r[1]
        a2 += d * r[2]
        a3 += d * r[3]
        a4 += d * r[4]
        a5 += d * r[5]
    return a0, a1, a2, a3, a4, a5


@njit(fastmath={"contract"})
def _rows(task, indptr, indices, data, x, y):
    for i in range(task * CHUNK, min((task + 1) * CHUNK, y.shape[0])):
        w = y[i]
        if w.size == 1:
            w[0] = csr_row1(np.uint64(i), indptr, indices, data, x)[0]
        elif w.size == 2:
            w[0], w[1] = csr_row2(np.uint64(i), indptr, indices, data, x)
        elif w.size == 3:
            w[0], w[1], w[2] = csr_row3(np.uint64(i), indptr, indices, data, x)
        else:
            r = csr_row6(np.uint64(i), indptr, indices, data, x)
            w[0], w[1], w[2], w[3], w[4], w[5] = r


@both()
def _apply(indptr, indices, data, x, y):
    for task in prange(chunks(y.shape[0])):
        _rows(task, indptr, indices, data, x, y)


def csr_apply(indptr, indices, data, b):
    """Product of a CSR matrix with b (n,) or (n, p); or of K' (x) I_3, where b has 3n rows."""
    indptr, indices = unsigned(indptr, indices)
    b = np.ascontiguousarray(b)
    n = indptr.size - 1
    out = np.empty_like(b)
    columns = 1 if b.ndim == 1 else b.shape[1]
    if columns > 2:
        for c in range(columns):
            out[:, c] = csr_apply(indptr, indices, data, b[:, c])
        return out
    if n:
        _apply.watched(n, 1, indptr, indices, data, b.reshape(n, -1), out.reshape(n, -1))
    return out


@njit
def _asymmetry(indptr, indices, data):
    n, one = indptr.size - 1, np.uint64(1)
    reached = np.empty(n, np.uint64)  # in row j, the first column that no earlier row has asked for
    for j in range(n):
        reached[j] = indptr[j]
    largest = 0.0
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            q, end = reached[j], np.uint64(indptr[j + np.uint32(1)])
            while q < end and indices[q] < i:  # entries that have no twin
                largest = max(largest, abs(data[q]))
                q += one
            twin = 0.0
            if q < end and indices[q] == i:
                twin = data[q]
                q += one
            largest = max(largest, abs(data[p] - twin))
            reached[j] = q
    for j in range(n):
        for q in range(reached[j], np.uint64(indptr[j + 1])):
            largest = max(largest, abs(data[q]))
    return largest


def csr_asymmetry(indptr, indices, data):
    """The largest |A - A^T| of a square matrix whose rows are sorted and have no entry twice."""
    return float(_asymmetry(*unsigned(indptr, indices), data))


@strict
def _count(indptr, indices, seen, out):
    """out[i + 1]: blocks of block rows up to i."""
    for i in range(out.size - 1):
        count = 0
        for p in range(indptr[3 * i], indptr[3 * i + 3]):
            block = indices[p] // np.uint32(3)
            if seen[block] != i:
                seen[block] = i
                count += 1
        out[i + 1] = out[i] + count


@strict
def _fill(indptr, indices, data, seen, starts, columns, blocks):
    for i in range(starts.size - 1):
        first = end = starts[i]
        for row in range(3):
            for p in range(indptr[3 * i + row], indptr[3 * i + row + 1]):
                column = indices[p]
                block = column // np.uint32(3)
                slot = seen[block]
                if slot < first:  # of an earlier row, or of none
                    slot = end
                    seen[block] = slot
                    columns[slot] = block
                    end += 1
                place = np.uint64(3 * row) + np.uint64(column - np.uint32(3) * block)
                blocks[np.uint64(slot), place] += data[p]


def csr_blocks(indptr, indices, data, least):
    """indptr, indices and blocks (m, 3, 3) of a matrix of 3N rows; None where fewer than the share
    `least` of their entries are stored."""
    count = int(indices.max(initial=0)) // 3 + 1
    starts = np.zeros((indptr.size - 1) // 3 + 1, dtype=np.int64)
    pattern = unsigned(indptr, indices)
    _count(*pattern, np.full(count, -1), starts)
    total = int(starts[-1])
    if data.size < least * 9 * total:
        return None
    columns, blocks = np.empty(total, dtype=indices.dtype), np.zeros((total, 9))
    _fill(*pattern, data, np.full(count, -1), starts, columns, blocks)
    return starts.astype(indptr.dtype), columns, blocks.reshape(-1, 3, 3)
