"""NumPy/SciPy twins of kernels.cpu.blocks."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from stiffly.kernels.names import NO_WEIGHT


def add_scaled(out, factor, a):
    out += factor * a


def column_dot(a, b, weight=None):
    if weight is not None:
        b = (weight * b.T).T
    return (a * b).sum(axis=0)


def _bsr(indptr, indices, blocks, weight=NO_WEIGHT):
    """With its rows multiplied by the weights of particles (N,)."""
    n = 3 * (indptr.size - 1)
    K = sp.bsr_matrix((blocks.reshape(-1, 3, 3), indices, indptr), shape=(n, n))
    return sp.diags(np.repeat(weight, 3)) @ K if weight.size else K


def block_apply(indptr, indices, blocks, b, weight=NO_WEIGHT):
    return _bsr(indptr, indices, blocks, weight) @ b


def bar_blocks(indptr, indices, bars, own):
    a, e = bars[:, 0], bars[:, 1:]
    blocks = -(a[:, None, None] * np.eye(3) + e[:, :, None] * e[:, None, :])
    rows = np.repeat(np.arange(len(own)), np.diff(indptr))
    xx, yy, zz, xy, xz, yz = own[rows[rows == indices]].T
    whole = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    blocks[rows == indices] = np.moveaxis(whole, 2, 0)
    return blocks


def bar_apply(indptr, indices, bars, own, b, weight=NO_WEIGHT):
    return block_apply(indptr, indices, bar_blocks(indptr, indices, bars, own), b, weight)


def chebyshev(A, s, t, x, z, coefficients, out):
    for c in coefficients:
        z[:] = s * (A @ x) + t * x - z
        out += z @ c.T
        x, z = z, x
    return x, z


def recurrence_columns(vectors):
    return np.array(vectors).T.copy()


def recurrence_start(x, c):
    return 0.0 * x, np.einsum("nc,jc->nj", x, c)


def recurrence_rows(out, rows=None):
    return np.array([(0.0 if rows is None else rows[j]) + out[:, j] for j in range(out.shape[1])])


def block_chebyshev(indptr, indices, blocks, s, t, x, z, coefficients, out, weight=NO_WEIGHT):
    return chebyshev(_bsr(indptr, indices, blocks, weight), s, t, x, z, coefficients, out)


def bar_chebyshev(indptr, indices, bars, own, s, t, x, z, coefficients, out, weight=NO_WEIGHT):
    blocks = bar_blocks(indptr, indices, bars, own)
    return block_chebyshev(indptr, indices, blocks, s, t, x, z, coefficients, out, weight)


def block_gershgorin(indptr, indices, blocks, weight=NO_WEIGHT):
    return _gershgorin(indptr, indices, blocks, weight, np.linalg.norm)


def _gershgorin(indptr, indices, blocks, weight, size):
    """size: a norm of blocks."""
    low, high, largest = np.inf, -np.inf, -np.inf
    for i in range(indptr.size - 1):
        own = slice(indptr[i], indptr[i + 1])
        m = weight[i] if weight.size else 1.0
        ends = np.zeros(3)
        radius = 0.0
        for j, block in zip(indices[own], m * blocks[own], strict=True):
            if j == i:
                ends = np.linalg.eigvalsh(block)
            else:
                radius += size(block)
        low, high = min(low, ends[0] - radius), max(high, ends[2] + radius)
        largest = max(largest, ends[2])
    return low, high, largest


def bar_gershgorin(indptr, bars, own, weight=NO_WEIGHT):
    """Zero bars stand on the diagonal."""
    rows = np.repeat(np.arange(len(own)), np.diff(indptr))
    indices = np.where(bars.any(axis=1), -1, rows)
    blocks = bar_blocks(indptr, indices, bars, own)
    return _gershgorin(indptr, indices, blocks, weight, lambda B: np.linalg.norm(B, 2))
