"""Rigid bodies that bounce, and particles described in their frame: identities of mechanics."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from systems import reference
from thinned import drawn

import stiffly
from stiffly.bodies import Springs, System
from stiffly.collisions import Contact, Plane
from stiffly.contracts import State
from stiffly.errors import InputError, NotConverged
from stiffly.meshes.grids import grid_tets
from stiffly.meshes.mesh import tet_edges
from stiffly.parts.rigid_body import Pose, RigidBody, RigidFrame, Seen, bounce, loss_number

GRID = np.indices((3, 2, 2)).reshape(3, -1).T * [1.0, 0.8, 0.5]
EDGES = tet_edges(grid_tets((3, 2, 2)))
MASS = np.linspace(0.8, 1.3, len(GRID))
BODY, REST = RigidBody.of(GRID, MASS)
BRICK = RigidBody(2.0, np.diag([1.0, 2.0, 3.0]), 2.0 * np.indices((2, 2, 2)).reshape(3, -1).T - 1.0)
WALL = ((2.0, 0.0, 0.0), (-1.0, 0.0, 0.0))  # at x = 2, its free side towards smaller x


def energy(body, pose):
    return (
        0.5 * body.mass * pose.velocity @ pose.velocity + 0.5 * pose.spin @ body.inertia @ pose.spin
    )


def crash(**options):
    given = {"centre": (0.0, 0.0, 0.0), "velocity": (5.0, 0.0, 0.0), "stiffness": 1e4,
             "restitution": 0.6, "duration": 0.6}  # fmt: skip
    return bounce(BODY, [WALL], **{**given, **options})


TUMBLING = bounce(BODY, [], centre=(1, 2, 3), velocity=(0.5, 0, -0.3), spin=(1.0, 2.0, -0.7),
                  stiffness=1.0, restitution=1.0, duration=2.0, gravity=(0, 0, -9.81))  # fmt: skip
OBLIQUE = crash(velocity=(5.0, 0.3, 0.0), spin=(0.4, 1.0, 0.8))


# ------------------------------------------------------------------ the rigid body


def test_mass_inertia_and_box_of_particles():
    assert BODY.mass == pytest.approx(MASS.sum())
    assert np.abs(MASS @ REST).max() < 1e-12
    w = np.array([0.3, -1.1, 0.7])
    assert 0.5 * w @ BODY.inertia @ w == pytest.approx(
        0.5 * MASS @ np.sum(np.cross(w, REST) ** 2, axis=1)
    )
    assert BODY.corners.shape == (8, 3)
    assert BODY.corners.min(axis=0) == pytest.approx(REST.min(axis=0))
    assert BODY.corners.max(axis=0) == pytest.approx(REST.max(axis=0))


@drawn(5)
@given(e=st.floats(0.1, 1.0), speed=st.floats(1.0, 20.0))
def test_a_head_on_crash_leaves_with_the_restitution(e, speed):
    motion = bounce(BRICK, [WALL], centre=(0.99, 0, 0), velocity=(speed, 0, 0), stiffness=1e5,
                    restitution=e, duration=0.05 + 0.02 / speed)  # fmt: skip
    end = motion(motion.duration)
    assert end.velocity == pytest.approx([-e * speed, 0, 0], rel=1e-7, abs=1e-8)
    assert end.felt == pytest.approx(np.zeros(3))


def restitution_at(share):
    """Of a body made for e = 0.5 that hits at `share` of the speed it was made for."""
    D = loss_number(0.5) * share
    return brentq(lambda e: np.log((1 + D) / (1 - e * D)) - (1 + e) * D, 1e-9, min(1, 0.999 / D))


@pytest.mark.parametrize("normal", [0.5, 2.0, 5.0])
def test_slow_hits_are_more_elastic(normal):
    """Made for e = 0.5 at 5 m/s, most of which may go along the wall."""
    along = np.sqrt(25.0 - normal**2)
    motion = bounce(BRICK, [WALL], centre=(0.999, 0, 0), velocity=(normal, along, 0),
                    stiffness=1e5, restitution=0.5, duration=0.05)  # fmt: skip
    e = restitution_at(normal / 5.0)
    assert motion(0.05).velocity == pytest.approx([-e * normal, along, 0], rel=1e-7)
    assert (e > 0.55) == (normal < 5.0)


@drawn(50)
@given(e=st.floats(0.05, 1.0), out=st.floats(0.1, 100.0), spin=st.floats(-50.0, 50.0))
def test_a_wall_never_pulls(e, out, spin):
    """Corners that leave faster than anything came in: m felt is the force of the wall."""
    motion = bounce(BRICK, [WALL], centre=(1.3, 0, 0), velocity=(-out, 0, 0), spin=(0, spin, 0),
                    stiffness=1e5, restitution=e, duration=1e-6)  # fmt: skip
    assert motion(0.0).felt @ np.array(WALL[1]) >= 0.0


def test_a_corner_obeys_the_impulse_of_textbooks():
    """One stiff corner: J = -(1 + e) v_n / (1/m + n.((I^-1 (r x n)) x r)), no friction."""
    r = np.array([0.5, 0.4, 0.3])
    body = RigidBody(2.0, np.diag([0.5, 0.7, 0.9]), r[None])
    v, w = np.array([3.0, 0.2, -0.1]), np.array([0.1, -0.2, 0.3])
    x = 2.0 - r[0] - 1e-3  # a millimetre from the wall: it cannot turn much on the way
    end = bounce(body, [WALL], centre=(x, 0, 0), velocity=v, spin=w, stiffness=1e9, restitution=0.5,
                 duration=2e-3)(2e-3)  # fmt: skip
    n = np.array([-1.0, 0.0, 0.0])
    inverse = np.linalg.inv(body.inertia)
    normal_speed = n @ (v + np.cross(w, r))
    e = restitution_at(-normal_speed / np.linalg.norm(v))
    J = -(1 + e) * normal_speed / (1 / body.mass + n @ np.cross(inverse @ np.cross(r, n), r))
    assert end.velocity == pytest.approx(v + J * n / body.mass, rel=5e-3, abs=5e-3)
    assert end.spin == pytest.approx(w + inverse @ np.cross(r, J * n), rel=5e-3, abs=5e-3)


def test_elastic_walls_keep_energy_and_others_take_some():
    elastic = crash(restitution=1.0, velocity=(5.0, 0.3, 0.0), spin=(0.4, 1.0, 0.8))
    start = energy(BODY, elastic(0.0))
    assert energy(BODY, elastic(0.6)) == pytest.approx(start, rel=1e-7)
    assert energy(BODY, OBLIQUE(0.6)) < 0.9 * start
    assert np.abs(OBLIQUE(0.6).spin - OBLIQUE(0.0).spin).max() > 0.5


def test_free_flight_keeps_angular_momentum_and_falls():
    for t in (0.5, 2.0):
        pose = TUMBLING(t)
        angular = pose.rotation @ BODY.inertia @ pose.spin
        assert angular == pytest.approx(BODY.inertia @ np.array([1.0, 2.0, -0.7]), rel=1e-8)
        assert pose.rotation @ pose.rotation.T == pytest.approx(np.eye(3), abs=1e-13)
        fallen = np.array([1, 2, 3]) + t * np.array([0.5, 0, -0.3]) + [0, 0, -0.5 * 9.81 * t * t]
        assert pose.centre == pytest.approx(fallen, rel=1e-10)
        assert np.all(pose.felt == 0.0)


@pytest.mark.parametrize("motion, t", [(TUMBLING, 0.8), (OBLIQUE, 0.28), (OBLIQUE, 0.5)])
def test_rates_of_a_pose_are_derivatives(motion, t):
    e = 1e-5
    ahead, here, behind = motion(t + e), motion(t), motion(t - e)
    assert (ahead.centre - behind.centre) / (2 * e) == pytest.approx(here.velocity, rel=1e-6)
    assert (ahead.spin - behind.spin) / (2 * e) == pytest.approx(here.spin_rate, rel=1e-4, abs=1e-5)
    gravity = np.array([0, 0, -9.81]) if motion is TUMBLING else np.zeros(3)
    acceleration = (ahead.velocity - behind.velocity) / (2 * e)
    assert here.rotation.T @ (acceleration - gravity) == pytest.approx(
        here.felt, rel=1e-4, abs=1e-5
    )
    turning = here.rotation.T @ (ahead.rotation - behind.rotation) / (2 * e)
    w = here.spin
    cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    assert turning == pytest.approx(cross, rel=1e-5, abs=1e-6)


# ------------------------------------------------------------------ the frame


def in_frame(motion, parts=()):
    return System(MASS, [*parts, RigidFrame(motion)], rest=REST)


@pytest.mark.parametrize("motion, T", [(TUMBLING, 1.0), (OBLIQUE, 0.4)])
def test_free_particles_fly_straight_in_the_world(motion, T):
    """All four inertial forces at once: without any other force the world must see parabolas."""
    rng = np.random.default_rng(0)
    x0, v0 = rng.standard_normal((2, len(REST), 3))
    X0, V0 = motion(0.0).frame(x0, v0)
    X, V = (a.reshape(-1, 3) for a in reference(*in_frame(motion).bind(X0, V0), [T]))
    g = np.array([0.0, 0.0, -9.81 if motion is TUMBLING else 0.0])
    x, v = motion(T).world(X), motion(T).world_velocity(X, V)
    assert x == pytest.approx(x0 + T * v0 + 0.5 * T * T * g, abs=1e-7)
    assert v == pytest.approx(v0 + T * g, abs=1e-7)


def test_world_and_frame_undo_each_other():
    rng = np.random.default_rng(1)
    X, V = rng.standard_normal((2, 5, 3))
    pose = OBLIQUE(0.5)
    back = pose.frame(pose.world(X), pose.world_velocity(X, V))
    assert back[0] == pytest.approx(X)
    assert back[1] == pytest.approx(V)


def test_a_springy_body_moves_the_same_in_either_frame():
    springs = Springs(EDGES, 500.0)
    pose = TUMBLING(0.0)
    x0, v0 = pose.world(REST), pose.world_velocity(REST, 0.3 * REST)
    outside = System(MASS, [springs, stiffly.Gravity()], rest=x0)
    inside = in_frame(TUMBLING, [springs])
    world = reference(*outside.bind(x0, v0), [0.5])[0].reshape(-1, 3)
    frame = reference(*inside.bind(REST, 0.3 * REST), [0.5])[0].reshape(-1, 3)
    assert TUMBLING(0.5).world(frame) == pytest.approx(world, abs=1e-8)


@drawn(10)
@given(seed=st.integers(0, 10**6), t=st.floats(0.0, 0.6))
def test_tangents_are_derivatives_of_the_force(seed, t):
    """The force is linear in x and v, so differences are exact up to rounding."""
    system = in_frame(OBLIQUE)
    rng = np.random.default_rng(seed)
    bound, _ = system.bind(REST)
    x, v = rng.standard_normal((2, system.size))
    tangent = bound.tangent(State(t, x, v))
    K, D = (tangent.matrix(0.0, *which).toarray() for which in ((1.0, 0.0), (0.0, 1.0)))
    b, scale = rng.standard_normal(system.size), 1.0 + np.abs(K).max() + np.abs(D).max()

    def force(x, v):
        return bound.force(State(t, x, v))

    assert K @ b == pytest.approx(force(x, v) - force(x + b, v), abs=1e-10 * scale)
    assert D @ b == pytest.approx(force(x, v) - force(x, v + b), abs=1e-10 * scale)


def test_power_is_force_times_velocity():
    bound, _ = in_frame(OBLIQUE).bind(REST)
    x, v = np.random.default_rng(3).standard_normal((2, bound.size))
    s = State(0.3, x, v)
    power = bound.power(s)
    assert power.added - power.dissipated == pytest.approx(bound.force(s) @ v)


@pytest.mark.slow
def test_a_crash_is_the_same_in_either_frame():
    """Springs, a wall and a spin: the wall stands still in the world and moves in the frame."""
    v0 = np.array([5.0, 0.3, 0.0]) + np.cross([0.4, 1.0, 0.8], REST)
    springs, options = Springs(EDGES, 5e3), {"integrator": "verlet", "step": 2e-4, "duration": 0.4}
    outside = System(MASS, [springs, Contact(Plane(*WALL), 2e4)], rest=REST)
    seen = Contact(Plane(*WALL, motion=Seen(OBLIQUE)), 2e4)
    inside = in_frame(OBLIQUE, [springs, seen])
    world = stiffly.simulate(outside, REST, v0, **options)
    frame = stiffly.simulate(inside, REST, **options)
    assert (world.velocities[-1][:, 0] < 0.0).all()  # it has bounced
    end = OBLIQUE(0.4).world(frame.positions[-1])
    assert end == pytest.approx(world.positions[-1], abs=1e-3)
    kinetic = (
        0.5
        * MASS
        @ np.sum(
            OBLIQUE(0.4).world_velocity(frame.positions[-1], frame.velocities[-1]) ** 2, axis=1
        )
    )
    assert kinetic == pytest.approx(world.energy.kinetic[-1], rel=1e-2)


# ------------------------------------------------------------------ wrong input


def still(t):
    return Pose(*np.zeros((1, 3)), np.eye(3), *np.zeros((4, 3)))


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: crash(stiffness=0.0), "stiffness = 0: it must be greater than 0"),
        (lambda: crash(restitution=1.5), "restitution = 1.5: it must be at most 1"),
        (lambda: crash(restitution=0.0), "restitution = 0: it must be at least 1e-09"),
        (lambda: crash(duration=-1.0), "duration = -1"),
        (lambda: bounce(BODY, [(1, 2, 3)], centre=(0, 0, 0), velocity=(0, 0, 0), stiffness=1.0,
                        restitution=1.0, duration=1.0), "wall 0 must be a pair"),
        (lambda: bounce(BODY, [((0, 0, 0), (0, 0, 0))], centre=(0, 0, 0), velocity=(0, 0, 0),
                        stiffness=1.0, restitution=1.0, duration=1.0), "normal of wall 0 is zero"),
        (lambda: RigidBody.of([[0.0, 0.0, 0.0]], 1.0), "shape"),
        (lambda: RigidBody.of(GRID, -1.0), "mass is not positive"),
        (lambda: OBLIQUE(0.7), "known up to t = 0.6 s, not at 0.7 s"),
        (lambda: RigidFrame(lambda t: 3), "returns a Pose"),
        (lambda: Seen(3), "returns a Pose"),
        (lambda: System(sp.diags(MASS), [RigidFrame(still)]), "needs a lumped mass"),
    ],
)  # fmt: skip
def test_bad_input_is_named(build, message):
    with pytest.raises(InputError, match=message):
        build()


@pytest.mark.parametrize("given", [{"stiffness": 1e30}, {"duration": 1e9}, {"max_steps": 3}])
def test_bounces_of_too_many_steps_are_refused(given):
    with pytest.raises(InputError, match=r"more than max_steps = .* soften the walls"):
        crash(**given)


def test_a_spin_that_takes_too_many_steps_ends():
    with pytest.raises(NotConverged, match=r"max_steps = 500 steps at t = .* slower spins"):
        crash(spin=(1e6, 2e6, 0.0), max_steps=500)
