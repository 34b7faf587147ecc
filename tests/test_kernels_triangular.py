"""Triangular solves by supernodes against SciPy's, and against dense linear algebra."""

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


@quick
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.floats(0.0, 0.5),
    st.sampled_from([None, 1, 2, 3, 4, 7]),
)
def test_ldl_solve(seed, n, density, p):
    A, L, D, order = factors(seed, n, density)
    starts = cpu.supernodes(L.indptr, L.indices)
    assert np.array_equal(starts, reference.supernodes(L.indptr, L.indices))
    b = np.random.default_rng(seed).standard_normal(n if p is None else (n, p))
    before = b.copy()
    system = L.indptr, L.indices, L.data, starts, 1.0 / D, order, b
    x = cpu.ldl_solve(*system)
    assert x.shape == b.shape and np.array_equal(b, before)
    size = np.linalg.cond(A.toarray()) * abs(x).max()
    assert abs(x - reference.ldl_solve(*system)).max() <= 8 * n * 2.0**-52 * size
    assert abs(x - np.linalg.solve(A.toarray(), b)).max() <= 8 * n * 2.0**-52 * size


def test_supernodes_are_columns_of_one_pattern():
    """A full block of four, a column on its own, and one that shares size but not rows."""
    L = np.eye(9)
    L[:4, :4] = np.tril(np.ones((4, 4)))
    L[6, :4] = 1.0
    L[8, 4] = L[8, 5] = 1.0
    L[8, 7] = 1.0
    L = sp.csc_matrix(L)
    starts = cpu.supernodes(L.indptr, L.indices)
    assert starts.tolist() == [0, 4, 5, 6, 7, 9]
    assert starts.tolist() == reference.supernodes(L.indptr, L.indices).tolist()


@pytest.mark.parametrize("n", [1, 2])
def test_diagonal_matrices(n):
    L = sp.eye(n, format="csc")
    starts = cpu.supernodes(L.indptr, L.indices)
    solve = L.indptr, L.indices, L.data, starts, np.full(n, 0.5), np.arange(n, dtype=np.int32)
    assert cpu.ldl_solve(*solve, np.ones(n)).tolist() == [0.5] * n
