"""The page over all results: every item has a row, whatever has been run."""

from __future__ import annotations

import json

import pytest
from matplotlib.figure import Figure

from stiffly import InputError
from stiffly_lab import EXPERIMENTS, ITEMS, Claim, Report, page
from stiffly_lab.report import (
    NOT_REPRODUCED,
    PARTLY,
    REPRODUCED,
    UNTESTED,
    capped,
    judged,
    verdict,
)

NAME = "fput-energy"
FIRST, SECOND = EXPERIMENTS[NAME].items


def report(*verdicts: str) -> Report:
    claims = [Claim("says | this", f"got |<{v}>|", v, "because", FIRST) for v in verdicts]
    return Report(
        name=NAME,
        title="A title",
        source="a paper",
        figure=Figure(),
        claims=claims,
        notes="| a |\n| --- |\n| b |",
    )


def test_every_item_of_the_papers_has_an_experiment():
    answered = [item for e in EXPERIMENTS.values() for item in e.items]
    assert sorted(answered) == sorted(ITEMS)


def test_a_row_for_every_item_run_or_not(tmp_path):
    report(REPRODUCED, NOT_REPRODUCED).save(tmp_path, seconds=1.0)
    rows = {row.item: row for row in page.verdicts(page.read(tmp_path))}
    assert list(rows) == list(ITEMS)
    assert rows[FIRST].verdict == PARTLY
    assert rows[SECOND].verdict == UNTESTED  # it ran, and says nothing about this one
    others = {row.verdict for item, row in rows.items() if item not in (FIRST, SECOND)}
    assert others == {page.NOT_RUN}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([REPRODUCED, UNTESTED], PARTLY),
        ([NOT_REPRODUCED, NOT_REPRODUCED], NOT_REPRODUCED),
        ([NOT_REPRODUCED, UNTESTED], NOT_REPRODUCED),
        ([NOT_REPRODUCED, PARTLY], PARTLY),
        ([], UNTESTED),
        ([REPRODUCED, NOT_REPRODUCED], PARTLY),
        ([PARTLY, REPRODUCED], PARTLY),
        ([UNTESTED], UNTESTED),
    ],
)
def test_overall_verdict(given, expected):
    assert page.overall([{"verdict": v} for v in given]) == expected


def test_rows_that_were_not_tested_are_named(tmp_path):
    report(REPRODUCED, UNTESTED).save(tmp_path)
    row = next(r for r in page.verdicts(page.read(tmp_path)) if r.item == FIRST)
    assert row.verdict == PARTLY and row.measured.endswith("; not tested: says | this")


def test_the_reason_is_the_one_that_applied():
    whole, half = (
        judged("p", "m", checks, "it is", "it is not") for checks in ([True], [True, False])
    )
    assert (whole.verdict, whole.why) == (REPRODUCED, "it is")
    assert (half.verdict, half.why) == (PARTLY, "it is not")
    small = capped(whole, "3 of 4 vertices")
    assert small.verdict == PARTLY and small.why == "it is; capped: 3 of 4 vertices"
    assert capped(half, "3 of 4 vertices") == half


def test_verdict_of_checks():
    assert verdict(True, True) == REPRODUCED
    assert verdict(True, False) == PARTLY
    assert verdict(False, False) == NOT_REPRODUCED


def test_the_page_is_one_file(tmp_path):
    report(REPRODUCED).save(tmp_path, quick=True, seconds=2.0)
    html, markdown = page.build(tmp_path)
    text = html.read_text()
    assert "data:image/png;base64," in text and 'src="figure.png"' not in text
    assert "<td>b</td>" in text  # notes are rendered, tables too
    assert "got |&lt;reproduced&gt;|" in text and "<reproduced>" not in text
    assert f"stiffly lab {NAME} --quick" in text
    assert text.index(FIRST) < text.index("A title")  # verdicts first
    row = f"| {FIRST} | [{NAME}]({NAME}/result.md) | **reproduced** | got \\|<reproduced>\\| | `"
    assert row in markdown.read_text()


def test_damaged_or_missing_results_are_named(tmp_path):
    with pytest.raises(InputError, match="run experiments first"):
        page.build(tmp_path)
    paths = report(REPRODUCED).save(tmp_path)
    paths[0].write_text(json.dumps({"name": NAME})[:-3])
    with pytest.raises(InputError, match=f"run `stiffly lab {NAME}` again"):
        page.build(tmp_path)
