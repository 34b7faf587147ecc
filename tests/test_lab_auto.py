"""The judge of integrator="auto": what its claims count, by cases made up for it."""

import pytest

from stiffly_lab import auto_check
from stiffly_lab.report import NOT_REPRODUCED, REPRODUCED, UNTESTED


def row(best, auto, relative, warned=False):
    own = {"seconds": auto, "relative": relative, "warned": warned}
    return {"best": {"seconds": best}, "auto": own}


FOUND = {
    "quick": {"rows": {"0.1": row(0.01, 0.05, 0.05), "0.01": row(0.02, 0.02, 0.02)}},
    "slow": {"rows": {"0.1": row(1.0, 2.9, 0.09, warned=True)}},
    "lost": {"rows": {"0.1": {"best": {"seconds": 2.0}, "auto": {"failure": "x", "warned": True}}}},
    "none": {"why": "no reference"},
}


def test_claims_count_the_longer_cases_and_all():
    longer, whole, silence, again = auto_check._claims(FOUND)
    assert again.verdict == UNTESTED
    # 5x, a miss, 2.9x, a failure: the last is within nothing
    assert whole.measured.startswith("1 of 4 (25%), worst of those that met their accuracy 5x")
    assert longer.measured.startswith("1 of 2 (50%)") and longer.verdict == NOT_REPRODUCED
    assert auto_check._nearness("one", [("slow", 0.1, FOUND["slow"]["rows"]["0.1"])]).verdict == (
        REPRODUCED
    )
    assert "2 of 4 missed their accuracy, 1 of them without a word: quick at 0.01" in (
        silence.measured
    )
    assert "1 warned in vain" in silence.measured
    assert silence.verdict == NOT_REPRODUCED


def test_silence_is_confirmed_where_every_miss_was_said():
    said = {"slow": FOUND["slow"], "lost": FOUND["lost"]}
    assert auto_check._claims(said)[-2].verdict == REPRODUCED


def test_a_defect_is_one_case_and_counts_as_silent(monkeypatch):
    def broken(*given):
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(auto_check, "_auto", broken)
    found = auto_check._outcome(None, None, 0.1, 1)
    assert "ZeroDivisionError" in found["failure"] and not found["warned"]
    rows = {"broken": {"rows": {"0.1": {"best": {"seconds": 1.0}, "auto": found}}}}
    assert "1 of them without a word" in auto_check._claims(rows)[-2].measured


def test_the_judge_has_every_method_that_auto_can_choose():
    from stiffly.integrators import NAMES

    own = {"verlet", "rk4", "rkn6", "rkn86", "dop853", "exprb2", "energy-momentum", "bdf2"}
    assert own <= set(auto_check.METHODS) <= set(NAMES)


def test_the_ratio_is_of_all_runs_of_the_ladder():
    assert auto_check.ratio(FOUND["quick"]["rows"]["0.1"]) == pytest.approx(5.0)


def test_the_best_is_held_against_its_own_second_time():
    rows = {
        f"{k}": {"best": {"seconds": 1.0}, "again": again} for k, again in enumerate((1.1, 1.3))
    }
    claim = auto_check._repeatable([("scene", 0.1, row) for row in rows.values()])
    assert claim.measured == "1 of 2 (50%), worst 1.3x"
    assert claim.verdict == NOT_REPRODUCED
