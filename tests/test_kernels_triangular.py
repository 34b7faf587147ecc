"""Triangular solves by supernodes against SciPy's, and against dense linear algebra."""

from itertools import pairwise

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import splu
from thinned import drawn

from stiffly.kernels import cpu

quick = drawn(60)


def factors(seed, n, density):
    """A symmetric positive definite A, and L, D, order with A = P^T L D L^T P."""
    rng = np.random.default_rng(seed)
    B = sp.random(n, n, density, rng=rng, data_rvs=rng.standard_normal)
    A = sp.csc_matrix(B @ B.T + sp.eye(n))
    lu = splu(A, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    assert np.array_equal(lu.perm_r, lu.perm_c)
    return A, lu.L, lu.U.diagonal(), lu.perm_r


def supernodes(L):
    """Where columns begin that have not the rows of the one before, less its first."""
    columns = [list(L.indices[a:b]) for a, b in pairwise(L.indptr)]
    starts = [j for j in range(len(columns)) if j == 0 or columns[j - 1][1:] != columns[j]]
    return np.array([*starts, len(columns)])


@quick
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.floats(0.0, 0.5),
    st.sampled_from([None, 1, 2, 3, 4, 7]),
)
def test_ldl_solve(seed, n, density, p):
    A, L, D, order = factors(seed, n, density)
    starts = supernodes(L)
    b = np.random.default_rng(seed).standard_normal(n if p is None else (n, p))
    before = b.copy()
    system = L.indptr, L.indices, L.data, starts, 1.0 / D, order, b
    x = cpu.ldl_solve(*system)
    assert x.shape == b.shape and np.array_equal(b, before)
    size = np.linalg.cond(A.toarray()) * abs(x).max()
    assert abs(x - reference.ldl_solve(*system)).max() <= 8 * n * 2.0**-52 * size
    assert abs(x - np.linalg.solve(A.toarray(), b)).max() <= 8 * n * 2.0**-52 * size


@pytest.mark.parametrize("n", [1, 2])
def test_diagonal_matrices(n):
    L = sp.eye(n, format="csc")
    starts = supernodes(L)
    solve = L.indptr, L.indices, L.data, starts, np.full(n, 0.5), np.arange(n, dtype=np.int32)
    assert cpu.ldl_solve(*solve, np.ones(n)).tolist() == [0.5] * n
