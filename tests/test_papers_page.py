"""docs/papers.md and docs/beyond.md: what they point to is there."""

import re
from pathlib import Path

import pytest

from stiffly import scenes

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("papers.md", "beyond.md")
STATUS = ("as described", "differently, and better", "partly", "measured")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (DOCS / page).read_text())
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []


def rows():
    text = (DOCS / "papers.md").read_text()
    return [line.split(" | ") for line in text.splitlines() if re.match(r"\| [A-D]\d+ \|", line)]


def test_every_ingredient_has_a_place_and_a_status():
    found = rows()
    assert len(found) >= 125 and len({row[0] for row in found}) == len(found)
    for row in found:
        status = row[3].removesuffix(" |")
        assert "](" in row[2] and status.split(":")[0] in STATUS, row
        if status.startswith(("partly", "differently")):
            assert "measured" not in status
        if status == "partly":
            pytest.fail(f"{row[0]}: what is missing is not said")


def test_what_is_measured_has_a_verdict():
    verdicts = (DOCS / "lab" / "verdicts.md").read_text()
    for row in rows():
        if row[3].startswith("measured"):
            (name,) = re.findall(r"\(lab/([\w-]+)/result.md\)", row[2])
            assert f"({name}/result.md)" in verdicts, row


def test_every_scene_says_whether_the_authors_own_step_holds():
    text = (DOCS / "papers.md").read_text()
    for name in scenes.NAMES:
        own = scenes.entry(name)
        row = f"| {name} | `{own.paper['integrator']}` | {own.paper['step']:g} | {own.holds} |"
        assert own.holds and row in text, row
