"""Compiled block, CSR and spectral kernels against their NumPy twins, and bounds against eigh."""

import subprocess
import sys

import numpy as np
import pytest
import reference
import scipy.linalg
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.kernels import cpu
from stiffly.kernels.cpu import jit, recurrence

EPS = 2.0**-52
seeds = st.integers(0, 2**32 - 1)
index_types = st.sampled_from([np.int32, np.int64])
columns = st.sampled_from([None, 1, 2, 3])  # None: a flat vector
quick = drawn(40)


def random_blocks(rng, n, density, index, symmetric=False):
    """indptr, indices, blocks of an n x n matrix of 3x3 blocks; rows may be empty."""
    pattern = rng.random((n, n)) < density
    if symmetric:
        pattern |= pattern.T | np.eye(n, dtype=bool)
    indptr = np.concatenate([[0], np.cumsum(pattern.sum(axis=1))]).astype(index)
    rows, indices = np.nonzero(pattern)
    blocks = rng.standard_normal((len(indices), 3, 3)) * 10.0 ** rng.uniform(-3, 3)
    if symmetric:
        place = {(i, j): p for p, (i, j) in enumerate(zip(rows, indices, strict=True))}
        for (i, j), p in place.items():
            blocks[p] = blocks[place[j, i]].T if i != j else blocks[p] + blocks[p].T
    return indptr, indices.astype(index), blocks


def random_csr(rng, n, density, index):
    A = sp.random(n, n, density, "csr", rng=rng, data_rvs=rng.standard_normal)
    return A.indptr.astype(index), A.indices.astype(index), A.data


def random_bars(rng, n, density, index):
    """indptr, indices, bars and own of an n x n matrix with all of its diagonal."""
    pattern = (rng.random((n, n)) < density) | np.eye(n, dtype=bool)
    pattern |= pattern.T
    indptr = np.concatenate([[0], np.cumsum(pattern.sum(axis=1))]).astype(index)
    rows, indices = np.nonzero(pattern)
    both = rng.standard_normal((n, n, 4)) * 10.0 ** rng.uniform(-2, 2)
    bars = np.where(rows < indices, both[rows, indices].T, both[indices, rows].T).T.copy()
    bars[rows == indices] = 0.0
    return indptr, indices.astype(index), bars, rng.standard_normal((n, 6))


def weights(rng, n):
    """Of particles; none half of the time."""
    return 10.0 ** rng.uniform(-3, 3, n if rng.random() < 0.5 else 0)


def vectors(rng, n, p):
    return rng.standard_normal(n if p is None else (n, p))


def assert_close(ours, theirs, size):
    """Equal up to the order of summation; size: what was summed, in absolute value."""
    assert ours.shape == theirs.shape
    assert np.all(np.abs(ours - theirs) <= 8 * EPS * size)


@quick
@given(seeds, st.integers(1, 12), st.floats(0.0, 1.0), index_types, columns)
def test_block_apply(seed, n, density, index, p):
    rng = np.random.default_rng(seed)
    matrix, b = random_blocks(rng, n, density, index), vectors(rng, 3 * n, p)
    before = b.copy()
    weight = weights(rng, n)
    size = reference.block_apply(matrix[0], matrix[1], np.abs(matrix[2]), np.abs(b), weight)
    ours, theirs = (room.block_apply(*matrix, b, weight) for room in (cpu, reference))
    assert_close(ours, theirs, n * size)
    assert np.array_equal(b, before)


def in_absolute_value(matrix):
    """Blocks that bound what products with bars sum up."""
    indptr, indices, bars, own = matrix
    return indptr, indices, -reference.bar_blocks(indptr, indices, np.abs(bars), -np.abs(own))


@quick
@given(seeds, st.integers(1, 12), st.floats(0.0, 1.0), index_types, columns)
def test_bars(seed, n, density, index, p):
    """Products with them, and the blocks that they stand for."""
    rng = np.random.default_rng(seed)
    matrix, b, weight = random_bars(rng, n, density, index), vectors(rng, 3 * n, p), weights(rng, n)
    size = reference.block_apply(*in_absolute_value(matrix), np.abs(b), weight)
    ours, theirs = (room.bar_apply(*matrix, b, weight) for room in (cpu, reference))
    assert_close(ours, theirs, (n + 2) * size)
    blocks = cpu.bar_blocks(*matrix)
    assert_close(blocks, reference.bar_blocks(*matrix), in_absolute_value(matrix)[2])
    K = reference.block_apply(*matrix[:2], blocks, np.eye(3 * n))
    assert np.array_equal(K, K.T)


