"""Weak couples led over strong ones: a sparser matrix that is nowhere smaller."""

import numpy as np
import pytest
import scipy.sparse as sp

from stiffly.bodies import System, cloth_springs
from stiffly.integrators import Bdf1, LocalGlobal
from stiffly.meshes import cloth
from stiffly.solvers import local_global
from stiffly.solvers.sparser import WEAK, laplacian, sparser, with_detours


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
    difference = laplacian(left, stiffness, 12) - laplacian(edges, k, 12)
    below = np.linalg.eigvalsh(difference.toarray())[0]
    assert below > -1e-9 * k.max()
    assert len(left) < len(edges)


def cloth_matrix(side, bending):
    """M + h^2/4 L of a cloth, h = 1/30 s."""
    mesh = cloth(side, side, spacing=0.1)
    parts = cloth_springs(mesh, 100.0, 50.0, bending)
    system, _ = System(0.01, parts, rest=mesh.positions).bind(mesh.positions)
    return system.global_matrix(1.0 / 3600.0)


def test_cloth_loses_the_couples_of_its_bending_springs():
    A, plain = cloth_matrix(9, 1.0), cloth_matrix(9, None)
    B = sparser(A)
    assert B.nnz == plain.nnz < A.nnz
    below = np.linalg.eigvalsh((B - A).toarray())
    assert below[0] > -1e-12 and below[-1] < 0.1 * A.diagonal().max()
    assert abs(B - B.T).max() == 0.0
    assert np.allclose(B @ np.ones(81), A @ np.ones(81))  # the mass is as it was


def test_where_there_is_nothing_to_gain_the_matrix_is_left_alone():
    A = cloth_matrix(9, 20.0)
    assert sparser(A) is A


def test_positive_couples_stay():
    """Laplacians of tets have some."""
    A = sp.csc_matrix(np.array([[9.0, 1.0, -4.0], [1.0, 9.0, -4.0], [-4.0, -4.0, 20.0]]))
    assert sparser(A) is A


def test_plain_iterations_have_the_papers_matrix_and_accelerated_ones_a_sparser(monkeypatch):
    """Local and global steps of Projective Dynamics are about the very Laplacian of the springs."""
    mesh = cloth(9, 9, spacing=0.1)
    system = System(0.01, cloth_springs(mesh, 100.0, 50.0, 1.0), rest=mesh.positions)
    sizes = []
    seen = local_global.lasting
    monkeypatch.setattr(
        local_global, "lasting", lambda A, backend: sizes.append(A.nnz) or seen(A, backend)
    )
    bound, state = system.bind(1.1 * mesh.positions)
    for accelerate in (False, True):
        method = Bdf1(solver=LocalGlobal(3, accelerate))
        method.step(bound, state, 0.03, method.start(bound, state))
    assert sizes == [cloth_matrix(9, 1.0).nnz, cloth_matrix(9, None).nnz]
