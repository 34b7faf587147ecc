"""Pairs of particles whose blocks never change, on a card: Rayleigh's beta and linear springs.

That steps and ledgers are those of single steps on the host is among the tests of test_cuda.py."""

import numpy as np
import pytest
import test_stretch as cases
from cuda_pairs_checks import (
    ACROSS,
    BETAS,
    UNLED,
    VISCOUS,
    damping_is_the_tangent_at_rest,
    damps_by_where_it_is_bound,
    longest_step_is_stable,
    pull_by_the_slope,
)
from cuda_shim import COMPILER, HostBackend

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.bodies import Keyframes, LinearSprings, Rayleigh, Rotation, Springs, System
from stiffly.errors import InputError
from stiffly.kernels.cuda.layout import Held, blocks_of
from stiffly.system.groups import NoStretch

compiled = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


# ------------------------------------------------------------------ what damps


def whole_matrix(system):
    """beta K0 (3 N, 3 N) of all particles, put together from pairs."""
    edges, blocks = system.viscosity.pairs()
    n = system.particles
    K = np.zeros((n, n, 3, 3))
    for (i, j), B in zip(edges, blocks, strict=True):
        K[i, j] -= B
        K[j, i] -= B.T
        K[i, i] += B
        K[j, j] += B.T
    return K.transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)


@pytest.mark.parametrize("kind", VISCOUS)
def test_pairs_are_the_matrix_that_the_host_damps_by(kind):
    """Also where the other particle is held or led, which the host's matrix has no column for."""
    system, _ = cases.bound(kind)
    K, free = whole_matrix(system), system.size
    mass: np.ndarray = system.mass.apply(np.ones(free))
    wanted = system.viscosity.operator().K.toarray() - system.damping.alpha * np.diag(mass)
    size = np.abs(wanted).max()
    cases.agree(K[:free, :free], wanted, size)
    v = np.random.default_rng(1).standard_normal((system.particles, 3))
    told = system.damping.beta * system.viscosity._at_rest(v).ravel()  # a difference of gradients
    np.testing.assert_allclose(K @ v.ravel(), told, atol=1e-6 * size)
    cases.agree(K, K.T, size)
    cases.agree(K.reshape(-1, system.particles, 3).sum(axis=1), 0.0, size)  # no motion as a whole
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * size


@compiled
@pytest.mark.parametrize("kind", UNLED)
def test_damping_is_minus_beta_times_the_tangent_at_rest(kind, card):
    damping_is_the_tangent_at_rest(kind, card)


@compiled
def test_a_body_without_a_rest_shape_damps_by_where_it_is_bound(card):
    damps_by_where_it_is_bound(card)


@compiled
@pytest.mark.parametrize("beta", BETAS)
def test_the_longest_step_is_stable_with_beta_and_a_longer_one_is_not(beta, card):
    longest_step_is_stable(beta, card)


@compiled
@pytest.mark.parametrize("across", ACROSS)
def test_linear_springs_pull_by_the_slope_of_their_energy(across, card):
    pull_by_the_slope(across, card)


@compiled
def test_a_pylon_fits_a_block(card):
    """One call takes it through all its steps."""
    scene = scenes.load("pylon", small=True)
    bound, _ = scene.system.on(card).bind(scene.x0)
    assert blocks_of(Held(), bound.stretcher._body, False).threads
    damped = System(*scene.system.given._replace(damping=Rayleigh(beta=1e-3)))
    bound, _ = damped.on(card).bind(scene.x0)
    assert not blocks_of(Held(), bound.stretcher._body, False).threads


# ------------------------------------------------------------------ refusals, resuming


def test_on_the_cpu_they_go_step_by_step():
    for kind, said in (("viscous", "beta has a compiled loop on cards"), ("steady", "on cards")):
        system, _ = cases.bound(kind)
        assert isinstance(system.stretcher, NoStretch) and said in str(system.stretcher)


@pytest.mark.parametrize("support", ["turned", "shifted"])
def test_supports_that_turn_what_knows_no_rotation_are_refused(support, card):
    rest, edges, _ = cases.body(np.random.default_rng(2))
    motion = {
        "turned": Rotation(range(9), axis=(0.0, 0.0, 1.0), rate=1.0),
        "shifted": Keyframes(range(9), (0.0, 1.0), [(0.0,) * 3, (1.0, 0.0, 0.0)]),
    }[support]
    springs, damping = Springs(edges, 400.0), Rayleigh(beta=1e-3)
    for part, damped in ((LinearSprings(edges, 400.0), None), (springs, damping)):
        system = System(np.ones(27), [part], rest=rest, damping=damped, supports=motion)
        stretcher = system.on(card).bind(rest)[0].stretcher
        assert isinstance(stretcher, NoStretch) == (support == "turned")
        assert support == "shifted" or "where supports turn" in str(stretcher)


@compiled
@pytest.mark.parametrize("name", ["cloth", "pylon"])
def test_a_run_begun_on_one_goes_on_on_the_other(name, card, tmp_path, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    scene = scenes.load(name, small=True, duration=0.04, every=0.01)
    options = {"integrator": "verlet", "step": 1e-3, "dtype": "float64", "checkpoint": 0.0}
    whole = stiffly.simulate(scene, device="gpu", **options, out=tmp_path / "whole")
    half = {**options, "duration": 0.02}
    for first, then in (("gpu", "cpu"), ("cpu", "gpu"), ("gpu", "gpu")):
        folder = tmp_path / f"{first}-{then}"
        stiffly.simulate(scene, device=first, **half, out=folder)
        found = stiffly.resume(folder, scene, device=then, duration=0.04)
        np.testing.assert_allclose(found.positions[:], whole.positions[:], rtol=0.0, atol=1e-11)
        same = np.array_equal(found.positions[:], whole.positions[:])
        assert same or first != then
        told, wanted = found.energy.dissipated, whole.energy.dissipated
        np.testing.assert_allclose(told, wanted, atol=1e-9 * whole.energy.exchanged)


def test_runs_that_go_together_have_neither():
    rest, edges, _ = cases.body(np.random.default_rng(2))
    system = System(np.ones(27), [LinearSprings(edges, 400.0)], rest=rest)
    options = {"integrator": "verlet", "step": 1e-3, "duration": 1e-2}
    with pytest.raises(InputError, match=r"LinearSprings\) has no compiled loop"):
        stiffly.simulate_many([system] * 2, [rest] * 2, **options)
