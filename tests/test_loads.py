"""Loads: forces against their tangents by differences, power against force times velocity, and
the ledger of whole runs."""

import numpy as np
import pytest
import reference
from thinned import thinned

import stiffly
from stiffly.bodies import Dashpots, Drag, Field, Force, Gravity, Springs, System, Wind
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.meshes import lattice, rope

SHEET = lattice(4, 4)
FORCING = {
    "wind": lambda: Wind(SHEET.triangles, (3.0, -1.0, 2.0)),
    "gusts": lambda: Wind(SHEET.triangles, lambda t: (3.0 * np.sin(5.0 * t), 0.0, 2.0)),
    "viscous drag": lambda: Drag(0.3),
    "dashpots": lambda: Dashpots(SHEET.edges, np.linspace(1.0, 9.0, len(SHEET.edges))),
    "turbulent drag": lambda: Drag(np.linspace(0.1, 0.4, 16), power=2, wind=(1.0, 0.5, 0.0)),
    "field": lambda: Field(lambda t: (np.cos(3.0 * t), 0.0, t)),
    "force": lambda: Force([3, 7], lambda t: (0.0, 0.0, np.sin(2.0 * t))),
    "forces": lambda: Force([3, 7], lambda t: np.outer([1.0, 2.0], (0.0, t, 1.0))),
    "own force": lambda: Force([3, 7, 9], lambda t, x, v: np.cross((0.0, t, 1.0), x) - v * v * v),
}


def sheet(*parts, fixed=(0, 3), damping=None, stiffness=500.0):
    parts = [Springs(SHEET.edges, stiffness), *parts]
    return System(np.full(16, 0.1), parts, fixed, SHEET.positions, damping)


def random_state(system, seed=0):
    rng = np.random.default_rng(seed)
    x = SHEET.positions + 0.2 * rng.standard_normal((16, 3))
    v = rng.standard_normal((16, 3))
    v[system.fixed] = 0.0
    bound, s = system.bind(x, v)
    return bound, State(0.7, s.x, s.v)


def derivative(f, z, e=1e-5):
    columns = []
    for j in range(z.size):
        d = np.zeros_like(z)
        d[j] = e
        columns.append((f(z + d) - f(z - d)) / (2 * e))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", FORCING)
