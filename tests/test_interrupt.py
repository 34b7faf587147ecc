"""A run that is asked to stop: signals, and the hours that a queue gives it."""

import os
import signal

import pytest
from runs_to_record import assert_same, block, pendulums, simulate

import stiffly
from stiffly import cli
from stiffly.errors import InputError, OutOfTime, Terminated
from stiffly.recording import sinks
from stiffly.run.loop import Loop

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*numerical error:stiffly.errors.StiffWarning"),
    pytest.mark.skipif(os.name == "nt", reason="signals of POSIX"),
]
ASKED = (signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def usual():
    """As a program finds them that nobody has told otherwise."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ASKED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def raise_at(monkeypatch):
    """The signal during the n-th accepted step."""
    accept = Loop._accept

    def at(step, number):
        count = 0

        def accept_and_raise(self, *arguments):
            nonlocal count
            accept(self, *arguments)
            count += 1
            if count == step:
                signal.raise_signal(number)

        monkeypatch.setattr(Loop, "_accept", accept_and_raise)

    return at


@pytest.mark.parametrize("number", ASKED)
def test_a_signal_ends_a_run_as_ctrl_c_does(tmp_path, raise_at, number):
    raise_at(6, number)
    with pytest.raises(Terminated) as caught:
        simulate(block(), out=tmp_path / "run", dtype="float64")
    assert isinstance(caught.value, KeyboardInterrupt) and caught.value.signal == number
    assert all(signal.getsignal(one) is signal.SIG_DFL for one in ASKED)
    stopped = stiffly.Recording(tmp_path / "run")
    assert len(stopped) == 2 and stopped.failure == "interrupted"
    assert_same(stiffly.resume(tmp_path / "run", block()[0]), simulate(block()))


@pytest.mark.parametrize("number", [signal.SIGINT, *ASKED])
def test_what_auto_tries_before_its_first_run_ends_as_well(tmp_path, monkeypatch, number):
    """Verlet's steps, of which only the speed is kept: the next one is not taken any more."""
    accept, count = Loop._accept, []

    def accept_and_raise(self, *arguments):
        accept(self, *arguments)
        count.append(type(self.method).__name__)
        if len(count) == 3:
            signal.raise_signal(number)

    monkeypatch.setattr(Loop, "_accept", accept_and_raise)
    system, x0, v0, _ = pendulums()
    with pytest.raises(KeyboardInterrupt):
        stiffly.simulate(system, x0, v0, integrator="auto", duration=99.0, out=tmp_path / "run")
    assert count == 3 * ["Verlet"] and not (tmp_path / "run").exists()


@pytest.mark.parametrize("own", [signal.SIG_IGN, lambda *_: None], ids=["nohup", "a handler"])
def test_what_somebody_else_has_decided_stays(tmp_path, raise_at, own):
    signal.signal(signal.SIGHUP, own)
    raise_at(6, signal.SIGHUP)
    assert simulate(block(), out=tmp_path / "run").complete
    assert signal.getsignal(signal.SIGHUP) is own


def test_a_second_signal_ends_it_at_once(tmp_path, monkeypatch):
    """What a first one leaves behind is what was there before anybody asked."""
    with sinks.Interrupt() as interrupt:
        assert not interrupt.due
        signal.raise_signal(signal.SIGTERM)
        assert interrupt.due and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
        assert isinstance(interrupt.stop(tmp_path, 0.0, saved=False), stiffly.Terminated)  # heard


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_on_the_command_line(tmp_path, capfd, monkeypatch, raise_at, number):
    monkeypatch.chdir(tmp_path)
    raise_at(3, number)
    arguments = ["run", "bar", "--set", "cells=1", "--duration", "0.3", "--out", "run", "--quiet"]
    assert cli.main(arguments) == 128 + number
    line = capfd.readouterr().err.splitlines()[-1]
    assert line == "error: interrupted; go on with: stiffly resume run"
    assert cli.main(["resume", "run", "--quiet"]) == 0


# ------------------------------------------------------------------ hours


class Clock:
    """An hour passes with every look."""

    now = 0.0

    def perf_counter(self):
        self.now += 3600.0
        return self.now


def test_hours_that_are_over_end_a_run_that_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "time", Clock())
    folder, how, frames = tmp_path / "run", {"dtype": "float64", "max_hours": 12.0}, []
    with pytest.raises(OutOfTime, match=r"max_hours = 12 are over .*stiffly resume ") as caught:
        simulate(block(), out=folder, **how)
    assert "\n" not in str(caught.value) and isinstance(caught.value.run, stiffly.Recording)
    while True:
        frames.append(len(stiffly.Recording(folder)))
        assert len(frames) < 10
        try:
            run = stiffly.resume(folder, block()[0], max_hours=12.0)
            break
        except OutOfTime:
            pass
    assert frames == sorted(set(frames)) and len(frames) > 2  # each goes further
    assert_same(run, simulate(block()))


@pytest.mark.parametrize("hours", [0.0, -1.0, float("nan"), float("inf"), "12", True])
def test_hours_that_make_no_sense(tmp_path, hours):
    with pytest.raises(InputError, match="max_hours must be positive"):
        simulate(pendulums(), out=tmp_path / "run", max_hours=hours)
    assert not (tmp_path / "run").exists()


def test_hours_need_a_folder():
    with pytest.raises(InputError, match="max_hours needs a folder to go on from: give out="):
        simulate(pendulums(), max_hours=1.0)


def test_hours_on_the_command_line(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "bar", "--set", "cells=1", "--duration", "0.3", "--out", "run", "--quiet"]
    assert cli.main([*arguments, "--max-hours", "-1"]) == 2
    assert "--max-hours must be positive" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()
    assert cli.main([*arguments, "--max-hours", "1e-12"]) == 75
    line = capfd.readouterr().err.splitlines()[-1]
    assert line.startswith("error: max_hours = 1e-12 are over")
    assert line.endswith("go on with: stiffly resume run")
    assert cli.main(["resume", "run", "--quiet", "--max-hours", "1e-12"]) == 75
    assert cli.main(["resume", "run", "--quiet"]) == 0
    assert stiffly.Recording("run").complete
