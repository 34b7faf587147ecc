"""Supports that move: kinematics, and the work they do."""

import numpy as np
import pytest
from thinned import thinned

import stiffly
from stiffly.bodies import Gravity, Keyframes, Moving, Rayleigh, Rotation, Springs, System
from stiffly.contracts import State
from stiffly.errors import InputError, StiffWarning
from stiffly.meshes import lattice, rope

ROPE = rope(6, length=1.0)
BAR = lattice(6, 2, 2, spacing=0.2)
START = np.random.default_rng(0).standard_normal((3, 3))
SUPPORTS = {
    "keyframes": Keyframes([0], [0.0, 0.5, 1.0], [[0, 0, 0], [0, 1, 0], [0.5, 1, 0]]),
    "rotation": Rotation([0], axis=(1, 2, 2), centre=(0.1, 0.2, 0.3), rate=2.0),
    "turn": Rotation([0], axis=(0, 0, 1), times=[0.0, 1.0], angles=[0.0, np.pi]),
    "path": Moving([0], lambda t, start: start + np.array([0.0, np.sin(t), t * t])),
    "path with velocity": Moving(
        [0], lambda t, s: s * (1 + t), velocity=lambda t, start: start.copy()
    ),
}


@pytest.mark.parametrize("name", SUPPORTS)
def test_velocity_is_the_derivative_of_the_position(name):
    place, e = SUPPORTS[name].place, 1e-5
    for t in (0.1, 0.4, 0.77):
        ahead, behind = (place(t + d, START)[0] for d in (e, -e))
        np.testing.assert_allclose(place(t, START)[1], (ahead - behind) / (2 * e), atol=1e-7)


def test_keyframes_hold_before_and_after_and_do_not_overshoot():
    support = Keyframes([0], [1.0, 2.0, 3.0], [[0, 0, 0], [1, 0, 0], [1, 0, 0]])
    for t, x in ((0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (2.5, 1.0), (9.0, 1.0)):
        place, velocity = support.place(t, np.zeros((1, 3)))
        np.testing.assert_allclose(place, [[x, 0, 0]], atol=1e-14)
        np.testing.assert_allclose(velocity, 0.0, atol=1e-14)
    values = [support.place(t, np.zeros((1, 3)))[0][0, 0] for t in np.linspace(0, 4, 101)]
    assert np.all(np.diff(values) >= -1e-14)


def test_rotation_keeps_distances_and_turns_by_the_angle():
    quarter = Rotation([0], axis=(0, 0, 3), centre=(1, 0, 0), rate=np.pi / 2)
    np.testing.assert_allclose(quarter.place(1.0, np.array([[2.0, 0, 5]]))[0], [[1, 1, 5]])


def hung(supports, damping=None, parts=()):
    mass = np.full(6, 0.1)
    parts = [Springs(ROPE.edges, 300.0), Gravity(), *parts]
    return System(mass, parts, rest=ROPE.positions, damping=damping, supports=supports)


WORKING = [(name, damped) for name in ("keyframes", "rotation", "path") for damped in (True, False)]


@pytest.mark.parametrize(
    "name, damped", thinned(WORKING, keep=[("keyframes", True), ("rotation", False)])
)
def test_work_of_a_support_is_added(name, damped):
    damping = Rayleigh(0.3, 2e-3) if damped else None
    run = stiffly.simulate(
        hung(SUPPORTS[name], damping), ROPE.positions, integrator="midpoint", step=5e-4, duration=1
    )
    assert abs(run.energy.added[-1]) > 0.1
    assert np.abs(run.energy.numerical).max() < 1e-3 * np.abs(run.energy.added).max()
    if damped:
        assert np.all(np.diff(run.energy.dissipated) >= 0.0)


def test_fourth_order_with_moving_supports():
    system = hung([SUPPORTS["path"]], Rayleigh(0.3, 0.0))
    ends = [
        stiffly.simulate(system, ROPE.positions, integrator="exprb42", step=h, duration=0.2)
        for h in (0.02, 0.01, 0.005)
    ]
    exact = stiffly.simulate(system, ROPE.positions, integrator="rk4", step=2.5e-4, duration=0.2)
    errors = [np.abs(run.positions[-1] - exact.positions[-1]).max() for run in ends]
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 3.8), errors