def test_tangents_are_the_derivatives_of_the_force(name):
    system, s = random_state(sheet(FORCING[name]()))
    tangent = system.tangent(s)
    K = -derivative(lambda x: system.force(State(s.t, x, s.v)), s.x)
    D = -derivative(lambda v: system.force(State(s.t, s.x, v)), s.v)
    np.testing.assert_allclose(tangent.matrix(0, 1, 0).toarray(), K, atol=1e-6 * np.abs(K).max())
    np.testing.assert_allclose(
        tangent.matrix(0, 0, 1).toarray() if tangent.damping is not None else 0.0 * D,
        D,
        atol=1e-8,
    )
    symmetric = np.abs(K - K.T).max() < 1e-6 * np.abs(K).max()
    assert tangent.symmetric <= symmetric
    b = np.random.default_rng(1).standard_normal(system.size)
    np.testing.assert_allclose(tangent.stiffness.apply(b), K @ b / 0.1, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("name", FORCING)
def test_what_is_elastic_is_symmetric_whatever_the_loads(name):
    system, s = random_state(sheet(FORCING[name]()))
    bare, _ = random_state(sheet())
    a, b = np.random.default_rng(2).standard_normal((2, system.size))
    elastic = system.elastic(s)
    assert a @ elastic.apply(b) == pytest.approx(b @ elastic.apply(a), rel=1e-10)  # equal masses
    np.testing.assert_allclose(elastic.apply(a), bare.elastic(s).apply(a), rtol=1e-12)


@pytest.mark.parametrize("name", FORCING)
def test_power_is_force_times_velocity(name):
    bare, s = random_state(sheet())
    system, _ = random_state(sheet(FORCING[name]()))
    power = system.power(s)
    load = system.force(s) - bare.force(s)
    np.testing.assert_allclose(power.added - power.dissipated, load @ s.v, rtol=1e-10)
    if "drag" in name or name in ("wind", "gusts", "dashpots"):
        assert power.dissipated > 0.0


@pytest.mark.parametrize("name", FORCING)
def test_rate_is_the_time_derivative_of_the_acceleration(name):
    system, s = random_state(sheet(FORCING[name]()))
    e = 1e-4
    ahead, behind = (system.acceleration(State(s.t + d, s.x, s.v)) for d in (e, -e))
    np.testing.assert_allclose(
        system.acceleration_rate(s, 1e-2), (ahead - behind) / (2 * e), rtol=1e-5, atol=1e-5
    )


BOOKED = [(name, method) for name in FORCING for method in ("midpoint", "pexprb43")]


@pytest.mark.parametrize(
    "name, integrator",
    thinned(BOOKED, keep=lambda case: case[1] == "midpoint" or case[0] == "turbulent drag"),
)
def test_ledger_closes(name, integrator):
    """At a small step what is numerical is far below what the load moved."""
    system = sheet(Gravity(), FORCING[name]())
    run = stiffly.simulate(system, SHEET.positions, integrator=integrator, step=1e-3, duration=0.3)
    moved = max(abs(run.energy.added[-1]), abs(run.energy.dissipated[-1]))
    assert moved > 1e-3
    assert np.abs(run.energy.numerical).max() < 2e-3 * moved


@pytest.mark.parametrize("name", ["wind", "turbulent drag", "field", "dashpots"])
def test_fourth_order_with_loads(name):
    """Exact K and D: an exponential Rosenbrock method keeps its order."""
    loads = [FORCING[name]()]
    if name == "dashpots":  # they move nothing by themselves; light ones, for a step of 0.02 s
        loads = [Dashpots(SHEET.edges, 0.5), Gravity()]
    system = sheet(*loads, stiffness=20.0)
    ends = [
        stiffly.simulate(
            system, SHEET.positions, integrator="pexprb43", step=h, duration=0.2
        ).positions[-1]
        for h in (0.02, 0.01, 0.005)
    ]
    reference = stiffly.simulate(
        system, SHEET.positions, integrator="rk4", step=2e-4, duration=0.2
    ).positions[-1]
    errors = [np.abs(end - reference).max() for end in ends]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(slopes > 3.8), (errors, slopes)


@pytest.mark.parametrize("integrator", ["neti", "eti", "verlet", "newmark"])
def test_second_order_methods_take_wind(integrator):
    system = sheet(FORCING["wind"](), stiffness=20.0)
    ends = [
        stiffly.simulate(
            system, SHEET.positions, integrator=integrator, step=h, duration=0.2
        ).positions[-1]
        for h in (0.004, 0.002, 0.0002)
    ]
    errors = [np.abs(end - ends[-1]).max() for end in ends[:2]]
    assert errors[0] < 0.02
    assert errors[0] / errors[1] > 1.8, errors  # damping is of first order in eti and neti


def test_terminal_velocity_of_falling_particles():
    """Exact: v = m g / c (viscous) and sqrt(m g / c) (turbulent), after thirty times m/c."""
    for power, expected in ((1, 0.1 * 9.81 / 2.0), (2, np.sqrt(0.1 * 9.81 / 2.0))):
        system = System([0.1, 0.1], [Gravity(), Drag(2.0, power=power)], rest=np.eye(3)[:2])
        run = stiffly.simulate(
            system, np.eye(3)[:2], step=0.01, duration=1.5, integrator="pexprb43"
        )
        np.testing.assert_allclose(run.velocities[-1], [[0, 0, -expected]] * 2, atol=1e-7)


def test_wind_pushes_a_plate_by_its_dynamic_pressure():
    """A unit square across a wind of 10 m/s: density/2 C v^2 area, whichever side it faces."""
    square = lattice(2, 2)
    for triangles in (square.triangles, square.triangles[:, ::-1]):
        system = System(np.ones(4), [Wind(triangles, (0, 0, 10.0), coefficient=2.0)])
        bound, s = system.bind(square.positions)
        total = bound.force(s).reshape(-1, 3).sum(axis=0)
        np.testing.assert_allclose(total, [0, 0, 0.5 * 1.2 * 2.0 * 100.0])


def test_functions_of_time_are_never_asked_about_the_past():
    def slow(t):
        assert t >= 0.0
        return (0.0, t**1.5, 0.0)

    system = sheet(Field(slow))
    run = stiffly.simulate(system, SHEET.positions, integrator="exprb42", step=0.01, duration=0.1)
    assert run.energy.added[-1] > 0.0


def test_fast_forcing_of_small_things():
    """A frequency of 1e9 rad/s with steps of 1e-11 s: the rate follows the step."""
    omega = 1e9
    system = System([1.0], [Field(lambda t: (np.sin(omega * t), 0.0, 0.0))])
    bound, s = system.bind(np.zeros((1, 3)))
    for t in (0.0, 1e-9, 2.3e-8):
        rate = bound.acceleration_rate(State(t, s.x, s.v), 1e-11)
        np.testing.assert_allclose(rate[0], omega * np.cos(omega * t), rtol=1e-6, atol=1e-6 * omega)


def test_functions_of_time_that_fail_later_are_named():
    wrong = sheet(Wind(SHEET.triangles, lambda t: (1, 0, 0) if t < 0.05 else (1, 0)))
    with pytest.raises(InputError, match=r"wind\(t = 0.0\d+\) has shape \(2,\)"):
        stiffly.simulate(wrong, SHEET.positions, integrator="verlet", step=0.01, duration=0.1)


def test_still_air_only_takes():
    system, s = random_state(sheet(Wind(SHEET.triangles, (0.0, 0.0, 0.0))))
    power = system.power(s)
    assert power.added == 0.0
    assert power.dissipated > 0.0


def test_wind_kernels_equal_their_reference():
    rng = np.random.default_rng(3)
    x, v = rng.standard_normal((2, 16, 3))
    x[5] = x[4]  # triangles with a corner doubled have no area
    triangles = SHEET.triangles.astype(np.uint32)
    q, wind = rng.random(len(triangles)), rng.standard_normal(3)
    forces = [np.ones((16, 3)), np.ones((16, 3))]
    for kernels, out in zip((cpu, reference), forces, strict=True):
        kernels.wind_forces(x, v, triangles, wind, q, out)
    np.testing.assert_allclose(*forces, rtol=1e-12, atol=1e-13)
    slots = rng.integers(0, 40, (len(triangles), 3, 3)).astype(np.uint32)
    slots[::4, 1, 2] = cpu.NO_SLOT
    blocks = [np.ones((2, 40, 3, 3)), np.ones((2, 40, 3, 3))]
    for kernels, (K, D) in zip((cpu, reference), blocks, strict=True):
        kernels.wind_tangents(x, v, triangles, wind, q, slots, K, D)
    np.testing.assert_allclose(*blocks, rtol=1e-11, atol=1e-11)


def test_dashpot_kernels_equal_their_reference():
    rng = np.random.default_rng(4)
    x, v = rng.standard_normal((2, 16, 3))
    x[SHEET.edges[0, 0]] = x[SHEET.edges[0, 1]]  # no direction
    edges, c = SHEET.edges.astype(np.uint32), rng.random(len(SHEET.edges))
    forces = [np.ones((16, 3)), np.ones((16, 3))]
    for kernels, out in zip((cpu, reference), forces, strict=True):
        kernels.dashpot_force(x, v, edges, c, out)
    np.testing.assert_allclose(*forces, rtol=1e-12, atol=1e-13)
    slots = rng.integers(0, 40, (len(edges), 4)).astype(np.uint32)
    slots[::4, 2] = cpu.NO_SLOT
    blocks = [np.ones((2, 40, 3, 3)), np.ones((2, 40, 3, 3))]
    for kernels, (K, D) in zip((cpu, reference), blocks, strict=True):
        kernels.dashpot_tangents(x, v, edges, c, slots, K, D)
    np.testing.assert_allclose(*blocks, rtol=1e-11, atol=1e-11)


def test_dashpots_leave_flying_and_spinning_alone():
    """However far the body has turned; stiffness damping of the rest shape does not."""
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    x = SHEET.positions @ turn.T
    v = np.cross([0.3, 0.4, 2.0], x) + np.array([1.0, 2.0, 3.0])
    bound, s = sheet(Dashpots(SHEET.edges, 5.0), fixed=()).bind(x, v)
    plain, _ = sheet(fixed=()).bind(x, v)
    np.testing.assert_allclose(bound.force(s), plain.force(s), atol=1e-12)
    assert abs(bound.power(s).dissipated) < 1e-12
    rayleigh, _ = sheet(fixed=(), damping=stiffly.Rayleigh(0.0, 5.0 / 500.0)).bind(x, v)
    assert rayleigh.power(s).dissipated > 1.0


def test_loads_join_with_rayleigh_damping():
    damping = stiffly.Rayleigh(0.5, 1e-3)
    system, s = random_state(sheet(Drag(0.3), damping=damping))
    plain, _ = random_state(sheet(damping=damping))
    D = system.tangent(s).matrix(0, 0, 1) - plain.tangent(s).matrix(0, 0, 1)
    np.testing.assert_allclose(D.toarray(), 0.3 * np.eye(system.size), atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Wind([[0, 1, 99]], (1, 0, 0)), r"triangle 0 \(0, 1, 99\): there are only 16"),
        (lambda: Wind([[0, 1, 1]], (1, 0, 0)), r"triangle 0 \(0, 1, 1\): it names a particle"),
        (lambda: Wind([[0, 1]], (1, 0, 0)), r"\(m, 3\) is needed"),
        (lambda: Wind(SHEET.triangles, (1, 0)), r"wind has shape \(2,\), but \(3,\)"),
        (lambda: Wind(SHEET.triangles, "north"), "wind must hold numbers, got text"),
        (lambda: Wind(SHEET.triangles, (1, 0, 0), density=-1.0), "density = -1: .* greater than 0"),
        (lambda: Wind(SHEET.triangles, (1, 0, 0), density="a"), "density must be one number"),
        (lambda: Wind(SHEET.triangles, (1, 0, 0), coefficient=-1.0), r"coefficient\[0\] = -1"),
        (lambda: Wind([[0, 1, 2], [3]], (1, 0, 0)), "rows of different lengths"),
        (lambda: Wind(SHEET.triangles, lambda t, x: (1, 0, 0)), "function of t alone"),
        (lambda: Drag(1.0, power=np.ones(2)), "drag power"),
        (lambda: Force([1, 2], np.ones((3, 3))), r"force has shape \(3, 3\), .* \(2, 3\)"),
        (lambda: Force([1], lambda: (0, 0, 1)), r"function of t, of \(t, x\) or of \(t, x, v\)"),
        (lambda: Force([1, 2], lambda t, x: x[0, 0]), r"force\(t = 0\) has shape \(\)"),
        (lambda: Force([1, 2], lambda t, x: None), "got None: a function has to return them"),
        (lambda: Force([1, 2], lambda t, x: x * np.nan), r"force\(t = 0\)\[0, 0\] is nan"),
        (lambda: Dashpots([[0, 16]], 1.0), r"dashpot 0 \(0, 16\): there are only 16"),
        (lambda: Dashpots([[0, 1]], -1.0), r"dashpot 0 \(0, 1\): coefficient is negative"),
        (lambda: Drag(-1.0), r"drag coefficient\[0\] = -1"),
        (lambda: Drag(1.0, power=3), "drag power = 3"),
        (lambda: Drag([1.0, 2.0]), "give one number, or one of 16"),
        (lambda: Field(lambda t: (0.0, np.nan, 0.0)), r"field acceleration\(t = 0\)"),
        (lambda: Force([16], (1, 0, 0)), "force names particle 16"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        sheet(make())


def test_rope_in_a_cross_wind_leans_over():
    mesh = rope(10)
    system = System(
        np.full(10, 0.01),
        [Springs(mesh.edges, 100.0), Gravity(), Drag(0.01, wind=(0.0, 8.0, 0.0))],
        [0],
        mesh.positions,
    )
    run = stiffly.simulate(system, mesh.positions, step=0.02, duration=4, integrator="pexprb43")
    end = run.positions[-1, -1]
    assert end[1] > 0.2
    assert end[2] < -0.2
