"""Nested dissection by what it promises, and sparse factors against dense linear algebra."""

from itertools import pairwise

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.kernels import cpu
from stiffly.solvers import dissection
from stiffly.solvers.failures import NotPositiveDefinite
from stiffly.solvers.linear import factorise

quick = drawn(60)
graphs = st.integers(0, 2**32 - 1), st.integers(1, 80), st.floats(0.0, 0.2)


def drawn_graph(seed, n, density, hub=False):
    rng = np.random.default_rng(seed)
    G = sp.random(n, n, density, rng=rng).tolil()
    if hub:
        G[0] = 1.0
    return sp.csr_matrix(G + G.T)


def grid(*sides):
    """Neighbours along each side, and across."""
    near = [sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(side, side)) for side in sides]
    whole = near[0]
    for one in near[1:]:
        whole = sp.kron(whole, one)
    return sp.csr_matrix(whole)


def above(parents):
    """Of each front: itself, its parent, the parent's parent, ..."""
    found = []
    for k in range(len(parents)):
        line = [k]
        while parents[line[-1]] >= 0:
            line.append(parents[line[-1]])
        found.append(set(line))
    return found


@pytest.mark.parametrize("dissected", [cpu.dissected, reference.dissected])
@quick
@given(*graphs, st.booleans(), st.integers(1, 20))
def test_what_is_tied_is_in_one_front_or_in_one_above(dissected, seed, n, density, hub, leaf):
    G = drawn_graph(seed, n, density, hub)
    order, starts, parents = dissected(G.indptr, G.indices, leaf)
    assert np.array_equal(np.sort(order), np.arange(n))
    assert starts[0] == 0 and starts[-1] == n and (np.diff(starts) > 0).all()
    assert ((parents == -1) | (parents > np.arange(parents.size))).all()
    front = np.empty(n, int)
    front[order] = np.repeat(np.arange(parents.size), np.diff(starts))
    lines = above(parents)
    for i, j in zip(*G.nonzero(), strict=True):
        assert front[i] in lines[front[j]] or front[j] in lines[front[i]]


@pytest.mark.parametrize("sides, most", [((400,), 4), ((30, 30), 37), ((24, 8, 8), 80)])
def test_separators_of_bars_and_squares_are_hardly_larger_than_a_section(sides, most):
    """A section has 1, 30 and 64, a leaf 4; no part of more than a leaf is left uncut."""
    G = grid(*sides)
    rng = np.random.default_rng(0).permutation(G.shape[0])
    G = G[rng][:, rng]
    _, starts, parents = cpu.dissected(G.indptr, G.indices, 4)
    assert np.diff(starts).max() <= most
    assert max(map(len, above(parents))) <= 6 * np.log2(G.shape[0])  # halves, not slices


def test_many_bodies_are_dealt_out_by_halves():
    G = sp.block_diag([grid(3, 3)] * 500, format="csr")
    _, starts, parents = cpu.dissected(G.indptr, G.indices, 9)
    assert np.array_equal(starts, 9 * np.arange(501)) and (parents == -1).all()


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 6))
def test_fronts_are_put_together_as_by_their_twins(seed, s, b):
    rng = np.random.default_rng(seed)
    n = 3 + s + b
    A = sp.random(n, n, 0.5, format="csc", rng=rng)
    place = np.arange(n) - 3 - s
    update = rng.standard_normal((4, 4))
    at = np.sort(rng.choice(s + b, min(4, s + b), replace=False))
    fronts = []
    for room in (cpu, reference):
        own, below, rest = (np.zeros(shape) for shape in ((s, s), (s, b), (b, b)))
        room.front_entries(own, below, A.indptr, A.indices, A.data, 3, place)
        room.front_join(own, below, rest, update[: at.size, : at.size], at)
        fronts.append((own.copy(), below, rest))
        own += np.eye(s)
        size = np.arange(s, 0, -1) + b
        indptr = np.concatenate([[0, 0, 0, 0], np.cumsum(size), np.full(b, size.sum())])
        columns = np.zeros(size.sum(), np.int32), np.zeros(size.sum()), np.zeros(n)
        room.front_columns(own, below, 3, np.arange(3 + s, n), indptr, *columns)
        fronts[-1] += columns
    for mine, theirs in zip(*fronts, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-14, atol=1e-14)


def definite(seed, n, density, width):
    """A matrix of blocks, all eigenvalues of which are 1 or more."""
    rng = np.random.default_rng(seed)
    pattern = sp.kron(drawn_graph(seed, n, density), np.ones((width, width)))
    B = sp.csr_matrix(pattern)
    B.data = rng.standard_normal(B.nnz)
    return sp.csc_matrix(B @ B.T + sp.identity(n * width)), rng


@quick
@given(*graphs, st.sampled_from([1, 3]), st.sampled_from([None, 1, 3, 5]), st.integers(3, 60))
def test_sparse_factors_are_those_of_dense_algebra(seed, n, density, width, columns, leaf):
    A, rng = definite(seed, n, 0.3 * density, width)
    before, dissection.LEAF = dissection.LEAF, leaf
    try:
        dissection.fronts.cache_clear()
        factor = factorise(A)
    finally:
        dissection.LEAF = before
        dissection.fronts.cache_clear()
    b = rng.standard_normal(n * width if columns is None else (n * width, columns))
    dense = A.toarray()
    x = np.linalg.solve(dense, b)
    digits = 8 * n * width * 2.0**-52 * np.linalg.cond(dense) * abs(x).max()
    assert abs(factor.solve(b) - x).max() <= digits
    lines = factor._lower.toarray()
    assert np.array_equal(lines, np.tril(lines)) and (lines.diagonal() == 1.0).all()
    order = np.argsort(factor._order)
    product = lines / factor._inverse @ lines.T
    assert abs(product - dense[order][:, order]).max() <= 1e-13 * abs(dense).max() * n * width


@pytest.mark.parametrize("place", [0, 777, 1599])
def test_one_negative_eigenvalue_in_any_front_is_told(place):
    G = grid(40, 40)
    A = sp.csc_matrix(sp.diags(np.asarray(G.sum(axis=1)).ravel() + 0.1) - G)
    factorise(A)
    A[place, place] -= 12.0
    assert np.linalg.eigvalsh(A.toarray())[:2] @ [1.0, 0.0] < 0.0
    with pytest.raises(NotPositiveDefinite):
        factorise(A)


def test_a_pattern_may_lack_zeros_on_one_side():
    A = sp.lil_matrix(sp.identity(200) * 4.0)
    for i, j in pairwise(range(200)):
        A[i, j] = A[j, i] = -1.0
    A = sp.csr_matrix(A)
    added = sp.csr_matrix(([7.0], ([150], [3])), shape=A.shape)
    wide = A + added
    wide[150, 3] = 0.0  # stored, and nothing at (3, 150)
    b = np.arange(200.0)
    assert np.allclose(factorise(sp.csc_matrix(wide)).solve(b), np.linalg.solve(A.toarray(), b))


@pytest.mark.parametrize("ties", [1.0, 0.0], ids=["a rope", "loose particles"])
def test_thin_bodies_leave_no_zeros_in_the_factor(ties):
    """Solves would be busy with them: leaves of 48 unknowns are stored as full."""
    n = 3000
    A = sp.csc_matrix(sp.diags([-ties, 2.5, -ties], [-1, 0, 1], shape=(n, n)))
    made, b = factorise(A), np.arange(1.0, n + 1.0)
    assert made._lower.nnz <= 4 * n
    np.testing.assert_allclose(A @ made.solve(b[:, None])[:, 0], b, rtol=1e-12)