def test_a_body_carried_along_rigidly_feels_no_stiffness_damping():
    velocity = np.array([1.0, 2.0, 0.0])
    system = System(
        np.ones(6),
        [Springs(ROPE.edges, 100.0)],
        rest=ROPE.positions,
        damping=Rayleigh(0.0, 0.1),
        supports=Moving([0], lambda t, x: x + t * velocity),
    )
    run = stiffly.simulate(
        system, ROPE.positions, np.tile(velocity, (6, 1)), integrator="midpoint", step=0.01,
        duration=1,
    )  # fmt: skip
    np.testing.assert_allclose(run.positions[-1], ROPE.positions + velocity, atol=1e-7)
    assert abs(run.energy.dissipated[-1]) < 1e-9


def test_recorded_frames_follow_the_support():
    run = stiffly.simulate(hung(SUPPORTS["keyframes"]), ROPE.positions, step=0.01, duration=1)
    np.testing.assert_allclose(run.positions[-1, 0], ROPE.positions[0] + [0.5, 1, 0])
    quarter = np.argmin(np.abs(run.times - 0.25))
    # 1 m in 0.5 s from rest to rest on a cubic: 1.5 times the mean speed half way
    np.testing.assert_allclose(run.velocities[quarter, 0], [0, 3.0, 0], atol=1e-9)


