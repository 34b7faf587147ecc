"""A run that was stopped at any step goes on to the very frames of one that was not."""

import dataclasses
import io
import json
import signal

import numpy as np
import pytest
from runs_to_record import CASES, assert_same, block, pendulums, simulate

import stiffly
from stiffly import System
from stiffly.errors import InputError, StiffWarning
from stiffly.recording.checkpoint import Checkpoint, sealed
from stiffly.recording.folder import Lock
from stiffly.recording.layout import find, open_file
from stiffly.run.loop import Loop
from stiffly.run.resume import go_on

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # rough steps


@pytest.fixture(autouse=True)
def ctrl_c():
    """Python's own handler, also where the tests run in the background, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupt_at(monkeypatch, ctrl_c):
    """Ctrl-C during the n-th accepted step, counted over all runs."""
    accept = Loop._accept

    def at(*steps):
        count = 0

        def accept_and_count(self, *arguments):
            nonlocal count
            accept(self, *arguments)
            count += 1
            if count in steps:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(Loop, "_accept", accept_and_count)

    return at


@pytest.mark.parametrize("name", CASES)
def test_goes_on_to_the_same_digits(name, tmp_path, interrupt_at):
    """Stopped three times, twice between two frames; everything is compared in every digit."""
    reference = simulate(CASES[name]())
    steps = reference.stats["steps"]
    assert steps >= 8
    interrupt_at(2, steps // 2, steps - 2)
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        simulate(CASES[name](), out=folder, dtype="float64")
    stopped = stiffly.Recording(folder)
    assert not stopped.complete
    assert stopped.failure == "interrupted"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            stiffly.resume(folder, CASES[name]()[0])
    run = stiffly.resume(folder, CASES[name]()[0])
    assert run.complete and run.failure is None
    assert_same(run, reference)


@pytest.mark.slow
@pytest.mark.parametrize("name", stiffly.scenes.NAMES)
def test_every_scene_goes_on_to_the_same_digits(name, tmp_path, interrupt_at):
    """The small variants, 40 steps; what the scene touches comes back from the file too."""
    scene = stiffly.scenes.load(name, small=True)
    options = {"duration": 40 * scene.step, "every": 8 * scene.step}
    reference = stiffly.simulate(scene, **options)
    interrupt_at(20)
    with pytest.raises(KeyboardInterrupt):
        stiffly.simulate(scene, out=tmp_path / "run", dtype="float64", **options)
    run = stiffly.resume(tmp_path / "run")
    assert_same(run, reference)
    assert run.name == name
    assert [type(shape) for shape in run.colliders] == [type(shape) for shape in scene.colliders]
    assert (run.mesh is None) == (scene.mesh is None)


def test_the_interrupt_was_inside_a_frame(tmp_path, interrupt_at):
    """Four steps a frame: after six steps one frame beyond the start is there."""
    interrupt_at(6)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(integrator="exprb42"), out=tmp_path / "run")
    stopped = stiffly.Recording(tmp_path / "run")
    assert len(stopped) == 2
    assert stopped.stats["steps"] == 4


def test_numbers_per_frame_go_on_too(tmp_path, interrupt_at):
    """What steps said before the interrupt counts for the frame that ends after it."""
    case = CASES["stabilised"]
    reference = simulate(case(), out=tmp_path / "reference").diagnostics
    interrupt_at(6)
    with pytest.raises(KeyboardInterrupt):
        simulate(case(), out=tmp_path / "run")
    found = stiffly.resume(tmp_path / "run", case()[0]).diagnostics
    assert set(found) == set(reference)
    for name, values in reference.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_ctrl_c_works_as_ever_without_a_folder(interrupt_at):
    before = signal.getsignal(signal.SIGINT)
    interrupt_at(3)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(integrator="exprb42"))
    assert signal.getsignal(signal.SIGINT) is before


def test_the_signal_handler_is_put_back(tmp_path, interrupt_at):
    before = signal.getsignal(signal.SIGINT)
    interrupt_at(3)
    with pytest.raises(KeyboardInterrupt):
        simulate(pendulums(), out=tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_signal_stays_ignored(tmp_path, interrupt_at):
    """Shells start jobs in the background so: Ctrl-C is meant for somebody else."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interrupt_at(3)
        assert simulate(pendulums(), out=tmp_path / "run").complete
    finally:
        signal.signal(signal.SIGINT, before)


def test_frames_after_the_checkpoint_are_forgotten_and_computed_again(tmp_path):
    """The checkpoint of an early frame beside a recording that has gone on, as after a kill."""
    folder, saved = tmp_path / "run", []
    checkpoint = folder / "checkpoint.npz"

    def keep(report):
        if report.frames == 5:
            saved.append(checkpoint.read_bytes())

    reference = simulate(block(), out=folder, dtype="float64", checkpoint=0, progress=keep)
    times, positions = reference.times.copy(), np.array(reference.positions)
    assert reference.complete
    checkpoint.write_bytes(saved[0])
    (folder / "summary.json").unlink()
    seen = []
    system, report = block()[0], lambda report: seen.append(report.frames)
    run = stiffly.resume(folder, system, progress=report)
    # the report of frame 5 came before its checkpoint, so the file still held the one before
    assert seen == list(range(5, len(times) + 1))
    assert run.complete
    np.testing.assert_array_equal(run.times, times)
    np.testing.assert_array_equal(run.positions, positions)


