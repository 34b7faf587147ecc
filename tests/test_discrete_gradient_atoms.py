"""Discrete gradients of Lennard-Jones pairs: all pairs, and lists with a cutoff."""

import numpy as np
import pytest
import reference
from discrete_gradient_checks import (
    check_consistency,
    check_everything,
    differences,
    mean_gradient,
)
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.kernels import cpu
from stiffly.kernels.cpu import lennard_jones
from stiffly.parts.lennard_jones import SKIN, PreparedLennardJones

SEEDS = st.integers(0, 2**32 - 1)
COUNT = 27
GRID = 1.1 * np.indices((3, 3, 3)).reshape(3, -1).T
CUTOFFS = [None, 2.3]  # the switch, from 2.07 on, has pairs in it at 2.2


def atoms(cutoff, seed=0):
    rng = np.random.default_rng(seed)
    epsilon, sigma = rng.uniform(0.5, 2.0, COUNT), rng.uniform(0.8, 1.1, COUNT)
    return PreparedLennardJones(epsilon, sigma, np.array([[0, 1], [4, 7]]), cutoff), rng


def states(rng, kind):
    x0 = GRID + 0.05 * rng.standard_normal(GRID.shape)
    if kind == "near":
        return x0, x0 + 0.03 * rng.standard_normal(GRID.shape)
    if kind == "close":
        return x0, x0 + 1e-9 * rng.standard_normal(GRID.shape)
    if kind == "turned":
        return x0, x0[:, [1, 2, 0]] + 0.2
    return x0, 1.7 * GRID + 0.3 * rng.standard_normal(GRID.shape)  # far: other neighbours


KINDS = ["near", "close", "turned", "far"]


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("kind", KINDS)
@drawn(10)
@given(seed=SEEDS)
def test_atoms_keep_energy_and_momenta(cutoff, kind, seed):
    part, rng = atoms(cutoff, seed)
    check_everything(part, *states(rng, kind))


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_atoms_agree_with_the_gradient(cutoff):
    part, rng = atoms(cutoff)
    check_consistency(part, GRID + 0.05 * rng.standard_normal(GRID.shape))


def test_a_pair_through_the_switch():
    """Two atoms that leave the cutoff, enter it, or stay within the switch; energies next to the
    cutoff are rounding errors of the well's depth, which is 1."""
    part = PreparedLennardJones(np.ones(2), np.ones(2), np.empty((0, 2), dtype=np.int64), 2.0)
    distances = [1.05, 1.8, 1.8 + 1e-12, 1.9, 1.95, 2.0 - 1e-9, 2.0, 2.0 + 1e-9, 2.1, 5.0]
    for r0 in distances:
        for r1 in distances:
            x0, x1 = (np.array([[0.0, 0, 0], [r, 0, 0]]) for r in (r0, r1))
            work = np.vdot(mean_gradient(part, x0, x1), x1 - x0)
            assert work == pytest.approx(part.energy(x1) - part.energy(x0), rel=0.0, abs=1e-14)
    beyond = mean_gradient(part, np.diag([2.5, 0, 0])[:2], np.diag([3.0, 0, 0])[:2])
    np.testing.assert_array_equal(beyond, 0.0)


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("kind", ["near", "far"])
def test_derivative(cutoff, kind):
    part, rng = atoms(cutoff)
    x0, x1 = states(rng, kind)
    rows, columns, blocks = part.mean_triplets(x0, x1)
    K = np.zeros((COUNT, COUNT, 3, 3))
    np.add.at(K, (rows, columns), blocks)
    K = K.transpose(0, 2, 1, 3).reshape(3 * COUNT, 3 * COUNT)
    expected = differences(lambda x: mean_gradient(part, x0, x).ravel(), x1, 1e-5)
    np.testing.assert_allclose(K, expected, rtol=0.0, atol=1e-7 * np.abs(K).max())


def test_derivative_at_one_state_is_half_the_tangent():
    part, rng = atoms(2.3)
    x = GRID + 0.05 * rng.standard_normal(GRID.shape)
    for ours, theirs in zip(part.mean_triplets(x, x), part.triplets(x), strict=True):
        np.testing.assert_allclose(
            ours, theirs if theirs.ndim == 1 else 0.5 * theirs, rtol=1e-11, atol=1e-11
        )


def test_a_list_for_two_states():
    """Atoms that move farther than a list reaches: pairs of either state are in it."""
    part, rng = atoms(2.3)
    x0, x1 = states(rng, "far")
    assert np.abs(x1 - x0).max() > SKIN * 2.3
    start, neighbour = part._pairs_near_either(x0, x1)
    owner = np.repeat(np.arange(COUNT), np.diff(start.astype(np.int64)))
    listed = set(zip(owner.tolist(), neighbour.tolist(), strict=True))
    for x in (x0, x1):
        distance = np.linalg.norm(x[:, None] - x[None], axis=2)
        near = {(i, j) for i, j in np.argwhere(distance < 2.3).tolist() if i != j}
        assert near - {(0, 1), (1, 0), (4, 7), (7, 4)} <= listed
    assert not {(0, 1), (4, 7)} & listed


@drawn(20)
@given(seed=SEEDS, cutoff=st.sampled_from(CUTOFFS), kind=st.sampled_from(KINDS))
def test_kernels_equal_reference(seed, cutoff, kind):
    part, rng = atoms(cutoff, seed)
    x0, x1 = states(rng, kind)
    pairs = part._pairs_near_either(x0, x1)
    given_ = (*part._mixing, *pairs, *part._switch)
    results = []
    for kernels in (cpu, reference):
        g, own = np.ones_like(x0), np.empty((COUNT, 3, 3))
        coupling = np.empty((len(pairs[1]), 3, 3))
        kernels.lj_mean_gradient(x0, x1, *given_, g)
        kernels.lj_mean_blocks(x0, x1, *given_, coupling, own)
        results.append((g, coupling, own))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12 * np.abs(theirs).max())


def test_threads_give_the_same_bits(monkeypatch):
    part, rng = atoms(None)
    x0, x1 = states(rng, "near")
    serial = mean_gradient(part, x0, x1)
    monkeypatch.setattr(lennard_jones, "PARALLEL_LISTED", 0)
    np.testing.assert_array_equal(mean_gradient(part, x0, x1), serial)
