"""Where a run may be written, and what happens when the disk does not take it."""

import errno
import os
import re
import resource
import shutil
from collections import namedtuple
from concurrent.futures import wait

import numpy as np
import pytest
from runs_to_record import assert_same, block, pendulums, simulate

import stiffly
from stiffly.errors import InputError, NotRecorded, SimulationFailure
from stiffly.recording import writer
from stiffly.recording.layout import find, open_file

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # rough steps


def refusal(out, **options):
    """The one line that says why; nothing was simulated."""
    calls = []
    with pytest.raises(InputError) as caught:
        simulate(pendulums(), out=out, progress=calls.append, **options)
    assert "\n" not in str(caught.value) and not calls
    return str(caught.value)


def listing(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ------------------------------------------------------------------ refused before any work


def test_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not empty: name another folder" in refusal(tmp_path)
    assert listing(tmp_path) == {"notes.txt": b"mine"}


def test_force_does_not_replace_what_is_no_run(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert "holds no run that force could replace" in refusal(tmp_path, force=True)
    (tmp_path / "recording.vtkhdf").write_text("not one of ours")
    assert "holds no run that force could replace" in refusal(tmp_path, force=True)
    assert listing(tmp_path) == {"notes.txt": b"mine", "recording.vtkhdf": b"not one of ours"}


def test_force_replaces_a_run_and_leaves_other_files_alone(tmp_path):
    simulate(pendulums(duration=0.5), out=tmp_path / "run")
    (tmp_path / "run" / "energy.png").write_text("a picture")
    assert "or replace its run: force=True" in refusal(tmp_path / "run")
    run = simulate(pendulums(), out=tmp_path / "run", force=True)
    assert len(run) == 11
    assert (tmp_path / "run" / "energy.png").read_text() == "a picture"


def test_force_replaces_what_a_kill_at_the_beginning_has_left(tmp_path):
    (tmp_path / "recording.vtkhdf.part").write_text("half a file")
    assert simulate(pendulums(), out=tmp_path, force=True).complete
    assert not (tmp_path / "recording.vtkhdf.part").exists()


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path):
    assert simulate(pendulums(), out=tmp_path).complete
    assert simulate(pendulums(), out=str(tmp_path / "a" / "b")).complete


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "file").write_text("here")
    assert "file is a file; name a folder" in refusal(tmp_path / "file")
    assert "file is a file; name a folder" in refusal(tmp_path / "file" / "below")


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    """Permissions do not bind every user who runs tests, so the question is answered here."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "cannot be written to; name another folder" in refusal(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    """A disk that is read-only says so only when it is asked to write."""

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    assert "Read-only file system; name another folder" in refusal(tmp_path / "run")


def test_too_little_space(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**4, 10**4))
    said = refusal(tmp_path / "run")
    assert "frames needs 0.1 MB, but only 0.0 MB are free: name another disk" in said
    assert not (tmp_path / "run").exists()


def test_the_time_between_frames_that_would_fit_does(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 0, 2 * 10**6))
    case = block(8, integrator="verlet", step=1e-6, duration=3e-4, every=1e-6)
    with pytest.raises(InputError) as refused:
        simulate(case, out=tmp_path / "run")
    said = str(refused.value)
    assert "of 301 frames needs" in said and "only 2.0 MB are free" in said
    assert not (tmp_path / "run").exists()
    every = re.search(r"every=(\S+) \(--every \1\) would fit", said)[1]
    run = simulate(case, out=tmp_path / "run", every=float(every))
    assert run.complete and sum(p.stat().st_size for p in (tmp_path / "run").iterdir()) < 2 * 10**6
    with pytest.raises(InputError, match=r"only 2\.0 MB are free"):  # and one digit less does not
        simulate(case, out=tmp_path / "again", every=0.9 * float(every))


def test_a_longer_run_needs_room_beside_the_shorter_one(tmp_path, monkeypatch):
    case = block(8, integrator="verlet", step=1e-6, duration=1e-4, every=1e-6)
    simulate(case, out=tmp_path / "run")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 0, 2 * 10**6))
    before = (tmp_path / "run" / "recording.vtkhdf").read_bytes()
    with pytest.raises(InputError, match=r"only 2\.0 MB are free"):
        stiffly.resume(tmp_path / "run", case[0], duration=2e-4)
    assert (tmp_path / "run" / "recording.vtkhdf").read_bytes() == before


@pytest.mark.parametrize("frames, velocities", [(50, True), (50, False), (2, True)])
def test_the_space_that_is_asked_for_is_what_the_file_takes(
    tmp_path, monkeypatch, frames, velocities
):
    asked = []
    monkeypatch.setattr(
        "stiffly.recording.folder.check_space", lambda folder, plan: asked.append(plan.bytes)
    )
    case = block(8, integrator="verlet", step=1e-5, duration=1e-4, every=1e-4 / (frames - 1))
    simulate(case, out=tmp_path / "run", keep_velocities=velocities)
    size = (tmp_path / "run" / "recording.vtkhdf").stat().st_size
    assert size <= asked[0] <= size + 400_000


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"dtype": "float16"}, "recorded as float32 or float64"),
        ({"dtype": float}, "recorded as float32 or float64"),
        ({"checkpoint": -1.0}, "seconds between two"),
        ({"checkpoint": float("nan")}, "seconds between two"),
        ({"checkpoint": "often"}, "checkpoint must be one number"),
    ],
)
def test_options_that_make_no_sense(tmp_path, wrong, words):
    assert words in refusal(tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_two_runs_cannot_write_to_one_folder(tmp_path):
    refused = []

    def intrude(report):
        if report.frames == 3:
            with pytest.raises(InputError, match="being written by another process") as caught:
                stiffly.resume(tmp_path / "run", block()[0])
            refused.append(caught.value)
            with pytest.raises(InputError, match="being written by another process"):
                simulate(pendulums(), out=tmp_path / "run", force=True)

    run = simulate(block(), out=tmp_path / "run", dtype="float64", progress=intrude)
    assert len(refused) == 1
    assert_same(run, simulate(block()))


# ------------------------------------------------------------------ the disk fills up


@pytest.fixture
def file_size_limit():
    """Lets files grow no further than so many bytes, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_quota_for_files_is_told_before_the_first_step(tmp_path, file_size_limit):
    file_size_limit(200 * 1024)
    case = block(8, integrator="verlet", step=1e-6, duration=3e-4, every=1e-6)
    with pytest.raises(InputError, match=r"only 0\.2 MB may be in one file \(ulimit -f\)"):
        simulate(case, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


GROWN = "no file may grow beyond this size; frames before are safe in .* raise the limit"


def test_a_quota_that_ends_a_checkpoint_keeps_the_frames_before(tmp_path, file_size_limit):
    def end(report):
        if report.frames == 3:
            file_size_limit(1000)

    with pytest.raises(NotRecorded, match=GROWN):
        simulate(pendulums(), out=tmp_path / "run", checkpoint=0, dtype="float64", progress=end)
    file_size_limit(resource.RLIM_INFINITY)
    assert_same(stiffly.resume(tmp_path / "run", pendulums()[0]), simulate(pendulums()))


@pytest.mark.parametrize("beside", [False, True])
def test_a_disk_that_fills_up_keeps_the_frames_before(
    tmp_path, file_size_limit, monkeypatch, beside
):
    """The sixth frame's velocities end beyond the limit: a part of them is written."""
    if beside:
        monkeypatch.setattr(writer, "AT_ONCE", 0)
    reference = simulate(block())
    folder = tmp_path / "run"

    def fill(report):
        if report.frames == 3:
            with open_file(folder / "recording.vtkhdf") as file:
                frame = reference.velocities[0].nbytes
                file_size_limit(find(file).pieces["velocity"][0] + 5 * frame + frame // 2)

    with pytest.raises(NotRecorded, match=GROWN) as caught:
        simulate(block(), out=folder, dtype="float64", progress=fill)
    file_size_limit(resource.RLIM_INFINITY)
    assert isinstance(caught.value, SimulationFailure) and "\n" not in str(caught.value)
    for kept in (caught.value.run, stiffly.Recording(folder)):
        assert len(kept) == 5 and not kept.complete
        assert "no file may grow" in kept.failure
        np.testing.assert_array_equal(kept.positions, reference.positions[:5])
        np.testing.assert_array_equal(kept.velocities, reference.velocities[:5])
    assert_same(stiffly.resume(folder, block()[0]), reference)


@pytest.mark.parametrize("what", ["fsync", "replace"])
def test_a_checkpoint_that_cannot_be_written_stops_by_name(tmp_path, monkeypatch, what):
    folder, plain = tmp_path / "run", getattr(os, what)

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    def fill(report):
        if report.frames == 4:
            monkeypatch.setattr(os, what, full)

    with pytest.raises(NotRecorded, match="the disk is full"):
        simulate(block(), out=folder, dtype="float64", checkpoint=0, progress=fill)
    monkeypatch.setattr(os, what, plain)
    assert len(stiffly.Recording(folder)) == 4
    assert_same(stiffly.resume(folder, block()[0]), simulate(block()))


@pytest.mark.parametrize("frame", [2, 9])
def test_a_disk_that_fails_beside_the_run_is_told(tmp_path, monkeypatch, frame):
    """Whoever flushes next is not told of it by the system."""
    calls = []

    def broken(file):
        calls.append(file)
        if len(calls) >= frame:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(writer, "AT_ONCE", 0)
    monkeypatch.setattr(writer, "FLUSH", 0)
    monkeypatch.setattr(writer, "_to_disk", broken)
    monkeypatch.setattr(writer.Writer, "_written", _flushed_first(writer.Writer._written))
    with pytest.raises(NotRecorded, match="Input/output error"):
        simulate(pendulums(), out=tmp_path / "run")
    assert len(calls) == frame


def _flushed_first(written):
    """Flushing takes no longer than computing a frame: which of them are done is no chance."""

    def after(self, *counted):
        if self._flush is not None:
            wait([self._flush])
        written(self, *counted)

    return after


def test_a_summary_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("stiffly.recording.writer.write_json", full)
    with pytest.raises(NotRecorded, match="the disk is full") as caught:
        simulate(pendulums(), out=tmp_path / "run")
    assert len(caught.value.run) == 11
