"""The fluid and the motor: flow fields, drag, derivatives, a swimmer that swims."""

import numba
import numpy as np
import pytest
import reference
from systems import prepared_alone

import stiffly
from stiffly.bodies import MotorTorque, Springs, StokesFluid, System
from stiffly.contracts import State
from stiffly.errors import InputError, NotConverged
from stiffly.kernels import cpu
from stiffly.parts import stokes as stokes_module
from stiffly.parts.part import MatrixFreeLoad, PreparedLoad

MU, BLOB = 0.7, 0.15


def cloud(count=12, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (3, count, 3))  # x, v, b


def fluid_of(x, **options):
    return prepared_alone(StokesFluid(MU, BLOB, **options), x, rest=x)[0]


def mobility(x, blob=BLOB):
    S = np.empty((x.size, x.size))
    cpu.stokeslet_matrix(x, blob, MU, S)
    return S


def force(load, x, v):
    out = np.zeros_like(x)
    load.add_force(0.0, x, v, out)
    return out


def along(function, x, b, e=1e-6):
    return (function(x + e * b) - function(x - e * b)) / (2 * e)


# ---------------------------------------------------------------------- the flow


def test_far_away_and_for_small_blobs_the_flow_is_oseens():
    """u = (g + (g.n) n) / (8 pi mu r) (Oseen 1927); the blob's share is of order (blob/r)^2."""
    g, d = np.array([[0.3, -1.0, 0.5]]), np.array([[0.4, 0.2, -0.9]])
    r = np.linalg.norm(d)
    n = d / r
    oseen = (g + (g @ n.T) * n) / (8 * np.pi * MU * r)
    errors = []
    for blob in (0.1, 0.05, 0.025):
        out = np.empty((1, 3))
        cpu.stokeslet_velocities(d, np.zeros((1, 3)), g, blob, MU, out)
        errors.append(np.abs(out - oseen).max() / np.abs(oseen).max())
    assert errors[0] < 3 * 0.1**2
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.05)


