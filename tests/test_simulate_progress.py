"""How far a run is: reports at every frame, signs of life in long ones, the ledger so far."""

import numpy as np
import pytest
from runs_to_record import block, pendulums, simulate

import stiffly
from stiffly.recording import sinks
from stiffly.run.loop import Loop, ProgressReport


class Clock:
    """Seconds that pass only when it is told so."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def slow_steps(monkeypatch):
    """Every step takes 0.2 s by the reporter's clock."""
    clock, accept = Clock(), Loop._accept

    def slow(self, *arguments):
        accept(self, *arguments)
        clock.now += 0.2

    monkeypatch.setattr(sinks, "time", clock)
    monkeypatch.setattr(Loop, "_accept", slow)


def reports(case, **options):
    seen = []
    run = simulate(case, progress=seen.append, **options)
    assert all(isinstance(report, ProgressReport) for report in seen)
    return run, seen


def test_one_report_at_every_frame_has_the_ledger_so_far():
    run, seen = reports(block())
    assert [report.t for report in seen] == list(run.times[1:])
    assert [report.frames for report in seen] == list(range(2, len(run.times) + 1))
    assert {report.of_frames for report in seen} == {len(run.times)}
    assert {report.end for report in seen} == {run.times[-1]}
    assert seen[-1].steps == run.stats["steps"]
    assert seen[-1].work._asdict().items() <= run.stats.items()
    scale = run.energy.exchanged
    for k, report in enumerate(seen, start=1):
        parts = [np.ptp(part[: k + 1]) for part in run.energy.parts.values()]
        gone = np.ptp(run.energy.dissipated[: k + 1])
        assert report.exchanged == pytest.approx(max(*parts, gone), rel=1e-12)
        assert report.numerical == pytest.approx(run.energy.numerical[k], abs=1e-12 * scale)


def test_long_frames_give_signs_of_life(slow_steps):
    """Steps of 0.2 s: every third one is reported, and the frame."""
    _, seen = reports(pendulums(every=0.5))
    assert [report.steps for report in seen if report.frames == 1] == [3, 6, 9, 12, 15, 18, 21, 24]
    assert [report.steps for report in seen if report.steps % 25 == 0] == [25, 50]
    assert seen[0].t == pytest.approx(0.06) and seen[0].numerical == 0.0


def test_adaptive_steps_are_reported_too(slow_steps):
    _, seen = reports(pendulums(integrator="pexprb43", rtol=1e-6, every=1.0))
    assert len(seen) > 3
    assert np.all(np.diff([report.t for report in seen]) > 0.0)


def test_a_resumed_run_reports_from_where_it_is(tmp_path):
    def stop(report):
        if report.frames == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(pendulums(), out=tmp_path / "run", checkpoint=0, progress=stop)
    seen = []
    run = stiffly.resume(tmp_path / "run", pendulums()[0], progress=seen.append)
    assert [report.frames for report in seen] == [6, 7, 8, 9, 10, 11]
    assert seen[-1].exchanged == pytest.approx(run.energy.exchanged, rel=1e-12)
