"""Bodies that nothing holds keep their angular momentum in a stabilised run."""

import numpy as np
import pytest

import stiffly
from stiffly.bodies import Gravity, Springs, System
from stiffly.integrators import Stabilised
from stiffly.integrators.spin import Spin
from stiffly.scenes import load


def angular_momentum(x, v, mass):
    r = x - mass @ x / mass.sum()
    return mass @ np.cross(r, v)


def triangle(rng, shift=0.0):
    """Two of them are two bodies."""
    return rng.standard_normal((3, 3)) + shift, rng.standard_normal((3, 3))


def two_triangles(rng, **more):
    (a, u), (b, w) = triangle(rng), triangle(rng, 5.0)
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    x, v, mass = np.concatenate([a, b]), np.concatenate([u, w]), rng.uniform(0.5, 2.0, 6)
    system = System(mass, [Springs(edges, 100.0), Gravity()], rest=x, **more)
    return (*system.bind(x, v), mass)


def test_each_body_gets_back_its_own():
    rng = np.random.default_rng(3)
    system, state, mass = two_triangles(rng)
    spin = Spin.of(system, state)
    assert spin is not None
    changed = type(state)(state.t, state.x + 0.1, rng.standard_normal(state.v.shape))
    back = spin.restored(changed)
    for body in (slice(0, 3), slice(3, 6)):
        x, v = changed.x.reshape(-1, 3)[body], back.v.reshape(-1, 3)[body]
        before = state.x.reshape(-1, 3)[body], state.v.reshape(-1, 3)[body]
        np.testing.assert_allclose(
            angular_momentum(x, v, mass[body]), angular_momentum(*before, mass[body]), atol=1e-12
        )
        momentum = mass[body] @ changed.v.reshape(-1, 3)[body]
        np.testing.assert_allclose(mass[body] @ v, momentum, atol=1e-12)


def test_two_particles_have_no_inertia_about_their_line():
    system = System(1.0, [Springs([(0, 1)], 10.0)], rest=np.eye(3)[:2])
    system, state = system.bind(np.eye(3)[:2], [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    spin = Spin.of(system, state)
    assert spin is not None
    slowed = type(state)(state.t, state.x, 0.5 * state.v)
    np.testing.assert_allclose(spin.restored(slowed).v, state.v, atol=1e-14)


def test_a_state_that_has_it_is_left_alone():
    system, state, _ = two_triangles(np.random.default_rng(4))
    spin = Spin.of(system, state)
    assert spin is not None and spin.restored(state) is state


@pytest.mark.parametrize("more", [{"fixed": [0]}, {"damping": stiffly.Rayleigh(0.1, 0.0)}])
def test_bodies_that_are_held_or_damped_have_none(more):
    rng = np.random.default_rng(5)
    (x, v) = triangle(rng)
    v[0] = 0.0
    system = System(1.0, [Springs([(0, 1), (1, 2)], 10.0)], rest=x, **more)
    assert Spin.of(*system.bind(x, v)) is None


def test_a_field_of_the_user_may_turn_a_body():
    field = stiffly.bodies.Potential(lambda x: 0.5 * np.sum(x[:, 0] ** 2), couples=(),
                                     gradient=lambda x: x * [1.0, 0.0, 0.0])  # fmt: skip
    x = np.random.default_rng(6).standard_normal((3, 3))
    system = System(1.0, [Springs([(0, 1), (1, 2)], 10.0), field], rest=x)
    assert Spin.of(*system.bind(x)) is None


@pytest.mark.parametrize(
    "name", ["stabilised", "stabilised:projective-midpoint", "realtime-midpoint"]
)
def test_the_spinning_cube_keeps_spinning(name):
    scene = load("spinning-cube", cells=3)
    run = stiffly.simulate(scene, integrator=name, duration=200 * scene.step, every=scene.step)
    mass = scene.system.mass.diagonal[::3]
    kept = [
        angular_momentum(x, v, mass) for x, v in zip(run.positions, run.velocities, strict=True)
    ]
    lost = np.linalg.norm(np.array(kept) - kept[0], axis=1) / np.linalg.norm(kept[0])
    # where there is not enough energy for all of it, some waits: nothing waits at the end
    assert lost.max() < 0.05 and lost[-1] < 1e-8
    assert (np.abs(run.diagnostics["alpha"]) > 0.0).any(), "nothing was blended"


def test_without_it_the_blends_lose_it():
    scene = load("spinning-cube", cells=3)
    method = Stabilised("projective-midpoint", spin=False)
    run = stiffly.simulate(scene, integrator=method, duration=200 * scene.step, every=scene.step)
    mass = scene.system.mass.diagonal[::3]
    first, last = (angular_momentum(run.positions[k], run.velocities[k], mass) for k in (0, -1))
    assert np.linalg.norm(last - first) > 1e-3 * np.linalg.norm(first)
