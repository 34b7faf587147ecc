"""When checkpoints are written, what they cost, and what happens where they cannot be."""

import os
import warnings

import numpy as np
import pytest
from runs_to_record import assert_same, block, pendulum_jacobian, pendulums, simulate

import stiffly
from stiffly import Force, SecondOrder, System
from stiffly.errors import InputError, StiffWarning
from stiffly.recording import checkpoint, writer
from stiffly.recording.provenance import fingerprint

pytestmark = pytest.mark.filterwarnings("ignore:.*numerical error:stiffly.errors.StiffWarning")


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(writer, "time", clock)
    return clock


@pytest.fixture
def written(monkeypatch, clock):
    """(clock, frames) of every checkpoint; each takes written.cost seconds."""

    class Written(list):
        cost = 0.0

    times = Written()
    plain = checkpoint.write

    def write(folder, content, **header):
        times.append((clock.now - 1000.0, header["frames"]))
        clock.now += times.cost
        plain(folder, content, **header)

    monkeypatch.setattr(checkpoint, "write", write)
    return times


def run_with(clock, folder, seconds_per_frame, **options):
    """50 frames after the first, each of which takes that many seconds."""

    def pass_time(report):
        clock.now += seconds_per_frame

    case = pendulums(duration=1.0, every=0.02, step=0.02)
    return simulate(case, out=folder, progress=pass_time, **options)


def test_one_at_the_start_and_then_every_ten_seconds(tmp_path, clock, written):
    run_with(clock, tmp_path / "run", 3.0)
    times = [t for t, _ in written]
    assert times == [0.0, *np.arange(12.0, 151.0, 12.0), 150.0]  # and one at the end


def test_zero_means_every_frame(tmp_path, clock, written):
    run_with(clock, tmp_path / "run", 0.001, checkpoint=0)
    assert [frames for _, frames in written] == [*range(1, 52), 51]


def test_slow_ones_take_two_percent_of_the_time(tmp_path, clock, written):
    """Asked for one a second; each takes 0.5 s, so there is one in 25 s of computing."""
    written.cost = 0.5
    run_with(clock, tmp_path / "run", 1.0, checkpoint=1.0)
    del written[-1]  # at the end
    assert len(written) == 3
    assert np.diff([t for t, _ in written]) == pytest.approx([25.5, 25.5], abs=1.0)


def test_a_long_frame_is_saved_on_the_way(tmp_path, written, clock):
    """One frame of 50 steps: checkpoints do not wait for its end."""
    case = pendulums(every=1.0)
    plain = stiffly.run.loop.Loop._accept

    def slow(self, *arguments):
        clock.now += 3.0
        plain(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stiffly.run.loop.Loop, "_accept", slow)
        simulate(case, out=tmp_path / "run")
    assert [frames for _, frames in written] == [*[1] * 13, 2]


def test_one_is_there_at_any_time_and_at_the_end(tmp_path):
    seen = []
    folder = tmp_path / "run"
    look = lambda report: seen.append((folder / "checkpoint.npz").exists())  # noqa: E731
    simulate(pendulums(), out=folder, progress=look)
    assert all(seen) and len(seen) == 10
    assert checkpoint.Checkpoint.read(folder).header["frames"] == 11


def test_it_is_whole_or_not_there(tmp_path, monkeypatch):
    """A write that breaks off leaves the one before."""
    checkpoint.write(tmp_path, {"first": 1}, frames=1)

    def broken(handle):
        raise OSError("pulled out")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="pulled out"):
        checkpoint.write(tmp_path, {"second": 2})
    assert checkpoint.Checkpoint.read(tmp_path).tree("first") == 1


# ------------------------------------------------------------------ what cannot be saved


class Odd:
    """Nothing that stiffly knows."""


class Remembers:
    order, adaptive, name = 1, False, "remembers"

    def start(self, system, state):
        return Odd()

    def step(self, system, state, h, memory):
        return stiffly.integrator("symplectic-euler").step(system, state, h, None)


def test_odd_memory_switches_checkpoints_off_with_one_line(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = simulate(pendulums(integrator=Remembers()), out=tmp_path / "run", checkpoint=0)
    said = [str(w.message) for w in caught if issubclass(w.category, StiffWarning)]
    assert len(said) == 1
    assert said[0].startswith("no checkpoints, so this run cannot be resumed: its memory holds Odd")
    assert run.complete
    with pytest.raises(InputError, match="no checkpoint to go on from"):
        stiffly.resume(tmp_path / "run", pendulums()[0], duration=2.0)


def test_a_lambda_in_the_system_does_no_harm(tmp_path):
    """It is no part of a checkpoint: whoever goes on brings it along."""

    def system():
        return SecondOrder(size=2, force=lambda x: -9.0 * np.sin(x), jacobian=pendulum_jacobian)

    options = {"step": 0.02, "duration": 1.0, "every": 0.1}

    def stop(report):
        if report.frames == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stiffly.simulate(
            system(), [1.0, 0.5], out=tmp_path / "run", dtype="float64", progress=stop, **options
        )
    run = stiffly.resume(tmp_path / "run", system())
    assert_same(run, stiffly.simulate(system(), [1.0, 0.5], **options))


@pytest.mark.parametrize("integrator", ["verlet", "rk4", "bdf1", "energy-momentum"])
def test_books_of_a_damped_body_fit_into_a_checkpoint(tmp_path, integrator):
    """The ledger keeps the power at the end of a step, with its system: no part of a checkpoint."""

    def system():
        return SecondOrder(stiffness=[[9.0]], damping=[[0.2]])

    options = {"integrator": integrator, "step": 0.02, "duration": 1.0, "every": 0.1}
    whole = stiffly.simulate(system(), [1.0], **options)
    short = options | {"duration": 0.5}
    stiffly.simulate(system(), [1.0], out=tmp_path / "run", dtype="float64", **short)
    assert_same(stiffly.resume(tmp_path / "run", system(), duration=1.0), whole)


def test_a_body_is_the_same_after_its_kernels_were_compiled(tmp_path):
    """What is compiled for a material is kept with it, and no part of a fingerprint."""
    before = fingerprint(block(integrator="energy-momentum")[0])
    simulate(block(integrator="energy-momentum"))
    assert fingerprint(block(integrator="energy-momentum")[0]) == before


def test_what_an_object_says_of_a_module_is_its_name():
    """SciPy's splines keep the module that their arrays come from, which has all others in it."""

    class Curve:
        def __init__(self, knots, home):
            self.knots, self.home = np.array(knots), home

        def __call__(self, t):
            return np.full(3, np.interp(t, [0.0, 1.0], self.knots))

    def told(*curve):
        return fingerprint(System(1.0, [Force([0], Curve(*curve))], rest=[[0.0, 0, 0]]))

    assert told([0.0, 1.0], np) == told([0.0, 1.0], np) != told([0.0, 2.0], np)
    assert told([0.0, 1.0], np) != told([0.0, 1.0], os)


def test_a_checkpoint_does_not_disturb_the_run(tmp_path):
    """One after every frame leaves every digit as it is."""
    reference = simulate(block(integrator="midpoint"))
    often = simulate(
        block(integrator="midpoint"), out=tmp_path / "run", dtype="float64", checkpoint=0
    )
    assert_same(often, reference)
