"""Plain twins of kernels.cpu.triangular."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular


def ldl_solve(indptr, indices, data, starts, inverse, order, b):
    n = indptr.size - 1
    L = sp.csc_matrix((data, indices, indptr), shape=(n, n))
    y = np.empty_like(b)
    y[order] = b
    y = spsolve_triangular(L, y, lower=True)
    y = (y.T * inverse).T
    return spsolve_triangular(L.T, y, lower=False)[order]