@quick
@given(seeds, st.integers(1, 8), st.floats(0.0, 1.0), index_types)
def test_bar_gershgorin_holds_the_spectrum(seed, n, density, index):
    rng = np.random.default_rng(seed)
    matrix, mass = random_bars(rng, n, density, index), 10.0 ** rng.uniform(-1, 1, n)
    indptr, indices, bars, own = matrix
    ours, theirs = (room.bar_gershgorin(indptr, bars, own, 1 / mass) for room in (cpu, reference))
    size = max(map(abs, theirs))
    assert np.abs(np.subtract(ours, theirs)).max() <= 1e-7 * size
    K = reference.block_apply(indptr, indices, reference.bar_blocks(*matrix), np.eye(3 * n))
    lam = scipy.linalg.eigh(K, np.diag(np.repeat(mass, 3)), eigvals_only=True)
    assert ours[0] <= lam[0] + 1e-7 * size
    assert lam[-1] <= ours[1] + 1e-7 * size


@quick
@given(seeds, st.integers(1, 12), st.floats(0.0, 1.0), index_types, st.sampled_from([None, 1, 2]))
def test_csr_apply(seed, n, density, index, p):
    rng = np.random.default_rng(seed)
    rows = n * int(rng.choice([1, 3]))  # three: K (x) I_3
    matrix, b = random_csr(rng, n, density, index), vectors(rng, rows, p)
    size = reference.csr_apply(matrix[0], matrix[1], np.abs(matrix[2]), np.abs(b))
    assert_close(cpu.csr_apply(*matrix, b), reference.csr_apply(*matrix, b), n * size)


THREE_COLUMNS = """
import numpy as np, scipy.sparse as sp
from stiffly.kernels import cpu
from stiffly.kernels.cpu import jit, recurrence
A = sp.csr_matrix(np.arange(1.0, 10.0).reshape(3, 3))
B = np.arange(9.0).reshape(3, 3)
assert np.allclose(cpu.csr_apply(A.indptr, A.indices, A.data, B), A @ B)
"""


def test_csr_apply_to_three_columns():
    """In a process of its own: reading past the end of an array may take the process down."""
    run = subprocess.run([sys.executable, "-c", THREE_COLUMNS], capture_output=True, timeout=600)
    assert run.returncode == 0, run.stderr.decode()[-500:]


def after(kernel, matrix, s, t, x, z, coefficients, out, *weight):
    """The last two terms and the sum, from copies."""
    out = out.copy()
    newer, older = kernel(*matrix, s, t, x.copy(), z.copy(), coefficients, out, *weight)
    return newer, older, out


@quick
@given(
    seeds,
    st.integers(1, 10),
    st.floats(0.0, 1.0),
    index_types,
    st.sampled_from([1, 2]),
    st.integers(1, 4),
    st.integers(0, 40),
    st.sampled_from(["block", "bar", "csr", "alike"]),
)
def test_chebyshev(seed, n, density, index, p, n_out, terms, kind):
    """Against the twin; sizes: the same recurrence of absolute values."""
    rng = np.random.default_rng(seed)
    name = f"{'csr' if kind == 'alike' else kind}_chebyshev"
    rows = n if kind == "csr" else 3 * n
    make = {"block": random_blocks, "bar": random_bars}.get(kind, random_csr)
    matrix = make(rng, n, density, index)
    weight = (weights(rng, n),) if kind in ("block", "bar") else ()
    x, z = rng.standard_normal((2, rows, p))
    s, t = 0.3 * rng.standard_normal(2)
    coefficients, out = rng.standard_normal((terms, n_out, p)), rng.standard_normal((rows, n_out))
    ours = after(getattr(cpu, name), matrix, s, t, x, z, coefficients, out, *weight)
    theirs = after(getattr(reference, name), matrix, s, t, x, z, coefficients, out, *weight)
    absolute = in_absolute_value(matrix) if kind == "bar" else (*matrix[:2], np.abs(matrix[2]))
    sizes = bounds_of(absolute, name, s, t, x, z, coefficients, out, *weight)
    for a, b, size in zip(ours, theirs, sizes, strict=True):
        assert_close(a, b, (n + 2) * (terms + 1) * size)


