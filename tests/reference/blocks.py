"""NumPy/SciPy twins of kernels.cpu.blocks."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def add_scaled(out, factor, a):
    out += factor * a


def column_dot(a, b, weight=None):
    if weight is not None:
        b = (weight * b.T).T
    return (a * b).sum(axis=0)


def _bsr(indptr, indices, blocks):
    n = 3 * (indptr.size - 1)
    return sp.bsr_matrix((blocks.reshape(-1, 3, 3), indices, indptr), shape=(n, n))


def block_apply(indptr, indices, blocks, b):
    return _bsr(indptr, indices, blocks) @ b


def chebyshev(A, s, t, x, z, coefficients, out):
    for c in coefficients:
        z[:] = s * (A @ x) + t * x - z
        out += z @ c.T
        x, z = z, x
    return x, z


def block_chebyshev(indptr, indices, blocks, s, t, x, z, coefficients, out):
    return chebyshev(_bsr(indptr, indices, blocks), s, t, x, z, coefficients, out)


def scale_block_rows(indptr, blocks, diagonal):
    scaled = blocks.copy()
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            scaled[p] /= diagonal[3 * i : 3 * i + 3, None]
    return scaled


def block_gershgorin(indptr, indices, blocks):
    low, high, largest = np.inf, -np.inf, -np.inf
    for i in range(indptr.size - 1):
        own = slice(indptr[i], indptr[i + 1])
        ends = np.zeros(3)
        radius = 0.0
        for j, block in zip(indices[own], blocks[own], strict=True):
            if j == i:
                ends = np.linalg.eigvalsh(block)
            else:
                radius += np.linalg.norm(block)
        low, high = min(low, ends[0] - radius), max(high, ends[2] + radius)
        largest = max(largest, ends[2])
    return low, high, largest
