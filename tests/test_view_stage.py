"""Lanes that go on in step, and are changed while they do."""

import gc
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from live_scenes import drifting, frames, little_cloth, pendulum, staged, state

from stiffly import InputError, scenes, simulate
from stiffly.errors import NotConverged
from stiffly.view import recent
from stiffly.view.stage import Stage

# ---------------------------------------------------------------------- frames


@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # the beam asks for rtol
@pytest.mark.parametrize("name", ["cloth", "twisting-beam", "crash", "falling-cube"])
def test_frames_are_those_of_a_run(name):
    """The same steps as `simulate` takes, and books that say the same."""
    scene = replace(scenes.load(name, small=True), rtol=None)
    stage = Stage(scene)
    every = stage.settings.frame_time
    run = simulate(scene, step=scene.step, duration=4 * every, every=every)
    for k, snapshot in enumerate(frames(stage, 4), start=1):
        lane = snapshot.lanes[0]
        assert snapshot.t == pytest.approx(run.times[k], rel=1e-12)
        assert np.array_equal(lane.positions, run.positions[k].astype(np.float32))
        assert lane.added == pytest.approx(run.energy.added[k], rel=1e-9, abs=1e-12)
        assert lane.dissipated == pytest.approx(run.energy.dissipated[k], rel=1e-9, abs=1e-12)
        assert lane.energies["kinetic"] == pytest.approx(run.energy.kinetic[k], rel=1e-6)


def test_a_snapshot_says_what_is_there():
    stage = staged(little_cloth(), "realtime", "energy-momentum")
    first, second = frames(stage, 2)
    assert (first.serial, second.serial) == (1, 2)
    assert second.t == pytest.approx(0.066) and second.frame_time == pytest.approx(0.033)
    realtime, exact = second.lanes
    assert realtime.alpha is not None and exact.alpha is None
    assert realtime.residual > 0.0 and realtime.seconds > 0.0 and realtime.failure is None
    assert realtime.positions.dtype == np.float32 and not realtime.positions.flags.writeable
    assert {"kinetic", "elastic", "gravity", "attachment", "hand"} == set(realtime.energies)
    assert not np.array_equal(first.lanes[0].positions, realtime.positions)  # and not overwritten


def test_angular_momentum_is_that_about_the_centre_of_mass():
    scene = scenes.load("spinning-cube", small=True)
    lane = staged(scene, "energy-momentum").look().lanes[0]
    mass = scene.system.particle_mass
    r = scene.x0 - np.average(scene.x0, axis=0, weights=mass)
    L = np.cross(r, mass[:, None] * scene.v0).sum(axis=0)
    assert lane.angular_momentum == pytest.approx(np.linalg.norm(L), rel=1e-12)


def test_to_look_takes_no_time():
    stage = staged(little_cloth(damping=0.0), "energy-momentum")
    before = frames(stage, 3)[-1]
    again = stage.look()
    assert again.t == before.t and again.frame_time == 0.0 and again.serial == before.serial + 1
    assert np.array_equal(again.lanes[0].positions, before.lanes[0].positions)
    assert again.lanes[0].energies == before.lanes[0].energies
    assert len(stage.lanes[0].kept) == 4  # the start, and three frames


def test_a_frame_that_takes_too_long_ends_early_with_a_whole_step():
    stage = staged(pendulum(step=0.001))
    snapshot = stage.advance(patience=0.0)
    assert snapshot.t == stage.settings.step == snapshot.frame_time
    assert stage.advance().t == pytest.approx(0.034)


def test_systems_without_particles_in_space_are_refused():
    for name in ("fput", "oscillator-pair"):
        with pytest.raises(InputError, match=r"stiffly run .* stiffly plot"):
            Stage(scenes.load(name, small=True))


# ---------------------------------------------------------------------- methods


def test_another_method_goes_on_from_the_same_state_with_the_same_books():
    stage = staged(little_cloth(), "realtime")
    before = frames(stage, 5)[-1]
    x, v, t = state(stage).x.copy(), state(stage).v.copy(), state(stage).t
    stage.change(integrators=("energy-momentum",))
    after = stage.look()
    assert state(stage).t == t and np.array_equal(state(stage).x, x)
    assert np.array_equal(state(stage).v, v)
    assert after.lanes[0].name == "energy-momentum"
    for name in ("added", "dissipated", "numerical"):
        assert getattr(after.lanes[0], name) == getattr(before.lanes[0], name)
    assert stage.advance().lanes[0].numerical == pytest.approx(before.lanes[0].numerical, abs=1e-8)


