"""Bodies that touch things: bounces, friction, moving shapes, and what the ledger says."""

import numpy as np
import pytest
from thinned import thinned

from stiffly import Gravity, Springs, State, StiffWarning, System, simulate
from stiffly.bodies import cloth_springs
from stiffly.collisions import Contact, Hemisphere, Plane, Sphere, keyframes, path, planes, rotation
from stiffly.collisions.shapes import RigidShape
from stiffly.integrators import Bdf1, LocalGlobal
from stiffly.meshes import cloth, cube

G = 9.81
FLOOR = Plane((0, 0, 0), (0, 0, 1))
ROOM = Sphere((0, 0, 0), 1.0, inside=True)


def falling(stiffness, shape=FLOOR, mass=1.0, **options):
    return System(np.array([mass]), [Gravity(), Contact(shape, stiffness, **options)])


# ---------------------------------------------------------------------- bounces


@pytest.mark.parametrize(
    ("method", "share", "error"),
    # share: step times the contact's frequency sqrt(k/m).  Where a contact begins or ends within a
    # step the force has a kink, so every method is of first or second order there.
    thinned(
        [
            ("verlet", 0.1, 3e-3),
            ("exprb42", 0.1, 1e-3),
            ("midpoint", 0.1, 3e-3),
            ("exprb42", 1.0, 0.1),
            ("midpoint", 1.0, 0.2),
            ("pexprb43", 0.1, 1e-3),
        ],
        keep=5,
    ),
)
def test_a_bounce_returns_the_energy_if_the_step_resolves_it(method, share, error):
    """Two bounces from 1 m; errors relative to the energy of the fall."""
    k = 1e4
    step = share / np.sqrt(k)
    if error >= 0.1:
        with pytest.warns(StiffWarning, match="numerical error"):
            run = simulate(falling(k), [[0, 0, 1.0]], integrator=method, step=step, duration=1.5)
    else:
        run = simulate(falling(k), [[0, 0, 1.0]], integrator=method, step=step, duration=1.5)
    assert run.positions[:, 0, 2].min() < -0.04  # it has been there: sqrt(2 m g h / k)
    assert abs(run.energy.numerical).max() < error * G
    assert not run.energy.added.any() and not run.energy.dissipated.any()


