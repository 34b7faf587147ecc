"""A running simulation, used through a real browser.

Drawing in software takes most of the time: one picture and one pull are the default run's, and
tests/test_page_*.py check what the page does without a browser.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import viser
from PIL import Image
from served import wait_for
from site_page import body_pixels, share_that_differs

from stiffly import Recording

CLIENT = Path(viser.__file__).parent / "client" / "src"
THIRTY_PICTURES = """async () => {
    for (let k = 0; k < 30; k++) await new Promise(requestAnimationFrame)
}"""  # drawn, one after the other, in each of which something could have moved
PULLED = 1e-6  # joules in the hand: pulls give 0.1, what only takes hold gives rounding errors


def at_rest(page) -> None:
    """As the scene begins, standing still."""
    page.pause()
    page.press("Reset")
    wait_for(lambda: page.seconds() == 0.0 and page.ledger()["added"] == 0.0, "the start")


def swinging(page) -> None:
    """Pulled aside, let go, and running; energy has come in."""
    at_rest(page)
    page.play()
    page.pull(right=50.0, up=0.0)
    wait_for(lambda: page.ledger()["hand"] > PULLED, "the hand")
    page.let_go()
    wait_for(lambda: page.ledger()["hand"] == 0.0 and page.ledger()["kinetic"] > 0.0, "the swing")


def test_the_page_shows_a_body_and_asks_nobody_else(jelly, window):
    page = window(jelly.url)
    at_rest(page)
    picture = page.picture()
    assert 0.02 < body_pixels(picture).mean() < 0.9
    assert picture.std(axis=(0, 1)).min() > 5.0  # light and shade, not one colour
    site = page.url.partition("?")[0]
    own = ("blob:" + site, site, site.replace("http", "ws"), "data:")
    assert page.requests and [r for r in page.requests if not r.startswith(own)] == []


def test_pulling_moves_the_body_and_the_ledger_has_the_work(jelly, window):
    page = window(jelly.url)
    at_rest(page)
    before = page.picture()
    page.play()
    page.pull(right=70.0, up=0.0)
    held = wait_for(lambda: (found := page.ledger())["hand"] > PULLED and found, "the hand")
    assert held["added"] > 0.0
    page.pause()
    assert share_that_differs(page.picture(), before) > 0.01
    page.play()
    page.let_go()
    free = wait_for(lambda: (found := page.ledger())["hand"] == 0.0 and found, "the release")
    assert free["added"] > 0.0
    # it began with nothing: what is there now was added, less what is gone (three digits each)
    balance = free["added"] - free["dissipated"] + free["numerical"]
    stored = sum(free[name] for name in ("kinetic", "elastic"))
    assert free["total"] == pytest.approx(stored, rel=0.02)
    assert free["total"] == pytest.approx(balance, abs=0.02 * free["added"])
    assert page.complaints == []


def test_a_drag_is_told_before_viser_would_tell_it(jelly, window):
    """Timers run out in the order of their times: viser's 50 ms come before 40."""
    assert "useThrottledMessageSender(50)" in (CLIENT / "DragLayer.tsx").read_text()
    first = window(jelly.url).page.evaluate(
        """() => new Promise((done) => {
            setTimeout(done, 40, "the other");
            setTimeout(done, 50, "viser's");
        })"""
    )
    assert first == "viser's"


@pytest.mark.slow
def test_another_integrator_takes_over_where_the_first_one_was(jelly, window):
    page = window(jelly.url)
    swinging(page)
    page.pause()
    before, t, picture = page.ledger(), page.seconds(), page.picture()
    assert before.lanes == ("realtime",)
    page.choose("Integrator", "bdf1")
    after = wait_for(lambda: (found := page.ledger()).lanes == ("bdf1",) and found, "bdf1")
    for name in ("kinetic", "elastic", "added"):
        assert after[name] == before[name] > 0.0
    assert page.seconds() == t
    assert share_that_differs(page.picture(), picture) < 0.01  # but for the name above the body
    page.play()
    wait_for(lambda: page.seconds() > t, "bdf1 to go on")
    assert page.ledger().lanes == ("bdf1",)
    page.choose("Integrator", "realtime")
    wait_for(lambda: page.ledger().lanes == ("realtime",), "the first method again")