def test_lanes_stay_in_step_and_do_not_meet():
    """Each lane moves as it would alone."""
    scene = little_cloth()
    names = ("realtime", "energy-momentum", "bdf1")
    together = staged(scene, *names)
    seen = frames(together, 6)[-1]
    assert {lane.stepper.state.t for lane in together.lanes} == {seen.t}
    for name, lane in zip(names, seen.lanes, strict=True):
        alone = frames(staged(scene, name), 6)[-1].lanes[0]
        assert lane.name == name and np.array_equal(lane.positions, alone.positions)


def test_the_same_method_may_run_twice():
    seen = frames(staged(little_cloth(), "realtime", "realtime"), 3)[-1]
    assert np.array_equal(seen.lanes[0].positions, seen.lanes[1].positions)


def test_a_lane_beside_begins_where_the_first_is():
    stage = staged(little_cloth(), "realtime")
    frames(stage, 4)
    stage.change(integrators=("realtime", "energy-momentum"))
    seen = stage.look()
    assert np.array_equal(seen.lanes[0].positions, seen.lanes[1].positions)
    assert np.array_equal(state(stage, 0).v, state(stage, 1).v)
    assert seen.lanes[1].added == seen.lanes[1].numerical == 0.0  # with books of its own
    later = frames(stage, 3)[-1]
    assert not np.array_equal(later.lanes[0].positions, later.lanes[1].positions)
    assert later.lanes[1].numerical == pytest.approx(0.0, abs=1e-8)


def test_lanes_keep_their_state_when_others_come_and_go():
    stage = staged(little_cloth(), "bdf1", "energy-momentum", "realtime")
    frames(stage, 3)
    lanes = {lane.name: lane for lane in stage.lanes}
    stage.change(integrators=("realtime", "bdf1"))
    assert [lane.name for lane in stage.lanes] == ["realtime", "bdf1"]
    for lane in stage.lanes:
        assert lane.stepper.state is lanes[lane.name].stepper.state


def test_an_order_that_is_wrong_changes_nothing():
    stage = staged(drifting(), "verlet")  # without a rest shape
    frames(stage, 2)
    settings, lanes = stage.settings, stage.lanes
    for wrong in (
        {"step": -1.0},
        {"integrators": ("verlet", "no-such-method")},
        {"integrators": ("rk4", "ceti")},  # the second cannot even start
        {"stiffness": 2.0},  # there is nothing elastic
        {"colour": "red"},
        {"gravity": float("nan")},
    ):
        with pytest.raises(InputError):
            stage.change(**wrong)
        assert stage.settings is settings and stage.lanes is lanes
    assert stage.advance().lanes[0].failure is None


def test_reset_goes_back_to_the_start_with_the_settings_as_they_are():
    stage = staged(little_cloth(), "realtime")
    frames(stage, 3)
    stage.change(stiffness=2.0, integrators=("energy-momentum",))
    stage.grab(24)
    stage.reset()
    seen = stage.look()
    assert seen.t == 0.0 and seen.held.size == 0
    lane = seen.lanes[0]
    assert (lane.name, lane.added, lane.numerical) == ("energy-momentum", 0.0, 0.0)
    np.testing.assert_allclose(lane.positions, stage.scene.x0, atol=1e-7)
    fresh = staged(little_cloth(), "energy-momentum", stiffness=2.0)
    assert np.array_equal(frames(stage, 2)[-1].lanes[0].positions,
                          frames(fresh, 2)[-1].lanes[0].positions)  # fmt: skip


# ---------------------------------------------------------------------- failures


def test_a_lane_that_fails_says_why_and_the_others_go_on():
    scene = pendulum(stiffness=1e5, step=0.033)
    stage = staged(scene, "verlet", "energy-momentum")  # h omega = 7.4: verlet explodes
    seen = frames(stage, 30)[-1]
    broken, sound = seen.lanes
    assert (
        "diverged" in broken.failure and "\n" not in broken.failure and "rtol" not in broken.failure
    )
    assert np.isfinite(broken.positions).all() and broken.seconds == 0.0
    assert sound.failure is None and stage.lanes[1].stepper.state.t == pytest.approx(seen.t)
    assert np.array_equal(stage.advance().lanes[0].positions, broken.positions)  # it stands still


