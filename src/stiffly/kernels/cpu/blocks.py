"""Products with matrices of 3x3 blocks, and bounds of their spectra.

Index arrays are read as unsigned: a signed index brings a wrap-around test that blocks
vectorisation (3x on the two-column product).  Two columns share one pass over the matrix.
Columns are interleaved, b[(3 i + a), c], so that one particle's data are contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from .jit import CHUNK, both, chunks, njit


def unsigned(indptr, indices):
    """Row pointers and indices seen as unsigned integers."""
    return indptr.view(f"u{indptr.itemsize}"), indices.view(f"u{indices.itemsize}")


@njit(fastmath=True)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit
def add_scaled(out, factor, a):
    """out += factor a, (n,), in place and without a temporary array."""
    for i in range(a.size):
        out[i] += factor * a[i]


@njit(fastmath=True)
def _dot_columns(a, b, weight, out):
    for i in range(a.shape[0]):
        w = weight[i] if weight.size else 1.0
        for c in range(a.shape[1]):
            out[c] += w * a[i, c] * b[i, c]


def column_dot(a, b, weight=None) -> Any:
    """Inner products column by column, a^T diag(weight) b: (n,) -> (); (n, p) -> (p,).

    Compiled, because BLAS starts threads for vectors of this size and waits for them.
    """
    if a.ndim == 1 and weight is None:
        return np.dot(a, b) if a.size < 5000 else _dot(a, b)
    out = np.zeros(1 if a.ndim == 1 else a.shape[1])
    rows = (-1, 1) if a.ndim == 1 else a.shape
    weight = np.empty(0) if weight is None else weight
    _dot_columns(a.reshape(rows), b.reshape(rows), weight, out)
    return float(out[0]) if a.ndim == 1 else out


# ------------------------------------------------------------------ 3x3 blocks


@njit(fastmath={"contract"}, inline="always")
def block_row1(i, indptr, indices, blocks, x):
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        r = x[indices[p]]
        d = blocks[p]
        a0 += d[0] * r[0] + d[1] * r[1] + d[2] * r[2]
        a1 += d[3] * r[0] + d[4] * r[1] + d[5] * r[2]
        a2 += d[6] * r[0] + d[7] * r[1] + d[8] * r[2]
    return a0, a1, a2


@njit(fastmath={"contract"}, inline="always")
def block_row2(i, indptr, indices, blocks, x):
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    a3 = 0.0
    a4 = 0.0
    a5 = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        r = x[indices[p]]
        d = blocks[p]
        a0 += d[0] * r[0] + d[1] * r[2] + d[2] * r[4]
        a1 += d[0] * r[1] + d[1] * r[3] + d[2] * r[5]
        a2 += d[3] * r[0] + d[4] * r[2] + d[5] * r[4]
        a3 += d[3] * r[1] + d[4] * r[3] + d[5] * r[5]
        a4 += d[6] * r[0] + d[7] * r[2] + d[8] * r[4]
        a5 += d[6] * r[1] + d[7] * r[3] + d[8] * r[5]
    return a0, a1, a2, a3, a4, a5


@njit(fastmath={"contract"})
def _rows(task, indptr, indices, blocks, x, y):
    for i in range(task * CHUNK, min((task + 1) * CHUNK, y.shape[0])):
        w = y[i]
        if w.size == 3:
            w[0], w[1], w[2] = block_row1(np.uint64(i), indptr, indices, blocks, x)
        else:
            r = block_row2(np.uint64(i), indptr, indices, blocks, x)
            w[0], w[1], w[2], w[3], w[4], w[5] = r


@both()
def _apply(indptr, indices, blocks, x, y):
    for task in prange(chunks(y.shape[0])):
        _rows(task, indptr, indices, blocks, x, y)


def block_apply(indptr, indices, blocks, b):
    """Product of a 3x3-block matrix with b (3N,) or (3N, p)."""
    indptr, indices = unsigned(indptr, indices)
    blocks = blocks.reshape(-1, 9)
    n = indptr.size - 1
    b = np.ascontiguousarray(b)
    out = np.empty_like(b)
    columns = 1 if b.ndim == 1 else b.shape[1]
    if columns > 2:
        for c in range(columns):
            out[:, c] = block_apply(indptr, indices, blocks, b[:, c])
        return out
    _apply.watched(n, 1, indptr, indices, blocks, b.reshape(n, -1), out.reshape(n, -1))
    return out


@njit
def _scale_rows(indptr, blocks, diagonal):
    out = np.empty_like(blocks)
    for i in range(indptr.size - 1):
        row = np.uint64(i)
        for p in range(indptr[row], indptr[row + np.uint64(1)]):
            for a in range(3):
                inverse = 1.0 / diagonal[i, a]
                for b in range(3):
                    out[p, a, b] = blocks[p, a, b] * inverse
    return out


def scale_block_rows(indptr, blocks, diagonal):
    """Blocks of diag(1/diagonal) K; diagonal (3N,)."""
    return _scale_rows(unsigned(indptr, indptr)[0], blocks, diagonal.reshape(-1, 3))


@njit
def _extreme_eigenvalues(d):
    """Smallest and largest eigenvalue of a symmetric 3x3 matrix (trigonometric formula)."""
    q = (d[0, 0] + d[1, 1] + d[2, 2]) / 3.0
    off = d[0, 1] ** 2 + d[0, 2] ** 2 + d[1, 2] ** 2
    spread = (d[0, 0] - q) ** 2 + (d[1, 1] - q) ** 2 + (d[2, 2] - q) ** 2 + 2.0 * off
    p = np.sqrt(spread / 6.0)
    if p == 0.0:
        return q, q
    a, b, c = (d[0, 0] - q) / p, (d[1, 1] - q) / p, (d[2, 2] - q) / p
    f, g, h = d[0, 1] / p, d[0, 2] / p, d[1, 2] / p
    half = 0.5 * (a * (b * c - h * h) - f * (f * c - h * g) + g * (f * h - b * g))
    angle = np.arccos(min(1.0, max(-1.0, half))) / 3.0
    return q + 2.0 * p * np.cos(angle + 2.0 * np.pi / 3.0), q + 2.0 * p * np.cos(angle)


@njit
def _block_gershgorin(indptr, indices, blocks, low, high, largest):
    """Row sums of Frobenius norms around the extreme eigenvalues of the diagonal blocks."""
    for i in range(indptr.size - 1):
        row = np.uint64(i)
        radius = 0.0
        smallest, top = 0.0, 0.0
        for p in range(indptr[row], indptr[row + np.uint64(1)]):
            d = blocks[p]
            if indices[p] == row:
                # rows of M^-1 K share one mass per particle: the diagonal block is symmetric
                smallest, top = _extreme_eigenvalues(d)
            else:
                square = 0.0
                for a in range(3):
                    for b in range(3):
                        square += d[a, b] * d[a, b]
                radius += np.sqrt(square)
        low[i] = smallest - radius
        high[i] = top + radius
        largest[i] = top


def block_gershgorin(indptr, indices, blocks):
    """low, high: an interval that holds the spectrum of a 3x3-block matrix (block Gershgorin);
    the third number is the largest eigenvalue of a diagonal block."""
    indptr, indices = unsigned(indptr, indices)
    ends = np.empty((3, indptr.size - 1))
    _block_gershgorin(indptr, indices, blocks, *ends)
    return float(ends[0].min()), float(ends[1].max()), float(ends[2].max())
