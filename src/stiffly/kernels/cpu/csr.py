"""Products with CSR matrices, and the fused Chebyshev step on top of them."""

from __future__ import annotations

import numpy as np

from .indices import unsigned
from .jit import njit


@njit(fastmath={"contract"})
def _csr_apply1(indptr, indices, data, x, y):
    for i in range(y.size):
        acc = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            acc += data[p] * x[indices[p]]
        y[i] = acc


@njit(fastmath={"contract"})
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
    """Product of a CSR matrix with b (n,) or (n, p)."""
    indptr, indices = unsigned(indptr, indices)
    b = np.ascontiguousarray(b)
    out = np.empty((indptr.size - 1, *b.shape[1:]))
    columns = 1 if b.ndim == 1 else b.shape[1]
    if columns == 1:
        _csr_apply1(indptr, indices, data, b.ravel(), out.reshape(-1))
    elif columns == 2:
        _csr_apply2(indptr, indices, data, b, out)
    else:
        for c in range(columns):
            out[:, c] = csr_apply(indptr, indices, data, b[:, c])
    return out


@njit(fastmath={"contract"})
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


@njit(fastmath={"contract"})
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
    indptr, indices = unsigned(indptr, indices)
    step = _csr_step1 if x.shape[1] == 1 else _csr_step2
    step(indptr, indices, data, s, t, x, z, coefficients, out)
