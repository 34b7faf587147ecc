"""Solves with a sparse L D L^T: three right-hand sides at once, columns of one pattern together.

Columns of L with the same rows (a supernode) share one gather and one scatter of the right-hand
sides; between them, two columns at a time meet numbers that lie side by side.  Measured beside the
solves of SuperLU and CHOLMOD by benchmarks/factor.py.
"""

from __future__ import annotations

import numpy as np

from .blocks import unsigned
from .jit import njit

WIDTH = 3  # right-hand sides taken at once: coordinates of a point
NARROW = 4  # columns, up to which a supernode is not worth its set-up


def ldl_solve(indptr, indices, data, starts, inverse, order, b):
    """x with P^T L D L^T P x = b, b (n,) or (n, p).

    indptr, indices, data: L in columns (CSC), the diagonal first in each; starts (m + 1,): columns
    from one to the next are a supernode; inverse: 1/D; order: row i of b is row order[i] of L.
    """
    indices, order = unsigned(indices, order)
    b = np.ascontiguousarray(b, dtype=float)
    columns = b.reshape(b.shape[0], -1)
    if columns.shape[1] == WIDTH:
        return _solve3(indptr, indices, data, starts, inverse, order, columns).reshape(b.shape)
    out = np.empty_like(columns)
    for c in range(0, columns.shape[1], WIDTH):
        some = columns[:, c : c + WIDTH]
        padded = np.zeros((b.shape[0], WIDTH))
        padded[:, : some.shape[1]] = some
        x = _solve3(indptr, indices, data, starts, inverse, order, padded)
        out[:, c : c + WIDTH] = x[:, : some.shape[1]]
    return out.reshape(b.shape)


# Its parts are inlined here, not where LLVM sees fit: that depends on which of them a process has
# compiled and which it has loaded, and a run resumed by another would differ in its last digits.
@njit(fastmath={"contract", "reassoc", "nsz"})
def _solve3(indptr, indices, data, starts, inverse, order, b):
    y, x = np.empty_like(b), np.empty_like(b)
    work = np.empty((WIDTH, b.shape[0]))
    for i in range(b.shape[0]):
        for c in range(WIDTH):
            y[order[i], c] = b[i, c]
    _forward(indptr, indices, data, starts, y, work)
    _backward(indptr, indices, data, starts, inverse, y, work)
    for i in range(b.shape[0]):
        for c in range(WIDTH):
            x[i, c] = y[order[i], c]
    return x


@njit(inline="always")
def _forward(indptr, indices, data, starts, y, work):
    """y <- L^-1 y, supernode by supernode: within it, then what it does to the rows below."""
    for s in range(starts.size - 1):
        first, end = starts[s], starts[s + 1]
        if end - first <= NARROW:
            for j in range(first, end):
                _scatter(indptr, indices, data, y, j)
            continue
        rows = indices[indptr[end - 1] + 1 : indptr[end]]
        below = rows.size
        block = y[first:end]
        for j in range(end - first - 1):
            column = data[indptr[first + j] + 1 : indptr[first + j] + end - first - j]
            _subtract(block[j + 1 :], column, block[j, 0], block[j, 1], block[j, 2])
        w0, w1, w2 = work[0, :below], work[1, :below], work[2, :below]
        odd = (end - first) % 2
        column = data[indptr[first + 1] - below : indptr[first + 1]]
        v0, v1, v2 = odd * block[0, 0], odd * block[0, 1], odd * block[0, 2]
        for i in range(below):
            w0[i], w1[i], w2[i] = column[i] * v0, column[i] * v1, column[i] * v2
        for j in range(odd, end - first, 2):
            a0, a1, a2 = block[j, 0], block[j, 1], block[j, 2]
            b0, b1, b2 = block[j + 1, 0], block[j + 1, 1], block[j + 1, 2]
            one = data[indptr[first + j + 1] - below : indptr[first + j + 1]]
            two = data[indptr[first + j + 2] - below : indptr[first + j + 2]]
            for i in range(below):
                w0[i] += one[i] * a0 + two[i] * b0
                w1[i] += one[i] * a1 + two[i] * b1
                w2[i] += one[i] * a2 + two[i] * b2
        for i in range(below):
            y[rows[i], 0] -= w0[i]
            y[rows[i], 1] -= w1[i]
            y[rows[i], 2] -= w2[i]


