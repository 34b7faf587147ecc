"""The last seconds of a live simulation as a recording that everything else can read."""

import json

import numpy as np
import pytest
from live_scenes import frames, little_cloth, pendulum, staged

from stiffly import InputError
from stiffly.cli import main
from stiffly.recording.recording import Recording
from stiffly.view import recent
from stiffly.view.recent import frames_kept


def test_a_recording_holds_the_frames_that_were_seen(tmp_path):
    stage = staged(little_cloth(), "realtime", "energy-momentum")
    seen = [stage.look(), *frames(stage, 8)]
    for lane, name in enumerate(("realtime", "energy-momentum")):
        recording = stage.recent().write(tmp_path / name, lane)
        assert recording.complete and recording.integrator == name and len(recording) == 9
        again = Recording(tmp_path / name)
        np.testing.assert_allclose(again.times, [s.t for s in seen])
        shown = np.array([s.lanes[lane].positions for s in seen])
        assert np.array_equal(again.positions, shown)
        assert np.array_equal(again.velocities[-1].astype(np.float32), again.velocities[-1])
        assert np.any(again.velocities[-1])
        for part in ("kinetic", "elastic", "gravity"):
            assert again.energy.parts[part].tolist() == [s.lanes[lane].energies[part] for s in seen]
        assert "hand" not in again.energy.parts  # nothing was held
        added = [s.lanes[lane].added for s in seen]
        np.testing.assert_allclose(again.energy.added, added, atol=1e-14)
        assert again.stats["steps"] == 8 and again.mesh is not None
        assert again.provenance["settings"]["step"] == 0.033


def test_the_ledger_begins_with_the_first_frame_that_is_left(tmp_path, monkeypatch):
    """Books that began long before: numerical error and counts are those of the frames alone."""
    monkeypatch.setattr(recent, "MEMORY", 24 * 49 * 5.0)  # five frames
    stage = staged(little_cloth(), "realtime")
    seen = frames(stage, 12)[-5:]
    recording = stage.recent().write(tmp_path / "last")
    assert len(recording) == 5 and recording.stats["steps"] == 4
    assert recording.times[0] == pytest.approx(seen[0].t)
    assert recording.energy.numerical[0] == 0.0 and recording.energy.added[0] == 0.0
    own = [s.lanes[0].numerical - seen[0].lanes[0].numerical for s in seen]
    np.testing.assert_allclose(recording.energy.numerical, own, atol=1e-9)


def test_a_hand_and_other_methods_are_part_of_the_story(tmp_path):
    stage = staged(little_cloth(), "realtime")
    frames(stage, 2)
    stage.grab(24)
    stage.drag([0.3, 0.0, 0.0])
    held = frames(stage, 2)[-1].lanes[0]
    stage.drop()
    stage.change(integrators=("energy-momentum",), gravity=2.0)
    frames(stage, 2)
    recording = stage.recent().write(tmp_path / "run")
    assert recording.integrator == "realtime > energy-momentum"
    hand = recording.energy.parts["hand"]
    assert hand[:3].tolist() == [0.0] * 3 and hand[4] == held.energies["hand"] > 0.0
    assert hand[5:].tolist() == [0.0, 0.0]
    assert np.isfinite(recording.energy.total).all()
    assert abs(recording.energy.numerical[-1]) < 0.05 * recording.energy.exchanged
    scene = (tmp_path / "run" / "scene.toml").read_text()
    assert "gravity = 2.0" in scene and "energy-momentum" in scene


def test_a_lane_that_failed_is_recorded_up_to_there(tmp_path):
    stage = staged(pendulum(stiffness=1e5, step=0.033), "verlet", "energy-momentum")
    frames(stage, 30)
    failed, sound = (stage.recent().write(tmp_path / str(lane), lane) for lane in (0, 1))
    assert 2 <= len(failed) < len(sound) == 31
    assert np.isfinite(failed.positions).all()


def test_commands_read_it(tmp_path, monkeypatch):
    stage = staged(little_cloth(), "realtime")
    frames(stage, 5)
    stage.recent().write(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["complete"] and summary["frames"] == 6 and summary["failure"] is None
    for command in (["plot", "run"], ["export", "run", "--to", "ply"]):
        assert main(command) == 0


def test_nothing_is_written_over(tmp_path):
    stage = staged(little_cloth(), "realtime")
    with pytest.raises(InputError, match="nothing to record yet"):
        stage.recent().write(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    frames(stage, 2)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter").write_text("keep me")
    with pytest.raises(InputError, match="not empty"):
        stage.recent().write(tmp_path / "taken")
    with pytest.raises(InputError, match="holds no run"):
        stage.recent().write(tmp_path / "taken", force=True)
    assert [p.name for p in (tmp_path / "taken").iterdir()] == ["letter"]


def test_what_was_asked_for_does_not_change_any_more():
    stage = staged(little_cloth(), "realtime")
    frames(stage, 3)
    before = stage.recent()
    frames(stage, 3)
    assert len(before.lanes[0]) == 4 and before.seconds() == pytest.approx(3 * 0.033)
    assert stage.recent().seconds() == pytest.approx(6 * 0.033)


def test_memory_for_frames_is_limited():
    assert frames_kept(100, 1) == 300  # ten seconds
    most = frames_kept(10_201, 3)
    assert most < 300 and most * 3 * 10_201 * 24 <= 200e6 < (most + 1) * 3 * 10_201 * 24
    assert frames_kept(10**9, 3) == 2
