"""SciPy twins of kernels.cpu.csr, and of the recurrence with CSR."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .blocks import chebyshev


def _csr(indptr, indices, data, rows):
    """As it acts on that many rows: K', or K' (x) I_3."""
    n = indptr.size - 1
    K = sp.csr_matrix((data, indices, indptr), shape=(n, n))
    return K if rows == n else sp.kron(K, np.eye(3), "csr")


def csr_apply(indptr, indices, data, b):
    return _csr(indptr, indices, data, len(b)) @ b


def csr_chebyshev(indptr, indices, data, s, t, x, z, coefficients, out):
    return chebyshev(_csr(indptr, indices, data, len(x)), s, t, x, z, coefficients, out)


def csr_asymmetry(indptr, indices, data):
    A = _csr(indptr, indices, data, indptr.size - 1).toarray()
    return np.abs(A - A.T).max(initial=0.0)


def csr_blocks(indptr, indices, data, least):
    rows = indptr.size - 1
    A = sp.csr_matrix((data, indices, indptr), shape=(rows, rows)).tobsr((3, 3))
    return None if data.size < least * A.data.size else (A.indptr, A.indices, A.data)
