"""Contact by projection and contact that holds."""

import numpy as np
import pytest
from thinned import thinned

from stiffly import Gravity, InputError, Springs, System, simulate
from stiffly.bodies import cloth_springs
from stiffly.collisions import Held, Hemisphere, Plane, ProjectedContact, Sphere, keyframes, path
from stiffly.collisions.friction import friction_change, rubbed
from stiffly.meshes import cloth, torus
from stiffly.scenes import load

G = 9.81
FLOOR = Plane((0, 0, 0), (0, 0, 1))


def test_friction_never_turns_a_particle_round():
    rng = np.random.default_rng(0)
    w, n = rng.standard_normal((2, 50, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    most = rng.uniform(0.0, 3.0, 50)
    change = friction_change(w, n, most)
    along = w - np.einsum("ij,ij->i", w, n)[:, None] * n
    speed, after = np.linalg.norm(along, axis=1), np.linalg.norm(along + change, axis=1)
    np.testing.assert_allclose(after, np.maximum(0.0, speed - most), atol=1e-14)
    np.testing.assert_allclose(np.einsum("ij,ij->i", change, n), 0.0, atol=1e-14)
    assert (after == 0.0).sum() < 50 and np.all(np.einsum("ij,ij->i", change, along) <= 0.0)
    assert not friction_change(np.zeros((1, 3)), n[:1], most[:1]).any()


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_work_and_heat_are_told_apart(scale):
    """With what the System books for the kinetic energy: added = work, dissipated = heat >= 0."""
    rng = np.random.default_rng(1)
    m, n = rng.uniform(0.5, 2.0, 9), np.tile([0.0, 0, 1], (9, 1))
    before, surface = rng.standard_normal((9, 3)), scale * rng.standard_normal((9, 3))
    after = before + friction_change(before - surface, n, np.full(9, 0.7))
    power = rubbed(m, before, after, surface).booked()
    change = 0.5 * float(m @ (after**2 - before**2).sum(axis=1))
    work = float(m @ ((after - before) * surface).sum(axis=1))
    added, lost = power.added + max(0.0, change), power.dissipated + max(0.0, -change)
    assert added == pytest.approx(work) and lost == pytest.approx(work - change)
    assert lost > 0.0


# ---------------------------------------------------------------------- projection


def test_a_projected_particle_lies_on_the_surface_and_slides_slower():
    """One impact: the normal velocity goes, 40 % of the rest too, each step in contact."""
    system = System(np.ones(1), [ProjectedContact(FLOOR)])
    run = simulate(
        system, [[0, 0, 0.5]], [[1.0, 2.0, -1.0]], integrator="verlet", step=0.3, duration=0.9,
        every=0.3,
    )  # fmt: skip
    np.testing.assert_allclose(run.velocities[1, 0], [1.0, 2.0, -1.0])
    np.testing.assert_allclose(run.velocities[2, 0], [0.6, 1.2, 0.0], atol=1e-15)
    assert run.positions[2, 0, 2] == 0.0
    np.testing.assert_allclose(run.velocities[3], run.velocities[2])  # touches no more
    assert run.energy.dissipated[-1] == pytest.approx(3.0 - 0.5 * (0.36 + 1.44))
    assert abs(run.energy.numerical).max() < 1e-14


@pytest.mark.parametrize("method", ["verlet", "midpoint"])
def test_a_cloth_drapes_over_a_half_ball(method):
    mesh, ball = cloth(11, 11, spacing=0.1), Hemisphere((0, 0, 0), 0.4)
    x0 = mesh.positions - mesh.positions.mean(axis=0) + [0, 0, 0.41]
    parts = [*cloth_springs(mesh, 100.0, 20.0), Gravity(), ProjectedContact([ball], 0.4)]
    system = System(0.01, parts, rest=mesh.positions)
    run = simulate(system, x0, integrator=method, step=2e-3, duration=0.6)
    last = run.positions[-1]
    distance = ball.surface(0.0, last).distances(last)
    assert distance.min() > -1e-15  # after the step nothing is inside
    assert (distance < 1e-12).sum() >= 9  # it lies on the ball
    assert last[mesh.vertex_sets["corners"], 2].max() < 0.2  # and hangs down around it
    assert run.energy.dissipated[-1] > 0.1
    assert abs(run.energy.numerical).max() < 1e-2 * run.energy.exchanged
    bound, _ = system.bind(x0)
    assert bound.settles and not bound.conservative


def test_a_moving_shape_pushes():
    """A wall at 2 m/s takes a particle along; its work is counted as added."""
    wall = Plane((0, 0, 0), (1, 0, 0), keyframes([0.0, 1.0], [[0, 0, 0], [2.0, 0, 0]]))
    system = System(np.ones(1), [ProjectedContact(wall, friction=0.0)])
    run = simulate(system, [[0.1, 0, 0]], integrator="verlet", step=1e-3, duration=1.5)
    fastest = 3.0  # of the eased motion: 1.5 times the mean
    assert run.velocities[-1, 0, 0] == pytest.approx(fastest, rel=1e-3)
    assert run.energy.added[-1] - run.energy.dissipated[-1] == pytest.approx(
        0.5 * run.velocities[-1, 0, 0] ** 2, rel=1e-12
    )
    assert abs(run.energy.numerical).max() < 1e-12


def test_projection_reports_what_it_did():
    bound, s = System(np.ones(2), [ProjectedContact(FLOOR)]).bind([[0, 0, -0.25], [0, 0, 1.0]])
    settled = bound.settle(s, 0.1)
    assert bound.diagnostics(settled.state) == {"penetration": 0.25, "contacts": 1.0}
    assert settled.state.x[2] == 0.0


# ---------------------------------------------------------------------- holding


def test_a_held_particle_sticks_and_leaves_as_fast_as_it_came():
    """A stiff tie turns the velocity round; what it stores when it lets go is given back."""
    system = System(np.ones(1), [Held(FLOOR, 1e4)])
    run = simulate(
        system, [[0, 0, 0.1]], [[0.0, 0, -1.0]], integrator="midpoint", step=1e-3, duration=0.3
    )
    assert run.energy.contact.max() > 0.4
    assert run.velocities[-1, 0, 2] == pytest.approx(1.0, abs=1e-9)
    assert run.energy.dissipated[-1] == pytest.approx(0.0, abs=1e-12)
    assert abs(run.energy.numerical).max() < 1e-12
    assert run.positions[:, 0, 2].min() > -0.012  # 1e-3 for the step, 1e-2 for the tie


def test_what_a_tie_stores_along_the_surface_is_lost():
    """A particle that comes in sideways: released with its tie stretched along the floor."""
    system = System(np.ones(1), [Held(FLOOR, 1e4)])
    run = simulate(
        system, [[0, 0, 0.1]], [[2.0, 0, -1.0]], integrator="midpoint", step=1e-3, duration=0.3
    )
    lost = run.energy.dissipated[-1]
    assert 0.0 <= lost < 2.5 and run.velocities[-1, 0, 2] > 0.9
    assert abs(run.energy.numerical).max() < 1e-12
    assert run.energy.kinetic[-1] == pytest.approx(2.5 - lost)


@pytest.mark.parametrize(("method", "step"), thinned([("midpoint", 1e-3), ("verlet", 2e-4)]))
def test_a_torus_bounces_off_the_floor_that_holds_it(method, step):
    """Upright, k = 1e5: it springs back with nearly all of its energy, and the stiffer torus
    leaves the floor first (Michels, Sobottka, Weber 2014, Fig. 7)."""
    mesh = torus(12, 6)
    upright = mesh.positions[:, [0, 2, 1]]
    x0 = upright + np.array([0, 0, 0.1 - upright[:, 2].min()])
    leave = []
    for k in (1e5, 1e4):
        parts = [Springs(mesh.edges, k, law="cubic"), Gravity(), Held(FLOOR, 1e5)]
        system = System(0.01, parts, rest=upright)
        run = simulate(system, x0, integrator=method, step=step, duration=0.35)
        touching = run.positions[:, :, 2].min(axis=1) < 1e-3
        leave.append(run.times[np.flatnonzero(touching)[-1]])
        assert run.energy.contact.max() > 0.0 and run.energy.contact[-1] == 0.0
        assert run.energy.dissipated[-1] < 0.1 * run.energy.exchanged
        assert abs(run.energy.numerical).max() < 0.05 * run.energy.exchanged
        assert run.positions[:, :, 2].min() > -0.01
    assert leave[0] < leave[1]


def test_a_shape_carries_what_it_holds():
    """A plate that moves sideways, 0.3 m in a second, under a particle that lies on it."""
    plate = Plane((0, 0, 0), (0, 0, 1), keyframes([0.0, 1.0], [[0, 0, 0], [0.3, 0, 0]]))
    system = System(np.ones(1), [Gravity(), Held(plate, 1e4, margin=1e-6)])
    run = simulate(system, [[0, 0, 0.0]], integrator="midpoint", step=2e-3, duration=1.2)
    assert run.positions[-1, 0, 0] == pytest.approx(0.3, abs=2e-3)
    assert np.ptp(run.energy.added) > 0.05
    assert abs(run.energy.numerical).max() < 1e-10


def test_what_is_held_without_a_tie_does_not_move_until_it_is_pulled_off():
    """Two particles, one above the other: the lower one stops where it touched, to the last digit,
    and leaves when the spring has been compressed and pulls; what it had in its motion is lost."""
    system = System([1.0, 1.0], [Springs([[0, 1]], 1e3, 0.2), Held(FLOOR, None)])
    x0, v0 = [[0, 0, 0.1], [0, 0, 0.3]], [[0.5, 0, -1.0], [0.5, 0, -1.0]]
    run = simulate(system, x0, v0, integrator="midpoint", step=1e-3, duration=0.4, every=1e-3)
    low = run.positions[:, 0]
    held = np.flatnonzero((np.diff(low, axis=0) == 0.0).all(axis=1))
    assert len(held) > 30 and np.array_equal(np.diff(held), np.ones(len(held) - 1))
    assert not run.velocities[held[1:], 0].any() and -1.1e-3 < low[held[0], 2] <= 0.0
    assert low[-1, 2] > 0.0 and run.velocities[-1, :, 2].sum() > 0.0
    assert run.energy.dissipated[-1] == pytest.approx(0.5 * (1.0 + 0.25), rel=0.02)
    assert abs(run.energy.numerical).max() < 1e-3 * run.energy.exchanged


def test_a_shape_carries_what_it_holds_without_a_tie():
    plate = Plane((0, 0, 0), (0, 0, 1), keyframes([0.0, 1.0], [[0, 0, 0], [0.3, 0, 0]]))
    system = System(np.ones(1), [Gravity(), Held(plate, None, margin=1e-6)])
    run = simulate(system, [[0, 0, 0.0]], integrator="midpoint", step=2e-3, duration=1.2)
    np.testing.assert_allclose(run.positions[-1, 0], [0.3, 0.0, 0.0], atol=1e-15)
    assert abs(run.energy.numerical).max() < 1e-12


def test_held_ties_are_a_potential_like_any_other():
    """Blocks, mean gradient and Laplacian of what is tied at the start; nothing else."""
    shapes = [FLOOR, Sphere((5.0, 0, 0), 1.0)]
    x0 = np.array([[0, 0, -0.1], [0, 0, 1.0], [4.5, 0, 0.2], [0, 0, -0.2]])
    v0 = np.array([[0, 0, -1.0], [0, 0, 0], [0.1, 0, 0], [0, 0, 1.0]])
    system, s = System(np.ones(4), [Held(shapes, 50.0)]).bind(x0, v0)
    part = system.at(s).parts[0][1]
    assert list(part.particles) == [0, 2]  # 3 moves out
    x1 = x0 + 0.1 * np.random.default_rng(0).standard_normal((4, 3))
    g, f = np.zeros((2, 4, 3))
    part.add_mean_gradient(x0, x1, g)
    part.add_gradient(x1, f)
    assert np.vdot(g, x1 - x0) == pytest.approx(part.energy(x1) - part.energy(x0), rel=1e-12)
    np.testing.assert_allclose(f[[0, 2]], 50.0 * (x1 - x0)[[0, 2]])
    assert not f[[1, 3]].any()
    K = system.tangent(s).matrix(0.0, 1.0, 0.0)
    expected = np.diag(np.repeat([50.0, 0.0, 50.0, 0.0], 3))
    np.testing.assert_allclose(K.toarray(), expected)
    rows, _, values = part.laplacian()
    assert list(rows) == [0, 2] and list(values) == [50.0, 50.0]
    fixed, _ = System(np.ones(4), [Held(shapes, 50.0)], fixed=[2]).bind(x0)
    held = fixed.numbering.order[fixed.assembly.parts[0][1].particles]
    assert list(held) == [0, 3]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ProjectedContact(FLOOR, -0.1), "friction = -0.1"),
        (lambda: ProjectedContact(FLOOR, 1.5), "share per step"),
        (lambda: ProjectedContact(FLOOR, np.nan), "friction is nan"),
        (lambda: ProjectedContact([]), "no shape"),
        (lambda: Held(FLOOR, 0.0), "stiffness = 0"),
        (lambda: Held(FLOOR, 1.0, margin=-1.0), "margin = -1"),
        (lambda: System(np.ones(2), [Held(FLOOR, 1.0, [2])]), "contact names particle 2"),
        (lambda: System(np.ones(2), [ProjectedContact(FLOOR, 0.4, [-1])]), "particle -1"),
        (
            lambda: simulate(
                System(np.ones(1), [ProjectedContact(Plane((0, 0, 0), (0, 0, 1), path(
                    lambda t, s: s * (1.0 + t))))]),
                [[0, 0, 1.0]], integrator="verlet", step=0.1, duration=1.0,
            ),
            "not rigid at t = 0.1",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


def test_explicit_steps_hold_what_touches():
    """Whom it catches is decided after every step, which loops on cards alone do."""
    scene = load("tori", small=True)
    run = simulate(scene, integrator="verlet", step=2e-4, duration=0.35)
    assert "a compiled loop on cards alone" in run.stats["loop"]
    low = run.positions[..., 2].min(axis=1)
    assert low[0] > 0.29 and -0.01 < low.min() < 0.0 and run.energy.dissipated[-1] > 0.0