def test_a_bounce_is_as_deep_and_as_high_as_theory_says():
    """k/2 d^2 = m g (H + d), and back to H."""
    k = 1e4
    run = simulate(
        falling(k), [[0, 0, 1.0]], integrator="verlet", step=2e-4, duration=1.0, every=2e-4
    )
    depth = G / k + np.sqrt((G / k) ** 2 + 2.0 * G / k)
    z = run.positions[:, 0, 2]
    assert -z.min() == pytest.approx(depth, rel=1e-3)
    assert z[len(z) // 2 :].max() == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("method", ["exprb42", "pexprb43"])
def test_contact_of_1e15_is_met_by_adaptive_steps(method):
    """An impact that lasts 1e-7 s, from a tenth of a micrometre away.

    From metres away the error estimate may miss it: a step can jump over the whole contact.
    """
    system = System(np.ones(1), [Contact(FLOOR, 1e15)])
    run = simulate(
        system, [[0, 0, 1e-7]], [[0.3, 0, -1.0]], integrator=method, rtol=1e-7, duration=3e-7
    )
    np.testing.assert_allclose(run.velocities[-1, 0], [0.3, 0.0, 1.0], atol=1e-3)


def mean_step(system, s, h, iterations=60):
    """One step of x1 = x0 + h (v0 + v1)/2, M (v1 - v0) = h F(x0, x1): Newton until it stalls."""
    d, best = np.zeros_like(s.v), (np.inf, None)
    for _ in range(iterations):
        new = State(s.t + h, s.x + h * (s.v + 0.5 * d), s.v + d)
        r = system.mass.apply(d) - h * system.mean_force(s, new)
        if np.abs(r).max() >= best[0] and best[0] < 1e-6:
            return best[1]
        if np.abs(r).max() < best[0]:
            best = (np.abs(r).max(), new)
        J = system.mean_tangent(s, new).matrix(1.0, 0.5 * h * h, h)
        d = d - np.linalg.solve(J.toarray() if hasattr(J, "toarray") else J, r)
    raise AssertionError(f"Newton stalled at {best[0]}")


@pytest.mark.parametrize(("stiffness", "error"), [(1e4, 1e-13), (1e8, 1e-12), (1e15, 1e-6)])
def test_discrete_gradients_bounce_at_any_stiffness(stiffness, error):
    """Steps of 0.02 s over contacts of 1e-2 to 1e-7 s: height and energy come back.

    At k = 1e15 a rounding of the position by 1e-17 m is a force of 1e-2 N.
    """
    system, s = falling(stiffness).bind([[0, 0, 1.0]])
    heights, worst = [], 0.0
    start = sum(system.energy(s).values())
    for _ in range(150):
        s = mean_step(system, s, 0.02)
        worst = max(worst, abs(sum(system.energy(s).values()) - start))
        heights.append(s.x[2])
    bounces = np.flatnonzero(np.diff(np.sign(np.diff(heights))) > 0)
    assert len(bounces) >= 3 and min(heights) < 0.0
    assert worst < error * start


def test_discrete_gradients_keep_the_angular_momentum_in_a_round_room():
    """Without gravity, about the centre of a hollow sphere."""
    system, s = System(np.ones(1), [Contact(ROOM, 1e6)]).bind([[0.3, 0, 0]], [[1.0, 2.0, 3.0]])
    before, energy, touched = np.cross(s.x, s.v), 7.0, 0
    for _ in range(60):
        s = mean_step(system, s, 0.05)
        touched += system.diagnostics(s)["contacts"] > 0
        np.testing.assert_allclose(np.cross(s.x, s.v), before, atol=1e-8)
        assert sum(system.energy(s).values()) == pytest.approx(energy, abs=1e-9)
    assert touched > 3


def test_an_elastic_body_bounces_and_the_ledger_closes():
    mesh = cube(2, side=0.5)
    x0 = mesh.positions + np.array([0, 0, 0.2 - mesh.positions[:, 2].min()])
    parts = [Springs(mesh.edges, 2e4), Gravity(), Contact(FLOOR, 2e4)]
    system = System(0.1, parts, rest=mesh.positions)
    run = simulate(system, x0, integrator="verlet", step=5e-5, duration=0.5)
    assert run.energy.contact.max() > 0.1 * run.energy.exchanged
    assert run.energy.contact[np.argmax(run.energy.contact) :].min() == 0.0  # it lifts off
    assert abs(run.energy.numerical).max() < 1e-3 * run.energy.exchanged


# ---------------------------------------------------------------------- friction


@pytest.mark.parametrize("method", ["verlet", "exprb42", "midpoint"])
def test_sliding_slows_down_by_k_f_g(method):
    k, start, k_f = 1e4, 2.0, 0.3
    run = simulate(
        falling(k, friction=k_f),
        [[0, 0, -G / k]],
        [[start, 0, 0]],
        integrator=method,
        step=2e-3,
        duration=1.0,
    )
    v, stop = run.velocities[:, 0, 0], start / (k_f * G)
    np.testing.assert_allclose(v, np.maximum(0.0, start - k_f * G * run.times), atol=1e-3)
    assert np.all(v[run.times > stop + 0.01] == 0.0)  # and stays, never reversed
    assert run.energy.dissipated[-1] == pytest.approx(0.5 * start**2, abs=1e-12)
    assert abs(run.energy.numerical).max() < 1e-12


@pytest.mark.parametrize("k_f", [0.4, 0.9])
def test_on_a_slope_it_slides_or_stays(k_f):
    """30 degrees: tan = 0.577."""
    a, k, h = np.pi / 6, 1e4, 1e-3
    n = np.array([-np.sin(a), 0.0, np.cos(a)])
    x0 = -n * G * np.cos(a) / k
    system = falling(k, Plane((0, 0, 0), n), friction=k_f)
    run = simulate(system, [x0], integrator="verlet", step=h, duration=1.0)
    way = np.linalg.norm(run.positions[-1, 0] - x0)
    if k_f > np.tan(a):
        assert way == pytest.approx(0.5 * h * G * np.sin(a), rel=0.01)  # the creep of one step
    else:
        assert way == pytest.approx(0.5 * G * (np.sin(a) - k_f * np.cos(a)), rel=0.01)
    assert abs(run.energy.numerical).max() < 1e-11


def test_friction_follows_the_mass_and_the_pressure():
    """A heavy and a light particle stop after the same way; one in the air never."""
    k = 1e4
    mass = np.array([0.1, 2.0, 1.0])
    x0 = np.column_stack([np.zeros(3), np.arange(3.0), -mass * G / k])
    x0[2, 2] = 50.0
    system = System(mass, [Gravity(), Contact(FLOOR, k, friction=0.5)])
    v0 = np.tile([1.0, 0, 0], (3, 1))
    run = simulate(system, x0, v0, integrator="verlet", step=1e-3, duration=0.5)
    np.testing.assert_allclose(run.positions[-1, :2, 0], 0.5 / (0.5 * G), rtol=0.01)
    assert run.velocities[-1, 2, 0] == 1.0


# ---------------------------------------------------------------------- shapes that move


def lift(h, method="midpoint"):
    plate = Plane((0, 0, 0), (0, 0, 1), keyframes([0.0, 1.0], [[0, 0, 0], [0, 0, 0.5]]))
    system = falling(1e3, plate)
    return simulate(system, [[0, 0, -G / 1e3]], integrator=method, step=h, duration=0.9)


@pytest.mark.parametrize("method", ["midpoint", "verlet", "exprb42"])
def test_a_rising_plate_adds_exactly_what_the_body_gains(method):
    run = lift(2e-3, method)
    assert run.energy.added[-1] > 0.4 * G
    assert not run.energy.dissipated.any()
    # while it touches, the contact is linear; there verlet's energy swings by (h omega)^2 / 4
    error = (2e-3) ** 2 * 1e3 / 4.0 * run.energy.exchanged if method == "verlet" else 1e-12
    assert abs(run.energy.numerical).max() < error


def test_a_moving_shape_is_followed_to_second_order():
    ends = [lift(h).positions[-1, 0, 2] for h in (8e-3, 4e-3, 2e-3)]
    assert (ends[0] - ends[1]) / (ends[1] - ends[2]) == pytest.approx(4.0, rel=0.35)


def test_a_belt_does_work_and_makes_heat():
    """Dragged up to speed u, a mass gains m u^2/2, and as much is lost in friction."""
    u, k = 1.5, 1e4
    run_along = path(
        lambda t, s: np.add(s, [u * t, 0, 0]), lambda t, s: np.tile([u, 0, 0], (len(s), 1))
    )
    belt = Plane((0, 0, 0), (0, 0, 1), run_along)
    system = falling(k, belt, friction=0.5)
    run = simulate(system, [[0, 0, -G / k]], integrator="verlet", step=1e-3, duration=0.6)
    np.testing.assert_allclose(run.velocities[-1, 0], [u, 0, 0], atol=1e-9)
    assert run.energy.added[-1] == pytest.approx(u**2, rel=1e-9)
    assert run.energy.dissipated[-1] == pytest.approx(0.5 * u**2, rel=5e-3)
    assert abs(run.energy.numerical).max() < 1e-12


def test_a_turning_room_carries_its_content_along():
    """A particle at rest in a spinning rough sphere is dragged in the sense of the spin."""
    room = Sphere((0, 0, 0), 1.0, inside=True, motion=rotation(axis=(0, 1, 0), rate=3.0))
    system = falling(1e4, room, friction=0.3)
    run = simulate(system, [[0, 0, -1.0 - G / 1e4]], integrator="verlet", step=1e-3, duration=0.5)
    # omega x r at the bottom: (0, 3, 0) x (0, 0, -1) = (-3, 0, 0)
    assert run.positions[-1, 0, 0] < -0.05 and run.energy.added[-1] > 0.0
    assert abs(run.energy.numerical).max() < 1e-3


class Field(RigidShape):
    """A shape known near the particles only, as a mesh is: here, planes of a ball."""

    local = True

    def surface(self, t, x, ahead=0.0):
        normals = x / np.linalg.norm(x, axis=1)[:, None]
        return planes(normals, normals, self.frame(t), far=np.linalg.norm(x, axis=1) > 1.5)


def test_local_shapes_close_the_ledger():
    """A particle that slides over a ball: planes differ from place to place."""
    x0, v0 = np.array([[0.2, 0.0, 0.97]]), np.array([[1.0, 0.3, 0.0]])
    ball = Sphere((0, 0, 0), 1.0)
    runs = [
        simulate(falling(1e4, s), x0, v0, integrator="verlet", step=2e-4, duration=0.4)
        for s in (Field(), ball)
    ]
    for run in runs:
        assert abs(run.energy.numerical).max() < 0.02
    np.testing.assert_allclose(runs[0].positions[-1], runs[1].positions[-1], atol=0.02)
    assert not runs[0].energy.added.any() and not runs[1].energy.added.any()


def test_a_system_can_be_run_twice():
    plate = Plane((0, 0, 0), (0, 0, 1), keyframes([0.0, 0.2], [[0, 0, 0], [0, 0, 0.3]]))
    system = falling(1e3, [plate, Hemisphere((0, 0, -3), 1.0)], friction=0.2)
    start = ([[0, 0, 0.0]], [[1.0, 0, 0]])
    one, two = (
        simulate(system, *start, integrator="midpoint", step=1e-2, duration=0.5) for _ in range(2)
    )
    np.testing.assert_array_equal(one.positions, two.positions)
    assert one.energy.added[-1] > 0.1


# ---------------------------------------------------------------------- local/global


def draped(count, stiffness, method, steps):
    """A cloth of 1 m, 1 kg that has fallen by a tenth of a metre when it meets a ball."""
    mesh = cloth(count, count, spacing=1.0 / (count - 1))
    x0 = mesh.positions - mesh.positions.mean(axis=0) + np.array([0.05, 0, 0.32])
    parts = [*cloth_springs(mesh, stiffness, stiffness, 0.01 * stiffness), Gravity()]
    parts.append(Contact(Sphere((0, 0, 0), 0.3), 10.0 * stiffness))
    system = System(1.0 / count**2, parts, rest=mesh.positions)
    v0 = np.tile([0, 0, -1.4], (len(x0), 1))
    options = {"integrator": method, "step": 0.01, "duration": 0.01 * steps}
    return simulate(system, x0, v0, **options)


def test_local_global_converges_to_the_same_contact():
    """Whatever its matrix takes for touching: k h^2 / m is about 10."""
    exact = draped(7, 20.0, Bdf1(), 15)
    iterated = draped(7, 20.0, Bdf1(solver=LocalGlobal(3000)), 15)
    assert exact.diagnostics["contacts"].max() > 3
    np.testing.assert_allclose(iterated.positions, exact.positions, atol=1e-6)


@pytest.mark.filterwarnings("ignore::stiffly.StiffWarning")  # ten iterations, h omega = 5
def test_a_cloth_that_settles_on_a_ball_is_factorised_a_few_times():
    run = draped(21, 100.0, "projective", 40)
    assert run.diagnostics["contacts"].max() > 50
    assert run.stats["factorizations"] <= 20