def test_a_complete_run_comes_back_as_it_is(tmp_path):
    run = simulate(pendulums(), out=tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    again = stiffly.resume(tmp_path / "run")
    assert again.complete and len(again) == len(run)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()} == before


def test_the_folder_is_locked_before_it_is_read(tmp_path, interrupt_at, monkeypatch):
    folder, tried, read = tmp_path / "run", [], Checkpoint.read
    interrupt_at(6)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(), out=folder, dtype="float64")

    def intrude(where):
        with pytest.raises(InputError, match="being written by another process"):
            Lock(where)
        tried.append(where)
        return read(where)

    monkeypatch.setattr(Checkpoint, "read", intrude)
    assert_same(stiffly.resume(folder, block()[0]), simulate(block()))
    assert tried == [folder]
    Lock(folder).release()  # it lets go


def test_what_another_process_has_finished_meanwhile_stays(tmp_path, interrupt_at):
    folder = tmp_path / "run"
    interrupt_at(6)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(), out=folder)
    found = stiffly.Recording(folder)
    assert stiffly.resume(folder, block()[0]).complete
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert not found.complete and go_on(found, block()[0]).complete
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["verlet", "dop853 adaptive", "exprb42", "pexprb43 adaptive"])
def test_a_run_with_nothing_left_to_compute_says_how_steps_were_taken(name, tmp_path):
    folder, case = tmp_path / "run", CASES[name]
    said = simulate(case(), out=folder).stats["loop"]
    assert said.startswith(("step by step", "compiled"))
    (folder / "summary.json").unlink()
    assert stiffly.resume(folder, case()[0]).stats["loop"] == said


def test_a_run_killed_before_its_summary_gets_it(tmp_path):
    folder, saved = tmp_path / "run", []
    keep = lambda report: saved.append((folder / "checkpoint.npz").read_bytes())  # noqa: E731
    simulate(pendulums(), out=folder, checkpoint=0, progress=keep)
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").unlink()
    (folder / "checkpoint.npz").write_bytes(saved[-1])
    stiffly.resume(folder, pendulums()[0])
    again = json.loads((folder / "summary.json").read_text())
    for told in (summary, again):
        assert told.pop("wall_seconds") > 0.0 and told.pop("checksum") > 0
    assert again == summary


def test_another_processor_is_told(tmp_path, interrupt_at, monkeypatch):
    """Kernels compiled for other vectors sum in another order: the last digits may differ."""
    interrupt_at(20)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(), out=tmp_path / "run")
    monkeypatch.setattr("stiffly.recording.provenance.processor", lambda: "z80")
    with pytest.warns(stiffly.StiffWarning, match=r"processor .*last digits"):
        stiffly.resume(tmp_path / "run", block()[0])


def test_seconds_of_both_parts_are_added(tmp_path, interrupt_at):
    interrupt_at(20)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(), out=tmp_path / "run")
    first = stiffly.Recording(tmp_path / "run").wall_seconds
    assert first > 0.0
    assert stiffly.resume(tmp_path / "run", block()[0]).wall_seconds > first


# ------------------------------------------------------------------ what cannot go on


@pytest.fixture
def stopped(tmp_path, interrupt_at):
    interrupt_at(10)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(), out=tmp_path / "run")
    return tmp_path / "run"