def test_a_lane_that_fails_at_once_is_shown_under_its_own_name():
    stage = staged(little_cloth(), "midpoint")
    frames(stage, 1)
    stage.change(integrators=("forward-euler",), step=1.0)
    broken = stage.advance().lanes[0]
    assert broken.failure is not None and broken.name == "forward-euler"


def test_another_method_joins_a_lane_that_went_on():
    stage = staged(pendulum(stiffness=1e5, step=0.033), "verlet", "energy-momentum")
    frames(stage, 30)
    stage.change(integrators=("bdf1", "energy-momentum"))
    assert np.array_equal(state(stage, 0).x, state(stage, 1).x)
    assert np.array_equal(state(stage, 0).v, state(stage, 1).v)
    assert stage.advance().lanes[0].failure is None
    assert state(stage, 0).t == state(stage, 1).t  # in step


def test_another_method_restarts_a_lone_lane_from_its_last_sound_state():
    stage = staged(pendulum(stiffness=1e5, step=0.033), "verlet")
    seen = frames(stage, 30)
    assert seen[-1].lanes[0].failure and seen[-1].t == seen[-2].t < 30 * 0.033  # time stands, too
    stage.change(integrators=("bdf1",))
    again = stage.advance().lanes[0]
    assert again.failure is None and again.name == "bdf1"
    assert state(stage, 0).t == pytest.approx(seen[-1].t + 0.033)
    # what was invented before it was noticed is gone: no more energy than the fall can give
    assert again.energies["kinetic"] < 2.0 * 9.81 * 2.0 * 2.0
    assert abs(again.numerical) < 2.0 * 9.81 * 2.0 * 2.0


def test_a_smaller_step_restarts_a_lane_too_and_another_speed_does_not():
    stage = staged(pendulum(stiffness=1e5, step=0.033), "verlet")
    frames(stage, 30)
    stage.change(speed=0.5)
    assert stage.lanes[0].failure is not None
    stage.change(step=0.002)
    seen = frames(stage, 10)[-1].lanes[0]
    assert seen.failure is None and abs(seen.numerical) < 1.0


def test_a_failure_says_what_can_be_turned_on_the_page(monkeypatch):
    """Whatever the library itself advises: the user of a page has no tol= and no method=."""
    stage = staged(pendulum(), "bdf1", step=0.002)

    def gives_up(*_):
        raise NotConverged("Lanczos: residual 1e-3: try method='chebyshev' or a larger tolerance")

    monkeypatch.setattr(type(stage.lanes[0].stepper.method), "step", gives_up)
    assert stage.advance().lanes[0].failure == (
        "Lanczos: residual 1e-3; choose energy-momentum or stabilised in its place, or a Step of "
        "0.5 ms"
    )
    stage = staged(pendulum(), "energy-momentum", step=0.2)
    monkeypatch.setattr(type(stage.lanes[0].stepper.method), "step", gives_up)
    assert stage.advance().lanes[0].failure == (
        "Lanczos: residual 1e-3; choose stabilised in its place, or a Step of 50 ms"
    )


def test_any_exception_in_a_step_is_a_failure_of_its_lane(monkeypatch):
    stage = staged(little_cloth(), "realtime", "bdf1")
    frames(stage, 1)

    def broken(h, end):
        raise ZeroDivisionError("by an\naccident")

    monkeypatch.setattr(stage.lanes[0].stepper, "take", broken)
    seen = frames(stage, 2)[-1]
    assert seen.lanes[0].failure == "ZeroDivisionError: by an accident"
    assert seen.lanes[1].failure is None
    stage.reset()
    assert stage.advance().lanes[0].failure is None


# ---------------------------------------------------------------------- memory


@pytest.mark.slow
def test_memory_stays_flat(monkeypatch):
    """What is kept does not grow with time, nor with what a user does."""
    monkeypatch.setattr(recent, "SECONDS", 0.5)  # 15 frames
    stage = staged(pendulum(), "energy-momentum", "realtime")

    def play(count):
        for k in range(count):
            stage.grab(1)
            stage.drag([0.01 * (k % 7), 0.0, 0.0])
            stage.advance()
            stage.drop()
            stage.change(stiffness=1.0 + 0.1 * (k % 3))
            stage.advance()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        early = play(20)
        late = play(40)
    finally:
        tracemalloc.stop()
    assert [len(lane.kept) for lane in stage.lanes] == [15, 15]
    assert late - early < 50_000  # bytes: 80 frames of both lanes would be several times as much
