"""SciPy twins of kernels.cpu.blocks: CSR."""

from __future__ import annotations

import scipy.sparse as sp

from .blocks import chebyshev_step


def _csr(indptr, indices, data):
    n = indptr.size - 1
    return sp.csr_matrix((data, indices, indptr), shape=(n, n))


def csr_apply(indptr, indices, data, b):
    return _csr(indptr, indices, data) @ b


def csr_chebyshev_step(indptr, indices, data, s, t, x, z, coefficients, out):
    chebyshev_step(_csr(indptr, indices, data), s, t, x, z, coefficients, out)