def refusal(folder, *given, **options):
    with pytest.raises(InputError) as caught:
        stiffly.resume(folder, *(given or (block()[0],)), **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_checkpoint_is_named(stopped):
    (stopped / "checkpoint.npz").unlink()
    assert "no checkpoint to go on from: run the scene again" in refusal(stopped)


def test_a_folder_of_an_older_version_is_named_and_can_be_read(stopped):
    """Those kept another kind of file, which is not even opened."""
    (stopped / "checkpoint.npz").rename(stopped / "checkpoint.old")
    said = refusal(stopped)
    assert "older stiffly" in said and "plot, export and view still read its frames" in said
    assert len(stiffly.Recording(stopped)) > 1


@pytest.mark.parametrize("damage", ["shorter", "one bit", "empty", "other"])
def test_a_damaged_checkpoint_is_named(stopped, damage):
    path = stopped / "checkpoint.npz"
    data = bytearray(path.read_bytes())
    if damage == "one bit":
        data[len(data) // 2] ^= 1
    spoilt = {"shorter": data[:-1], "one bit": data, "empty": b"", "other": b"\x80\x04."}[damage]
    path.write_bytes(bytes(spoilt))
    frames = len(stiffly.Recording(stopped))
    assert "is damaged: run the scene again" in refusal(stopped)
    assert len(stiffly.Recording(stopped)) == frames  # nothing was touched


def test_a_folder_without_a_run_is_named(tmp_path):
    assert "holds no recording" in refusal(tmp_path / "nothing")


def test_other_versions_are_warned_about(stopped):
    change(stopped, versions={"stiffly": "0.0.1"})
    with pytest.warns(StiffWarning, match=r"begun with stiffly 0\.0\.1: .* last digits"):
        assert stiffly.resume(stopped, block()[0]).complete


def change(folder, **header):
    """Another header for a checkpoint, with everything else as it is."""
    with np.load(folder / "checkpoint.npz") as found:
        arrays = dict(found)
    head = {**json.loads(arrays["tree"].tobytes()), **header}
    arrays["tree"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    archive = io.BytesIO()
    np.savez(archive, **arrays)
    (folder / "checkpoint.npz").write_bytes(b"".join(sealed(archive.getvalue())))


def test_a_run_of_python_objects_asks_for_its_system(stopped):
    assert "hand in the one it was begun with, stiffly.resume(folder, system)" in refusal(
        stopped, None
    )


@pytest.mark.parametrize("other", ["stiffness", "mass", "fixed", "parts"])
def test_another_system_is_refused(stopped, other):
    given = block()[0].given
    springs, gravity = given.parts
    changed = {
        "stiffness": {"parts": (springs.scaled(1.0 + 1e-15), gravity)},
        "mass": {"mass": given.mass + 1e-18},
        "fixed": {"fixed": given.fixed[1:]},
        "parts": {"parts": (springs,)},
    }[other]
    before = {path: path.read_bytes() for path in stopped.iterdir()}
    said = refusal(stopped, System(*given._replace(**changed)))
    assert "was begun with another system than this one" in said
    assert {path: path.read_bytes() for path in stopped.iterdir()} == before


def test_a_checkpoint_of_another_run_is_refused(stopped):
    change(stopped, run="another")
    assert "checkpoint of another" in refusal(stopped)


def test_a_recording_with_fewer_frames_than_its_checkpoint_is_refused(stopped):
    """Copied in the wrong order while the run went on: nothing is invented."""
    change(stopped, frames=9)
    before = (stopped / "recording.vtkhdf").read_bytes()
    assert "holds 3 frames, but its checkpoint goes on after 9" in refusal(stopped)
    assert (stopped / "recording.vtkhdf").read_bytes() == before


def test_frames_that_are_counted_but_not_there_are_noticed(stopped):
    with open_file(stopped / "recording.vtkhdf") as file:
        place, size = find(file).pieces["row"]
    with open(stopped / "recording.vtkhdf", "r+b") as file:
        file.seek(place + 2 * size)
        file.write(bytes(size))
    assert "frame 2 is damaged, and before the checkpoint" in refusal(stopped)


class Own:
    """A method that is none of stiffly's."""

    order, adaptive, name = 1, False, "own"

    def start(self, system, state):
        return (0, None)

    def step(self, system, state, h, memory):
        taken = stiffly.integrator("symplectic-euler").step(system, state, h, None)
        return dataclasses.replace(taken, memory=(memory[0] + 1, taken.state.x))


def test_an_integrator_of_ones_own_is_handed_in(tmp_path, interrupt_at):
    folder, system = tmp_path / "run", pendulums()[0]
    reference = simulate(pendulums(integrator=Own()))
    interrupt_at(3)
    with pytest.raises(KeyboardInterrupt):
        simulate(pendulums(integrator=Own()), out=folder, dtype="float64")
    assert "Own: hand it in" in refusal(folder, system)
    assert_same(stiffly.resume(folder, system, integrator=Own()), reference)


# ------------------------------------------------------------------ longer than it was


def test_a_finished_run_becomes_longer(tmp_path):
    """The frames of the run that was longer from the start, in every digit."""
    folder, options = tmp_path / "run", {"step": 1 / 256, "every": 1 / 64}
    reference = simulate(block(**options, duration=0.25))
    simulate(block(**options, duration=0.125), out=folder, dtype="float64")
    run = stiffly.resume(folder, block()[0], duration=0.25)
    assert run.complete and run.provenance["duration"] == 0.25
    assert_same(run, reference)


def test_a_last_frame_that_came_early_stays(tmp_path):
    """After 0.25 s, one every 0.1 s again; a stop on the way goes on to the new end."""
    folder, system = tmp_path / "run", pendulums()[0]
    simulate(pendulums(duration=0.25), out=folder)

    def stop(report):
        if report.frames == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stiffly.resume(folder, system, duration=0.55, progress=stop)
    run = stiffly.resume(folder, system)
    assert run.complete
    np.testing.assert_allclose(run.times, [0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.55], rtol=1e-15)


def test_a_run_cannot_become_shorter(tmp_path):
    simulate(pendulums(), out=tmp_path / "run")
    said = refusal(tmp_path / "run", pendulums()[0], duration=0.5)
    assert "is one of 1 s already: give more seconds" in said
