"""Steps too long for an explicit method are told before the first one; others are not."""

import warnings
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

from stiffly import Gravity, Rayleigh, SecondOrder, Springs, System, scenes, simulate
from stiffly.collisions import Contact, Plane
from stiffly.errors import Advice, InputError, SimulationFailure
from stiffly.integrators import integrator
from stiffly.integrators.auto import verlet_limit
from stiffly.integrators.explicit import EndAcceleration, Verlet, amplification, scheme_of
from stiffly.matfun.bounds import largest_ritz_value, ritz_values
from stiffly.meshes import lattice

LIMITS = {"verlet": 2.0, "symplectic-euler": 2.0, "rk4": 8.0**0.5}  # of h omega
OMEGA = 50.0


def oscillators(omega=OMEGA):
    """Uncoupled ones up to omega [1/s]: linear, nothing damps."""
    return SecondOrder(stiffness=np.diag(np.linspace(1.0, omega, 9) ** 2))


def net(law="linear", **more):
    """A block of springs that is at rest, and its largest frequency."""
    mesh = lattice(3, 3, 3, spacing=0.1)
    system = System(0.01, [Springs(mesh.edges, 400.0, law=law)], rest=mesh.positions, **more)
    bound, state = system.bind(mesh.positions)
    K = bound.tangent(state).matrix(0.0, 1.0, 0.0).toarray()
    return system, mesh.positions, np.sqrt(np.linalg.eigvalsh(K)[-1] / 0.01)


def advice(system, x0, **options):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with suppress(SimulationFailure):
            simulate(system, x0, **options)
    return [str(w.message) for w in said if w.category is Advice]


def test_the_largest_ritz_value_is_the_last_of_all():
    bound, state = net()[0].bind(net()[1])
    A = bound.tangent(state).stiffness
    for steps in (1, 3, 8):
        assert largest_ritz_value(A, steps) == pytest.approx(ritz_values(A, steps)[0][-1], 1e-12)
    lost = SimpleNamespace(size=A.size, dot=A.dot, apply=lambda b: np.nan * b, backend=A.backend)
    assert np.isnan(largest_ritz_value(lost, 3))


@pytest.mark.parametrize("name", LIMITS)
def test_what_grows_is_what_the_method_makes_grow(name):
    """One oscillator: the spectral radius of two steps taken from unit states."""
    method, one = integrator(name), SecondOrder(stiffness=[[1.0]])
    for z in (0.5, 1.9, 2.1, 2.5, 2.8, 2.9, 4.0):
        columns = []
        for x0, v0 in (([1.0], [0.0]), ([0.0], [1.0])):
            system, state = one.bind(x0, v0)
            moved = method.step(system, state, z, method.start(system, state)).state
            columns.append([moved.x[0], moved.v[0]])
        radius = np.abs(np.linalg.eigvals(np.array(columns).T)).max()
        assert amplification(scheme_of(method), z) == pytest.approx(radius, rel=1e-7)
        assert (radius > 1.0 + 1e-6) == (z > LIMITS[name])


@pytest.mark.parametrize("name", LIMITS)
def test_what_grows_where_a_rate_damps(name):
    """The same with the acceleration, which goes from one step to the next."""
    method = integrator(name)
    for z, d in ((0.5, 0.1), (1.5, 0.4), (1.5, 0.5), (1.9, 0.01), (0.1, 2.0)):
        one = SecondOrder(stiffness=[[1.0]], damping=Rayleigh(alpha=d / z))
        columns = []
        for x, v, a in np.eye(3)[:, :, None]:
            system, state = one.bind(x, v)
            memory = EndAcceleration(state, a, v)
            done = method.step(system, state, z, memory)
            kept = getattr(done.memory, "acceleration", [0.0])  # not by symplectic-euler
            columns.append([done.state.x[0], done.state.v[0], kept[0]])
        radius = np.abs(np.linalg.eigvals(np.array(columns))).max()
        assert amplification(scheme_of(method), z, d) == pytest.approx(radius, rel=1e-7)


