"""Compiled spring kernels against their NumPy twins, and both against finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stiffly.bodies.pattern import BlockPattern
from stiffly.bodies.springs import PreparedSprings
from stiffly.kernels import cpu, reference
from stiffly.meshes import lattice


def random_springs(seed, count, density):
    """Positions (count, 3), random unique edges, and a random set of free particles."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(count) for j in range(i)], dtype=np.int64)
    edges = pairs[rng.random(len(pairs)) < density]
    x = rng.standard_normal((count, 3))
    stiffness = rng.uniform(0.0, 100.0, len(edges))
    rest = rng.uniform(0.0, 2.0, len(edges))
    free = np.flatnonzero(rng.random(count) < 0.7)
    free = free if free.size else np.array([0])
    pattern = BlockPattern(edges, free, count)
    return x, PreparedSprings(edges, stiffness, rest, pattern), pattern


def compare(x, springs, pattern):
    edges, half = springs._edges, springs._half
    args = (x, edges, springs._stiffness, springs._rest)
    assert cpu.spring_energy(*args) == pytest.approx(reference.spring_energy(*args), rel=1e-12)
    results = []
    for kernels in (cpu, reference):
        gradient = np.ones_like(x)  # not zero: kernels add
        blocks = np.ones((pattern.nnz, 3, 3))
        pressed = np.ones(len(x))
        kernels.spring_gradient(x, *half, gradient)
        kernels.spring_blocks(x, *half, *springs._slots, blocks, pressed)
        results.append((gradient, blocks, pressed))
    for ours, theirs in zip(*results, strict=True):
        scale = np.abs(theirs).max(initial=1.0)
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-13 * scale)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), count=st.integers(2, 12), density=st.sampled_from([0.2, 0.6, 1])
)
def test_kernels_equal_reference(seed, count, density):
    compare(*random_springs(seed, count, density))


def test_threads_give_the_same_bits():
    """Every particle gathers its own sum, so the serial and the threaded path agree exactly."""
    mesh = lattice(32, 32, 17)
    n = len(mesh.positions)
    assert n >= cpu.springs.PARALLEL_ROWS
    pattern = BlockPattern(mesh.edges, np.arange(5, n), n)
    k = np.linspace(1.0, 2.0, len(mesh.edges))
    springs = PreparedSprings(mesh.edges, k, np.full(len(mesh.edges), 1.1), pattern)
    x = mesh.positions + 0.1 * np.random.default_rng(0).standard_normal((n, 3))
    outs = []
    for gradient, blocks in (
        (cpu.springs._gradient_serial, cpu.springs._blocks_serial),
        (cpu.springs._gradient_parallel, cpu.springs._blocks_parallel),
    ):
        out, K, pressed = np.zeros((n, 3)), np.zeros((pattern.nnz, 9)), np.zeros(n)
        gradient(x, *springs._half, out)
        blocks(x, *springs._half, *springs._slots, K, pressed)
        outs.append((out, K, pressed))
    for serial, parallel in zip(*outs, strict=True):
        np.testing.assert_array_equal(serial, parallel)
    compare(x, springs, pattern)


def test_zero_length_pulls_nowhere():
    edges = np.array([[0, 1]])
    pattern = BlockPattern(edges, np.array([0, 1]), 2)
    springs = PreparedSprings(edges, np.array([3.0]), np.array([1.0]), pattern)
    x = np.ones((2, 3))
    out = np.zeros((2, 3))
    springs.add_gradient(x, out)
    np.testing.assert_array_equal(out, 0.0)
    compare(x, springs, pattern)


def test_every_name_has_its_twin():
    assert set(cpu.springs.__all__) == set(reference.springs.__all__)