@pytest.mark.slow
def test_twisting_a_beam_by_half_a_turn():
    """Both ends held, one turned: the free middle ends up turned half way."""
    first, last = np.arange(4), np.arange(20, 24)
    centre = BAR.positions.mean(axis=0)
    system = System(
        np.full(24, 0.1),
        [Springs(BAR.edges, 2000.0)],
        fixed=first,
        rest=BAR.positions,
        damping=Rayleigh(2.0, 0.0),
        supports=Rotation(
            last, axis=(1, 0, 0), centre=centre, times=[0.0, 1.0], angles=[0.0, np.pi]
        ),
    )
    run = stiffly.simulate(system, BAR.positions, step=0.005, duration=6, integrator="midpoint")
    np.testing.assert_allclose(
        run.positions[-1, last, 1:], 2 * centre[1:] - BAR.positions[last, 1:], atol=1e-12
    )
    assert run.energy.added[-1] > 0.0
    assert run.energy.numerical[-1] == pytest.approx(0.0, abs=1e-3 * run.energy.added[-1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Keyframes([0], [0.0], [[0, 0, 0]]), "at least two increasing"),
        (lambda: Keyframes([0], [1.0, 0.0], np.zeros((2, 3))), "increasing"),
        (lambda: Keyframes([0], [0.0, 1.0], np.zeros((2, 2))), r"shape \(2, 2\)"),
        (lambda: Rotation([0], axis=(0, 0, 0), rate=1.0), "axis is zero"),
        (lambda: Rotation([0], axis=(0, 0, 1)), "either rate="),
        (lambda: Rotation([0], axis=(0, 0, 1), rate=1.0, times=[0, 1]), "either rate="),
        (lambda: hung(5), "supports must be a list"),
        (
            lambda: System(np.ones(6), [], fixed=[0], supports=SUPPORTS["path"]),
            "particle 0 is fixed and led",
        ),
        (lambda: Moving([0], lambda t: t), r"function of \(t, start\)"),
        (lambda: Moving([0], None), r"path must be a function of \(t, start\)"),
        (lambda: Moving([0], lambda t, x: x, 3.0), r"velocity must be a function"),
        (lambda: hung([Keyframes([9], [0, 1], np.zeros((2, 3)))]), "support names particle 9"),
        (lambda: hung([SUPPORTS["path"], SUPPORTS["turn"]]), "particle 0 is moved by two"),
        (lambda: hung(["up"]), "is no support"),
        (lambda: hung(Moving([], lambda t, x: x)), "holds no particle"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_paths_of_the_wrong_shape_are_named():
    with pytest.raises(InputError, match=r"path returned shape \(2,\)"):
        hung(Moving([0], lambda t, x: [1.0, 2.0])).bind(ROPE.positions)
    with pytest.raises(InputError, match="path returned str"):
        hung(Moving([0], lambda t, x: "x")).bind(ROPE.positions)
    for wrong in ("x", None, [1.0], [[1.0, 2.0, 3.0], [4.0]]):
        wrongly = hung(Moving([0], lambda t, x: x, lambda t, x, wrong=wrong: wrong))
        with pytest.raises(InputError, match="velocity returned"):
            wrongly.bind(ROPE.positions)
    late = hung(Moving([0], lambda t, x: x if t < 0.1 else x * np.nan))
    with pytest.raises(InputError, match="path returned NaN"):
        stiffly.simulate(late, ROPE.positions, integrator="verlet", step=0.01, duration=1)


def test_a_path_that_begins_elsewhere_is_noticed():
    with pytest.warns(StiffWarning, match="0.5 m away from x0 at t = 0"):
        hung(Moving([0], lambda t, x: x + 0.5)).bind(ROPE.positions)


@pytest.mark.slow
def test_keyframes_that_start_with_the_run_keep_the_order():
    """Their motion has a kink at t = 0: only the side of the step counts."""
    system = hung([Keyframes([0], [0.0, 0.3], [[0, 0, 0], [0, 0.2, 0]])], Rayleigh(0.0, 2e-2))
    runs = [
        stiffly.simulate(system, ROPE.positions, integrator="pexprb43", step=h, duration=0.2)
        for h in (0.02, 0.01, 0.005)
    ]
    exact = stiffly.simulate(system, ROPE.positions, integrator="rk4", step=2.5e-4, duration=0.2)
    errors = [np.abs(run.positions[-1] - exact.positions[-1]).max() for run in runs]
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 3.5), errors


def test_stiffness_damping_forgets_no_support_when_springs_yield():
    system = System(
        np.full(6, 0.1),
        [Springs(ROPE.edges, 50.0, yield_strain=0.02)],
        rest=ROPE.positions,
        damping=Rayleigh(0.0, 0.02),
        supports=Keyframes([0], [0.0, 1.0], [[0, 0, 0], [-1.0, 1.0, 0]]),
    )
    errors = []
    for h in (2e-3, 1e-3):
        run = stiffly.simulate(system, ROPE.positions, integrator="rk4", step=h, duration=1)
        assert run.energy.dissipated[-1] > 0.1
        errors.append(np.abs(run.energy.numerical).max() / run.energy.exchanged)
    assert errors[1] < 1e-4, errors


def test_damping_by_stiffness_does_not_depend_on_where_the_body_is():
    far = np.array([1e3, -1e3, 1e3])
    forces = []
    for shift in (0.0, far):
        system, s = System(
            np.full(6, 0.1),
            [Springs(ROPE.edges, 50.0)],
            rest=0.01 * ROPE.positions + shift,
            damping=Rayleigh(0.0, 0.02),
            supports=Moving([0], lambda t, x: x + t),
        ).bind(0.01 * ROPE.positions + shift)
        forces.append(system.force(s))
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-4, atol=1e-7)


def test_velocities_of_supports_are_their_own():
    system, s = hung(SUPPORTS["rotation"]).bind(ROPE.positions, np.ones((6, 3)))
    own = SUPPORTS["rotation"].place(0.25, ROPE.positions[:1])[1]
    np.testing.assert_array_equal(system.velocities(State(0.25, s.x, s.v))[:1], own)
