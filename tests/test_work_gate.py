"""The gate on counts of work tells growth from slack; the counts themselves: `make gate`."""

import json
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import work  # noqa: E402


def test_growth_is_named_and_slack_is_not():
    before = {"force_evaluations": 100, "tangents": 3}
    assert work.grown({"force_evaluations": 103, "tangents": 3}, before) == []
    assert work.grown({"force_evaluations": 104, "tangents": 3}, before) == [
        "force_evaluations 100 -> 104"
    ]
    assert work.grown({"factorizations": 1}, before) == ["factorizations 0 -> 1"]  # a new cost
    assert work.grown({}, before) == []


def test_every_run_has_known_counts_and_a_cheap_one_repeats_them():
    known = json.loads((BENCHMARKS / "work.json").read_text())
    assert set(known) == set(work.CASES)
    name = "tets, vimex"
    assert work.counts(name) == known[name]  # a fixed number of steps: no iteration in it