@pytest.mark.slow
def test_time_stands_still_in_a_pause_and_goes_on_by_single_frames(jelly, window):
    page = window(jelly.url)
    swinging(page)
    page.pause()
    t, table, picture = page.seconds(), page.text_of_ledger(), page.picture()
    page.page.evaluate(THIRTY_PICTURES)
    assert (page.seconds(), page.text_of_ledger()) == (t, table)
    assert share_that_differs(page.picture(), picture) == 0.0
    at_rest(page)
    page.press("Step")
    one = wait_for(page.seconds, "a frame")
    assert one >= 0.02 and one == pytest.approx(0.02 * round(one / 0.02))  # whole steps
    page.press("Step")
    wait_for(lambda: page.seconds() == pytest.approx(2.0 * one), "the next frame")
    assert "paused" in page.clock()


@pytest.mark.slow
def test_a_reload_finds_the_simulation_running_on(jelly, window):
    page = window(jelly.url)
    swinging(page)
    added, t = page.ledger()["added"], page.seconds()
    page.reload()
    wait_for(lambda: page.seconds() > t, "time to go on")
    assert page.ledger()["added"] == added
    page.until_says("You drive.")
    page.pause()


@pytest.mark.slow
def test_one_browser_drives_and_the_other_watches(jelly, window, another):
    first = window(jelly.url)
    at_rest(first)
    first.play()
    second = another(jelly.url)
    first.until_says("You drive.")
    second.until_says("You watch: another browser drives.")
    assert second.seconds() >= 0.0 and body_pixels(second.picture()).mean() > 0.02
    second.press("Pause")
    second.until_says("Another browser drives")
    t = first.seconds()
    wait_for(lambda: first.seconds() > t + 0.2, "time to go on")
    assert "playing" in first.clock()
    second.pull(right=60.0, up=0.0)
    second.let_go()
    wait_for(lambda: first.seconds() > t + 0.4, "time to go on")
    assert first.ledger()["added"] == 0.0
    second.press("Take the wheel")
    second.until_says("You drive.")
    first.until_says("You watch: another browser drives.")
    second.pause()
    wait_for(lambda: "paused" in first.clock(), "the pause of the other")


@pytest.mark.slow
def test_two_integrators_side_by_side_are_pulled_together(jelly, window):
    page = window(jelly.url)
    at_rest(page)
    page.choose("Beside it (2)", "bdf1")
    wait_for(lambda: page.ledger().lanes == ("realtime", "bdf1"), "two lanes")
    page.play()
    page.pull(right=30.0, up=0.0)
    both = wait_for(
        lambda: min((found := page.ledger()).rows["hand"]) > PULLED and found, "both hands"
    )
    assert min(both.rows["added"]) > 0.0
    page.let_go()
    wait_for(lambda: max(page.ledger().rows["hand"]) == 0.0, "both to be free")
    page.choose("Beside it (2)", "none")
    wait_for(lambda: page.ledger().lanes == ("realtime",), "one lane")
    page.pause()


@pytest.mark.slow
def test_the_page_saves_a_picture_a_scene_and_the_last_seconds(jelly, window):
    page, out = window(jelly.url), jelly.folder / "kept"
    swinging(page)
    page.enter("Damping [ms]", "2")
    page.pause()
    kinetic = page.ledger()["kinetic"]
    page.press("Last seconds")
    page.until_says("recorded")
    kept = Recording(next(path for path in out.iterdir() if path.is_dir()))
    assert len(kept) > 5
    assert kept.energy.kinetic[-1] == pytest.approx(kinetic, rel=0.01)  # three digits
    assert np.ptp(kept.positions[:, :, 0], axis=0).max() > 1e-4  # somebody pulled
    page.press("Picture")
    path = wait_for(lambda: next(out.glob("*.png"), None), "a picture")
    page.until_says(path.name)  # all of it is there
    assert 0.02 < body_pixels(np.asarray(Image.open(path).convert("RGB"))).mean() < 0.95
    page.press("Scene file")
    path = wait_for(lambda: next(out.glob("*.toml"), None), "a scene file")
    page.until_says(path.name)
    assert "damping = 0.002" in path.read_text()
    check = [sys.executable, "-m", "stiffly", "scene", "check", str(path)]
    assert subprocess.run(check).returncode == 0
