"""Plain twins of kernels.cpu.triangular."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular


def supernodes(indptr, indices):
    columns = [list(indices[a:b]) for a, b in pairwise(indptr)]
    starts = [j for j in range(len(columns)) if j == 0 or columns[j - 1][1:] != columns[j]]
    return np.array([*starts, len(columns)])


def ldl_solve(indptr, indices, data, starts, inverse, order, b):
    n = indptr.size - 1
    L = sp.csc_matrix((data, indices, indptr), shape=(n, n))
    y = np.empty_like(b)
    y[order] = b
    y = spsolve_triangular(L, y, lower=True)
    y = (y.T * inverse).T
    return spsolve_triangular(L.T, y, lower=False)[order]
