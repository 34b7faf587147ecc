"""The thread that computes: it paces, obeys, and survives."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from live_scenes import little_cloth, pendulum, staged

from stiffly import InputError
from stiffly.view.worker import MOST_ORDERS, MOST_SINGLES, Worker

PATIENT = 300.0  # seconds, for what takes milliseconds on a machine that has nothing else to do


@pytest.fixture
def worker():
    worker = Worker(staged(little_cloth(), "realtime"), playing=False)
    yield worker
    worker.close()


def carried_out(worker, order=lambda stage: None):
    """Post it, and wait until it is done."""
    done = threading.Event()

    def told(stage):
        try:
            order(stage)
        finally:
            done.set()

    worker.post(told)
    assert done.wait(PATIENT)


@contextmanager
def busy(worker):
    """While it is carrying out something that takes long."""
    entered, release = threading.Event(), threading.Event()

    def long(stage):
        entered.set()
        release.wait(PATIENT)

    worker.post(long)
    assert entered.wait(PATIENT)
    yield
    release.set()


def until(condition):
    end = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


# ---------------------------------------------------------------------- time


def test_there_is_something_to_see_before_the_first_frame(worker):
    assert worker.latest.t == 0.0 and worker.latest.serial > 0
    assert worker.wait(worker.latest.serial, 0.01) is None


def test_pause_stops_time_and_play_goes_on(worker):
    worker.play()
    assert worker.playing
    first = worker.wait(worker.latest.serial, PATIENT)
    assert worker.wait(first.serial, PATIENT).t > first.t
    worker.pause()
    assert not worker.playing
    carried_out(worker)
    t = worker.stage.t
    for _ in range(9):  # as often as it looks whether to take a frame, which has been due since
        carried_out(worker)
    assert worker.stage.t == t == worker.latest.t
    worker.play()
    until(lambda: worker.latest.t > t)


def test_single_frames(worker):
    for k in (1, 2):
        worker.single()
        until(lambda k=k: worker.latest.t == pytest.approx(k * 0.033))
    carried_out(worker)
    assert worker.stage.t == pytest.approx(2 * 0.033) and not worker.playing
    with busy(worker):
        for _ in range(1000):  # somebody leans on the key
            worker.single()
    carried_out(worker)
    until(lambda: worker._singles == 0)
    carried_out(worker)
    assert worker.stage.t <= (2 + MOST_SINGLES + 1e-9) * 0.033


def test_frames_keep_the_pace_of_real_time(monkeypatch):
    """A clock of its own: sleeping takes the time it asks for, a frame what the test says."""
    from stiffly.view import worker as module

    now, cost = [100.0], [0.01]
    stage = SimpleNamespace(settings=SimpleNamespace(speed=0.5), serial=0)
    begun = []

    def advance(patience):
        begun.append(now[0])
        now[0] += cost[0]
        stage.serial += 1
        return SimpleNamespace(serial=stage.serial, frame_time=0.02, t=0.0, lanes=())

    stage.advance, stage.look = advance, lambda: SimpleNamespace(serial=0, t=0.0, lanes=())
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(module.threading.Thread, "start", lambda self: None)
    worker = Worker(stage)
    # ten frames are too slow, and then every other one
    costs = [0.01] * 10 + [0.1] * 10 + [0.01] * 10 + [0.05, 0.01] * 5
    for cost[0] in costs:
        now[0] += worker._due_in()
        assert worker._time_for_a_frame()
        worker._frame(stage)
    gaps = np.diff(begun)
    np.testing.assert_allclose(gaps[:10], 0.04)  # 0.02 s at half speed
    np.testing.assert_allclose(gaps[10:20], 0.1)
    np.testing.assert_allclose(gaps[20:22].sum(), 0.04)  # one frame is made up for, and no more
    np.testing.assert_allclose(gaps[22:30], 0.04)
    np.testing.assert_allclose(gaps[30:].reshape(-1, 3).sum(axis=1), 0.12, atol=0.011)
    assert begun[-1] - begun[30] == pytest.approx(9 * 0.04, abs=0.011)  # in real time on average


def test_rates(worker):
    assert worker.rates.fps == 0.0 and worker.rates.factor is None
    worker.play()
    until(lambda: worker.rates.factor is not None)
    rates = worker.rates
    assert rates.fps > 0.0 and rates.factor > 0.0 and rates.seconds > 0.0


# ---------------------------------------------------------------------- orders


def test_orders_are_carried_out_while_paused_and_shown(worker):
    before = worker.latest
    worker.change(stiffness=2.0)
    after = worker.wait(before.serial, PATIENT)
    assert worker.stage.settings.stiffness == 2.0 and after.t == before.t == 0.0
    worker.grab(24)
    worker.drag([0.1, 0.0, 0.0])
    until(lambda: worker.latest.lanes[0].added > 0.0)
    assert worker.latest.held.size and worker.latest.t == 0.0
    worker.drop()
    until(lambda: worker.latest.held.size == 0)


def test_orders_that_are_wrong_become_a_complaint(worker):
    worker.change(step=-1.0)
    until(lambda: worker.complaint is not None)
    assert "step = -1.0" in worker.complaint
    worker.complaint = None
    worker.post(lambda stage: 1 / 0)
    until(lambda: worker.complaint is not None)
    assert worker.complaint == "ZeroDivisionError: division by zero"
    worker.single()
    until(lambda: worker.latest.t > 0.0)


def test_a_frame_that_fails_pauses_and_says_so(worker, monkeypatch):
    plain = worker.stage.advance

    def broken(patience):
        raise MemoryError("all gone")

    monkeypatch.setattr(worker.stage, "advance", broken)
    worker.play()
    until(lambda: worker.complaint is not None)
    assert worker.complaint == "MemoryError: all gone" and not worker.playing
    monkeypatch.setattr(worker.stage, "advance", plain)
    worker.play()
    until(lambda: worker.latest.t > 0.0)


def test_drags_are_merged_and_the_newest_wins(worker, monkeypatch):
    seen, plain = [], type(worker.stage).drag
    monkeypatch.setattr(type(worker.stage), "drag", lambda s, o: (seen.append(o), plain(s, o)))
    with busy(worker):
        worker.grab(24)
        for i in range(5000):
            worker.drag([1e-4 * i, 0.0, 0.0])
        for k in range(1000):
            worker.change(stiffness=1.0 + 1e-3 * k)
        assert len(worker._orders) == 3
    carried_out(worker)
    assert seen == [[1e-4 * 4999, 0.0, 0.0]] and worker.complaint is None
    assert worker.stage.settings.stiffness == 1.0 + 1e-3 * 999


def test_a_grip_that_was_let_go_before_it_took_hold_is_none(worker):
    with busy(worker):
        worker.grab(24)
        worker.drag([1.0, 0.0, 0.0])
        worker.drop()
    carried_out(worker)
    assert worker.latest.held.size == 0 and worker.latest.lanes[0].added == 0.0


def test_the_queue_is_bounded(worker):
    count = []
    with busy(worker):
        for _ in range(10 * MOST_ORDERS):
            worker.post(lambda stage: count.append(1))
        assert len(worker._orders) == MOST_ORDERS and "orders wait" in worker.complaint
        worker.drop()  # this comes through all the same
        assert len(worker._orders) == MOST_ORDERS + 1
    until(lambda: not worker._orders)
    carried_out(worker)
    assert len(count) == MOST_ORDERS


def test_orders_from_many_threads(worker):
    worker.play()

    def drive(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            act = rng.integers(6)
            if act == 0:
                worker.grab(int(rng.integers(49)))
            elif act == 1:
                worker.drop()
            elif act == 2:
                worker.change(stiffness=float(rng.uniform(0.5, 2.0)))
            elif act == 3:
                worker.reset()
            else:
                worker.drag(rng.uniform(-0.2, 0.2, 3))
            worker.wait(worker.latest.serial, 0.005)

    threads = [threading.Thread(target=drive, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    carried_out(worker)
    assert worker.complaint is None and worker._thread.is_alive()
    serial = worker.latest.serial
    assert worker.wait(serial, PATIENT).serial > serial


# ---------------------------------------------------------------------- other things


def test_another_stage(worker):
    worker.single()
    until(lambda: worker.latest.t > 0.0)
    serial, other = worker.latest.serial, staged(pendulum())
    worker.grab(24)
    worker.replace(other)
    until(lambda: worker.stage is other and worker.latest.serial > serial)
    assert worker.latest.t == 0.0 and len(worker.latest.lanes[0].positions) == 2
    worker.single()
    until(lambda: worker.latest.t > 0.0)
    assert worker.latest.serial > serial + 1


def test_the_last_seconds_on_request(worker, tmp_path):
    with pytest.raises(InputError, match="nothing to record"):
        worker.recent().write(tmp_path / "run")
    worker.play()
    until(lambda: worker.latest.t > 0.1)
    recording = worker.recent().write(tmp_path / "run")
    assert recording.complete and len(recording) > 3


def test_close_ends_the_thread_and_no_other_wait_hangs(worker):
    worker.play()
    thread = worker._thread
    worker.close()
    assert not thread.is_alive()
    worker.close()
    worker.drag([0.0, 0.0, 0.0])  # a late message does no harm
    assert worker.wait(worker.latest.serial, 0.01) is None
