"""Products with matrices of 3x3 blocks, and bounds of their spectra.

Index arrays are read as unsigned: a signed index brings a wrap-around test that blocks
vectorisation (3x on the two-column product).  Two columns share one pass over the matrix.
Columns are interleaved, b[(3 i + a), c], so that one particle's data are contiguous.
Rows are multiplied by weights, 1/mass of particles, on their way: a scaled copy of a million
particles' blocks takes a gigabyte, and as long as two products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from ..names import NO_WEIGHT
from .jit import CHUNK, Both, both, chunks, copied, njit


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
def block_row1(i, indptr, indices, data, x):
    blocks, weight = data
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        r = x[indices[p]]
        d = blocks[p]
        a0 += d[0] * r[0] + d[1] * r[1] + d[2] * r[2]
        a1 += d[3] * r[0] + d[4] * r[1] + d[5] * r[2]
        a2 += d[6] * r[0] + d[7] * r[1] + d[8] * r[2]
    m = weight[i] if weight.size else 1.0
    return m * a0, m * a1, m * a2


@njit(fastmath={"contract"}, inline="always")
def block_row2(i, indptr, indices, data, x):
    blocks, weight = data
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
    m = weight[i] if weight.size else 1.0
    return m * a0, m * a1, m * a2, m * a3, m * a4, m * a5


def _row1(i, indptr, indices, data, x) -> Any: ...  # stands for block_row1, ...
def _row2(i, indptr, indices, data, x) -> Any: ...  # for block_row2, ...
def _chunk(task, indptr, indices, data, x, y): ...  # for what _rows compiles to


def _rows(task, indptr, indices, data, x, y):
    for i in range(task * CHUNK, min((task + 1) * CHUNK, y.shape[0])):
        w = y[i]
        if w.size == 3:
            w[0], w[1], w[2] = _row1(np.uint64(i), indptr, indices, data, x)
        else:
            r = _row2(np.uint64(i), indptr, indices, data, x)
            w[0], w[1], w[2], w[3], w[4], w[5] = r


def _all_rows(indptr, indices, data, x, y):
    for task in prange(chunks(y.shape[0])):
        _chunk(task, indptr, indices, data, x, y)


def product_of(row1: Any, row2: Any) -> Both:
    """(indptr, indices, data, x, y): y = A x of one or two columns, from what rows of A do."""
    rows = copied(_rows, row1.__name__, {"_row1": row1, "_row2": row2})
    chunk = njit(fastmath={"contract"})(rows)
    return Both({}, copied(_all_rows, row1.__name__, {"_chunk": chunk}))


_apply = product_of(block_row1, block_row2)


def apply_rows(product: Both, indptr, indices, data, b):
    """Of b (3N,) or (3N, p)."""
    n = indptr.size - 1
    b = np.ascontiguousarray(b)
    out = np.empty_like(b)
    columns = 1 if b.ndim == 1 else b.shape[1]
    if columns > 2:
        for c in range(columns):
            out[:, c] = apply_rows(product, indptr, indices, data, b[:, c])
        return out
    product.watched(n, 1, indptr, indices, data, b.reshape(n, -1), out.reshape(n, -1))
    return out


def block_apply(indptr, indices, blocks, b, weight=NO_WEIGHT):
    """Product of a 3x3-block matrix with b (3N,) or (3N, p), rows times weight (N,) if given."""
    data = blocks.reshape(-1, 9), weight
    return apply_rows(_apply, *unsigned(indptr, indices), data, b)


@njit
def extreme_eigenvalues(S):
    """Smallest and largest eigenvalue of a symmetric 3x3 matrix, xx, yy, zz, xy, xz, yz
    (trigonometric formula)."""
    q = (S[0] + S[1] + S[2]) / 3.0
    off = S[3] ** 2 + S[4] ** 2 + S[5] ** 2
    spread = (S[0] - q) ** 2 + (S[1] - q) ** 2 + (S[2] - q) ** 2 + 2.0 * off
    p = np.sqrt(spread / 6.0)
    if p == 0.0:
        return q, q
    a, b, c = (S[0] - q) / p, (S[1] - q) / p, (S[2] - q) / p
    f, g, h = S[3] / p, S[4] / p, S[5] / p
    half = 0.5 * (a * (b * c - h * h) - f * (f * c - h * g) + g * (f * h - b * g))
    angle = np.arccos(min(1.0, max(-1.0, half))) / 3.0
    return q + 2.0 * p * np.cos(angle + 2.0 * np.pi / 3.0), q + 2.0 * p * np.cos(angle)


@both()
def _block_gershgorin(indptr, indices, blocks, weight, low, high, largest):
    """Row sums of Frobenius norms around the extreme eigenvalues of the diagonal blocks."""
    for i in prange(indptr.size - 1):
        row = np.uint64(i)
        radius = 0.0
        smallest, top = 0.0, 0.0
        for p in range(indptr[row], indptr[row + np.uint64(1)]):
            d = blocks[p]
            if indices[p] == row:
                # rows of M^-1 K share one mass per particle: the diagonal block is symmetric
                smallest, top = extreme_eigenvalues(
                    (d[0, 0], d[1, 1], d[2, 2], d[0, 1], d[0, 2], d[1, 2])
                )
            else:
                square = 0.0
                for a in range(3):
                    for b in range(3):
                        square += d[a, b] * d[a, b]
                radius += np.sqrt(square)
        m = weight[row] if weight.size else 1.0
        low[i] = m * (smallest - radius)
        high[i] = m * (top + radius)
        largest[i] = m * top


def block_gershgorin(indptr, indices, blocks, weight=NO_WEIGHT):
    """low, high: an interval that holds the spectrum of a 3x3-block matrix (block Gershgorin), rows
    times weight (N,); the third number is the largest eigenvalue of a diagonal block."""
    indptr, indices = unsigned(indptr, indices)
    ends = np.empty((3, indptr.size - 1))
    _block_gershgorin.watched(indptr.size - 1, 1, indptr, indices, blocks, weight, *ends)
    return float(ends[0].min()), float(ends[1].max()), float(ends[2].max())
