"""A recording on the page."""

from __future__ import annotations

import pytest
from served import Served, wait_for
from site_page import SitePage, body_pixels, share_that_differs

from stiffly import scenes, simulate


@pytest.fixture(scope="module")
def bar(tmp_path_factory):
    """A bar that stretches under its weight: 31 frames of 1 s, the body ever elsewhere."""
    folder = tmp_path_factory.mktemp("recorded")
    scene = scenes.load("bar", small=True, duration=1.0)
    return simulate(scene, every=1.0 / 30.0, out=folder / "bar")


def slider(page: SitePage):
    """The one that says where in the recording we are."""
    return page.page.get_by_role("slider").first


@pytest.mark.slow
def test_a_recording_is_played_and_searched(bar, tmp_path, another):
    with Served(str(bar.folder), folder=tmp_path) as served:
        page = another(served.url)
        page.pause()
        slider(page).press("Home")
        wait_for(lambda: page.seconds() == 0.0, "the first frame")
        first = page.picture()
        assert 0.01 < body_pixels(first).mean() < 0.9
        slider(page).press("End")
        wait_for(lambda: page.seconds() == pytest.approx(bar.times[-1], rel=1e-2), "the last")
        assert share_that_differs(page.picture(), first) > 0.005
        # the ledger is the recording's, to the three digits that the page shows
        for name, values in bar.energy.parts.items():
            assert page.ledger()[name] == pytest.approx(values[-1], rel=0.006, abs=1e-12)
        slider(page).press("ArrowLeft")
        before = wait_for(lambda: (t := page.seconds()) < bar.times[-1] - 0.02 and t, "a frame")
        assert before == pytest.approx(bar.times[-2], rel=1e-2)
        slider(page).press("Home")
        wait_for(lambda: page.seconds() == 0.0, "the first frame")
        page.play()
        wait_for(lambda: page.seconds() > 0.2, "the film")