@pytest.mark.parametrize(("omega", "rate"), [(1.0, 0.0), (1.0, 0.5), (1.0, 9.0), (0.0, 3.0)])
def test_the_limit_of_verlet_is_where_damped_oscillations_begin_to_grow(omega, rate):
    h = verlet_limit(omega, rate)
    radii = [amplification(Verlet.splitting, s * h * omega, s * h * rate) for s in (0.999, 1.001)]
    assert radii[0] <= 1.0 + 1e-12 < radii[1]
    assert (0.5 * h * omega) ** 2 + h * rate == pytest.approx(1.0)


@pytest.mark.parametrize("beta", [1e-3, 0.02])
def test_beta_makes_the_step_shorter_that_is_named(beta):
    system, x, omega = net(damping=Rayleigh(beta=beta))
    limit = verlet_limit(omega, beta * omega**2)
    options = {"integrator": "verlet", "duration": 100 * limit}
    (said,) = advice(system, x, step=1.1 * limit, **options)
    named = float(said.split("at most ")[1].split()[0])
    assert 0.99 * limit <= named <= 1.05 * limit
    assert advice(system, x, step=0.93 * limit, **options) == []


@pytest.mark.parametrize("name", LIMITS)
def test_a_linear_system_is_refused_above_the_limit_and_runs_below(name):
    limit = LIMITS[name] / OMEGA
    options = {"integrator": name, "duration": 20.0, "every": 20.0}
    with pytest.raises(InputError) as refused:
        simulate(oscillators(), np.ones(9), step=1.1 * limit, **options)
    said = str(refused.value)
    assert said.startswith(name) and f"at most {limit:.2g} s" in said and "\n" not in said
    assert advice(oscillators(), np.ones(9), step=0.98 * limit, **options) == []


def test_what_is_fast_but_stays_at_zero_is_only_advised():
    """Uncoupled: the first swings with omega = 1, the second, far above the limit, has no cause."""
    system = SecondOrder(stiffness=np.diag([1.0, 1e12]))
    options = {"integrator": "verlet", "step": 1e-2, "duration": 10.0}
    with pytest.warns(Advice, match="steps of 0.01 s are too long"):
        run = simulate(system, [1.0, 0.0], **options)
    assert run.positions[-1] == pytest.approx([np.cos(10.0), 0.0], abs=1e-4)
    for x0, v0 in (([1.0, 1e-9], None), ([1.0, 0.0], [0.0, 1e-6])):
        with pytest.raises(InputError, match="too long"):
            simulate(system, x0, v0, **options)


def test_a_run_too_short_to_show_it_is_only_advised():
    h = 1.1 * 2.0 / OMEGA
    (said,) = advice(oscillators(), np.ones(9), integrator="verlet", step=h, duration=10 * h)
    assert "verlet: steps of" in said


def test_forward_euler_is_judged_by_the_run_that_it_is_to_take():
    options = {"integrator": "forward-euler", "step": 1e-3}
    assert advice(oscillators(), np.ones(9), duration=0.1, **options) == []
    (said,) = advice(oscillators(), np.ones(9), duration=2.0, **options)
    # 1 + h^2 omega^2 doubles its square root by T / h steps
    assert f"at most {2.0 * np.log(2.0) / (2.0 * OMEGA**2):.2g} s" in said


@pytest.mark.parametrize("name", LIMITS)
def test_springs_are_advised_since_they_may_soften(name):
    system, x, omega = net()
    limit = LIMITS[name] / omega
    options = {"integrator": name, "duration": 100 * limit}
    (said,) = advice(system, x, step=1.1 * limit, **options)
    named = float(said.split("at most ")[1].split()[0])
    assert 0.99 * limit <= named <= 1.05 * limit
    assert advice(system, x, step=0.95 * limit, **options) == []


