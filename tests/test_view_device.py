"""Lanes that take the steps of a frame in one call, on the CPU and on a card."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from cuda_shim import COMPILER, HostBackend
from live_scenes import frames, little_cloth, staged

from stiffly import InputError, scenes
from stiffly.backends import gpu as door
from stiffly.cli import main
from stiffly.view import lane as lanes
from stiffly.view.settings import Settings
from stiffly.view.stage import Stage

compiled = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")
H = 1.0 / 300.0


@pytest.fixture
def card(tmp_path_factory, monkeypatch):
    backend = HostBackend(tmp_path_factory.mktemp("shim"))
    monkeypatch.setattr(door, "gpu", lambda number: backend)
    return backend


def stage_on(device, *methods, damping=0.0, **settings):
    scene = little_cloth(damping=damping)
    given = {"integrators": methods, **settings}
    return Stage(scene, replace(Settings.of(scene), **given), device)


def pulled(stage):
    """What lanes show while a hand takes hold, pulls, and lets go."""
    seen = frames(stage, 2)
    stage.grab(24)
    seen += frames(stage, 1)
    for k in range(1, 4):
        stage.drag((0.0, 0.1 * k, 0.0))
        seen += frames(stage, 1)
    stage.drop()
    return [snapshot.lanes[0] for snapshot in (*seen, *frames(stage, 2))]


def same(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.failure is None and b.failure is None
        np.testing.assert_allclose(a.positions, b.positions, atol=1e-6)
        for line in ("added", "dissipated", "numerical"):
            assert getattr(a, line) == pytest.approx(getattr(b, line), abs=1e-7)
        assert a.energies == pytest.approx(b.energies, abs=1e-6)
    assert max(lane.energies["hand"] for lane in one) > 0.0
    assert one[-1].energies["hand"] == 0.0 and one[-1].dissipated > 0.0


def test_steps_of_a_frame_in_one_call_are_those_one_by_one(monkeypatch):
    """A hand that pulls, and corners that are shaken, included."""
    at_once = stage_on("cpu", "verlet", step=H)
    assert at_once.lanes[0].stepper.at_once
    many = pulled(at_once)
    monkeypatch.setattr(lanes, "_waiting", lambda body, method: None)
    monkeypatch.setattr(lanes.LiveStepper, "at_once", False)
    same(many, pulled(stage_on("cpu", "verlet", step=H)))


def test_lanes_of_both_kinds_go_on_in_step():
    stage = stage_on("cpu", "verlet", "energy-momentum", step=H)
    for _ in range(3):
        snapshot = stage.advance()
        assert {lane.stepper.state.t for lane in stage.lanes} == {snapshot.t}
        assert snapshot.frame_time == pytest.approx(10 * H)


def test_a_method_that_is_chosen_later_takes_its_own_steps():
    stage = stage_on("cpu", "energy-momentum", step=H)
    frames(stage, 1)
    for name, at_once in (("verlet", True), ("bdf1", False), ("rk4", True)):
        stage.change(integrators=(name,))
        assert stage.lanes[0].stepper.at_once == at_once
        assert frames(stage, 2)[-1].lanes[0].failure is None


@compiled
def test_a_card_shows_what_the_cpu_shows(card):
    same(*(pulled(stage_on(device, "verlet", step=H)) for device in ("gpu", "cpu")))


@compiled
@pytest.mark.parametrize("method", ["verlet", "rk4"])
def test_a_hand_that_pulls_while_time_stands_still_on_a_card(method, card):
    """All energy is told by the card here, which knows ties as they were when it last stepped."""
    scene = scenes.load("rope", small=True)
    stage = Stage(scene, replace(Settings.of(scene), integrators=(method,), step=1e-5), "gpu")
    stage.advance(0.0)
    stage.grab(len(scene.x0) // 2)
    before = stage.advance(0.0).lanes[0]

    def pulls(*offset):
        stage.drag(offset)
        return stage.look().lanes[0]

    def stiffens():
        stage.change(stiffness=2.0 * stage.settings.stiffness)
        return stage.look().lanes[0]

    def lets_go():
        stage.drop()
        return stage.look().lanes[0]

    for act in (lambda: pulls(0.0, 0.5, 0.0), lambda: pulls(0.0, 1.0, 0.0), stiffens, lets_go):
        seen = act()
        assert seen.failure is None
        assert seen.numerical == pytest.approx(before.numerical, abs=1e-9)
    assert seen.energies["hand"] == 0.0 and seen.added > 1.0


@compiled
def test_realtime_on_a_card_is_verlet_in_stable_steps(card):
    stage = stage_on("gpu", "realtime")
    shown = pulled(stage)
    assert all(lane.failure is None and lane.name == "realtime" for lane in shown)
    assert shown[-1].stands_in.startswith("verlet on a card, in steps of ")
    worst = max(abs(lane.numerical) for lane in shown)
    assert worst < 0.02 * max(lane.added for lane in shown)
    assert stage.recent().lanes[0][-1][0] == "verlet"
    before = stage.lanes[0]._parts
    stage.change(stiffness=16.0)
    assert frames(stage, 1)[-1].lanes[0].failure is None
    assert 2 * before < stage.lanes[0]._parts <= 4 * before  # of 1/4 of the size


@compiled
def test_steps_are_shorter_where_beta_damps(card):
    """Forces of velocity are predicted: without that in their limit the cloth would burst."""
    stages = [stage_on("gpu", "realtime", damping=beta) for beta in (0.0, 0.03)]
    shown = [pulled(stage)[-1] for stage in stages]
    assert all(lane.failure is None for lane in shown)
    free, damped = (stage.lanes[0]._parts for stage in stages)
    assert damped > 2 * free
    assert shown[1].numerical == pytest.approx(0.0, abs=0.02 * shown[1].added)


@compiled
def test_methods_of_all_kinds_on_a_card(card):
    """The hand pulls at bodies whose steps solve equations there, too."""
    stage = stage_on("gpu", "bdf1", "exprb42", step=0.01)
    assert not any(lane.stepper.at_once for lane in stage.lanes)
    shown = pulled(stage)
    assert all(lane.failure is None for lane in shown)
    stage.change(integrators=("verlet", "exprb42"), step=H)
    assert [lane.stepper.at_once for lane in stage.lanes] == [True, False]
    assert all(lane.failure is None for lane in frames(stage, 2)[-1].lanes)


@compiled
def test_what_a_card_cannot_do_is_refused_in_one_line(card):
    with pytest.raises(InputError, match="vimex has no loop on a card: use verlet") as refusal:
        stage_on("gpu", "vimex")
    assert "\n" not in str(refusal.value)
    stage = stage_on("gpu", "verlet", step=H)
    with pytest.raises(InputError, match="vimex has no loop on a card"):
        stage.change(integrators=("vimex",))
    assert stage.settings.integrators == ("verlet",)
    assert frames(stage, 1)[-1].lanes[0].failure is None


def test_auto_computes_on_the_cpu_where_a_card_cannot(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "cupy", None)
    door.gpu.cache_clear()
    stage = stage_on("auto", "realtime")
    assert "realtime on the CPU, since device gpu needs CuPy" in caplog.text
    assert frames(stage, 1)[-1].lanes[0].stands_in == ""


def test_without_a_card_the_command_says_so_in_one_line(monkeypatch, capfd, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.chdir(tmp_path)
    door.gpu.cache_clear()
    code = main(["view", "cloth", "--small", "--no-open", "--device", "gpu"])
    err = capfd.readouterr().err
    assert code == 2 and err.count("error: ") == 1 and "pip install" in err


def test_frames_of_a_small_scene_with_contact():
    stage = staged(scenes.load("crash", small=True), "verlet", step=1e-4)
    assert stage.lanes[0].stepper.at_once
    assert frames(stage, 2)[-1].lanes[0].failure is None
