"""Linear systems on a real card, and implicit steps by them.  `make test-gpu`."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu
from stiffly.kernels.cuda import layout

sys.path.insert(0, str(Path(__file__).parents[1]))
from cuda_checks import CARD_KINDS, KINDS
from cuda_implicit_checks import (
    LOCAL_GLOBAL,
    LOCAL_GLOBAL_SCENES,
    METHODS,
    SCENES,
    fewer_products,
    graphs,
    indefinite_is_told,
    random_matrix,
    same_implicit_run,
    same_local_global_run,
    same_local_global_steps,
    same_solution,
    same_solution_by_fronts,
    stiff_matrix,
)


@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_solutions(symmetric, lanes, monkeypatch):
    monkeypatch.setattr(layout, "LANES", ((10**9, lanes),))
    same_solution(random_matrix(symmetric), symmetric, gpu())


@pytest.mark.parametrize("symmetric", [True, False])
def test_stiff_springs(symmetric):
    same_solution(stiff_matrix(1e4), symmetric, gpu())


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_coarse_level_spares_products(symmetric):
    fewer_products(symmetric, gpu())


def test_a_matrix_that_is_indefinite_is_told():
    indefinite_is_told(gpu())


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_that_of_the_host(method, name):
    same_implicit_run(name, method, 3)


@pytest.mark.parametrize("leaf, top", [(4, 1), (10, 60), (128, 1500)])
@pytest.mark.parametrize("graph", graphs())
def test_solutions_by_fronts(graph, leaf, top):
    same_solution_by_fronts(graph, leaf, top, gpu())


@pytest.mark.parametrize("name", LOCAL_GLOBAL_SCENES)
@pytest.mark.parametrize("method", LOCAL_GLOBAL)
def test_a_local_global_run_is_that_of_the_host(method, name):
    same_local_global_run(name, method, 3)


@pytest.mark.parametrize(
    "name, method", [("falling-cube", "projective-bdf2"), ("hippo", "projective")]
)
def test_bodies_that_meet_the_floor(name, method):
    same_local_global_run(name, method, 60)


@pytest.mark.parametrize("h", [2e-3, 0.05])
@pytest.mark.parametrize("method", ["projective", "realtime-midpoint"])
@pytest.mark.parametrize("kind", (*KINDS, *CARD_KINDS))
def test_local_global_steps(kind, method, h):
    same_local_global_steps(kind, method, h, gpu())