@pytest.mark.parametrize("room", [cpu, reference])
@pytest.mark.parametrize("p", [1, 2])
def test_what_a_recurrence_begins_and_ends_with(p, room):
    rng = np.random.default_rng(p)
    vectors, c = rng.standard_normal((p, 30)), rng.standard_normal((4, p))
    x = room.recurrence_columns(list(vectors))
    z, out = room.recurrence_start(x, c)
    assert x.flags.c_contiguous and np.array_equal(x.T, vectors)
    assert z.shape == x.shape and not z.any()
    assert_close(out, vectors.T @ c.T, p * np.abs(vectors.T) @ np.abs(c.T))
    rows = room.recurrence_rows(out)
    assert np.array_equal(rows, out.T)
    assert np.array_equal(room.recurrence_rows(out, rows.copy()), 2.0 * out.T)


def bounds_of(matrix, name, s, t, x, z, coefficients, out, *weight):
    """|T_(k+1)| <= (|s| |A| + |t|) |T_k| + |T_(k-1)|, term by term; matrix: |A|."""
    product = reference.csr_apply if name == "csr_chebyshev" else reference.block_apply
    x, z, out = np.abs(x), np.abs(z), np.abs(out)
    for c in coefficients:
        x, z = abs(s) * product(*matrix, x, *weight) + abs(t) * x + z, x
        out = out + x @ np.abs(c).T
    return x, z, out


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", ["block", "bar", "csr", "alike"])
def test_threads_change_no_bit(kind, p):
    """A clock decides whether there are any, so both ways must agree."""
    rng = np.random.default_rng(6)
    n = 2100
    A = sp.random(n, n, 4 / n, "csr", rng=rng) + sp.identity(n, format="csr")
    weight = rng.random(n)
    data = {
        "block": (rng.standard_normal((A.nnz, 9)), weight),
        "bar": (rng.standard_normal((A.nnz, 4)), rng.standard_normal((n, 6)), weight),
    }.get(kind, A.data)
    matrix = (*cpu.blocks.unsigned(A.indptr, A.indices), data)
    kernels = {
        "block": recurrence._BLOCKS,
        "bar": recurrence._BARS,
        "csr": recurrence._CSR,
        "alike": recurrence._ALIKE,
    }
    width = 1 if kind == "csr" else 3
    x, z = rng.standard_normal((2, n, width * p))
    out, c = rng.standard_normal((n, width, 2)), rng.standard_normal((3, 2, p))
    results = []
    for threaded in (False, True):
        arrays = x.copy(), z.copy(), out.copy()
        kernels[kind][p][threaded](*matrix, 0.7, -0.3, arrays[0], arrays[1], c, arrays[2])
        results.append(arrays)
    for a, b in zip(*results, strict=True):
        assert np.array_equal(a, b)
    product = {"block": cpu.blocks, "bar": cpu.bars}.get(kind, cpu.csr)._apply
    serial, threaded = np.empty((2, n, width * p))
    product[False](*matrix, x, serial)
    product[True](*matrix, x, threaded)
    assert np.array_equal(serial, threaded)


@pytest.fixture
def timed(monkeypatch):
    """timed(...): a kernel and the ways it takes, by a clock that tells what each of them takes."""
    now = [0.0]
    monkeypatch.setattr(jit, "perf_counter", lambda: now[0])
    taken = []

    def way(name, *seconds):
        """The last of these seconds again and again."""
        left = list(seconds)

        def run():
            taken.append(name)
            now[0] += left.pop(0) if len(left) > 1 else left[0]

        return run

    kernel = jit.Both({}, lambda: None)
    return kernel, taken, way


