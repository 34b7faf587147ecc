"""Products with sparse matrices, of 3x3 blocks and of numbers, and the fused Chebyshev step on top.

Index arrays are read as unsigned: a signed index brings a wrap-around test that blocks
vectorisation (3x on the two-column product).  Two columns share one pass over the matrix.
Columns are interleaved, b[(3 i + a), c], so that one particle's data are contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from .jit import PARALLEL_ROWS, both, njit


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
def _block_row1(i, indptr, indices, blocks, x):
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
def _block_row2(i, indptr, indices, blocks, x):
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


@both(fastmath={"contract"})
def _apply(indptr, indices, blocks, x, y, columns):
    for i in prange(y.shape[0]):
        w = y[i]
        if columns == 1:
            w[0], w[1], w[2] = _block_row1(np.uint64(i), indptr, indices, blocks, x)
        else:
            r = _block_row2(np.uint64(i), indptr, indices, blocks, x)
            w[0], w[1], w[2], w[3], w[4], w[5] = r


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
    apply = _apply[n >= PARALLEL_ROWS]
    apply(indptr, indices, blocks, b.reshape(n, -1), out.reshape(n, -1), columns)
    return out


@njit(fastmath={"contract"}, inline="always")
def _step_row(i, indptr, indices, blocks, s, t, x, z, coefficients, out):
    r, w, o = x[i], z[i], out[i]
    if coefficients.shape[1] == 1:
        y = _block_row1(np.uint64(i), indptr, indices, blocks, x)
        for a in range(3):
            value = s * y[a] + t * r[a] - w[a]
            w[a] = value
            for j in range(o.shape[1]):
                o[a, j] += coefficients[j, 0] * value
    else:
        y2 = _block_row2(np.uint64(i), indptr, indices, blocks, x)
        for a in range(3):
            first = s * y2[2 * a] + t * r[2 * a] - w[2 * a]
            second = s * y2[2 * a + 1] + t * r[2 * a + 1] - w[2 * a + 1]
            w[2 * a] = first
            w[2 * a + 1] = second
            for j in range(o.shape[1]):
                o[a, j] += coefficients[j, 0] * first + coefficients[j, 1] * second


@both(fastmath={"contract"})
def _step(indptr, indices, blocks, s, t, x, z, coefficients, out):
    for i in prange(x.shape[0]):
        _step_row(i, indptr, indices, blocks, s, t, x, z, coefficients, out)


def block_chebyshev_step(indptr, indices, blocks, s, t, x, z, coefficients, out):
    """In place: z <- s A x + t x - z, then out[:, j] += sum_c coefficients[j, c] z[:, c].

    x, z: (3N, p) with p = 1 or 2; out: (3N, n_out); coefficients: (n_out, p).
    """
    indptr, indices = unsigned(indptr, indices)
    blocks = blocks.reshape(-1, 9)
    n, p = indptr.size - 1, x.shape[1]
    x, z, out = x.reshape(n, 3 * p), z.reshape(n, 3 * p), out.reshape(n, 3, -1)
    _step[n >= PARALLEL_ROWS](indptr, indices, blocks, s, t, x, z, coefficients, out)


# ------------------------------------------------------------------ block helpers


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


# ------------------------------------------------------------------ CSR


@njit(fastmath={"contract"}, inline="always")
def _csr_row1(i, indptr, indices, data, x):
    total = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        total += data[p] * x[indices[p], 0]
    return total


@njit(fastmath={"contract"}, inline="always")
def _csr_row2(i, indptr, indices, data, x):
    a0 = 0.0
    a1 = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        r = x[indices[p]]
        a0 += data[p] * r[0]
        a1 += data[p] * r[1]
    return a0, a1


@njit(fastmath={"contract"})
def _csr_apply1(indptr, indices, data, x, y):
    for i in range(y.shape[0]):
        y[i, 0] = _csr_row1(i, indptr, indices, data, x)


@njit(fastmath={"contract"})
def _csr_apply2(indptr, indices, data, x, y):
    for i in range(y.shape[0]):
        y[i, 0], y[i, 1] = _csr_row2(i, indptr, indices, data, x)


def csr_apply(indptr, indices, data, b):
    """Product of a CSR matrix with b (n,) or (n, p)."""
    indptr, indices = unsigned(indptr, indices)
    b = np.ascontiguousarray(b)
    out = np.empty((indptr.size - 1, *b.shape[1:]))
    columns = 1 if b.ndim == 1 else b.shape[1]
    if columns == 1:
        _csr_apply1(indptr, indices, data, b.reshape(-1, 1), out.reshape(-1, 1))
    elif columns == 2:
        _csr_apply2(indptr, indices, data, b, out)
    else:
        for c in range(columns):
            out[:, c] = csr_apply(indptr, indices, data, b[:, c])
    return out


@njit(fastmath={"contract"})
def _csr_step1(indptr, indices, data, s, t, x, z, coefficients, out):
    for i in range(x.shape[0]):
        value = s * _csr_row1(i, indptr, indices, data, x) + t * x[i, 0] - z[i, 0]
        z[i, 0] = value
        for j in range(out.shape[1]):
            out[i, j] += coefficients[j, 0] * value


@njit(fastmath={"contract"})
def _csr_step2(indptr, indices, data, s, t, x, z, coefficients, out):
    for i in range(x.shape[0]):
        a0, a1 = _csr_row2(i, indptr, indices, data, x)
        first = s * a0 + t * x[i, 0] - z[i, 0]
        second = s * a1 + t * x[i, 1] - z[i, 1]
        z[i, 0] = first
        z[i, 1] = second
        for j in range(out.shape[1]):
            out[i, j] += coefficients[j, 0] * first + coefficients[j, 1] * second


def csr_chebyshev_step(indptr, indices, data, s, t, x, z, coefficients, out):
    """As block_chebyshev_step, for a CSR matrix; x, z: (n, p) with p = 1 or 2."""
    indptr, indices = unsigned(indptr, indices)
    step = _csr_step1 if x.shape[1] == 1 else _csr_step2
    step(indptr, indices, data, s, t, x, z, coefficients, out)
