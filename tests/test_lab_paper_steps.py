"""`stiffly lab paper-steps`: when a run with the authors' method and step counts as holding."""

import pytest

from stiffly_lab import Bench, experiment, paper_steps
from stiffly_lab.report import NOT_REPRODUCED, PARTLY, REPRODUCED, UNTESTED

ROW = {
    **{"scene": "bar", "small": True, "method": "verlet", "step": 0.01, "dof": 3},
    **{"duration": 1.0, "reached": 1.0, "error": 1e-3, "late": False, "why": None},
}
LATE = {"late": True, "why": "stopped: it took longer than 60 s", "reached": 0.5}
CASES = {
    "to the end": ({}, True),
    "as far as granted": (LATE, True),
    "not a frame": ({**LATE, "reached": 0.0}, False),
    "stopped": ({"why": "step 0.01 s diverged", "reached": 0.2}, False),
    "energy off": ({"error": 0.02}, False),
    "nothing exchanged": ({"error": None}, True),
}


@pytest.mark.parametrize("name", CASES)
def test_what_holds(name):
    changes, held = CASES[name]
    assert paper_steps.holds({**ROW, **changes}) is held


def test_a_verdict_is_of_both_sizes_and_says_what_happened():
    good, bad, none = ({**ROW, **CASES[n][0]} for n in ("to the end", "stopped", "not a frame"))
    told = [
        paper_steps._claim("bar", rows)
        for rows in ([good, good], [good, bad], [bad, bad], [good, none], [none])
    ]
    verdicts = [claim.verdict for claim in told]
    assert verdicts == [REPRODUCED, PARTLY, NOT_REPRODUCED, REPRODUCED, UNTESTED]
    assert "diverged" in told[1].measured and "not a frame" in told[3].measured


def test_small_scenes_run_as_the_papers_have_them(monkeypatch):
    monkeypatch.setattr(paper_steps, "QUICK", ("fput", "foil"))
    rows = experiment("paper-steps").run(Bench(quick=True)).data["rows"]
    assert [r["scene"] for r in rows] == ["fput", "foil"]
    assert [r["method"] for r in rows] == ["exprb42", "eti:rest"]
    # a foil turns, and eti has one matrix for all of it: docs/lab/foil-strain
    assert [paper_steps.holds(r) for r in rows] == [True, False]
