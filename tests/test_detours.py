"""Weak springs led over strong ones: fewer couples, and a Laplacian that is nowhere smaller."""

import numpy as np
import pytest
import scipy.sparse as sp

from stiffly.bodies import Springs, System, cloth_springs
from stiffly.bodies.detours import WEAK, with_detours
from stiffly.bodies.discrete_gradient import laplacian
from stiffly.meshes import cloth


def dense(edges, k, count):
    i, j = np.asarray(edges).T
    D = sp.csr_matrix(
        (np.repeat([1.0, -1.0], len(k)), (np.tile(np.arange(len(k)), 2), np.concatenate([i, j]))),
        shape=(len(k), count),
    )
    return (D.T @ sp.diags(k) @ D).toarray()


def test_one_detour_takes_twice_the_stiffness():
    edges, k = np.array([[0, 1], [1, 2], [0, 2]]), np.array([100.0, 200.0, 1.0])
    left, stiffness = with_detours(edges, k, 3)
    assert np.array_equal(left, [[0, 1], [1, 2]])
    assert np.array_equal(stiffness, [102.0, 202.0])


def test_several_detours_share():
    edges = np.array([[0, 1], [1, 3], [0, 2], [2, 3], [0, 3]])
    left, stiffness = with_detours(edges, np.array([100.0, 100.0, 100.0, 100.0, 4.0]), 4)
    assert len(left) == 4 and np.array_equal(stiffness, np.full(4, 104.0))


def test_what_has_no_detour_or_is_not_weak_stays():
    edges = np.array([[0, 1], [1, 2], [0, 2], [2, 3], [3, 4]])
    k = np.array([100.0, 100.0, 1.1 * WEAK * 100.0, 100.0, 1.0])  # 3-4 is weak, and leads nowhere
    left, stiffness = with_detours(edges, k, 5)
    assert np.array_equal(left, edges) and np.array_equal(stiffness, k)


def test_both_legs_must_be_strong():
    """2-3 is strong beside its own neighbours only: the spring 0-3 has one good leg."""
    edges = np.array([[0, 2], [2, 3], [0, 1], [3, 4], [0, 3]])
    k = np.array([100.0, 5.0, 100.0, 100.0, 1.0])
    assert len(with_detours(edges, k, 5)[0]) == 5


@pytest.mark.parametrize("seed", range(10))
def test_it_is_nowhere_below(seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(12) for j in range(i)])
    edges = pairs[rng.permutation(len(pairs))[:40]]
    k = 10.0 ** rng.uniform(-1.0, 4.0, len(edges))
    left, stiffness = with_detours(edges, k, 12)
    below = np.linalg.eigvalsh(dense(left, stiffness, 12) - dense(edges, k, 12))[0]
    assert below > -1e-9 * k.max()
    assert len(left) < len(edges)


def test_cloth_loses_the_couples_of_its_bending_springs():
    mesh = cloth(9, 9, diagonals=2)
    with_bending, without = (
        System(1.0, cloth_springs(mesh, 100.0, 50.0, bending), rest=mesh.positions)
        for bending in (1.0, None)
    )
    L, plain = (laplacian(system.assembly, 81) for system in (with_bending, without))
    assert L.nnz == plain.nnz
    assert abs(L @ np.ones(81)).max() < 1e-12
    assert 0.0 <= np.linalg.eigvalsh((L - plain).toarray())[-1] < 0.2 * plain.diagonal().max()


def test_springs_of_zero_stiffness_are_left_alone():
    mesh = cloth(4, 4)
    system = System(1.0, [Springs(mesh.edges, 0.0)], rest=mesh.positions)
    assert laplacian(system.assembly, 16).toarray().any() == np.False_