def test_threads_that_are_loaded_have_not_lost(timed):
    """Loading a compiled loop takes 0.2 s, once: not a reason to go without it for 4 s."""
    kernel, taken, way = timed
    kernel.serial, kernel.parallel = way("serial", 0.2, 1e-3), way("threads", 0.2, 0.5e-3)
    for _ in range(100):
        kernel.watched(10**4, 1)
    assert taken == ["serial"] * 2 + ["threads"] * 98


def test_threads_that_lose_time_rest(timed):
    """1 ms without threads, 10 ms with them."""
    kernel, taken, way = timed
    kernel.serial, kernel.parallel = way("serial", 1e-3), way("threads", 10e-3)
    for _ in range(2000):
        kernel.watched(10**4, 1)
    late = taken.count("threads")
    assert 0 < late <= 0.05 * 2000  # and with 9 ms lost each time, half a share of the time
    taken.clear()
    kernel.parallel = way("threads", 0.5e-3)
    for _ in range(2000):
        kernel.watched(10**4, 1)
    assert taken.count("threads") > 1000
    taken.clear()
    kernel.watched(100, 1)
    assert taken == ["serial"]


@quick
@given(seeds, st.integers(1, 20), st.floats(0.0, 1.0), index_types, st.booleans())
def test_csr_asymmetry(seed, n, density, index, symmetric):
    rng = np.random.default_rng(seed)
    A = sp.random(n, n, density, "csr", rng=rng, data_rvs=rng.standard_normal)
    if symmetric:
        A = sp.csr_matrix(A + A.T)
    A.sort_indices()
    matrix = A.indptr.astype(index), A.indices.astype(index), A.data
    assert cpu.csr_asymmetry(*matrix) == reference.csr_asymmetry(*matrix)
    assert not symmetric or cpu.csr_asymmetry(*matrix) == 0.0


@quick
@given(seeds, st.integers(1, 10), st.floats(0.0, 1.0), index_types, st.floats(0.0, 1.0))
def test_csr_blocks(seed, n, density, index, holes):
    """Some entries of blocks are not stored; columns of blocks come in any order."""
    rng = np.random.default_rng(seed)
    indptr, indices, blocks = random_blocks(rng, n, density, index)
    dense = sp.bsr_matrix((blocks, indices, indptr), shape=(3 * n, 3 * n)).toarray()
    A = sp.csr_matrix(dense * (rng.random(dense.shape) > holes))
    matrix = A.indptr.astype(index), A.indices.astype(index), A.data
    ours, theirs = (room.csr_blocks(*matrix, 0.5) for room in (cpu, reference))
    assert (ours is None) == (theirs is None)
    if ours is not None:
        filled = sp.bsr_matrix((ours[2], ours[1], ours[0]), shape=(3 * n, 3 * n))
        assert ours[2].shape == theirs[2].shape
        assert np.array_equal(filled.toarray(), A.toarray())


@drawn(80)
@given(seeds, st.integers(1, 10), st.floats(0.0, 1.0), index_types, st.floats(0.0, 3.0))
def test_block_gershgorin_holds_the_spectrum(seed, n, density, index, mass_range):
    rng = np.random.default_rng(seed)
    indptr, indices, blocks = random_blocks(rng, n, density, index, symmetric=True)
    weight = 10.0 ** rng.uniform(-mass_range, mass_range, n)
    mass = np.repeat(1.0 / weight, 3)
    ours = cpu.block_gershgorin(indptr, indices, blocks, weight)
    theirs = reference.block_gershgorin(indptr, indices, blocks, weight)
    size = max(map(abs, theirs))
    # the trigonometric formula loses half the digits where two of three eigenvalues meet
    assert np.abs(np.subtract(ours, theirs)).max() <= 1e-7 * size
    K = reference.block_apply(indptr, indices, blocks, np.eye(3 * n))
    lam = scipy.linalg.eigh(K, np.diag(mass), eigvals_only=True)
    assert ours[0] <= lam[0] + 1e-13 * size
    assert lam[-1] <= ours[1] + 1e-13 * size
    own = [K[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] / mass[3 * i] for i in range(n)]
    largest = max(np.linalg.eigvalsh(B)[-1] for B in own)
    assert ours[2] == pytest.approx(largest, rel=1e-7, abs=1e-12 * size)


