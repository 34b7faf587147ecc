"""Experiments of the papers on exponential Rosenbrock methods, in their quick variants."""

from __future__ import annotations

import json
from math import inf, isnan

import numpy as np
import pytest
from thinned import thinned

import stiffly_lab as lab
from stiffly.contracts import Work
from stiffly.matfun import chooser
from stiffly.scenes import load
from stiffly_lab import rosenbrock_table
from stiffly_lab.bench import Bench
from stiffly_lab.equal_error import EXTRAPOLATED, by_order
from stiffly_lab.harness import Outcome, Record
from stiffly_lab.references import coarse_reference, own_reference
from stiffly_lab.rivals import LOST, USUAL, Limits, is_late, late, patience
from stiffly_lab.rosenbrock_table import (
    CASES,
    STILL,
    TABLE_2017,
    TABLE_2018,
    TABLE_2021,
    Full,
    _claims,
    _evaluations,
    _judged,
    _ratio,
    _whole,
    _worth,
    motionless,
)
from stiffly_lab.tight import Reference
from stiffly_lab.trial import attempt

NAMES = ("bunny-size", "rosenbrock-table", "bunny-precision", "bunny-energy", "flag-area")

ROWS, DENSE_LIMIT = rosenbrock_table.QUICK, chooser.DENSE_LIMIT  # before `results` changes them


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """name -> what result.json holds; every experiment runs once, when first asked for.

    Bodies are small here, and would be diagonalised; products are counted as those of large ones.
    Of the tables one row is measured, a coil spring's; the others have their claims, not tested.
    """
    folder, known = tmp_path_factory.mktemp("rosenbrock"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stiffly.matfun.chooser.DENSE_LIMIT", 0)
        patch.setattr(rosenbrock_table, "QUICK", ("1 coil spring",))
        yield _asked(folder, known)


def _asked(folder, known):

    def result(name: str) -> dict:
        if name not in known:
            paths = lab.EXPERIMENTS[name].run(Bench(quick=True)).save(folder, quick=True)
            known[name] = json.loads(paths[0].read_text())
        return known[name]

    return result


@pytest.mark.parametrize("name", thinned(NAMES, keep=2))
def test_every_item_has_claims_with_reasons(results, name):
    found = results(name)
    assert found["name"] == name and found["reduced"].startswith("--quick: ")
    assert {c["item"] for c in found["claims"]} == set(lab.EXPERIMENTS[name].items)
    assert all(c["why"] and c["measured"] for c in found["claims"])


@pytest.mark.slow
def test_flag(results):
    rows = {(r["method"], r["step"]): r for r in results("flag-area")["data"]["rows"]}
    truth, dead = rows["rk4", 4e-4], rows["bdf1", 6.6e-3]
    fine = rows["epirk4s3", 1.25e-3]
    assert truth["largest"] < 0.025  # the paper's number for its ground truth
    assert fine["failure"] is None and fine["largest"] < 0.03
    assert dead["kinetic"] < truth["kinetic"]  # backward Euler damps
    assert rows["epirk4s3", 0.2]["failure"]
    width = np.array(truth["lines"])[:, 0]  # the pole does not move
    assert np.ptp(width, axis=0) == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.slow
def test_bunny_precision_orders_and_costs(results):
    data = results("bunny-precision")["data"]
    soft = [Record(**r) for r in data["1e+08"]]
    for method in ("exprb42", "epirk4s3"):  # order four, where steps resolve the wobble
        coarse, fine = [r.error for r in soft if r.method == method][-2:]
        assert coarse and fine and np.log2(coarse / fine) == pytest.approx(4.0, abs=0.8), method
    products = [
        next(r["operator_products"] for r in own if r["method"] == "epirk4s3")
        for own in data.values()
    ]
    # polynomials of h^2 A need a degree of h omega_max: 10 times for 100 times the stiffness
    assert 4.0 < products[1] / products[0] < 11.0
    assert 7.0 < products[2] / products[1] < 11.0


@pytest.mark.slow
def test_bunny_energy(results):
    rows = results("bunny-energy")["data"]["rows"]
    assert len(rows) == 6 and all(r["failure"] is None for r in rows)
    for row in rows:
        error = np.abs(row["numerical"]) / row["exchanged"]
        assert max(row["thirds"]) == pytest.approx(error.max())
    # the field does the same work per excursion, which falls like 1/k_d
    exchanged = [r["exchanged"] for r in rows[:3]]
    assert exchanged[0] / exchanged[1] == pytest.approx(100.0, rel=0.3)
    assert exchanged[1] / exchanged[2] == pytest.approx(100.0, rel=0.3)


def test_bunny_size(results):
    exponents = results("bunny-size")["data"]["exponents"]
    # equal weight on N vertices: omega_max ~ sqrt(N), and as many products for a step; equal
    # masses: omega_max stays
    for kind, expected in (("weight", 0.5), ("vertices", 0.0)):
        own = exponents[kind]
        assert own["products"] == pytest.approx(expected, abs=0.1)
        assert own["work"] == pytest.approx(1.0 + own["products"], abs=1e-6)
    paper = results("bunny-size")["data"]["paper"]
    slopes = [np.log(58 / 8) / np.log(4), np.log(127 / 58) / np.log(2)]
    assert min(slopes) < paper < max(slopes)


def test_tables_have_the_rows_of_the_papers():
    rows = {item: [c for c in CASES if item in c.items] for item in (TABLE_2017, TABLE_2018)}
    assert len(rows[TABLE_2017]) == 12 and len(rows[TABLE_2018]) == 4
    assert len([c for c in CASES if TABLE_2021 in c.items]) == 5
    shake = next(c for c in CASES if c.scene == "hair")
    assert shake.methods["eti"] == 31 * 3600.0 and "6 h in the text" in shake.remark
    for case in CASES:  # the paper's own method is the fastest in every row, or as good as that
        assert case.methods[case.leader] <= 1.2 * min(case.methods.values())


def test_tables_name_the_printed_factor_of_every_row(results):
    claims = [c["paper"] for c in results("rosenbrock-table")["claims"]]
    assert len(claims) == 12 + 4 + 5
    assert any("bdf1 28.6 times" in text for text in claims)  # 1 h over 126 s
    records = results("rosenbrock-table")["data"]["rows"]["1 coil spring"]["records"]
    assert records["exprb42"]["relative"] <= 0.02 and records["verlet"]["relative"] <= 0.02


@pytest.mark.slow
def test_rows_of_bunny_and_crash_are_judged(monkeypatch):
    monkeypatch.setattr(chooser, "DENSE_LIMIT", DENSE_LIMIT)
    monkeypatch.setattr(rosenbrock_table, "QUICK", ROWS)
    found = lab.EXPERIMENTS["rosenbrock-table"].run(Bench(quick=True))
    for name in ROWS:
        level = next(c.level for c in CASES if c.name == name)
        for record in found.data["rows"][name]["records"].values():
            assert record["failure"] or record["relative"] <= level, (name, record["method"])


def test_a_scene_in_which_nothing_moves_is_not_called_late():
    case = next(c for c in CASES if c.scene == "brush")
    assert motionless(case.build(quick=True))  # tips are touched later
    assert not motionless(case.build(quick=False))  # by teeth, within the row at full size
    moving = next(c for c in CASES if c.name == "1 coil spring")
    assert not motionless(moving.build(quick=True))
    claim = _claims(case, ({}, f"{STILL} within 0.01 s"))[0]
    assert claim.verdict == "not tested" and "no motion" in claim.why
    late = _claims(case, ({}, "no reference: it took longer"))[0]
    assert "reference" in late.why


def test_ratios_say_who_does_not_meet_the_error():
    found = {
        "exprb42": Record("exprb42", 0.1, seconds=2.0, force_evaluations=2, operator_products=8),
        "rk4": Record("rk4", 0.1, seconds=10.0, force_evaluations=40),
        "bdf1": Record("bdf1", 0.1, failure="too slow"),
    }
    assert _ratio(found, "rk4", "exprb42") == 5.0 and _evaluations(found, "rk4", "exprb42") == 4.0
    assert _ratio(found, "bdf1", "exprb42") == inf and isnan(_ratio(found, "rk4", "bdf1"))
    case = next(c for c in CASES if c.name == "1 coil spring")
    _, verdict, why = _judged(case, found, {"rk4": 12.0, "bdf1": 70.0})
    assert verdict == "reproduced" and "third" in why
    _, verdict, why = _judged(case, found, {"rk4": 50.0, "bdf1": 70.0})
    assert verdict == "partly" and "rk4" in why
    text, verdict, _ = _judged(case, {**found, "exprb42": found["bdf1"]}, {"rk4": 1.0})
    assert verdict == "not reproduced" and "too slow" in text


def test_what_is_extrapolated_is_called_so():
    found = {
        "epirk4s3": Record("epirk4s3", 0.1, seconds=2.0, force_evaluations=6),
        "bdf1": Record("bdf1", 0.001, seconds=60.0, variant=EXTRAPOLATED),
    }
    case = next(c for c in CASES if c.name.startswith("0a"))
    text, verdict, _ = _judged(case, found, {"bdf1": 28.6})
    assert "bdf1 about 30 (-)" in text and verdict == "reproduced"


def test_rivals_are_waited_for_until_the_claim_is_decided():
    leader = Record("exprb42", 0.1, seconds=0.2, force_evaluations=10)
    assert patience(None) == patience(Record("exprb42", 0.1, failure="no")) == USUAL.least
    assert LOST < patience(Record("exprb42", 0.1, seconds=1.0)) < 1.5 * LOST
    slow = Record("exprb42", 0.1, seconds=100.0)
    assert patience(slow) == USUAL.most
    assert patience(slow, limits=Limits(most=60.0)) == 60.0
    case = next(c for c in CASES if c.name == "1 coil spring")
    # printed: 46 minutes over 55 s; a third of that counts
    limit = patience(leader, _worth(case, "rk4"))
    assert limit > 0.2 * (46 * 60 / 55) / 3 and limit < USUAL.most
    slow = late(Record("rk4", 0.1, failure=f"not within {limit:g} s"), limit)
    found = {"exprb42": leader, "rk4": slow}
    assert is_late(slow) and _ratio(found, "rk4", "exprb42") == limit / 0.2
    assert _evaluations(found, "rk4", "exprb42") == inf
    assert not is_late(late(Record("rk4", 0.1, failure="not met down to step 1"), limit))


def test_who_was_not_waited_for_long_enough_decides_nothing():
    case = next(c for c in CASES if c.name == "1 coil spring")
    found = {
        "exprb42": Record("exprb42", 0.1, seconds=1.0, force_evaluations=10),
        "rk4": Record("rk4", 0.1, seconds=30.0, force_evaluations=40),
        "bdf1": late(Record("bdf1", 0.1, failure="not within 6 s"), 6.0),
    }
    text, verdict, why = _judged(case, found, {"rk4": 60.0, "bdf1": 60.0})
    assert verdict == "partly" and "> 6" in text and "Not waited for" in why
    _, verdict, _ = _judged(case, found, {"bdf1": 60.0})
    assert verdict == "not tested"
    _, verdict, _ = _judged(case, found, {"rk4": 60.0, "bdf1": 15.0})  # 6 is more than a third
    assert verdict == "reproduced"


def test_a_reference_that_is_no_judge_leaves_a_row_untested(monkeypatch):
    case = next(c for c in CASES if c.name == "1 coil spring")
    x = np.zeros((1, 3))
    poor = Reference(x, x, 0.5, 1.0, 1.0, 1.0, "two runs, 50 % apart")
    monkeypatch.setattr(rosenbrock_table, "_reference", lambda *_: poor)
    found = rosenbrock_table._measured(Bench(quick=True), case)
    assert found[0] == {} and "50 % apart" in found[1]
    assert {claim.verdict for claim in _claims(case, found)} == {"not tested"}


def test_a_row_at_full_size_begins_with_its_longest_step():
    steps = Full({}, lasts=3.0, longest=0.375).steps()
    assert steps[0] == 0.375 and steps[2] == pytest.approx(0.1875)
    counts = 3.0 / np.array(steps)
    assert np.allclose(counts, np.round(counts)) and np.all(np.diff(counts) > 0)
    assert Full({}, lasts=0.1, longest=1.0).steps()[0] == 0.05  # two steps at least


def test_what_the_whole_would_take_grows_with_its_seconds():
    case = next(c for c in CASES if c.name == "1 coil spring")  # 60 s
    own = Record("exprb42", 0.1, seconds=2.0, steps=30)  # of which this is 3 s
    assert _whole(case, {"exprb42": own}) == "40 s"
    assert _whole(case, {"exprb42": Record("exprb42", 0.1, failure="diverged")}) == "-"


def test_first_order_says_what_a_level_would_take():
    """x' = -x by explicit steps of h: the error at t = 1 is h / (2 e), which the run shows."""
    exact = Reference(np.array([np.exp(-1.0)]), np.zeros(1), 0.0, 1.0, 1.0, 1.0, "")

    class Euler:
        name, kind, settings = "euler", "step", None

        def __call__(self, problem, setting):
            x = (1.0 - setting) ** round(problem.duration / setting)
            return Outcome(np.array([x]), np.zeros(1), 1, Work())

    problem = load("oscillator-pair", duration=1.0)
    found = by_order(problem, Euler(), exact, 1e-5, rosenbrock_table.position_error, 1000)
    assert found.variant == EXTRAPOLATED and found.failure is None
    assert found.step == pytest.approx(1e-5 * 2.0 * np.e, rel=2e-3)
    assert found.steps == pytest.approx(1.0 / found.step, rel=1e-3)


def test_a_coarse_reference_is_as_good_as_it_says():
    scene = load("coil-spring", small=True, duration=0.3)
    coarse = coarse_reference(scene, Bench(), 1e-3, 60.0)
    tight = coarse_reference(scene, Bench(), 1e-6, 60.0)
    gap = np.linalg.norm(coarse.x - tight.x) / tight.scale_x
    assert coarse.error <= 1e-3 and gap < 2.0 * coarse.error and "Verlet" in coarse.how


def test_own_reference_agrees_with_an_independent_one():
    scene = load("bunny", vertices=60, duration=0.114)
    found = own_reference(scene, Bench(), 0.057 / 16, check=True)
    assert "DOP853" in found.how and found.error < 1e-6


def test_attempts_keep_what_there_is_of_a_failed_run(limited):
    scene = load("flag", resolution=6)
    run, failure = attempt(scene, "epirk4s3", step=0.2, duration=1.0, every=0.2)
    assert failure and run is not None and run.times[-1] < 1.0
    run, failure = attempt(scene, "verlet", step=1e-3, duration=1.0, every=0.01, limit_s=0.0)
    assert failure == "stopped: it took longer than 0 s"
