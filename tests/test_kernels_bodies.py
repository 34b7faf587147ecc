"""Compiled kernels for independent bodies against their NumPy twins and against LAPACK."""

import numba
import numpy as np
import pytest
import reference
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from independent_bodies import Bodies, request
from thinned import drawn

from stiffly.kernels import cpu
from stiffly.kernels.cpu import bodies as compiled
from stiffly.kernels.cpu.bodies import eigenbasis
from stiffly.matfun.batched import matrix_of


def pattern_of(sizes, width, rng):
    bodies = Bodies(sizes, rng, width=width, low=-1.0)
    A = bodies.operator()
    indptr, indices, blocks = matrix_of(A)
    layout = A.bodies.layout(indptr, indices, width, 300)
    root = np.sqrt(bodies.mass).reshape(-1, width)
    (batch,) = layout.batches
    return (indptr, indices, blocks, root), batch, layout.place


def eigenbases(kernels, matrix, batch, place):
    where = batch.start, batch.members, place, batch.first
    width = matrix[2].shape[1]
    lam, Q = np.full(width * batch.members.size, 7.0), np.full(batch.entries, 7.0)
    kernels.body_eigenbases(*matrix, *where, lam, Q)
    return lam, Q


@drawn(25)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 9), min_size=2, max_size=8),
    st.sampled_from([1, 3]),
)
def test_kernels_equal_reference(seed, sizes, width):
    rng = np.random.default_rng(seed)
    matrix, batch, place = pattern_of(sizes, width, rng)
    root = matrix[3]
    bases = [eigenbases(kernels, matrix, batch, place) for kernels in (cpu, reference)]
    matrices = []
    for lam, Q in bases:
        for b, first in enumerate(batch.first[:-1]):
            own = slice(width * batch.start[b], width * batch.start[b + 1])
            n = own.stop - own.start
            z = Q[first : first + n * n].reshape(n, n)
            np.testing.assert_allclose(z @ z.T, np.eye(n), rtol=0, atol=1e-13)
            matrices.append((z.T * lam[own]) @ z)
            lam[own].sort()
    half = len(matrices) // 2
    for ours, theirs in zip(matrices[:half], matrices[half:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)
    np.testing.assert_allclose(bases[0][0], bases[1][0], rtol=0, atol=1e-13)
    lam, Q = eigenbases(reference, matrix, batch, place)
    basis = root, batch.start, batch.members, batch.first, Q
    B = rng.standard_normal((2, *root.shape))
    functions = request(2.0)
    outs = np.full((4, 3, *root.shape), 5.0)
    for kernels, (with_table, with_terms) in zip(
        (cpu, reference), outs.reshape(2, 2, 3, *root.shape), strict=True
    ):
        kernels.body_apply(functions(lam), *basis, B, with_table)
        kernels.body_stumpff_apply(functions.arrays, lam, *basis, B, with_terms)
    for out in outs[:3]:
        np.testing.assert_allclose(out, outs[3], rtol=0, atol=1e-12 * np.abs(outs[3]).max())


AWKWARD = {
    "zero": np.zeros((6, 6)),
    "one": np.array([[-3.0]]),
    "identity": 4.0 * np.eye(9),
    "rank one": np.ones((30, 30)),
    "graded": np.diag(10.0 ** np.arange(-12, 13)) + 1e-14,
    "graded, reversed": np.diag(10.0 ** np.arange(12, -13, -1)) + 1e-14,
    "twins": np.diag(np.abs(np.arange(-20.0, 20))) + np.eye(40, k=1) + np.eye(40, k=-1),
    "two blocks": scipy.linalg.block_diag(np.ones((5, 5)), -np.ones((4, 4))),
    "tiny": 1e-200 * scipy.linalg.hilbert(12),
    "huge": 1e200 * scipy.linalg.hilbert(12),
    "rigid": scipy.linalg.toeplitz(np.r_[2.0, -1.0, np.zeros(45), -1.0]),
    "large": scipy.linalg.toeplitz(1.0 / (1.0 + np.arange(150.0))),
}  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_eigenbasis_of_awkward_matrices(name):
    a = AWKWARD[name]
    n, top = len(a), np.abs(a).max()
    lam, z = np.empty(n), np.empty((n, n))
    eigenbasis(a.copy(), top, lam, z)
    size = max(np.linalg.norm(a / (top or 1.0), 2), 1e-300) * (top or 1.0)
    np.testing.assert_allclose(z @ z.T, np.eye(n), rtol=0, atol=1e-14 * n)
    np.testing.assert_allclose(a @ z.T, z.T * lam, rtol=0, atol=1e-15 * n * size)
    np.testing.assert_allclose(np.sort(lam), np.linalg.eigvalsh(a), rtol=0, atol=1e-15 * n * size)


def test_threads_give_the_same_bits():
    """One task per body: serial, one thread and two threads agree exactly."""
    rng = np.random.default_rng(1)
    matrix, batch, place = pattern_of([1] * 40 + [16] * 40 + [30] * 8, 3, rng)
    where = batch.start, batch.members, place, batch.first
    unsigned = [m.view(np.uint32) for m in matrix[:2]]
    B, functions = rng.standard_normal((2, *matrix[3].shape)), request(50.0)
    results = []
    before = numba.get_num_threads()
    try:
        for threads, threaded in ((1, False), (1, True), (before, True)):
            numba.set_num_threads(threads)
            lam, Q = np.empty(3 * batch.members.size), np.empty(batch.entries)
            out = np.empty((2, 3, *matrix[3].shape))
            compiled._eigenbases[threaded](*unsigned, *matrix[2:], *where, lam, Q)
            basis = matrix[3], batch.start, batch.members, batch.first, Q
            compiled._apply[threaded](functions(lam), *basis, B, out[0])
            compiled._stumpff[threaded](functions.arrays, lam, *basis, B, out[1])
            results.append((lam, Q, out))
    finally:
        numba.set_num_threads(before)
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)
