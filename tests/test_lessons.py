"""Every lesson of the live page shows what it says: its set-ups are run without a browser."""

from dataclasses import fields

import numpy as np
import pytest

from stiffly import InputError, scenes
from stiffly.view.lessons import NAMES, lesson
from stiffly.view.settings import Settings
from stiffly.view.stage import Stage

PAGES = [(name, number) for name in NAMES for number in range(len(lesson(name).pages))]
CLAIMED = [(name, number) for name, number in PAGES if lesson(name).pages[number].claims]


def staged(name, number):
    found = lesson(name)
    scene = scenes.load(found.scene, small=True)
    return Stage(scene, found.pages[number].applied(Settings.of(scene)))


def measured(times, frames, after, quantity):
    """Of one lane, from what it showed up to that time."""
    seen = [(t, frame) for t, frame in zip(times, frames, strict=True) if t <= after + 1e-9]
    t = np.array([t for t, _ in seen])
    kinetic = np.array([frame.energies["kinetic"] for _, frame in seen])
    if quantity == "stopped":
        return next((t for t, frame in seen if frame.failure is not None), np.inf)
    assert all(frame.failure is None for _, frame in seen)
    if quantity == "swing":
        return kinetic[t > after - 1.0].max() / kinetic[t <= 1.0].max()
    assert quantity == "numerical"
    return abs(seen[-1][1].numerical) / kinetic.max()


@pytest.mark.parametrize("name, number", CLAIMED)
def test_a_page_shows_what_it_claims(name, number):
    stage, claims = staged(name, number), lesson(name).pages[number].claims
    times, frames = [], []
    while stage.t < max(claim["after"] for claim in claims):
        snapshot = stage.advance()
        times.append(snapshot.t)
        frames.append(snapshot.lanes)
    lanes = [lane.name for lane in frames[0]]
    for claim in claims:
        own = [row[lanes.index(claim["lane"])] for row in frames]
        found = measured(times, own, claim["after"], claim["quantity"])
        assert claim.get("least", -np.inf) <= found <= claim.get("most", np.inf), (claim, found)


def test_there_are_five_lessons_each_ends_with_something_to_try():
    assert len(NAMES) == 5
    for name in NAMES:
        found = lesson(name)
        assert found.title and found.summary
        assert found.pages[-1].look.startswith("Try this:")
        assert any(page.claims for page in found.pages)
        words = sum(len((page.text + page.look).split()) for page in found.pages)
        assert words <= 300  # two minutes of reading and looking


@pytest.mark.parametrize("name, number", PAGES)
def test_every_page_names_settings_that_exist(name, number):
    page = lesson(name).pages[number]
    assert page.text and page.look
    assert set(page.settings) <= {field.name for field in fields(Settings)}
    for claim in page.claims:
        assert claim["lane"] in page.settings["integrators"]
        assert ("most" in claim) != ("least" in claim)


def test_a_name_that_is_none_gets_the_nearest():
    with pytest.raises(InputError, match="unknown lesson verlett: did you mean verlet"):
        lesson("verlett")
