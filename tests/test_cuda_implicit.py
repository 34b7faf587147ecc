"""Linear systems on a card, compiled as C++ where a compiler is: against LAPACK and the host.

tests/gpu asks a real card for the same (`make test-gpu`).
"""

import gc
import weakref

import cuda_matrix_checks
import numpy as np
import pytest
import scipy.sparse as sp
from cuda_checks import CARD_KINDS, KINDS
from cuda_implicit_checks import (
    LOCAL_GLOBAL,
    LOCAL_GLOBAL_SCENES,
    METHODS,
    ROWS,
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
from cuda_shim import COMPILER, NVCC, HostBackend, compiles

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.bodies import Drag, Gravity
from stiffly.errors import InputError
from stiffly.kernels.cuda import aggregates, layout, solve, stretch
from stiffly.solvers import card as card_solver
from stiffly.solvers.card import CardFactor
from stiffly.solvers.failures import FactorisationError

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def there(card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_solutions(symmetric, lanes, card, monkeypatch):
    monkeypatch.setattr(layout, "LANES", ((10**9, lanes),))
    same_solution(random_matrix(symmetric), symmetric, card)


@pytest.mark.parametrize("symmetric", [True, False])
def test_stiff_springs(symmetric, card):
    """Steps of a hundred times what is stable without solving anything."""
    same_solution(stiff_matrix(1e4), symmetric, card)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_coarse_level_spares_products(symmetric, card):
    fewer_products(symmetric, card)


def test_a_matrix_that_is_indefinite_is_told(card):
    indefinite_is_told(card)


def test_a_matrix_that_is_not_finite_is_told(card):
    with pytest.raises(FactorisationError, match="not finite"):
        CardFactor(card, np.nan * random_matrix(True), True)


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_takes_too_many_products_is_factorised_by_the_host(
    symmetric, card, monkeypatch, caplog
):
    monkeypatch.setattr(card_solver, "MOST", 3)
    monkeypatch.setattr(solve, "UNIT", 2)
    monkeypatch.setattr(card.kernels.systems, "_units", {})
    monkeypatch.setattr(card.kernels.systems, "told", False)
    matrix, b = stiff_matrix(1e6), np.ones(3 * ROWS)
    factor = CardFactor(card, matrix, symmetric)
    for _ in range(2):
        assert np.linalg.norm(b - matrix @ factor.solve(b)) <= 1e-10 * np.linalg.norm(b)
    assert factor.products == 4
    assert caplog.text.count("factorised by the host") == 1


@pytest.mark.parametrize("leaf, top", [(4, 1), (10, 60), (128, 1500)])
@pytest.mark.parametrize("graph", graphs())
def test_solutions_by_fronts(graph, leaf, top, card):
    same_solution_by_fronts(graph, leaf, top, card)


def test_a_factor_too_large_for_the_card_stays_with_the_host(there, card, monkeypatch, caplog):
    monkeypatch.setattr(card.kernels.trees._card, "room", 100)
    monkeypatch.setattr(card.kernels.systems, "told", False)
    system, x = chain(Gravity(), fixed=[0])
    options = {"integrator": "projective", "step": 0.05, "duration": 0.5}
    host, run = (stiffly.simulate(system, x, device=d, **options) for d in ("cpu", "gpu"))
    cuda_matrix_checks.agree(run.positions[-1], host.positions[-1], 1e-12)
    assert caplog.text.count("too large for the card") == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_that_of_the_host(method, there):
    same_implicit_run("coil-spring", method, 3)


@pytest.mark.parametrize("method", LOCAL_GLOBAL)
def test_a_local_global_run_is_that_of_the_host(method, there):
    same_local_global_run("coil-spring", method, 3)


@pytest.mark.parametrize("name", LOCAL_GLOBAL_SCENES)
@pytest.mark.parametrize("method", ["projective", "realtime-midpoint"])
def test_local_global_scenes(method, name, there):
    sailed = same_local_global_run(name, method, 3)
    # which of a scene's first steps meets nothing new
    assert any(sailed) or name in ("textile", "sliding-bunny")


@pytest.mark.parametrize("method", ["projective", "stabilised:projective-midpoint"])
def test_a_scene_that_is_damped_between_steps(method, there):
    assert all(same_local_global_run("cactus", method, 3))


@pytest.mark.parametrize(
    "name, method", [("falling-cube", "projective-bdf2"), ("hippo", "realtime-midpoint")]
)
def test_bodies_that_meet_the_floor(name, method, there):
    """Iterations in which contact begins are the host's, which goes on from where they are."""
    assert {*same_local_global_run(name, method, 60)} == {True, False}


def test_runs_of_one_system_hold_its_particles_elsewhere(there):
    """What is laid out on a card is that of all of them."""
    system, x = chain(Gravity(), fixed=[0])
    for moved in (0.0, 0.5, 0.0):
        start = x.copy()
        start[0] -= moved
        options = {"integrator": "projective", "step": 0.05, "duration": 0.3}
        host, card = (stiffly.simulate(system, start, device=d, **options) for d in ("cpu", "gpu"))
        cuda_matrix_checks.agree(card.positions[-1], host.positions[-1], 1e-12)


@pytest.mark.parametrize("h", [2e-3, 0.05])
@pytest.mark.parametrize("method", ["projective", "realtime-midpoint"])
@pytest.mark.parametrize("kind", (*KINDS, *CARD_KINDS))
def test_local_global_steps(kind, method, h, card):
    same_local_global_steps(kind, method, h, card)


def test_a_card_keeps_no_more_with_each_run_of_a_system(there, monkeypatch):
    laid_out = []

    def noted(points):
        found = aggregates.aggregates(points)
        laid_out.append(weakref.ref(found.functions))
        return found

    monkeypatch.setattr(solve, "aggregates", noted)
    system, x = chain(Gravity(), fixed=[0])
    for stretch_by in (1.0, 1.0, 1.1):
        stiffly.simulate(
            system, stretch_by * x, device="gpu", integrator="bdf1", step=0.05, duration=0.1
        )
    gc.collect()
    assert len(laid_out) == 2  # one array of places is as good as another with the same numbers
    assert sum(known() is not None for known in laid_out) <= 1


SOME = ("energy-momentum", "bdf1", "midpoint")


@pytest.mark.parametrize("name", ["bunny", "flag", "crash"])
@pytest.mark.parametrize("method", SOME)
def test_scenes(method, name, there):
    same_implicit_run(name, method, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dragon", "swinging-bunny"])
@pytest.mark.parametrize("method", SOME)
def test_scenes_of_more_coordinates(method, name, there):
    same_implicit_run(name, method, 3)


@pytest.mark.skipif(NVCC is None, reason="no nvcc here")
@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_the_text_is_cuda(lanes, tmp_path):
    compiles(stretch.source(solve.TEXTS), tmp_path, lanes)


@pytest.mark.parametrize("integrator", ["energy-momentum", "bdf1", "projective"])
def test_a_run_begun_on_one_goes_on_on_the_other(integrator, there, tmp_path):
    scene = scenes.load("coil-spring", small=True, duration=0.4, every=0.1)
    method = METHODS.get(integrator, integrator)
    options = {"integrator": method, "step": 0.05, "dtype": "float64"}
    options |= {"checkpoint": 0.0}
    whole = stiffly.simulate(scene, device="gpu", **options, out=tmp_path / "whole")
    half = {**options, "duration": 0.2}
    for first, then in (("gpu", "cpu"), ("cpu", "gpu"), ("gpu", "gpu")):
        folder = tmp_path / f"{first}-{then}"
        stiffly.simulate(scene, device=first, **half, out=folder)
        found = stiffly.resume(folder, scene, device=then, duration=0.4)
        cuda_matrix_checks.agree(found.positions[:], whole.positions[:], 1e-10)
        if first == then:
            assert np.array_equal(found.positions[:], whole.positions[:])


# ------------------------------------------------------------------ what bodies may have


def chain(*parts, **options):
    x = np.column_stack([np.arange(6.0), np.zeros((6, 2))])
    springs = stiffly.Springs([[k, k + 1] for k in range(5)], 1e3)
    return stiffly.System(options.pop("mass", 1.0), [springs, *parts], rest=x, **options), x


BODIES = {
    "damped": lambda: chain(Gravity(), fixed=[0], damping=stiffly.Rayleigh(0.1, 0.01)),
    "dragged": lambda: chain(Gravity(), Drag(0.3, power=2), fixed=[0]),
    "coupled": lambda: chain(
        Gravity(),
        fixed=[0],
        mass=sp.diags([np.ones(6), 0.1 * np.ones(5), 0.1 * np.ones(5)], [0, 1, -1]),
    ),
}


@pytest.mark.parametrize("integrator", ["energy-momentum", "bdf1", "stabilised", "bdf2"])
@pytest.mark.parametrize("kind", BODIES)
def test_damping_loads_and_masses(kind, integrator, there):
    system, x = BODIES[kind]()
    options = {"integrator": integrator, "step": 0.05, "duration": 0.5}
    host, card = (stiffly.simulate(system, x, device=d, **options) for d in ("cpu", "gpu"))
    cuda_matrix_checks.agree(card.positions[-1], host.positions[-1], 1e-8)
    assert card.stats["operator_products"] > 0


# ------------------------------------------------------------------ refusals


def refused(said, system, x0, **options):
    chosen = {"step": 1e-2, "duration": 1e-2, **options}
    with pytest.raises(InputError, match=said):
        stiffly.simulate(system, x0, device="gpu", **chosen)
    run = stiffly.simulate(system, x0, device="auto", **chosen)
    assert np.isfinite(run.positions).all()


@pytest.mark.parametrize("integrator", ["vimex", "stabilised:vimex", "energy-lagrange"])
def test_methods_without_a_loop_are_refused(integrator, there):
    said = "has no loop on a card.*energy-momentum"
    refused(said, *chain(Gravity(), fixed=[0]), integrator=integrator)


def test_bodies_that_are_solved_one_by_one_are_refused(there):
    scene = scenes.load("brush", small=True)
    said = "bdf1 solves these bodies one by one.*--device cpu"
    options = {"integrator": "bdf1", "step": 1e-2, "duration": 1e-2, "device": "gpu"}
    with pytest.raises(InputError, match=said):
        stiffly.simulate(scene.system, scene.x0, **options)


def test_a_body_too_large_for_the_card_is_refused(tmp_path, monkeypatch):
    small = HostBackend(tmp_path)
    small.kernels.matrices._card.room = 1000
    monkeypatch.setattr(door, "gpu", lambda number: small)
    refused(r"needs about 0\.0\d GB on a card", *chain(fixed=[0]), integrator="midpoint")


# ------------------------------------------------------------------ the coarse level


@pytest.mark.parametrize("axes", [0, 1, 2, 3])
def test_functions_of_aggregates_are_orthonormal(axes):
    """Also of bodies that are flat, straight, or in one place: functions they lack are zero."""
    points = np.random.default_rng(0).random((700, 3))
    points[:, axes:] = 0.25
    found = aggregates.aggregates(points)
    assert found.count == (1 if axes == 0 else 32)
    assert np.array_equal(np.sort(found.order), np.arange(700))
    for k in range(found.count):
        own = found.order[found.first[k] : found.first[k + 1]]
        assert np.all(found.label[own] == k)
        f = found.functions[own]
        there = ~found.missing.reshape(-1, 4)[k]
        assert there.sum() == 1 + axes
        assert np.abs(f.T @ f - np.diag(there.astype(float))).max() <= 1e-12


@pytest.mark.parametrize("lanes", [1, 8])
def test_the_coarse_matrix(lanes, card, monkeypatch):
    """Its inverse, by way of what the card makes of every pair of aggregates."""
    monkeypatch.setattr(layout, "LANES", ((10**9, lanes),))
    monkeypatch.setattr(aggregates, "PIECE", 50)
    matrix, points = random_matrix(False), np.random.default_rng(1).random((ROWS, 3))
    blocks = sp.bsr_matrix(matrix, blocksize=(3, 3))
    entries = blocks.indptr, blocks.indices, blocks.data
    made = card.kernels.systems.prepared(*entries, points, False)
    parts = aggregates.aggregates(points)
    P = np.zeros((ROWS, parts.count, 4))
    P[np.arange(ROWS), parts.label] = parts.functions
    P = np.kron(P.reshape(ROWS, -1), np.eye(3))
    wanted = np.linalg.inv(P.T @ matrix.toarray() @ P)
    cuda_matrix_checks.agree(card.host(made.alive[-1]).reshape(wanted.shape), wanted, 1e-10)
