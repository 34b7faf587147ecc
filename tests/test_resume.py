"""A run that was stopped at any step goes on to the very frames of one that was not."""

import json
import signal

import numpy as np
import pytest
from runs_to_record import CASES, assert_same, block, pendulums, simulate

import stiffly
from stiffly.errors import InputError, StiffWarning
from stiffly.run.loop import Loop

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
            stiffly.resume(folder)
    run = stiffly.resume(folder)
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
    found = stiffly.resume(tmp_path / "run").diagnostics
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
    checkpoint = folder / "checkpoint.pickle"

    def keep(report):
        if report.frames == 5:
            saved.append(checkpoint.read_bytes())

    reference = simulate(block(), out=folder, dtype="float64", checkpoint=0, progress=keep)
    times, positions = reference.times.copy(), np.array(reference.positions)
    assert reference.complete and not checkpoint.exists()
    checkpoint.write_bytes(saved[0])
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "failure": "killed"}))
    seen = []
    run = stiffly.resume(folder, progress=lambda report: seen.append(report.frames))
    # the report of frame 5 came before its checkpoint, so the file still held the one before
    assert seen == list(range(5, len(times) + 1))
    assert run.complete
    np.testing.assert_array_equal(run.times, times)
    np.testing.assert_array_equal(run.positions, positions)


def test_a_complete_run_comes_back_as_it_is(tmp_path):
    run = simulate(pendulums(), out=tmp_path / "run")
    before = (tmp_path / "run" / "recording.vtkhdf").stat().st_mtime_ns
    again = stiffly.resume(tmp_path / "run")
    assert again.complete and len(again) == len(run)
    assert (tmp_path / "run" / "recording.vtkhdf").stat().st_mtime_ns == before


def test_a_run_killed_before_its_summary_gets_it(tmp_path):
    folder, saved = tmp_path / "run", []
    keep = lambda report: saved.append((folder / "checkpoint.pickle").read_bytes())  # noqa: E731
    simulate(pendulums(), out=folder, checkpoint=0, progress=keep)
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").unlink()
    (folder / "checkpoint.pickle").write_bytes(saved[-1])
    stiffly.resume(folder)
    again = json.loads((folder / "summary.json").read_text())
    assert summary.pop("wall_seconds") > 0.0 and again.pop("wall_seconds") > 0.0
    assert again == summary
    assert not (folder / "checkpoint.pickle").exists()


def test_seconds_of_both_parts_are_added(tmp_path, interrupt_at):
    interrupt_at(20)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(), out=tmp_path / "run")
    first = stiffly.Recording(tmp_path / "run").wall_seconds
    assert first > 0.0
    assert stiffly.resume(tmp_path / "run").wall_seconds > first


# ------------------------------------------------------------------ what cannot go on


@pytest.fixture
def stopped(tmp_path, interrupt_at):
    interrupt_at(10)
    with pytest.raises(KeyboardInterrupt):
        simulate(block(), out=tmp_path / "run")
    return tmp_path / "run"


def refusal(folder):
    with pytest.raises(InputError) as caught:
        stiffly.resume(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_checkpoint_is_named(stopped):
    (stopped / "checkpoint.pickle").unlink()
    assert "no checkpoint to go on from: run the scene again" in refusal(stopped)


@pytest.mark.parametrize("damage", ["shorter", "one bit", "empty", "other"])
def test_a_damaged_checkpoint_is_named(stopped, damage):
    path = stopped / "checkpoint.pickle"
    data = bytearray(path.read_bytes())
    if damage == "one bit":
        data[-100] ^= 1
    spoilt = {"shorter": data[:-1], "one bit": data, "empty": b"", "other": b"\x80\x04."}[damage]
    path.write_bytes(bytes(spoilt))
    frames = len(stiffly.Recording(stopped))
    assert "is damaged: run the scene again" in refusal(stopped)
    assert len(stiffly.Recording(stopped)) == frames  # nothing was touched


def test_a_folder_without_a_run_is_named(tmp_path):
    assert "holds no recording" in refusal(tmp_path / "nothing")


def test_other_versions_are_warned_about(stopped):
    path = stopped / "checkpoint.pickle"
    head, _, body = path.read_bytes().partition(b"\n")
    header = json.loads(head)
    header["versions"]["stiffly"] = "0.0.1"
    path.write_bytes(json.dumps(header).encode() + b"\n" + body)
    with pytest.warns(StiffWarning, match=r"begun with stiffly 0\.0\.1: .* last digits"):
        assert stiffly.resume(stopped).complete


class Vanishing:
    """A method whose code is gone when the run goes on."""

    order, adaptive, name = 1, False, "vanishing"

    def start(self, system, state):
        return None

    def step(self, system, state, h, memory):
        return stiffly.integrator("symplectic-euler").step(system, state, h, None)


def test_code_that_is_gone_is_named(tmp_path, interrupt_at, monkeypatch):
    interrupt_at(3)
    with pytest.raises(KeyboardInterrupt):
        simulate(pendulums(integrator=Vanishing()), out=tmp_path / "run")
    monkeypatch.delattr(f"{__name__}.Vanishing")
    assert "call stiffly.resume from the program that started the run" in refusal(tmp_path / "run")
