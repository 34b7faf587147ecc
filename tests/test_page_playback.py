"""Recordings that are played: which frame is due, and files that grow, shrink or go away."""

import os
import shutil

import numpy as np
import pytest

from stiffly import Recording, resume, scenes, simulate
from stiffly.recording.folder import RECORDING
from stiffly.recording.writer import Writer
from stiffly.view import playback as module
from stiffly.view.playback import Playback


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "cloth"
    scene = scenes.load("cloth", resolution=5, duration=0.66, integrator="bdf1")
    simulate(scene, out=folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "run")


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_every_frame_is_what_was_recorded_with_its_line_of_the_ledger(folder):
    recording, playback = Recording(folder), Playback(Recording(folder))
    for index in (0, 7, len(recording) - 1):
        seen = playback.snapshot(index)
        assert seen.t == recording.times[index]
        np.testing.assert_array_equal(seen.lanes[0].positions, recording.positions[index])
        assert seen.lanes[0].numerical == recording.energy.numerical[index]
        assert seen.lanes[0].energies["kinetic"] == recording.energy.kinetic[index]


def test_frames_are_due_when_their_time_has_come(folder, clock):
    playback = Playback(Recording(folder))
    playback.set_speed(0.5)
    assert playback.index() == 0
    clock.now += 0.2  # 0.1 s of the motion: frames are 0.033 s apart
    assert playback.index() == 3
    playback.pause()
    clock.now += 10.0
    assert playback.index() == 3
    playback.single()
    assert playback.index() == 4 and not playback.playing
    playback.seek(1)
    playback.play()
    clock.now += 0.067
    assert playback.index() == 2
    clock.now += 100.0
    assert playback.index() == len(playback) - 1 and not playback.playing
    playback.play()  # from the beginning again
    assert playback.index() == 0


def test_seeking_stays_within_the_recording(folder):
    playback = Playback(Recording(folder))
    playback.pause()
    for asked, found in ((-5, 0), (10**9, len(playback) - 1), (3, 3)):
        playback.seek(asked)
        assert playback.index() == found


def test_what_is_over_in_a_moment_is_slowed_down(folder):
    playback = Playback(Recording(folder))
    lasts = playback.times[-1] - playback.times[0]
    assert lasts < 1.0 and playback.speed == pytest.approx(lasts / 10.0)


def test_a_file_that_is_cut_short_while_it_plays_is_told_of(folder):
    playback = Playback(Recording(folder))
    last = len(playback) - 1
    assert playback.snapshot(last) is not None
    os.truncate(folder / RECORDING, 1000)
    assert playback.snapshot(last) is None
    assert f"frame {last} in {folder} is damaged, or gone" in playback.trouble


def test_a_file_that_is_deleted_while_it_plays_plays_on(folder):
    playback = Playback(Recording(folder))
    shutil.rmtree(folder)
    assert playback.snapshot(3) is not None and playback.trouble is None


def stopped_early(scene, folder, monkeypatch, frames):
    """A recording whose program was killed after some frames."""

    class Killed(Exception):
        pass

    write = Writer.frame

    def frame(self, given):
        if given.index == frames:
            raise Killed
        write(self, given)

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "frame", frame)
        patch.setattr(Writer, "result", lambda self, *_: self._lock.release())
        with pytest.raises(Killed):
            simulate(scene, out=folder)


def test_a_recording_that_grows_is_followed(tmp_path, monkeypatch, clock):
    scene = scenes.load("cloth", resolution=5, duration=0.66, integrator="bdf1")
    folder = tmp_path / "grows"
    stopped_early(scene, folder, monkeypatch, 6)
    playback = Playback(Recording(folder))
    assert playback.grows and len(playback) == 6
    clock.now += 100.0
    assert playback.index() == 5 and playback.playing  # waits for more
    assert not playback.look_again()
    whole = resume(folder)  # the same file, further on
    clock.now += module.AGAIN + 1.0
    assert playback.look_again() and len(playback) == len(whole) > 6
    clock.now += 100.0
    assert playback.index() == len(playback) - 1 and playback.trouble is None


def test_a_growing_recording_that_goes_away_is_told_of(tmp_path, monkeypatch, clock):
    scene = scenes.load("cloth", resolution=5, duration=0.66, integrator="bdf1")
    folder = tmp_path / "grows"
    stopped_early(scene, folder, monkeypatch, 6)
    playback = Playback(Recording(folder))
    shutil.rmtree(folder)
    clock.now += module.AGAIN + 1.0
    assert not playback.look_again() and "cannot be read any more" in playback.trouble
    assert playback.snapshot(5) is not None  # what is open stays readable


def test_a_loop_begins_again_from_the_end(clock, folder):
    found = Playback(Recording(folder))
    found.set_loop(True)
    lasts = float(found.times[-1] - found.times[0]) / found.speed
    begin = clock.now
    clock.now = begin + 1.0001 * lasts
    assert found.index() == len(found) - 1 and found.playing
    clock.now = begin + 2.0 * lasts
    assert found.index() == 0 and found.playing
    found.set_loop(False)
    clock.now = begin + 4.0 * lasts
    assert found.index() == len(found) - 1 and not found.playing