def test_contact_that_has_not_begun_says_nothing_and_one_that_presses_does():
    mesh = lattice(3, 3, 3, spacing=0.1)

    def said(height):
        floor = Contact(Plane((0.0, 0.0, height), (0.0, 0.0, 1.0)), 1e6)
        parts = [Springs(mesh.edges, 400.0), Gravity(), floor]
        system = System(0.01, parts, rest=mesh.positions)
        return advice(system, mesh.positions, integrator="verlet", step=1e-3, duration=0.1)

    assert said(-0.5) == []
    assert len(said(0.05)) == 1


def test_methods_that_solve_equations_are_not_asked():
    for name in ("midpoint", "exprb42"):
        assert advice(oscillators(), np.ones(9), integrator=name, step=1.0, duration=10.0) == []


@pytest.mark.parametrize(
    "name, options", [("hair", {"fibers": 20}), ("crash", {"vertices": 2000, "step": 1e-4})]
)
def test_scenes_that_step_explicitly_are_left_alone(name, options):
    scene = scenes.load(name, **options)
    assert scene.integrator == "verlet"
    assert advice(scene, None, duration=20 * scene.step, every=20 * scene.step) == []


@pytest.mark.parametrize("name", ["rkn6", "rkn86"])
def test_a_method_that_refuses_says_nothing_of_steps(name):
    system, x0, omega = net(damping=Rayleigh(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="forces of velocities"):
            simulate(system, x0, integrator=name, step=20.0 / omega, duration=1.0)


def crowd(stiff, count=300):
    """Small nets at rest, one of them `stiff` times as stiff as others are at most."""
    mesh, draw = lattice(2, 2, 2, spacing=0.1), np.random.default_rng(5)
    size = len(mesh.positions)
    x = np.concatenate([mesh.positions + 0.3 * k for k in range(count)])
    edges = np.concatenate([mesh.edges + size * k for k in range(count)])
    k = draw.uniform(100.0, 400.0, count)
    k[2 * count // 3] = 400.0 * stiff
    system = System(0.01, [Springs(edges, np.repeat(k, len(mesh.edges)))], rest=x)
    one, state = System(0.01, [Springs(mesh.edges, k.max())], rest=mesh.positions).bind(
        mesh.positions
    )
    K = one.tangent(state).matrix(0.0, 1.0, 0.0).toarray()
    return system, x, np.sqrt(np.linalg.eigvalsh(K)[-1] / 0.01)


@pytest.mark.parametrize("stiff", [1.0, 9.0])
def test_of_many_bodies_the_stiffest_is_found_by_asking_few(stiff):
    system, x, omega = crowd(stiff)
    limit = 2.0 / omega
    options = {"integrator": "verlet", "duration": 100 * limit, "every": 100 * limit}
    (said,) = advice(system, x, step=1.1 * limit, **options)
    named = float(said.split("at most ")[1].split()[0])
    assert 0.99 * limit <= named <= 1.05 * limit
    assert advice(system, x, step=0.94 * limit, **options) == []


def test_forces_on_few_bodies_are_those_on_all():
    """With supports that move, contact, damping and gravity; few they are."""
    scene = scenes.load("hair", fibers=150)
    bound, state = scene.system.bind(scene.x0)
    few = bound.stretcher.few(state)
    assert 32 * 4 <= len(few.x) < len(scene.x0) / 2
    rows = {tuple(x): k for k, x in enumerate(state.x.reshape(-1, 3))}
    own = np.array([rows[tuple(x)] for x in few.x])
    assert len(set(own.tolist())) == len(own)
    assert few.mass == pytest.approx(bound.particle_mass[bound.numbering.order[own]], 1e-15)
    draw = np.random.default_rng(0)
    for size in (0.0, 1e-3, 2e-2):
        x = state.x + size * draw.standard_normal(state.x.size)
        every = bound.acceleration(state.moved(state.t, x, state.v)).reshape(-1, 3)
        found = few.acceleration(x.reshape(-1, 3)[own])
        np.testing.assert_allclose(found, every[own], rtol=1e-9, atol=1e-9 * np.abs(every).max())


def test_where_bodies_are_not_many_all_are_asked():
    for system, x, _ in (crowd(1.0, count=40), net()):
        bound, state = system.bind(x)
        assert bound.stretcher.few(state) is None