@njit(inline="always")
def _backward(indptr, indices, data, starts, inverse, y, work):
    """y <- L^-T D^-1 y: what the rows below do to a supernode, then within it."""
    for s in range(starts.size - 2, -1, -1):
        first, end = starts[s], starts[s + 1]
        if end - first <= NARROW:
            for j in range(end - 1, first - 1, -1):
                _gather(indptr, indices, data, inverse, y, j)
            continue
        rows = indices[indptr[end - 1] + 1 : indptr[end]]
        below = rows.size
        block = y[first:end]
        w0, w1, w2 = work[0, :below], work[1, :below], work[2, :below]
        for i in range(below):
            w0[i], w1[i], w2[i] = y[rows[i], 0], y[rows[i], 1], y[rows[i], 2]
        odd = (end - first) % 2
        if odd:
            one = data[indptr[first + 1] - below : indptr[first + 1]]
            a0 = a1 = a2 = 0.0
            for i in range(below):
                a0 += one[i] * w0[i]
                a1 += one[i] * w1[i]
                a2 += one[i] * w2[i]
            _less(block, 0, inverse[first], a0, a1, a2)
        for j in range(odd, end - first, 2):
            one = data[indptr[first + j + 1] - below : indptr[first + j + 1]]
            two = data[indptr[first + j + 2] - below : indptr[first + j + 2]]
            a0 = a1 = a2 = b0 = b1 = b2 = 0.0
            for i in range(below):
                a0 += one[i] * w0[i]
                a1 += one[i] * w1[i]
                a2 += one[i] * w2[i]
                b0 += two[i] * w0[i]
                b1 += two[i] * w1[i]
                b2 += two[i] * w2[i]
            _less(block, j, inverse[first + j], a0, a1, a2)
            _less(block, j + 1, inverse[first + j + 1], b0, b1, b2)
        for j in range(end - first - 2, -1, -1):
            column = data[indptr[first + j] + 1 : indptr[first + j] + end - first - j]
            rest = block[j + 1 :]
            v0, v1, v2 = block[j, 0], block[j, 1], block[j, 2]
            for i in range(column.size):
                v0 -= column[i] * rest[i, 0]
                v1 -= column[i] * rest[i, 1]
                v2 -= column[i] * rest[i, 2]
            block[j, 0], block[j, 1], block[j, 2] = v0, v1, v2


@njit(inline="always")
def _subtract(rest, column, v0, v1, v2):
    for i in range(column.size):
        rest[i, 0] -= column[i] * v0
        rest[i, 1] -= column[i] * v1
        rest[i, 2] -= column[i] * v2


@njit(inline="always")
def _scatter(indptr, indices, data, y, j):
    v0, v1, v2 = y[j, 0], y[j, 1], y[j, 2]
    for p in range(indptr[j] + 1, indptr[j + 1]):
        y[indices[p], 0] -= data[p] * v0
        y[indices[p], 1] -= data[p] * v1
        y[indices[p], 2] -= data[p] * v2


@njit(inline="always")
def _gather(indptr, indices, data, inverse, y, j):
    v0, v1, v2 = inverse[j] * y[j, 0], inverse[j] * y[j, 1], inverse[j] * y[j, 2]
    for p in range(indptr[j] + 1, indptr[j + 1]):
        v0 -= data[p] * y[indices[p], 0]
        v1 -= data[p] * y[indices[p], 1]
        v2 -= data[p] * y[indices[p], 2]
    y[j, 0], y[j, 1], y[j, 2] = v0, v1, v2


@njit(inline="always")
def _less(block, j, inverse, a0, a1, a2):
    block[j, 0] = inverse * block[j, 0] - a0
    block[j, 1] = inverse * block[j, 1] - a1
    block[j, 2] = inverse * block[j, 2] - a2
