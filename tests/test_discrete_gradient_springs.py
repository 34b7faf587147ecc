"""Discrete gradients of springs and face springs: energy, momenta, derivatives, kernels."""

import numba
import numpy as np
import pytest
import reference
from discrete_gradient_checks import (
    check_consistency,
    check_energy,
    check_everything,
    jacobian_error,
    mean_gradient,
    mean_matrix,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from thinned import drawn

from stiffly.bodies import FaceSprings, Springs, System
from stiffly.kernels import cpu
from stiffly.kernels.cpu import face_springs as faces
from stiffly.kernels.cpu import springs, tets
from stiffly.meshes import lattice
from stiffly.meshes.grids import grid_tets
from stiffly.parts.part import Particles
from stiffly.parts.pattern import BlockPattern
from stiffly.parts.springs import PreparedSprings

SEEDS = st.integers(0, 2**32 - 1)


def random_springs(seed, cubic, count=7, all_free=True):
    rng = np.random.default_rng(seed)
    edges = np.array([(i, j) for i in range(count) for j in range(i) if rng.random() < 0.7])
    edges = edges.reshape(-1, 2) if edges.size else np.array([[1, 0]])
    free = np.arange(count) if all_free else np.flatnonzero(rng.random(count) < 0.7)
    pattern = BlockPattern(edges, free if free.size else np.array([0]), count)
    stiffness, rest = rng.uniform(1.0, 100.0, len(edges)), rng.uniform(0.3, 2.0, len(edges))
    return PreparedSprings(edges, stiffness, rest, pattern, cubic), pattern, rng


def states(rng, kind, count):
    """Two states: anywhere, close, far apart, turned, mirrored, flattened."""
    x0 = rng.standard_normal((count, 3))
    if kind == "random":
        return x0, rng.standard_normal((count, 3))
    if kind == "close":
        return x0, x0 + 1e-9 * rng.standard_normal((count, 3))
    if kind == "far":
        return x0, 100.0 * rng.standard_normal((count, 3))
    if kind == "turned":
        return x0, x0 @ Rotation.random(random_state=1).as_matrix().T + 2.0
    if kind == "mirrored":
        return x0, x0 * [1.0, 1.0, -1.0]
    return x0 * [1.0, 1.0, 0.0], x0 * [1.0, 0.0, 0.0]


KINDS = ["random", "close", "far", "turned", "mirrored", "flattened"]


@pytest.mark.parametrize("cubic", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@drawn(8)
@given(seed=SEEDS)
def test_springs_keep_energy_and_momenta(cubic, kind, seed):
    part, _, rng = random_springs(seed, cubic)
    check_everything(part, *states(rng, kind, 7))


@pytest.mark.parametrize("cubic", [False, True])
def test_springs_agree_with_the_gradient(cubic):
    part, _, rng = random_springs(0, cubic)
    check_consistency(part, rng.standard_normal((7, 3)))


def test_one_spring_as_published():
    """fbar = k ((L0 + L1)/2 - l) (d0 + d1)/(L0 + L1), by hand: L0 = 2, L1 = 1, l = 1, k = 6."""
    pattern = BlockPattern(np.array([[0, 1]]), np.array([0, 1]), 2)
    part = PreparedSprings(np.array([[0, 1]]), np.array([6.0]), np.array([1.0]), pattern)
    x0, x1 = np.array([[0.0, 0, 0], [2, 0, 0]]), np.array([[0.0, 0, 0], [0, 1, 0]])
    g = mean_gradient(part, x0, x1)
    np.testing.assert_allclose(g[1], 6.0 * 0.5 * np.array([2.0, 1, 0]) / 3.0, rtol=1e-15)
    np.testing.assert_allclose(g[0], -g[1])


@pytest.mark.parametrize("cubic", [False, True])
@pytest.mark.parametrize("kind", ["random", "turned", "mirrored"])
def test_derivative_of_springs(cubic, kind):
    part, pattern, rng = random_springs(2, cubic)
    assert jacobian_error(part, pattern, *states(rng, kind, 7)) < 1e-9


def test_derivative_at_one_state_is_half_the_tangent():
    part, pattern, rng = random_springs(3, True)
    x = rng.standard_normal((7, 3))
    blocks = np.zeros((pattern.nnz, 3, 3))
    part.add_blocks(x, blocks, np.zeros(7))
    mean = np.zeros_like(blocks)
    part.add_mean_blocks(x, x, mean)
    np.testing.assert_allclose(mean, 0.5 * blocks, rtol=0.0, atol=1e-13 * np.abs(blocks).max())


@pytest.mark.parametrize("cubic", [False, True])
def test_springs_without_length(cubic):
    """Both ends at one place, in one state or in both: no direction, but the energy is right."""
    pattern = BlockPattern(np.array([[0, 1]]), np.array([0, 1]), 2)
    part = PreparedSprings(np.array([[0, 1]]), np.array([3.0]), np.array([1.0]), pattern, cubic)
    point, apart = np.ones((2, 3)), np.array([[0.0, 0, 0], [1, 2, 2]])
    np.testing.assert_array_equal(mean_gradient(part, point, point), 0.0)
    check_energy(part, point, apart)
    check_energy(part, apart, point)
    K = mean_matrix(part, pattern, point, point)
    np.testing.assert_allclose(K[:3, :3], (6.0 if cubic else 1.5) * np.eye(3), rtol=1e-15)
    assert np.isfinite(mean_matrix(part, pattern, apart, point)).all()


def test_yielded_springs_use_their_new_lengths():
    X = np.array([[0.0, 0, 0], [1, 0, 0]])
    part = System(1.0, [Springs([[0, 1]], 5.0, yield_strain=0.1)], rest=X).bind(X)[0].assembly
    springs = part.settling[0]
    springs.settle(0.0, 0.1, 2.0 * X, 0.0 * X)
    check_energy(springs, X, 2.0 * X)
    check_consistency(springs, 1.5 * X)


# ---------------------------------------------------------------------- face springs

SHAPE = (3, 2, 2)
X = np.indices(SHAPE).reshape(3, -1).T.astype(float)
TETS = grid_tets(SHAPE)


def face_springs(seed, fixed=(), rest=X, cells=TETS):
    rng = np.random.default_rng(seed)
    particles = Particles(len(rest), np.ones(len(rest)), rest)
    springs = FaceSprings(cells, rng.uniform(10.0, 100.0, len(cells)))
    free = np.setdiff1d(np.arange(len(rest)), fixed)
    pattern = BlockPattern(springs.couples(particles), free, len(rest))
    return springs.prepare(particles, pattern), pattern, rng


@pytest.mark.parametrize("kind", KINDS)
@drawn(8)
@given(seed=SEEDS)
def test_face_springs_keep_energy_and_momenta(kind, seed):
    part, _, rng = face_springs(seed)
    check_everything(part, *states(rng, kind, len(X)))


def test_face_springs_agree_with_the_gradient():
    part, pattern, rng = face_springs(0)
    x0, x1 = X + 0.3 * rng.standard_normal((2, *X.shape))
    check_consistency(part, x0)
    assert jacobian_error(part, pattern, x0, x1) < 1e-9


# ---------------------------------------------------------------------- kernels


def compare(name, x0, x1, pattern, half, slots, *last):
    """Compiled kernels against their twins; not from zero, because kernels add."""
    results = []
    for kernels in (cpu, reference):
        g, blocks = np.ones_like(x0), np.ones((pattern.nnz, 3, 3))
        getattr(kernels, f"{name}_mean_gradient")(x0, x1, *half, g, *last)
        getattr(kernels, f"{name}_mean_blocks")(x0, x1, *half, *slots, blocks, *last)
        results.append((g, blocks))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-13 * np.abs(theirs).max())


@drawn(30)
@given(seed=SEEDS, cubic=st.booleans(), kind=st.sampled_from([*KINDS, "empty"]))
def test_spring_kernels_equal_reference(seed, cubic, kind):
    part, pattern, rng = random_springs(seed, cubic, all_free=False)
    x0, x1 = np.zeros((2, 7, 3)) if kind == "empty" else states(rng, kind, 7)
    compare("spring", x0, x1, pattern, part._half, part._slots, cubic)


@drawn(20)
@given(seed=SEEDS, kind=st.sampled_from([*KINDS, "empty"]))
def test_face_spring_kernels_equal_reference(seed, kind):
    fixed = np.random.default_rng(seed).choice(len(X), 3, replace=False)
    part, pattern, rng = face_springs(seed, fixed)
    x0, x1 = np.zeros((2, *X.shape)) if kind == "empty" else states(rng, kind, len(X))
    compare("face_spring", x0, x1, pattern, (*part._springs, *part._corners), part._slots)


def with_and_without_threads(monkeypatch, part, pattern, x0, x1, *modules):
    outs = []
    for _ in range(2):
        g, blocks = np.zeros_like(x0), np.zeros((pattern.nnz, 3, 3))
        part.add_mean_gradient(x0, x1, g)
        part.add_mean_blocks(x0, x1, blocks)
        outs.append((g, blocks))
        for module in modules:
            monkeypatch.setattr(module, "PARALLEL_ROWS", 1 << 30)
    return zip(*outs, strict=True)


def test_springs_give_the_same_with_threads(monkeypatch):
    """A lone thread adds both ends of a spring at once: another order of the same sums."""
    mesh = lattice(32, 32, 17)
    n = len(mesh.positions)
    assert n >= springs.PARALLEL_ROWS
    pattern = BlockPattern(mesh.edges, np.arange(5, n), n)
    ones = np.ones(len(mesh.edges))
    part = PreparedSprings(mesh.edges, ones, 1.1 * ones, pattern, True)
    x0, x1 = mesh.positions + 0.1 * np.random.default_rng(0).standard_normal((2, n, 3))
    for threaded, serial in with_and_without_threads(monkeypatch, part, pattern, x0, x1, springs):
        np.testing.assert_allclose(threaded, serial, rtol=0.0, atol=1e-13)


def test_threads_give_the_same_bits_for_faces(monkeypatch):
    rest = np.indices((16, 15, 15)).reshape(3, -1).T.astype(float)
    cells = grid_tets((16, 15, 15))
    assert len(cells) >= faces.PARALLEL_ROWS
    part, pattern, rng = face_springs(0, np.arange(20), rest, cells)
    x0, x1 = rest + 0.1 * rng.standard_normal((2, *rest.shape))
    for threaded, serial in with_and_without_threads(
        monkeypatch, part, pattern, x0, x1, faces, tets
    ):
        np.testing.assert_array_equal(threaded, serial)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread only")
def test_the_number_of_threads_changes_no_bit():
    mesh = lattice(32, 32, 17)
    n = len(mesh.positions)
    pattern = BlockPattern(mesh.edges, np.arange(5, n), n)
    ones = np.ones(len(mesh.edges))
    part = PreparedSprings(mesh.edges, ones, 1.1 * ones, pattern, True)
    x0, x1 = mesh.positions + 0.1 * np.random.default_rng(0).standard_normal((2, n, 3))
    found = []
    for threads in (numba.get_num_threads(), 1):
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        g = np.zeros_like(x0)
        part.add_mean_gradient(x0, x1, g)
        numba.set_num_threads(before)
        found.append(g)
    np.testing.assert_array_equal(*found)
