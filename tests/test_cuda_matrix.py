"""Matrices on a card, compiled as C++ where a compiler is: against the loops of the CPU.

tests/gpu asks a real card for the same (`make test-gpu`).
"""

import cuda_matrix_checks
import numpy as np
import pytest
import scipy.sparse as sp
from cuda_matrix_checks import (
    KINDS,
    METHODS,
    SCENES,
    same_ends,
    same_products,
    same_recurrence,
    same_run,
    same_sums,
)
from cuda_shim import COMPILER, NVCC, HostBackend, compiles

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.bodies import Drag, LennardJones
from stiffly.errors import InputError, NotConverged
from stiffly.integrators.exponential_rosenbrock import ExponentialRosenbrock
from stiffly.kernels.cuda import layout, matrix, stretch
from stiffly.run import devices

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_products(kind, lanes, card, monkeypatch):
    monkeypatch.setattr(layout, "LANES", ((10**9, lanes),))
    same_products(kind, card)


@pytest.mark.parametrize("terms", [0, 1, 2, 33, 64, 101])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_recurrences(kind, columns, terms, card):
    """Those that fill what is recorded at once, and those that leave some of it over."""
    same_recurrence(kind, columns, terms, card)


@pytest.mark.parametrize("columns", [1, 2])
def test_what_a_recurrence_begins_and_ends_with(columns, card):
    same_ends(columns, card)


def test_sums(card):
    same_sums(card)


@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("name", ["coil-spring", "bunny"])
def test_a_run_is_that_of_the_host(name, integrator, card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    same_run(name, integrator, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_hundred_steps_of_a_small_scene(name, card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    same_run(name, "exprb42", 100)


@pytest.mark.skipif(NVCC is None, reason="no nvcc here")
@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_the_text_is_cuda(lanes, tmp_path):
    compiles(stretch.source(matrix.TEXTS), tmp_path, lanes)


def test_what_lies_there_is_not_mixed_with_what_lies_here(card):
    """The card of the tests refuses what a real one would, too."""
    there = card.put(np.ones(3))
    for mixed in (lambda: there + np.ones(3), lambda: np.ones(3) @ there, lambda: np.sum(there)):
        with pytest.raises(TypeError, match="on the card, by the host"):
            mixed()


@pytest.mark.parametrize("integrator", ["exprb42", "eti"])
def test_a_run_begun_on_one_goes_on_on_the_other(integrator, card, tmp_path, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    scene = scenes.load("coil-spring", small=True, duration=0.4, every=0.1)
    options = {"integrator": integrator, "step": 0.05, "dtype": "float64", "checkpoint": 0.0}
    whole = stiffly.simulate(scene, device="gpu", **options, out=tmp_path / "whole")
    half = {**options, "duration": 0.2}
    for first, then in (("gpu", "cpu"), ("cpu", "gpu"), ("gpu", "gpu")):
        folder = tmp_path / f"{first}-{then}"
        stiffly.simulate(scene, device=first, **half, out=folder)
        found = stiffly.resume(folder, scene, device=then, duration=0.4)
        cuda_matrix_checks.agree(found.positions[:], whole.positions[:], 1e-10)
        if first == then:
            assert np.array_equal(found.positions[:], whole.positions[:])


def test_what_a_card_is_thought_to_need_covers_what_it_is_given(tmp_path, monkeypatch):
    """By counting the bytes of every array that is put there, in two steps."""
    given, taken = HostBackend(tmp_path), []
    own = given.kernels.matrices._card
    for name in ("put", "zeros"):
        make = getattr(own, name)

        def counted(arguments, make=make):
            made = make(arguments)
            taken.append(made.nbytes)
            return made

        monkeypatch.setattr(own, name, counted)
    scene, asked = scenes.load("dragon", small=True), []
    monkeypatch.setattr(matrix, "too_large", lambda need, free: asked.append(need) or "")
    system, state = scene.system.on(given).bind(scene.x0)
    devices._require_known(system, state, ExponentialRosenbrock((3 / 4,)), "exprb42")
    before = None
    for _ in range(2):
        before = system.tangent(state), before  # what is asked of the one before stays there
        ExponentialRosenbrock((3 / 4,)).step(system, state, scene.step, None)
    assert 0.3 < sum(taken) / asked[0] < 1.0


# ------------------------------------------------------------------ refusals


def refused(said, card, monkeypatch, system, x0, **options):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    chosen = {"integrator": "exprb42", "step": 1e-3, "duration": 1e-3, "device": "gpu", **options}
    with pytest.raises(InputError, match=said):
        stiffly.simulate(system, x0, **chosen)
    run = stiffly.simulate(system, x0, **{**chosen, "device": "auto"})
    assert np.isfinite(run.positions).all()


def chain(*parts, mass=1.0, **options):
    x = np.column_stack([np.arange(5.0), np.zeros((5, 2))])
    springs = stiffly.Springs([[0, 1], [1, 2], [2, 3], [3, 4]], 100.0)
    return stiffly.System(mass, [springs, *parts], rest=x, fixed=[0], **options), x


def test_what_a_flow_needs_arnoldi_for_is_refused(card, monkeypatch):
    drag = Drag(0.1)
    refused("knows no drag, wind or dashpots.*use eti or neti", card, monkeypatch, *chain(drag))


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (ExponentialRosenbrock(method="dense"), "method dense has no loop.*chebyshev"),
        (ExponentialRosenbrock(method="skew", basis=5), "method skew has no loop"),
        (ExponentialRosenbrock(budget=1.0), "budget has no loop on a card: leave it out"),
    ],
)
def test_what_needs_the_host_is_refused(method, said, card, monkeypatch):
    refused(said, card, monkeypatch, *chain(), integrator=method)


def test_steps_too_large_for_products_name_the_processor(card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    scene, method = scenes.load("coil-spring", small=True), ExponentialRosenbrock(max_products=5)
    options = {"integrator": method, "step": 0.05, "duration": 0.05, "device": "gpu"}
    with pytest.raises(NotConverged, match="max_products, or compute on the CPU"):
        stiffly.simulate(scene.system, scene.x0, **options)


def test_a_mass_that_couples_is_refused(card, monkeypatch):
    mass = sp.diags([np.ones(5), 0.1 * np.ones(4), 0.1 * np.ones(4)], [0, 1, -1])
    refused("needs a lumped mass", card, monkeypatch, *chain(mass=mass))


def test_a_body_too_large_for_the_card_is_refused(tmp_path, monkeypatch):
    small = HostBackend(tmp_path)
    small.kernels.matrices._card.room = 1000
    refused(r"needs about 0\.0\d GB on a card that has 0\.00 GB", small, monkeypatch, *chain())


def test_parts_known_by_products_are_refused(card, monkeypatch):
    atoms = LennardJones(0.5, 1e-3)
    refused("known by their products alone", card, monkeypatch, *chain(atoms))
