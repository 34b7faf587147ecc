"""Products with 3x3-block and CSR matrices, and the fused Chebyshev step on top of them.

Index arrays are read as unsigned: a signed index brings a wrap-around test that blocks
vectorisation (3x on the two-column product).  Two columns share one pass over the matrix.
Columns are interleaved, b[(3 i + a), c], so that one particle's data are contiguous.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = [
    "block_apply",
    "block_chebyshev_step",
    "block_gershgorin",
    "column_dot",
    "csr_apply",
    "csr_chebyshev_step",
    "scale_block_rows",
]

_PARALLEL_ROWS = 2000  # below this a thread team costs more than it brings


def _unsigned(indptr, indices):
    return indptr.view(np.dtype(f"u{indptr.itemsize}")), indices.view(
        np.dtype(f"u{indices.itemsize}")
    )


def column_dot(a, b):
    """Inner products column by column: (n,), (n,) -> (); (n, p), (n, p) -> (p,)."""
    if a.ndim == 1:
        return np.dot(a, b)
    return np.array([np.dot(a[:, c], b[:, c]) for c in range(a.shape[1])])


# ------------------------------------------------------------------ 3x3 blocks: step of T_k
# One kernel does both jobs: y = s A x + t x - z.  With z = 0, t = 0, s = 1 it is the product.


@njit(cache=True, fastmath={"contract"}, inline="always")
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


@njit(cache=True, fastmath={"contract"}, inline="always")
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


@njit(cache=True, parallel=True, fastmath={"contract"})
def _block_apply1(indptr, indices, blocks, x, y):
    for i in prange(y.shape[0]):
        y[i, 0], y[i, 1], y[i, 2] = _block_row1(np.uint64(i), indptr, indices, blocks, x)


@njit(cache=True, parallel=True, fastmath={"contract"})
def _block_apply2(indptr, indices, blocks, x, y):
    for i in prange(y.shape[0]):
        w = y[i]
        w[0], w[1], w[2], w[3], w[4], w[5] = _block_row2(np.uint64(i), indptr, indices, blocks, x)


def block_apply(indptr, indices, blocks, b):
    """Product of a 3x3-block matrix with b (3N,) or (3N, p)."""
    indptr, indices = _unsigned(indptr, indices)
    blocks = blocks.reshape(-1, 9)
    n = indptr.size - 1
    b = np.ascontiguousarray(b)
    out = np.empty_like(b)
    if b.ndim == 1 or b.shape[1] == 1:
        _block_apply1(indptr, indices, blocks, b.reshape(n, 3), out.reshape(n, 3))
    elif b.shape[1] == 2:
        _block_apply2(indptr, indices, blocks, b.reshape(n, 6), out.reshape(n, 6))
    else:
        for c in range(b.shape[1]):
            out[:, c] = block_apply(indptr, indices, blocks, b[:, c])
    return out


@njit(cache=True, parallel=True, fastmath={"contract"})
def _block_step1(indptr, indices, blocks, s, t, x, z, coefficients, out):
    n_out = out.shape[2]
    for i in prange(x.shape[0]):
        y = _block_row1(np.uint64(i), indptr, indices, blocks, x)
        r = x[i]
        w = z[i]
        o = out[i]
        for a in range(3):
            value = s * y[a] + t * r[a] - w[a]
            w[a] = value
            for j in range(n_out):
                o[a, j] += coefficients[j, 0] * value


@njit(cache=True, parallel=True, fastmath={"contract"})
def _block_step2(indptr, indices, blocks, s, t, x, z, coefficients, out):
    n_out = out.shape[2]
    for i in prange(x.shape[0]):
        y = _block_row2(np.uint64(i), indptr, indices, blocks, x)
        r = x[i]
        w = z[i]
        o = out[i]
        for a in range(3):
            first = s * y[2 * a] + t * r[2 * a] - w[2 * a]
            second = s * y[2 * a + 1] + t * r[2 * a + 1] - w[2 * a + 1]
            w[2 * a] = first
            w[2 * a + 1] = second
            for j in range(n_out):
                o[a, j] += coefficients[j, 0] * first + coefficients[j, 1] * second


def block_chebyshev_step(indptr, indices, blocks, s, t, x, z, coefficients, out):
    """In place: z <- s A x + t x - z, then out[:, j] += sum_c coefficients[j, c] z[:, c].

    x, z: (3N, p) with p = 1 or 2; out: (3N, n_out); coefficients: (n_out, p).
    """
    indptr, indices = _unsigned(indptr, indices)
    blocks = blocks.reshape(-1, 9)
    n, p = indptr.size - 1, x.shape[1]
    step = _block_step1 if p == 1 else _block_step2
    step(
        indptr,
        indices,
        blocks,
        s,
        t,
        x.reshape(n, 3 * p),
        z.reshape(n, 3 * p),
        coefficients,
        out.reshape(n, 3, -1),
    )


# ------------------------------------------------------------------ CSR


@njit(cache=True, fastmath={"contract"})
def _csr_apply1(indptr, indices, data, x, y):
    for i in range(y.size):
        acc = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            acc += data[p] * x[indices[p]]
        y[i] = acc


@njit(cache=True, fastmath={"contract"})
def _csr_apply2(indptr, indices, data, x, y):
    for i in range(y.shape[0]):
        a0 = 0.0
        a1 = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            r = x[indices[p]]
            a0 += data[p] * r[0]
            a1 += data[p] * r[1]
        y[i, 0] = a0
        y[i, 1] = a1


def csr_apply(indptr, indices, data, b):
    """Product of a CSR matrix with b (n,), (n, 1) or (n, 2)."""
    indptr, indices = _unsigned(indptr, indices)
    b = np.ascontiguousarray(b)
    out = np.empty((indptr.size - 1, *b.shape[1:]))
    if b.ndim == 2 and b.shape[1] == 2:
        _csr_apply2(indptr, indices, data, b, out)
    else:
        _csr_apply1(indptr, indices, data, b.ravel(), out.reshape(-1))
    return out


@njit(cache=True, fastmath={"contract"})
def _csr_step1(indptr, indices, data, s, t, x, z, coefficients, out):
    n_out = out.shape[1]
    for i in range(x.shape[0]):
        acc = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            acc += data[p] * x[indices[p], 0]
        value = s * acc + t * x[i, 0] - z[i, 0]
        z[i, 0] = value
        for j in range(n_out):
            out[i, j] += coefficients[j, 0] * value


@njit(cache=True, fastmath={"contract"})
def _csr_step2(indptr, indices, data, s, t, x, z, coefficients, out):
    n_out = out.shape[1]
    for i in range(x.shape[0]):
        a0 = 0.0
        a1 = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            r = x[indices[p]]
            a0 += data[p] * r[0]
            a1 += data[p] * r[1]
        first = s * a0 + t * x[i, 0] - z[i, 0]
        second = s * a1 + t * x[i, 1] - z[i, 1]
        z[i, 0] = first
        z[i, 1] = second
        for j in range(n_out):
            out[i, j] += coefficients[j, 0] * first + coefficients[j, 1] * second


def csr_chebyshev_step(indptr, indices, data, s, t, x, z, coefficients, out):
    """As block_chebyshev_step, for a CSR matrix; x, z: (n, p) with p = 1 or 2."""
    indptr, indices = _unsigned(indptr, indices)
    step = _csr_step1 if x.shape[1] == 1 else _csr_step2
    step(indptr, indices, data, s, t, x, z, coefficients, out)


# ------------------------------------------------------------------ block helpers


def scale_block_rows(indptr, blocks, diagonal):
    """Blocks of diag(1/diagonal) K; diagonal (3N,)."""
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    return np.ascontiguousarray(blocks / diagonal.reshape(-1, 3)[rows][:, :, None])


@njit(cache=True)
def _block_gershgorin(indptr, indices, blocks):
    """Row sums of Frobenius norms around the extreme eigenvalues of the diagonal blocks."""
    low = np.inf
    high = -np.inf
    largest = -np.inf
    for i in range(indptr.size - 1):
        radius = 0.0
        diagonal = np.zeros((3, 3))
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] == i:
                for a in range(3):
                    for b in range(3):
                        diagonal[a, b] = blocks[p, a, b]
            else:
                square = 0.0
                for a in range(3):
                    for b in range(3):
                        square += blocks[p, a, b] ** 2
                radius += np.sqrt(square)
        # rows of M^-1 K share one mass per particle, so the diagonal block is symmetric
        ends = np.linalg.eigvalsh(diagonal)
        low = min(low, ends[0] - radius)
        high = max(high, ends[2] + radius)
        largest = max(largest, ends[2])
    return low, high, largest


def block_gershgorin(indptr, indices, blocks):
    """low, high: an interval that holds the spectrum of a 3x3-block matrix (block Gershgorin);
    the third number is the largest eigenvalue of a diagonal block."""
    low, high, largest = _block_gershgorin(indptr, indices, blocks)
    return float(low), float(high), float(largest)
