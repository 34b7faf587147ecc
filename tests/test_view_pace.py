"""The pace of the thread that computes, and that nothing which is asked of it gets lost."""

import threading

import pytest
from live_scenes import little_cloth, pendulum, staged
from test_view_worker import PATIENT, busy, carried_out, until

from stiffly.view import worker as module
from stiffly.view.worker import Worker


@pytest.fixture
def worker():
    worker = Worker(staged(little_cloth(), "realtime"))
    yield worker
    worker.close()


def goes_on(worker):
    t = worker.latest.t
    until(lambda: worker.latest.t > t)


@pytest.mark.parametrize("back", ["change", "replace"])
def test_a_long_frame_is_not_waited_for_once_frames_are_short_again(worker, back):
    """At a thousandth of the speed, a frame of 33 ms stays for 33 s."""
    worker.change(speed=1e-3)
    until(lambda: worker._due_in() > 30.0)
    if back == "change":
        worker.change(speed=1.0)
    else:
        worker.replace(staged(pendulum()))
    carried_out(worker)
    assert worker._due_in() <= 1.0 / 30.0  # that of the new ones
    goes_on(worker)


def test_turning_a_slider_does_not_hurry_the_simulation(worker):
    """Nor does the first frame after it come at once."""
    worker.change(speed=1e-3)
    until(lambda: worker._due_in() > 30.0)
    carried_out(worker)
    t = worker.stage.t
    for k in range(2, 6):
        worker.change(speed=1e-4 * k)  # frames of more than a minute
        carried_out(worker)
    assert worker.stage.t == t


def test_a_wait_that_no_lock_can_wait_for(worker):
    with busy(worker):
        worker._due = 1e30
    carried_out(worker)
    assert worker._thread.is_alive() and worker._due_in() == threading.TIMEOUT_MAX
    worker.reset()
    goes_on(worker)


def test_the_thread_survives_what_nobody_thought_of(worker, monkeypatch):
    plain = worker._something_to_do
    failures = iter([OverflowError("timestamp too\nlarge")] * 2)

    def broken():
        problem = next(failures, None)
        if problem is not None:
            raise problem
        return plain()

    monkeypatch.setattr(worker, "_something_to_do", broken)
    until(lambda: worker.complaint is not None)
    assert worker.heard() == "OverflowError: timestamp too large"
    until(lambda: next(failures, None) is None)
    carried_out(worker)
    worker.play()
    goes_on(worker)


def test_a_complaint_is_heard_once(worker):
    worker.change(step=-1.0)
    until(lambda: worker.complaint is not None)
    assert "step = -1.0" in worker.heard()
    assert worker.heard() is None


def test_rates_are_those_of_the_frames_since_the_change(worker):
    until(lambda: len(worker._past) > 3)
    seen = []
    with busy(worker):
        worker.change(speed=0.5)
        worker.post(lambda stage: seen.append(len(worker._past)))
    until(lambda: seen)
    assert seen == [0]


def asked(worker, answers):
    thread = threading.Thread(target=lambda: answers.append(worker.recent(PATIENT)))
    thread.start()
    until(lambda: any(kind.startswith(module.RECENT) for kind, _ in worker._orders))
    return thread


def test_the_last_seconds_are_those_before_a_switch_that_comes_after(worker):
    answers, old = [], worker.stage.scene.name
    with busy(worker):
        thread = asked(worker, answers)
        worker.replace(staged(pendulum()))
    thread.join(2.0 * PATIENT)
    assert len(answers) == 1 and answers[0].scene.name == old != worker.stage.scene.name


def test_two_who_ask_for_the_last_seconds_both_get_them(worker):
    answers = []
    with busy(worker):
        threads = [asked(worker, answers), asked(worker, answers)]
        until(lambda: len(worker._orders) == 2)
    for thread in threads:
        thread.join(2.0 * PATIENT)
    assert len(answers) == 2
