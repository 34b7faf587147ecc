"""Compiled spring kernels against their NumPy twins; threads against none."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.kernels import cpu
from stiffly.meshes import lattice
from stiffly.parts.pattern import BlockPattern
from stiffly.parts.springs import PreparedSprings


def random_springs(seed, count, density, cubic):
    """Positions (count, 3), random unique edges, and a random set of free particles."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(count) for j in range(i)], dtype=np.int64)
    edges = pairs[rng.random(len(pairs)) < density]
    x = rng.standard_normal((count, 3))
    stiffness = rng.uniform(0.0, 100.0, len(edges))
    rest = rng.uniform(0.3 if cubic else 0.0, 2.0, len(edges))
    free = np.flatnonzero(rng.random(count) < 0.7)
    free = free if free.size else np.array([0])
    pattern = BlockPattern(edges, free, count)
    return x, PreparedSprings(edges, stiffness, rest, pattern, cubic), pattern


def equal(ours, theirs):
    scale = np.abs(theirs).max(initial=1.0)
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-13 * scale)


def compare(x, springs, pattern):
    edges, half, cubic = springs._edges, springs._half, springs.cubic
    args = (x, edges, springs._stiffness, springs.rest)
    assert cpu.spring_energy(*args, cubic) == pytest.approx(
        reference.spring_energy(*args, cubic), rel=1e-12
    )
    b = np.random.default_rng(0).standard_normal(x.shape)
    results = []
    for kernels in (cpu, reference):
        gradient, product = np.ones((2, *x.shape))  # not zero: kernels add
        blocks, secant, convex = np.ones((3, pattern.nnz, 3, 3))
        pressed, pressed_secant = np.ones((2, len(x)))
        slots = springs._slots
        kernels.spring_gradient(x, *half, gradient, cubic)
        kernels.spring_product(x, *half, b, product, cubic)
        kernels.spring_blocks(x, *half, *slots, blocks, pressed, cubic)
        kernels.spring_blocks(x, *half, *slots, secant, pressed_secant, cubic, cpu.SECANT)
        kernels.spring_blocks(x, *half, *slots, convex, np.ones(len(x)), cubic, cpu.CONVEX)
        results.append((gradient, product, blocks, pressed, secant, pressed_secant, convex))
    for ours, theirs in zip(*results, strict=True):
        equal(ours, theirs)


@drawn(40)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 12),
    density=st.sampled_from([0.2, 0.6, 1]),
    cubic=st.booleans(),
)
def test_kernels_equal_reference(seed, count, density, cubic):
    compare(*random_springs(seed, count, density, cubic))


@drawn(40)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 12),
    density=st.sampled_from([0.2, 0.6, 1]),
    cubic=st.booleans(),
)
def test_bars_are_the_blocks(seed, count, density, cubic):
    """Of bodies whose last particles are held: against the twin, and against blocks."""
    x, springs, _ = random_springs(seed, count, density, cubic)
    free = 1 + seed % count
    pattern = BlockPattern(springs.edges, np.arange(free), count)
    springs = PreparedSprings(springs.edges, springs._stiffness, springs.rest, pattern, cubic)
    results = []
    for kernels in (cpu, reference):
        bars, own, pressed = np.zeros((pattern.nnz, 4)), np.ones((free, 6)), np.ones(count)
        half, slot = springs._half, springs._slots[1]
        kernels.spring_bars(x, *half, slot, bars, own, pressed, cubic)
        results.append((bars, own, pressed))
    for ours, theirs in zip(*results, strict=True):
        equal(ours, theirs)
    bars, own, pressed = results[0]
    assert springs.bars == pattern.nnz - free
    blocks, pressed_too = np.zeros((pattern.nnz, 3, 3)), np.ones(count)
    springs.add_blocks(x, blocks, pressed_too)
    equal(reference.bar_blocks(pattern.indptr, pattern.indices, bars, own - 1.0), blocks)
    equal(pressed, pressed_too)


@drawn(40)
@given(seed=st.integers(0, 2**32 - 1), cubic=st.booleans())
def test_yielding_equals_reference(seed, cubic):
    x, springs, _ = random_springs(seed, 8, 0.6, True)
    limit = np.random.default_rng(seed).uniform(0.05, 1.5, len(springs.rest))
    ours, theirs = springs.rest.copy(), springs.rest.copy()
    args = (x, springs._edges, springs._stiffness)
    lost = cpu.spring_yield(*args, ours, limit, cubic)
    assert lost == pytest.approx(reference.spring_yield(*args, theirs, limit, cubic), rel=1e-12)
    equal(ours, theirs)


@pytest.mark.parametrize("cubic", [False, True])
def test_threads_give_the_same_bits(cubic):
    """Every particle gathers its own sum, so the serial and the threaded path agree exactly."""
    mesh = lattice(32, 32, 17)
    n = len(mesh.positions)
    assert n >= cpu.springs.PARALLEL_ROWS
    pattern = BlockPattern(mesh.edges, np.arange(n - 5), n)
    k = np.linspace(1.0, 2.0, len(mesh.edges))
    springs = PreparedSprings(mesh.edges, k, np.full(len(mesh.edges), 1.1), pattern, cubic)
    x, b = np.random.default_rng(0).standard_normal((2, n, 3))
    x = mesh.positions + 0.1 * x
    outs = []
    names = ("_gradient", "_product", "_blocks", "_bars")
    for threaded in (False, True):
        gradient, product, blocks, bars = (getattr(cpu.springs, m)[threaded] for m in names)
        f, u, K, S = np.zeros((n, 3)), np.zeros((n, 3)), *np.zeros((2, pattern.nnz, 9))
        pressed = np.zeros(n)
        gradient(x, *springs._half, cubic, f)
        product(x, *springs._half, cubic, b, u)
        blocks(x, *springs._half, (cubic, False), *springs._slots, K, pressed)
        blocks(x, *springs._half, (cubic, True), *springs._slots, S, pressed)
        B, D = np.zeros((pattern.nnz, 4)), np.zeros((n - 5, 6))
        bars(x, *springs._half, cubic, springs._slots[1], B, D, pressed)
        outs.append((f, u, K, S, B, D, pressed))
    for serial, parallel in zip(*outs, strict=True):
        np.testing.assert_array_equal(serial, parallel)
    compare(x, springs, pattern)


@pytest.mark.parametrize(("cubic", "stiffness"), [(False, 3.0), (True, 12.0)])
def test_zero_length_pulls_nowhere(cubic, stiffness):
    """At strain -1 the cubic law is 1 + 3 = 4 times as stiff along itself as at rest."""
    edges = np.array([[0, 1]])
    pattern = BlockPattern(edges, np.array([0, 1]), 2)
    springs = PreparedSprings(edges, np.array([3.0]), np.array([1.0]), pattern, cubic)
    x = np.ones((2, 3))
    out, blocks = np.zeros((2, 3)), np.zeros((pattern.nnz, 3, 3))
    springs.add_gradient(x, out)
    np.testing.assert_array_equal(out, 0.0)
    springs.add_blocks(x, blocks, np.zeros(2))
    np.testing.assert_allclose(blocks[0], stiffness * np.eye(3))
    compare(x, springs, pattern)
