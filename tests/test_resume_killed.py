"""kill -9 at random moments: every run goes on to the digits of one that was never stopped."""

import time
from functools import cache

import numpy as np
import pytest
from runs_to_record import LONG, assert_same, in_process, kill_after, simulate, wait_for

import stiffly

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # rough steps


@cache
def reference(name):
    return simulate(LONG[name]())


def kill_run(name, folder, seconds, more=""):
    """Start it, and kill it that long after its first checkpoint, or before its end."""
    child = in_process(f"runs_to_record.begin({name!r}, {str(folder)!r}{more})")
    try:
        wait_for(folder / "checkpoint.npz", child)
    finally:
        kill_after(child, seconds)


def go_on(name, folder, more=""):
    return f"stiffly.resume({str(folder)!r}, runs_to_record.LONG[{name!r}]()[0]{more})"


def to_be_killed(name, folder):
    """Go on in another process, which does not live to the end."""
    return in_process(go_on(name, folder, ", progress=runs_to_record.dies_before_the_end"))


def wait_for_frames(folder, child, count):
    """Until another process has recorded so many, or has ended."""
    while child.poll() is None and len(stiffly.Recording(folder)) < count:
        time.sleep(0.01)


def assert_left_in_order(folder, name):
    """What is there is right, even before anybody goes on."""
    left = stiffly.Recording(folder)
    np.testing.assert_array_equal(left.positions, reference(name).positions[: len(left)])
    np.testing.assert_array_equal(left.energy.total, reference(name).energy.total[: len(left)])


def test_killed_twice(tmp_path):
    """The first time while frames are written beside the steps, as large ones are."""
    folder, name = tmp_path / "run", "stabilised"
    kill_run(name, folder, 0.5, ", at_once=0")
    assert_left_in_order(folder, "stabilised")
    child = to_be_killed(name, folder)
    wait_for_frames(folder, child, len(stiffly.Recording(folder)) + 2)
    kill_after(child, 0.0)
    assert_left_in_order(folder, "stabilised")
    assert_same(stiffly.resume(folder, LONG[name]()[0]), reference(name))


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(20))
def test_killed_at_random(trial, tmp_path):
    """20 of 20: each run is killed once or twice, and finished by a third process."""
    rng = np.random.default_rng(trial)
    name, folder = list(LONG)[trial % len(LONG)], tmp_path / "run"
    kill_run(name, folder, rng.uniform(0.0, 3.0), ", at_once=0" if trial % 4 > 1 else "")
    assert_left_in_order(folder, name)
    if trial % 2:
        kill_after(to_be_killed(name, folder), rng.uniform(1.0, 4.0))
        assert_left_in_order(folder, name)
    assert in_process(go_on(name, folder)).wait() == 0
    run = stiffly.Recording(folder)
    assert run.complete
    assert_same(run, reference(name))
