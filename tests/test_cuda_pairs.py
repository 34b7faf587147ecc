"""Pairs of particles whose blocks never change, on a card: Rayleigh's beta and linear springs.

That steps and ledgers are those of single steps on the host is among the tests of test_cuda.py."""

import numpy as np
import pytest
import test_stretch as cases
from cuda_shim import COMPILER, HostBackend

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.bodies import Keyframes, LinearSprings, Rayleigh, Rotation, Springs, System
from stiffly.errors import InputError
from stiffly.integrators.explicit import Verlet
from stiffly.run.limit import longest_step
from stiffly.system.groups import NoStretch

compiled = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")
VISCOUS = [kind for kind in cases.CARD_KINDS if "viscous" in kind]


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


def moving(system, state, rng):
    """At places and velocities of the moment."""
    x = state.x + 0.05 * rng.standard_normal(state.x.size)
    return state.moved(state.t, x, rng.standard_normal(state.x.size))


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
@pytest.mark.parametrize("kind", [kind for kind in VISCOUS if kind != "viscous-led"])
def test_damping_is_minus_beta_times_the_tangent_at_rest(kind, card):
    """By the host's own tangent there, which is no difference of forces; and it takes energy."""
    system, state = cases.bound(kind)
    state = moving(system, state, np.random.default_rng(5))
    there = system.on(card)
    rest = state.moved(state.t, system.reference()[: system.numbering.free].ravel(), state.v)
    alone = System(*system.given._replace(parts=_elastic(system), damping=None))
    K0 = alone.bind(system.numbering.given(system.reference()))[0].tangent(rest).stiffness
    D = system.damping
    still = state.moved(state.t, state.x, np.zeros_like(state.v))
    by_loads = system.having(system.assembly)
    by_loads.damping = by_loads.viscosity = None
    loads = by_loads.acceleration(state) - by_loads.acceleration(still)
    damped = there.stretcher.acceleration(state) - there.stretcher.acceleration(still) - loads
    wanted = -D.alpha * state.v - D.beta * K0.apply(state.v)
    cases.agree(damped, wanted, 1e3 * np.abs(wanted).max())
    assert system.mass.dot(damped, state.v) < 0.0


def _elastic(system):
    made = zip(system.given.parts, system.assembly.parts, strict=True)
    return [part for part, (_, p) in made if not getattr(p, "external", False)]


@compiled
def test_a_body_without_a_rest_shape_damps_by_where_it_is_bound(card):
    """The layout of one binding is not taken for the next."""
    rest, edges, x0 = cases.body(np.random.default_rng(2))
    parts = [Springs(edges, 400.0, 0.9)]
    system = System(np.ones(27), parts, damping=Rayleigh(beta=1e-3)).on(card)
    for x in (rest, x0 * [1.0, 1.3, 1.0]):
        bound, state = system.bind(x, np.random.default_rng(3).standard_normal(x.shape))
        wanted = bound.acceleration(state)
        cases.agree(bound.stretcher.acceleration(state), wanted, np.abs(wanted).max())


# ------------------------------------------------------------------ linear springs


@compiled
@pytest.mark.parametrize("across", [0.0, 0.3, 1.0])
def test_linear_springs_pull_by_the_slope_of_their_energy(across, card):
    rest, edges, x0 = cases.body(np.random.default_rng(4))
    springs = LinearSprings(edges, np.linspace(100.0, 400.0, len(edges)), across=across)
    system = System(np.ones(27), [springs], rest=rest)
    bound, state = system.on(card).bind(x0)
    force = bound.stretcher.acceleration(state)  # of one kilogram each
    e = 1e-4
    for k in range(0, state.x.size, 7):
        d = e * np.eye(state.x.size)[k]
        ahead, back = (
            bound.energy(state.moved(0.0, x, state.v)) for x in (state.x + d, state.x - d)
        )
        slope = (ahead["elastic"] - back["elastic"]) / (2.0 * e)
        assert -slope == pytest.approx(force[k], abs=1e-8 * np.abs(force).max())


# ------------------------------------------------------------------ refusals, limits, resuming


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
@pytest.mark.parametrize("beta", [5e-4, 3e-3, 3e-2])
def test_the_longest_step_is_stable_with_beta_and_a_longer_one_is_not(beta, card, monkeypatch):
    """The stiffest mode is taken to be the most damped one, which makes steps a little short."""
    monkeypatch.setattr(door, "gpu", lambda number: card)
    scene = scenes.load("cloth", small=True, resolution=9, damping=beta)
    limit = longest_step(*scene.system.on(card).bind(scene.x0))
    free = longest_step(*scenes.load("cloth", resolution=9, damping=0.0).system.bind(scene.x0))
    assert limit < 0.999 * free
    v0 = 1e-3 * np.random.default_rng(0).standard_normal(scene.x0.shape)
    energies = []
    for share in (0.95, 1.4):
        bound, state = scene.system.on(card).bind(scene.x0, v0)
        a, h = bound.stretcher.acceleration(state), share * limit
        done = bound.stretcher.steps(Verlet.splitting, state, a, h, h * np.arange(1, 301))
        energies.append(bound.energy(done.state)["kinetic"])
    assert energies[0] < 10.0 and not energies[1] < 1e6


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
