"""Damping between the steps: momenta survive, energy goes to the ledger."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

import stiffly
from stiffly.bodies import LennardJones, MomentumDamping, Springs, System
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.meshes import lattice

CUBE = lattice(3, 3, 3)
MASS = np.linspace(0.5, 1.5, 27)


def momenta(mass, x, v):
    p = (mass[:, None] * v).sum(axis=0)
    return p, np.cross(x, mass[:, None] * v).sum(axis=0)


def damped(damping, fixed=()):
    return System(MASS, [Springs(CUBE.edges, 100.0), damping], fixed, rest=CUBE.positions)


@drawn(20)
@given(seed=st.integers(0, 10**6), share=st.floats(0.0, 1.0))
def test_both_momenta_are_untouched_and_the_energy_is_counted(seed, share):
    rng = np.random.default_rng(seed)
    x, v = rng.standard_normal((2, 27, 3))
    system, s = damped(MomentumDamping(per_step=share)).bind(x, v)
    after = system.settle(s, 0.01)
    before_p, before_l = momenta(MASS, x, v)
    p, angular = momenta(MASS, x, after.state.v.reshape(-1, 3))
    np.testing.assert_allclose(p, before_p, atol=1e-11)
    np.testing.assert_allclose(angular, before_l, atol=1e-10)
    kinetic = [system.energy(state)["kinetic"] for state in (s, after.state)]
    np.testing.assert_allclose(after.dissipated, kinetic[0] - kinetic[1], atol=1e-11)
    assert after.dissipated >= 0.0


def test_a_full_share_leaves_rigid_motion_only():
    rng = np.random.default_rng(1)
    x, v = rng.standard_normal((2, 27, 3))
    system, s = damped(MomentumDamping(per_step=1.0)).bind(x, v)
    after = system.settle(s, 0.01).state.v.reshape(-1, 3)
    distances = np.einsum("ijk,ijk->ij", x[:, None] - x[None], after[:, None] - after[None])
    np.testing.assert_allclose(distances, 0.0, atol=1e-12)


def test_rigid_motion_is_never_damped():
    v = np.cross([0.3, -0.2, 0.5], CUBE.positions) + np.array([1.0, 2.0, 3.0])
    system, s = damped(MomentumDamping(per_step=1.0)).bind(CUBE.positions, v)
    np.testing.assert_allclose(system.settle(s, 0.01).state.v, s.v, atol=1e-12)


def test_every_body_keeps_its_own_momenta():
    """Two cubes that fly apart: one rigid motion for both would damp them."""
    far = CUBE.positions + np.array([100.0, 0.0, 0.0])
    x = np.concatenate([CUBE.positions, far])
    edges = np.concatenate([CUBE.edges, CUBE.edges + 27])
    v = np.zeros((54, 3))
    v[:27], v[27:] = [0, 1.0, 0], [0, 0, 2.0]
    system = System(np.ones(54), [Springs(edges, 100.0), MomentumDamping(per_step=1.0)], rest=x)
    bound, s = system.bind(x, v)
    np.testing.assert_allclose(bound.settle(s, 0.01).state.v, s.v, atol=1e-12)


def test_straight_bodies_and_single_particles():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [9, 9, 9]])
    v = np.array([[0.0, 1, 0], [0, 1, 0], [0, 1, 1], [5, 5, 5]])
    system = System(
        np.ones(4), [Springs([[0, 1], [1, 2]], 1.0), MomentumDamping(per_step=0.5)], rest=x
    )
    bound, s = system.bind(x, v)
    after = bound.settle(s, 0.1).state.v.reshape(-1, 3)
    np.testing.assert_allclose(after[3], v[3])
    np.testing.assert_allclose(
        momenta(np.ones(3), x[:3], after[:3]), momenta(np.ones(3), x[:3], v[:3])
    )


def test_single_particles_fly_on_whatever_their_mass():
    """Their centres are off by rounding: no arm to turn about."""
    rng = np.random.default_rng(4)
    x, v = rng.standard_normal((2, 50, 3))
    system = System(rng.uniform(0.5, 2.0, 50), [MomentumDamping(per_step=0.5)], rest=x)
    bound, s = system.bind(x, v)
    np.testing.assert_allclose(bound.settle(s, 0.1).state.v, s.v, rtol=1e-12)


def test_a_rate_means_the_same_at_every_step():
    damping = MomentumDamping(rate=3.0)
    np.testing.assert_allclose(1.0 - damping.share(0.2), (1.0 - damping.share(0.1)) ** 2)
    np.testing.assert_allclose(damping.share(0.5), 1.0 - np.exp(-1.5))


@pytest.mark.parametrize("integrator", ["verlet", "midpoint", "exprb42", "bdf2"])
def test_a_wobbling_spinning_cube_comes_to_rest_in_shape_but_spins_on(integrator):
    rng = np.random.default_rng(2)
    x = CUBE.positions + 0.05 * rng.standard_normal((27, 3))
    v = np.cross([0.0, 0.0, 0.5], CUBE.positions - 1.0)
    system = damped(MomentumDamping(rate=2.0))
    run = stiffly.simulate(system, x, v, integrator=integrator, step=0.01, duration=6)
    start, end = (momenta(MASS, run.positions[i], run.velocities[i]) for i in (0, -1))
    np.testing.assert_allclose(end[0], start[0], atol=1e-6)
    if integrator in ("verlet", "midpoint"):  # which conserve it on their own
        np.testing.assert_allclose(end[1], start[1], atol=1e-6)
    assert np.all(np.diff(run.energy.dissipated) >= 0.0)
    if integrator != "bdf2":  # which dissipates on its own
        assert run.energy.dissipated[-1] > 0.5 * run.energy.elastic[0]
        assert np.abs(run.energy.numerical).max() < 0.05 * run.energy.dissipated[-1]


def test_atoms_that_attract_each_other_are_one_body():
    rng = np.random.default_rng(3)
    x = 1.2 * CUBE.positions[:8] + 0.05 * rng.standard_normal((8, 3))
    system = System(np.ones(8), [LennardJones(1.0, 1.0), MomentumDamping(per_step=0.5)], rest=x)
    bound, s = system.bind(x, rng.standard_normal((8, 3)))
    assert bound.settle(s, 0.1).dissipated > 0.0


def test_consistent_masses_are_refused():
    M = np.eye(27) + 0.1 * (np.eye(27, k=1) + np.eye(27, k=-1))
    with pytest.raises(InputError, match="needs a lumped mass"):
        System(scipy.sparse.csr_matrix(M), [MomentumDamping(1.0)], rest=CUBE.positions)


def test_held_particles_stay_held():
    system, s = damped(MomentumDamping(per_step=0.5), fixed=[0, 1]).bind(CUBE.positions)
    moving = State(0.0, s.x, np.ones_like(s.v))
    assert system.velocities(system.settle(moving, 0.1).state)[:2].any() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either rate="),
        ({"rate": 1.0, "per_step": 0.5}, "either rate="),
        ({"rate": -1.0}, "rate = -1: it must be at least 0"),
        ({"rate": "fast"}, "rate must be one number"),
        ({"per_step": 1.5}, "0 to 1"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(InputError, match=message):
        MomentumDamping(**options)