@pytest.mark.parametrize(
    "eigenvalues", [(1, 1, 1), (0, 0, 0), (2, 2, 5), (-5, 2, 2), (-1, 0, 1), (1, 1, 1 + 1e-9)]
)
def test_block_gershgorin_of_one_block_is_its_spectrum(eigenvalues):
    Q = scipy.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    block = Q @ np.diag(np.array(eigenvalues, dtype=float)) @ Q.T
    block = 0.5 * (block + block.T)
    ends = cpu.block_gershgorin(np.array([0, 1]), np.array([0]), block[None])
    assert ends == pytest.approx(
        (min(eigenvalues), max(eigenvalues), max(eigenvalues)), abs=1e-7 * np.abs(block).max()
    )


@quick
@given(seeds, st.integers(0, 20), st.floats(-1e3, 1e3))
def test_add_scaled(seed, n, factor):
    a, out = np.random.default_rng(seed).standard_normal((2, n))
    expected = out.copy()
    reference.add_scaled(expected, factor, a)
    cpu.add_scaled(out, factor, a)
    assert_close(out, expected, np.abs(expected) + np.abs(factor * a))


@quick
@given(seeds, st.integers(0, 20), st.integers(0, 5))
def test_column_dot(seed, n, p):
    a, b = np.random.default_rng(seed).standard_normal((2, n, p))
    assert_close(cpu.column_dot(a, b), reference.column_dot(a, b), n * (np.abs(a * b).sum(axis=0)))
    for c in range(p):
        assert_close(cpu.column_dot(a[:, c], b[:, c]), a[:, c] @ b[:, c], n * np.abs(a * b).sum())


@quick
@given(seeds, st.integers(1, 24), st.integers(1, 24), st.integers(1, 4), st.integers(1, 3))
def test_spectral_apply(seed, n, m, n_out, n_in):
    rng = np.random.default_rng(seed)
    U, W = rng.standard_normal((n, m)), rng.standard_normal((m, n))
    F, B = rng.standard_normal((n_out, n_in, m)), rng.standard_normal((n_in, n))
    loops = sum(np.stack([U @ (F[j, i] * (W @ B[i])) for j in range(n_out)]) for i in range(n_in))
    compiled, plain = cpu.spectral.spectral_apply, reference.spectral.spectral_apply
    size = plain(np.abs(U), np.abs(W), np.abs(F), np.abs(B))
    assert_close(compiled(U, W, F, B), plain(U, W, F, B), 30 * size)
    assert_close(compiled(U, W, F, B), loops, 30 * size)


@quick
@given(seeds, st.integers(0, 30), st.integers(0, 8))
def test_stumpff_terms(seed, m, count):
    rng = np.random.default_rng(seed)
    compare_terms(rng, m, count, rng.integers(0, 2, count))


@drawn(10)
@given(seeds, st.integers(2, 4))
@example(0, 2)
def test_stumpff_terms_with_higher_powers(seed, power):
    """`lam^power`, as the documentation says, for any power."""
    compare_terms(np.random.default_rng(seed), 5, 3, np.full(3, power))


def compare_terms(rng, m, count, powers):
    n_out, n_in = 3, 2
    lam = rng.uniform(-10.0, 1e4, m)
    rows, columns = rng.integers(0, n_out, count), rng.integers(0, n_in, count)
    ks, taus = rng.integers(0, 7, count), rng.uniform(-1.0, 1.0, count)
    factors = rng.standard_normal(count)
    start = rng.standard_normal((n_out, n_in, m))  # not zero: kernels add
    ours, theirs, size = start.copy(), start.copy(), np.abs(start)
    cpu.stumpff_terms(lam, rows, columns, ks, taus, powers, factors, ours)
    reference.stumpff_terms(lam, rows, columns, ks, taus, powers, factors, theirs)
    for r, c, power, factor in zip(rows, columns, powers, factors, strict=True):
        # |c_k| <= cosh(|tau| sqrt(10)) < 12 on this range
        size[r, c] += np.abs(12.0 * factor * lam**power)
    assert_close(ours, theirs, 10 * size)