def drag_errors(count, a=1.3):
    """Relative errors of force and torque of a sphere of blobs half as wide as their distance."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k  # points of a golden spiral
    rho = np.sqrt(1 - z**2)
    x = a * np.stack([rho * np.cos(angle), rho * np.sin(angle), z], axis=1)
    fluid = StokesFluid(MU, 0.5 * a * np.sqrt(4 * np.pi / count)).prepared_for(count)
    v, w = np.tile([0.2, 0.0, 0.5], (count, 1)), np.array([0.0, 0.7, 0.0])
    drag = -force(fluid, x, v).sum(axis=0)
    torque = -np.cross(x, force(fluid, x, np.cross(w, x))).sum(axis=0)
    exact = 6 * np.pi * MU * a * v[0], 8 * np.pi * MU * a**3 * w
    return [
        np.abs(found - true).max() / np.abs(true).max()
        for found, true in zip((drag, torque), exact, strict=True)
    ]


def test_a_sphere_of_particles_feels_the_drag_of_stokes():
    """6 pi mu a v and 8 pi mu a^3 w (Stokes 1851). The blobs thicken the sphere by a share of
    their distance: first order, and three times as much in the torque as in the force."""
    coarse, fine = drag_errors(100), drag_errors(400)
    assert fine[0] < 0.03 and fine[1] < 0.09
    np.testing.assert_allclose(np.divide(coarse, fine), 2.0, atol=0.3)


@pytest.mark.parametrize("blob", [0.02, 0.15, 0.6])
def test_mobility_is_symmetric_positive_definite(blob):
    S = mobility(cloud()[0], blob)
    np.testing.assert_array_equal(S, S.T)
    assert np.linalg.eigvalsh(S)[0] > 0.0


def test_the_fluid_moves_with_the_particles():
    x, v, _ = cloud()
    np.testing.assert_allclose(StokesFluid(MU, BLOB).velocity(x, x, v), v, atol=1e-10)
    some = StokesFluid(MU, BLOB, particles=[0, 5, 7])
    np.testing.assert_allclose(some.velocity(x, x, v)[[0, 5, 7]], v[[0, 5, 7]], atol=1e-12)
    far = some.velocity([[1e4, 0, 0]], x, v)
    assert np.abs(far).max() < 1e-3


def test_kernels_equal_reference():
    x, v, b = cloud(23)
    for name, args, shape in (
        ("stokeslet_velocities", (b, x, v), (23, 3)),
        ("stokeslet_rates", (x, b, v), (23, 3)),
        ("stokeslet_matrix", (x,), (69, 69)),
        ("stokeslet_rate_matrix", (x, v), (69, 69)),
    ):
        ours, theirs = np.empty(shape), np.empty(shape)
        getattr(cpu, name)(*args, BLOB, MU, ours)
        getattr(reference, name)(*args, BLOB, MU, theirs)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())


def test_threads_give_the_same_bits():
    x, v, b = cloud(600)
    assert len(x) ** 2 >= cpu.stokes.PARALLEL_PAIRS
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(threads)
            u, du = np.empty((2, 600, 3))
            cpu.stokeslet_velocities(x, x, v, BLOB, MU, u)
            cpu.stokeslet_rates(x, b, v, BLOB, MU, du)
            results.append((u, du))
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(*results)


# ---------------------------------------------------------------------- the load


@pytest.mark.parametrize("particles", [None, [1, 2, 5, 9]])
@pytest.mark.parametrize("dense", [True, False])
def test_fluid_tangents_are_derivatives_of_its_force(particles, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(stokes_module, "DENSE_PARTICLES", 0)
    x, v, b = cloud()
    load = fluid_of(x, particles=particles)
    assert isinstance(load, MatrixFreeLoad)
    K, D = np.zeros((2, 12, 3))
    load.add_products(0.0, x, v, b, K, D)
    scale = np.abs(D).max()
    np.testing.assert_allclose(D, -along(lambda w: force(load, x, w), v, b), atol=1e-7 * scale)
    np.testing.assert_allclose(K, -along(lambda y: force(load, y, v), x, b), atol=1e-6 * scale)
    assert np.abs(K).max() > 0.1 * scale
    only = np.zeros((12, 3))
    load.add_products(0.0, x, v, b, None, only)
    np.testing.assert_array_equal(only, D)
    for matrix, product in zip(load.matrices(0.0, x, v), (K, D), strict=True):
        np.testing.assert_allclose(matrix @ b.ravel(), product.ravel(), atol=1e-9 * scale)


def test_the_fluid_only_takes_energy():
    x, v, _ = cloud()
    load = fluid_of(x)
    power = load.power(0.0, x, v)
    assert power.added == 0.0 and power.dissipated > 0.0
    assert power.dissipated == pytest.approx(-np.vdot(force(load, x, v), v), rel=1e-12)


def test_iterations_and_factorisation_agree(monkeypatch):
    x, v, _ = cloud(40)
    direct = force(fluid_of(x), x, v)
    monkeypatch.setattr(stokes_module, "DENSE_PARTICLES", 0)
    iterated = force(fluid_of(x), x, v)
    np.testing.assert_allclose(iterated, direct, atol=1e-8 * np.abs(direct).max())


@pytest.mark.parametrize("dense", [True, False])
def test_particles_that_meet_are_named_as_the_cause(dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(stokes_module, "DENSE_PARTICLES", 0)
    x, v, _ = cloud()
    load = fluid_of(x)
    x = x.copy()
    x[3] = x[4]
    with pytest.raises(NotConverged, match="smaller blob"):
        force(load, x, v)
    assert np.isnan(force(load, x + np.inf, v)).all()  # diverged: the time loop says so


# ---------------------------------------------------------------------- the motor

BASE, COUNTER = [0, 1, 2, 3], [4, 5, 6, 7, 8]


def motor_of(x, free=None, **options):
    return prepared_alone(MotorTorque(0.8, BASE, COUNTER, **options), x, free, rest=x)


@pytest.mark.parametrize("seed", range(5))
def test_motor_has_no_resultant_and_no_torque(seed):
    x, v, _ = cloud(seed=seed)
    load, _ = motor_of(x)
    f = force(load, x, v)
    np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(np.cross(x, f).sum(axis=0), 0.0, atol=1e-13)
    axis = x[BASE].mean(axis=0) - x[COUNTER].mean(axis=0)
    on_base = np.cross(x[BASE], f[BASE]).sum(axis=0)
    np.testing.assert_allclose(on_base, 0.8 * axis / np.linalg.norm(axis), atol=1e-12)
    assert not f[9:].any()
    power = load.power(0.0, x, v)
    assert power.added == pytest.approx(np.vdot(f, v)) and power.dissipated == 0.0


def test_forces_on_a_ring_are_tangential():
    angle = np.pi / 2 * np.arange(4)
    ring = np.stack([np.cos(angle), np.sin(angle), np.ones(4)], axis=1)
    x = np.concatenate([ring, 2.0 * ring - [0, 0, 3.0]])
    load, _ = prepared_alone(MotorTorque(2.0, [0, 1, 2, 3], [4, 5, 6, 7]), x, rest=x)
    f = force(load, x, x)
    tangent = np.stack([-np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(f[:4], 0.5 * tangent, atol=1e-12)  # 4 * 0.5 * radius 1 = 2
    np.testing.assert_allclose(f[4:], -0.25 * tangent, atol=1e-12)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_motor_has_the_same_torque_at_every_scale(size):
    x = size * cloud()[0]
    load, _ = motor_of(x)
    f = force(load, x, np.zeros_like(x))
    arms = x[BASE] - x[BASE].mean(axis=0)
    torque = np.cross(arms, f[BASE]).sum(axis=0)
    assert np.linalg.norm(torque) == pytest.approx(0.8)
    with pytest.raises(InputError, match="axis has no length"):
        motor_of(x, axis=(BASE, BASE))


def motor_without_rest(x, **options):
    """The System cannot know yet that this motor has nothing to turn."""
    system = System(np.ones(len(x)), [MotorTorque(1.0, BASE, COUNTER, **options)])
    return stiffly.simulate(system, x, integrator="verlet", step=0.01, duration=0.1)


def test_a_motor_that_cannot_turn_is_named_in_the_run():
    x = cloud()[0]
    x[BASE] = np.arange(len(BASE))[:, None] * [1.0, 2.0, -0.5]
    with pytest.raises(NotConverged, match="motor's group lie on one line"):
        motor_without_rest(x)
    with pytest.raises(NotConverged, match="motor's axis has no length"):
        motor_without_rest(cloud()[0], axis=(7, 7))


@pytest.mark.parametrize("axis", [None, (9, 10), ([0, 9], [4, 11])])
def test_motor_tangent_is_the_derivative_of_its_force(axis):
    x, v, b = cloud(seed=3)
    free = np.array([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11])  # particle 3 is held
    load, pattern = motor_of(x, free, axis=axis)
    assert isinstance(load, PreparedLoad) and not isinstance(load, MatrixFreeLoad)
    K, D = np.zeros((2, pattern.nnz, 3, 3))
    load.add_tangents(0.0, x, v, K, D)
    b[3] = 0.0
    product = np.zeros((len(free), 3))
    rows = np.repeat(np.arange(len(free)), np.diff(pattern.indptr))
    np.add.at(product, rows, np.einsum("mij,mj->mi", K, b[free][pattern.indices]))
    expected = -along(lambda y: force(load, y, v), x, b)[free]
    np.testing.assert_allclose(product, expected, atol=1e-8)
    assert np.abs(expected).max() > 0.1 and not D.any()


# ---------------------------------------------------------------------- a swimmer


def swimmer(torque, rings=9):
    """A round head, and behind it (-z) a left-handed helical tail of triangles, tied by springs."""
    points = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
    head = 0.4 * points + [0, 0, 0.7]
    s = np.arange(rings)
    radius = 0.4 * np.minimum(1.0, s / 2.0)  # starts on the axis
    turn = 2 * np.pi * s / 7.0
    line = np.stack([radius * np.cos(turn), radius * np.sin(turn), -0.3 * s], axis=1)
    corners = 2 * np.pi * np.arange(3) / 3.0
    triangle = 0.15 * np.stack([np.cos(corners), np.sin(corners), 0 * corners], axis=1)
    tail = (line[:, None] + triangle).reshape(-1, 3)
    bearing = [[0, 0, 0.15], [0, 0, -0.15]]  # on the axis: holds head and tail, lets them turn
    x = np.concatenate([head, tail, bearing])
    top, bottom = len(x) - 2, len(x) - 1
    edges = [(i, j) for i in range(6) for j in range(i)]
    for k in range(rings):
        ring = 6 + 3 * k + np.arange(3)
        edges += [(ring[1], ring[0]), (ring[2], ring[0]), (ring[2], ring[1])]
        edges += [(i, j) for i in ring for j in ring - 3 if k]
    edges += [(end, j) for end in (top, bottom) for j in range(12)] + [(top, bottom)]
    parts = [
        Springs(np.array(edges), 1000.0, rest_positions=x),
        MotorTorque(torque, [6, 7, 8], range(6), axis=(top, bottom)),
        StokesFluid(1.0, 0.12),
    ]
    return System(np.full(len(x), 1e-2), parts, rest=x), x


def swim(torque, method, duration, step):
    system, x = swimmer(torque)
    return stiffly.simulate(system, x, integrator=method, step=step, duration=duration)


def test_swimmer_swims_and_the_motor_reverses_it():
    """Along its axis by more than half a blob in four seconds, and little to the side."""
    ahead, back = (swim(torque, "bdf1", 4.0, 0.05) for torque in (2.0, -2.0))
    ways = [np.ptp(run.positions[[0, -1]].mean(axis=1), axis=0) for run in (ahead, back)]
    ends = [(run.positions[-1] - run.positions[0]).mean(axis=0)[2] for run in (ahead, back)]
    assert ends[0] > 0.5 * 0.12 and ends[1] < -0.5 * 0.12
    for way in ways:
        assert way[2] > 4.0 * max(way[0], way[1])


def test_swimmer_energy_is_accounted_for():
    """What the motor adds, the fluid takes or the springs hold; two methods tell one story."""
    exponential, implicit = (swim(1.0, method, 1.0, 0.02) for method in ("exprb42", "midpoint"))
    energy = exponential.energy
    assert energy.added[-1] > 1.0 and energy.dissipated[-1] > 0.8 * energy.added[-1]
    assert np.abs(energy.numerical).max() < 0.005 * energy.added[-1]
    moved = np.abs(exponential.positions[-1] - exponential.positions[0]).max()
    apart = np.abs(exponential.positions[-1] - implicit.positions[-1]).max()
    assert apart < 0.01 * moved


def test_swimmer_system_tangent():
    system, x = swimmer(1.0)
    rng = np.random.default_rng(0)
    bound, s = system.bind(x + 0.01 * rng.standard_normal(x.shape), rng.standard_normal(x.shape))
    b = rng.standard_normal(s.x.size)
    tangent = bound.tangent(s)
    assert not tangent.symmetric
    K = -along(lambda y: bound.acceleration(State(0.0, y, s.v)), s.x, b)
    D = -along(lambda w: bound.acceleration(State(0.0, s.x, w)), s.v, b)
    np.testing.assert_allclose(tangent.stiffness.apply(b), K, atol=1e-6 * np.abs(K).max())
    np.testing.assert_allclose(tangent.damping.apply(b), D, atol=1e-6 * np.abs(D).max())


def test_fixed_particles_are_obstacles_in_the_fluid():
    """They slow the others down, and the tangents are those of the free particles alone."""
    x, v, _ = cloud()
    v[[0, 4]] = 0.0
    parts = [StokesFluid(MU, BLOB)]
    system, s = System(np.ones(12), parts, fixed=[0, 4], rest=x).bind(x, v)
    b = np.random.default_rng(1).standard_normal(s.x.size)
    tangent = system.tangent(s)
    K = -along(lambda y: system.force(State(0.0, y, s.v)), s.x, b)
    D = -along(lambda w: system.force(State(0.0, s.x, w)), s.v, b)
    np.testing.assert_allclose(tangent.stiffness.apply(b), K, atol=1e-6 * np.abs(D).max())
    np.testing.assert_allclose(tangent.damping.apply(b), D, atol=1e-6 * np.abs(D).max())
    alone = StokesFluid(MU, BLOB, particles=system.free).prepared_for(12)
    assert system.power(s).dissipated > alone.power(0.0, x, v).dissipated


# ---------------------------------------------------------------------- refusals


def in_system(part, x):
    return System(np.ones(len(x)), [part], rest=x)


LINE = np.arange(12.0)[:, None] * [1.0, 0, 0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: StokesFluid(0.0, 0.1), "viscosity = 0: .*greater than 0"),
        (lambda: StokesFluid(1.0, np.nan), "blob is nan"),
        (lambda: StokesFluid("a", 1), "viscosity must be one number, got 'a'"),
        (lambda: StokesFluid(None, 1), "viscosity must be one number"),
        (lambda: StokesFluid(np.ones(2), 1), "viscosity must be one number"),
        (lambda: in_system(StokesFluid(1.0, 0.3, []), cloud()[0]), "touches no particle"),
        (lambda: StokesFluid(1.0, 0.3).velocity(np.ones(3), *cloud()[:2]), "points have shape"),
        (lambda: in_system(StokesFluid(1.0, 0.1, [12]), cloud()[0]), "particle 12"),
        (
            lambda: in_system(StokesFluid(1.0, 0.1), np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0]])),
            "particles 0 and 2",
        ),
        (lambda: MotorTorque(np.inf, [0], [1]), "torque is inf"),
        (lambda: in_system(MotorTorque(1.0, [0, 1], [3, 4, 5]), LINE), "base has 2 particles"),
        (lambda: in_system(MotorTorque(1.0, [0, 1, 2], [3, 4, 5]), LINE), "base lie on one line"),
        (lambda: MotorTorque("a", [0], [1]), "torque must be one number"),
        (
            lambda: in_system(MotorTorque(1.0, [0, 1, 2], [4, 3, 2]), cloud()[0]),
            "particle 2 is in both base and counter",
        ),
        (lambda: in_system(MotorTorque(1.0, [0, 1, 99], [3, 4, 5]), LINE), "particle 99"),
        (lambda: in_system(MotorTorque(1.0, [0, 1, 2], [3, 4, 5], axis=3), LINE), "axis must be"),
        (
            lambda: in_system(MotorTorque(1.0, [0, 1, 2], [3, 4, 5], axis=(7, 7)), cloud()[0]),
            "axis has no length",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
