"""The lab: the harness on known answers, and every experiment in its quick variant."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import stiffly_lab as lab
from stiffly import Diverged, InputError, SecondOrder
from stiffly.contracts import Work
from stiffly.recording.provenance import as_json, write_json
from stiffly.scenes import Scene
from stiffly_lab import parallel
from stiffly_lab.bench import JOURNAL, RESULT, Bench
from stiffly_lab.equal_error import counted
from stiffly_lab.harness import Outcome, cost_at
from stiffly_lab.report import FILES, Claim, Report, verdict

ONCE = np.ones(1)


@pytest.fixture(scope="module")
def oscillator():
    """x'' = -4 x from x = 1: x(t) = cos 2t."""
    system = SecondOrder(stiffness=np.array([[4.0]]))
    return Scene("oscillator", "", "", system, ONCE, 0.0 * ONCE, step=0.1, duration=1.0)


class Pretender:
    """A method whose error is known: C h^p, and which gives up below a setting."""

    kind = "step"
    settings = None

    def __init__(self, name: str, order: int, gives_up_below: float = 0.0) -> None:
        self.name, self.order, self.limit = name, order, gives_up_below

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        if setting < self.limit:
            raise Diverged("step too small for me")
        error = 3.0 * setting**self.order
        return Outcome(ONCE + error, ONCE - 0.1 * error, round(1 / setting), Work(7))


def test_harness_measures_errors_orders_and_failures(oscillator):
    steps = [0.1, 0.05, 0.025]
    methods = [Pretender("second", 2), Pretender("fourth", 4), Pretender("weak", 3, 0.04)]
    seen = []
    records = lab.work_precision(
        oscillator,
        methods,
        steps,
        reference=(ONCE, ONCE),
        repeats=3,
        bench=Bench(progress=lambda done, total, text: seen.append((done, total))),
    )
    assert len(records) == 9 and seen[-1] == (9, 9)
    found = lab.slopes(records)
    assert found["second"] == pytest.approx(2.0) and found["fourth"] == pytest.approx(4.0)
    first = records[0]
    assert first.error == first.error_x == pytest.approx(0.03)
    assert first.error_v == pytest.approx(0.003) and first.force_evaluations == 7
    assert first.energy_drift is None and first.seconds is not None
    failed = [r for r in records if r.failure]
    assert [(r.method, r.step) for r in failed] == [("weak", 0.025)]
    assert failed[0].error is None and "too small" in (failed[0].failure or "")


def test_cost_is_interpolated_between_points_and_never_beyond():
    records = [
        lab.Record("m", h, error=h**2, seconds=1.0 / h, force_evaluations=int(1 / h))
        for h in (0.1, 0.01)
    ]
    assert cost_at(records, "m", 1e-3) == pytest.approx(10.0**1.5)
    assert cost_at(records, "m", 1e-1) is None and cost_at(records, "n", 1e-3) is None


def test_reference_is_exact_and_computed_once(oscillator):
    x, v = lab.reference(oscillator)
    assert x[0] == pytest.approx(np.cos(2.0), abs=1e-11)
    assert v[0] == pytest.approx(-2.0 * np.sin(2.0), abs=1e-11)
    assert lab.reference(oscillator)[0] is x
    assert lab.reference(replace(oscillator, duration=2.0))[0] is not x


def test_integrators_and_outside_solvers_are_methods(oscillator):
    methods = [lab.IntegratorMethod("rk4"), lab.ScipyMethod("DOP853", (1e-8,))]
    if lab.CvodeMethod.available():
        methods.append(lab.CvodeMethod("Adams", (1e-8,)))
    records = lab.work_precision(oscillator, methods, [0.01], reference=lab.reference(oscillator))
    for record in records:
        assert record.error is not None and record.error < 1e-5
        assert record.energy_drift is not None and record.energy_drift < 1e-5
        assert record.force_evaluations > 10
    assert records[0].steps == 100 and records[0].force_evaluations == 401


def test_wrong_names_are_found_before_any_run():
    with pytest.raises(InputError, match="did you mean pexprb43"):
        lab.IntegratorMethod("exprb43")
    with pytest.raises(InputError, match="did you mean fput-order"):
        lab.experiment("fput-ordr")


def test_report_is_three_files_in_a_folder_of_its_own(tmp_path):
    claim = Claim("it flies", "it does not", verdict(False), "too heavy", "Luan 2021, Fig. 1")
    records = [lab.Record("m", 0.1, error=np.nan, failure="stopped")]
    found = Report(
        name="trial",
        title="A trial",
        source="nowhere",
        records=records,
        figure=Figure(),
        claims=[claim],
        notes="some notes",
        reduced="less",
    )
    paths = found.save(tmp_path / "deep", quick=True, seconds=1.5)
    assert paths == [tmp_path / "deep" / "trial" / name for name in FILES]
    content = json.loads(paths[0].read_text())
    assert content["records"][0]["error"] is None  # JSON knows no NaN
    assert content["quick"] and content["command"] == "stiffly lab trial --quick"
    page = paths[2].read_text()
    row = "| Luan 2021, Fig. 1 | it flies | it does not | **not reproduced** | too heavy |"
    assert row in page and "some notes" in page and "stopped" in page and "Reduced: less" in page
    assert as_json({"a": np.arange(2), "b": np.float64(1.5)}) == {"a": [0, 1], "b": 1.5}


def test_verdict_counts_the_checks():
    assert verdict(True, True) == "reproduced"
    assert verdict(True, False) == "partly"
    assert verdict(False, False) == "not reproduced"


# ------------------------------------------------------------------ the bench and its journal


class Interrupted(Exception):
    pass


def count_to(bench: Bench, rows: int, stop_at: int | None = None) -> tuple[list[dict], list[int]]:
    """An experiment of so many rows that may be interrupted: its rows, and which it measured."""
    measured: list[int] = []

    def job(i: int) -> dict:
        if i == stop_at:
            raise Interrupted
        measured.append(i)
        return {"value": np.float64(i) / 3.0, "series": np.arange(i), "missing": np.nan}

    bench.plan(rows)
    found = []
    for i in range(rows):
        try:
            found.append(bench.row(f"row {i}", lambda i=i: job(i)))
        except Interrupted:
            break
    return found, measured


def test_interrupted_experiments_measure_nothing_twice(tmp_path):
    whole, _ = count_to(Bench(), 4)
    first, measured = count_to(Bench(folder=tmp_path), 4, stop_at=2)
    assert first == whole[:2] and measured == [0, 1]
    seen = []
    bench = Bench(folder=tmp_path, progress=lambda done, total, text: seen.append((done, total)))
    assert bench.resumed == 2
    rows, measured = count_to(bench, 4)
    assert measured == [2, 3] and seen[-1] == (4, 4)
    assert rows == whole  # the same digits whether measured or read
    assert whole[3] == {"value": 1.0, "series": [0, 1, 2], "missing": None}
    assert count_to(Bench(folder=tmp_path), 4)[1] == []


def test_half_a_line_is_measured_again(tmp_path):
    whole, _ = count_to(Bench(folder=tmp_path), 3)
    path = tmp_path / JOURNAL
    path.write_text(path.read_text()[:-20])  # the power went while row 2 was written
    bench = Bench(folder=tmp_path)
    assert bench.resumed == 2
    rows, measured = count_to(bench, 4)
    assert measured == [2, 3] and rows[:3] == whole
    assert Bench(folder=tmp_path).resumed == 4  # nothing of the half line is left in the way


@pytest.mark.parametrize("spoil", ["quick", "versions", "rubbish"])
def test_journals_of_another_kind_are_not_used(tmp_path, spoil):
    count_to(Bench(folder=tmp_path), 2)
    path = tmp_path / JOURNAL
    head, *lines = path.read_text().splitlines()
    kind = json.loads(head)
    kind["versions"]["numpy"] = "0.1"
    if spoil != "quick":
        path.write_text("\n".join([json.dumps(kind) if spoil == "versions" else "{", *lines]))
    bench = Bench(quick=spoil == "quick", folder=tmp_path)
    assert bench.resumed == 0
    assert count_to(bench, 2)[1] == [0, 1]
    assert Bench(quick=spoil == "quick", folder=tmp_path).resumed == 2  # it is overwritten


def test_rows_are_measured_again_by_name(tmp_path):
    """The others are those of the results; each says on which day it was measured."""
    earlier = {n: {"found": 0, "measured": "2000-01-01"} for n in ("a, 1", "a, 2", "b, 1")}
    write_json(tmp_path / RESULT, {"quick": True, "data": {"rows": earlier}})
    jobs = {name: (lambda: {"found": 1}, ()) for name in earlier}
    rows = parallel.rows(Bench(True, folder=tmp_path, again=["a, 2", "b"]), jobs, "rows")
    assert [row["found"] for row in rows.values()] == [0, 1, 1]
    day = rows["b, 1"]["measured"]
    assert parallel.when(rows) == f"Measured on {day}; on 2000-01-01 again: a, 1."
    for quick, word, said in ((True, "c", "one is a, 1"), (False, "a", "no results of such")):
        with pytest.raises(InputError, match=said):
            parallel.rows(Bench(quick, folder=tmp_path, again=[word]), jobs, "rows")


def test_ours_are_counted_where_somebody_arrives():
    cells = [{"rkn6": 1.0, "CVODE Adams": 2.0}, {"SciPy's best": 1.0}, {}, {"verlet": 3.0}]
    assert counted(cells) == (2, 3)
    assert counted([{"rkn6": 1.0, "SciPy DOP853": 1.0}]) == (1, 1)  # as fast


def test_finished_experiments_leave_no_journal(tmp_path):
    bench = Bench(folder=tmp_path)
    count_to(bench, 2)
    assert (tmp_path / JOURNAL).exists()
    bench.finished()
    assert not (tmp_path / JOURNAL).exists() and Bench(folder=tmp_path).resumed == 0
    bench.finished()  # as often as one likes
    Bench().finished()


# ------------------------------------------------------------------ the experiments, quick


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """name -> what result.json holds; every experiment runs once, when first asked for."""
    folder, known = tmp_path_factory.mktemp("lab"), {}

    def result(name: str) -> dict:
        if name not in known:
            experiment = lab.EXPERIMENTS[name]
            paths = experiment.run(Bench(quick=True)).save(folder, quick=True)
            assert all(path.stat().st_size > 500 for path in paths)
            found = json.loads(paths[0].read_text())
            assert found["name"] == name and found["reduced"].startswith("--quick: ")
            assert {c["item"] for c in found["claims"]} >= set(experiment.items)
            assert all(c["why"] for c in found["claims"]) and found["versions"]["stiffly"]
            known[name] = {**found, **found["data"]}
        return known[name]

    return result


def test_experiments_answer_for_items_of_the_papers():
    for name, experiment in lab.EXPERIMENTS.items():
        assert set(experiment.items) <= set(lab.ITEMS), name
    assert len(lab.ITEMS) == len(set(lab.ITEMS))
    assert all(item.split(",")[0] in lab.PAPERS for item in lab.ITEMS)


@pytest.mark.slow
def test_fput_orders(results):
    found = results("fput-order")
    assert found["energy"] == pytest.approx(2.500300005, abs=1e-9)
    for method, order in {"exprb2": 2, "pexprb43": 4, "exprb42": 4}.items():
        assert found["slopes"][method] == pytest.approx(order, abs=0.2), method
        assert found["slopes_short"][method] == pytest.approx(order, abs=0.2), method
    assert found["slopes"]["rk4"] == pytest.approx(4, abs=0.2)


@pytest.mark.slow
def test_fput_energy(results):
    found = results("fput-energy")
    assert found["energy"] == pytest.approx(2.500300005, abs=1e-9)
    drift = {(r["method"], r["step"]): r["energy_drift"] for r in found["records"]}
    assert drift["exprb42", 0.01] < 1e-5 and drift["pexprb43", 0.01] < 1e-5
    assert 1e-4 < drift["exprb2", 0.01] < 1e-2
    assert drift["rk4", 0.01] > 0.5 and drift["rk4", 0.00025] < 1e-5


@pytest.mark.slow
def test_fput_work(results):
    found = results("fput-work")
    methods = {r["method"] for r in found["records"]}
    assert {"exprb42", "pexprb43", "rk4", "verlet", "SciPy DOP853"} <= methods
    assert all(r["failure"] is None and r["seconds"] > 0.0 for r in found["records"])
    best = min(r["error"] for r in found["records"] if r["method"] == "exprb42")
    assert best < 1e-6
