"""Other scenes, other sizes, methods that fail: the page says what happens."""

from __future__ import annotations

import pytest
from served import Served, wait_for
from site_page import body_pixels, share_that_differs

pytestmark = pytest.mark.slow


def test_another_scene_takes_the_place_of_the_first(tmp_path, another):
    with Served("bar", "--small", folder=tmp_path) as served:
        page = another(served.url)
        assert "gravity" in page.ledger().rows
        page.choose("Scene", "spinning-cube")
        wait_for(lambda: "gravity" not in page.ledger().rows, "a cube that spins in space")
        wait_for(lambda: page.seconds() > 0.0, "the cube to move")
        page.pause()
        assert 0.01 < body_pixels(page.picture()).mean() < 0.9
        assert page.ledger()["kinetic"] > 0.0
        page.choose("Scene", "bar")
        wait_for(lambda: "gravity" in page.ledger().rows, "the bar again")
        page.pause()
        assert body_pixels(page.picture()).mean() > 0.01


def test_a_method_that_explodes_is_named_and_the_other_goes_on(tmp_path, another):
    lanes = ("--integrator", "midpoint", "--integrator", "stabilised")
    with Served("single-spring", *lanes, folder=tmp_path) as served:
        page = another(served.url)
        wait_for(lambda: page.says("midpoint stopped"), "midpoint to fail")
        assert page.says("or a Step of")  # what can be turned here, not what a program would say
        t, table = page.seconds(), page.ledger()
        wait_for(lambda: page.seconds() > t, "time to go on")
        kinetic = table.rows["kinetic"]
        wait_for(lambda: page.ledger().rows["kinetic"][1] != kinetic[1], "the other to move")
        assert page.ledger().rows["total"][0] == table.rows["total"][0]  # it stands still
        page.choose("Integrator", "bdf1")
        wait_for(lambda: page.ledger().lanes == ("bdf1", "stabilised"), "another method")
        wait_for(lambda: not page.says("midpoint stopped"), "the red line to go")


def test_a_simulation_that_cannot_keep_up_is_said_to_be_slow(tmp_path, another):
    with Served("cloth", "--small", folder=tmp_path) as served:
        page = another(served.url)
        page.enter("Step [ms]", "0.02")  # 1,667 steps for a frame: nobody keeps up
        wait_for(lambda: page.says("slower than real time"), "the warning")
        assert "playing" in page.clock()


def test_a_cloth_of_ten_thousand_particles_is_drawn_and_pulled(tmp_path, another):
    with Served("cloth", folder=tmp_path) as served:
        page = another(served.url)
        before = page.picture()
        assert body_pixels(before).mean() > 0.05
        page.pull(right=0.0, up=-40.0)
        wait_for(lambda: page.ledger()["hand"] > 0.0, "the hand", 300.0)
        page.let_go()
        wait_for(lambda: page.ledger()["hand"] == 0.0, "the release", 300.0)
        assert share_that_differs(page.picture(), before) > 0.01
