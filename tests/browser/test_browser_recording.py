"""What is kept and what is played: saving from the page, and recordings on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from served import Served, wait_for
from site_page import SitePage, body_pixels, share_that_differs

from stiffly import Recording, scenes, simulate


@pytest.fixture(scope="module")
def bar(tmp_path_factory):
    """A bar that stretches under its weight: 31 frames of 1 s, the body ever elsewhere."""
    folder = tmp_path_factory.mktemp("recorded")
    scene = scenes.load("bar", small=True, duration=1.0)
    return simulate(scene, every=1.0 / 30.0, out=folder / "bar")


def slider(page: SitePage):
    """The one that says where in the recording we are."""
    return page.page.get_by_role("slider").first


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


def files(folder: Path, ending: str) -> list[Path]:
    return sorted(folder.glob(f"*{ending}"))


def test_the_page_saves_a_picture_a_scene_and_the_last_seconds(jelly_file, tmp_path, another):
    out = tmp_path / "kept"
    with Served(str(jelly_file), "--out", "kept", folder=tmp_path) as served:
        page = another(served.url)
        page.pull(right=40.0, up=0.0)
        wait_for(lambda: page.ledger()["hand"] > 0.0, "the hand")
        page.let_go()
        page.enter("Damping [ms]", "2")
        wait_for(lambda: page.ledger()["hand"] == 0.0, "the release")
        page.pause()
        t, kinetic = page.seconds(), page.ledger()["kinetic"]
        page.press("Last seconds")
        wait_for(lambda: files(out, ""), "a recording")
        page.until_says("recorded")
        page.press("Picture")
        wait_for(lambda: files(out, ".png"), "a picture")
        page.press("Scene file")
        wait_for(lambda: files(out, ".toml"), "a scene file")
        page.until_says(".toml")
    (folder,) = [path for path in out.iterdir() if path.is_dir()]
    kept = Recording(folder)
    assert len(kept) > 5 and kept.times[-1] - kept.times[0] <= t + 0.01
    assert kept.energy.kinetic[-1] == pytest.approx(kinetic, rel=0.01)  # three digits
    assert np.ptp(kept.positions[:, :, 0], axis=0).max() > 1e-4  # somebody pulled
    from PIL import Image

    assert 0.02 < body_pixels(np.asarray(Image.open(files(out, ".png")[0]))).mean() < 0.95
    (scene,) = files(out, ".toml")
    assert "damping = 0.002" in scene.read_text()
    checked = subprocess.run([sys.executable, "-m", "stiffly.cli", "scene", "check", str(scene)])
    assert checked.returncode == 0
