"""Every control of the page, used once in a real browser: it does what it says, and nothing
complains."""

from __future__ import annotations

import pytest
from PIL import Image
from served import Served, wait_for

pytestmark = pytest.mark.slow


def text(page) -> str:
    return page.page.locator("body").inner_text()


def test_every_control_works_and_the_console_is_quiet(jelly, another):
    page = another(jelly.url)
    for button in ("Pause", "Step", "Reset", "Play"):
        page.press(button)
    page.choose("Beside it (2)", "bdf1")
    wait_for(lambda: page.ledger().lanes == ("realtime", "bdf1"), "two methods")
    page.choose("Beside it (3)", "midpoint")
    wait_for(lambda: len(page.ledger().lanes) == 3, "three methods")
    page.choose("Beside it (3)", "none")
    page.choose("Integrator", "realtime-midpoint")
    wait_for(lambda: page.ledger().lanes == ("realtime-midpoint", "bdf1"), "another method")
    page.enter("Step [ms]", "10")
    page.enter("Damping [ms]", "1")
    for slider in ("Speed", "Stiffness", "Gravity", "Wind", "Tolerance", "Iterations"):
        page.nudge(slider)
    wait_for(lambda: "Stiffness ×1.1" in text(page), "a value, not a power of ten")
    wait_for(lambda: page.ledger()["added"] != 0.0, "energy of stiffer springs and of the wind")
    for button in ("left", "right"):  # pulled, then shifted
        page.pull(right=20.0, up=10.0, button=button)
        page.let_go(button)
    page.pull(right=20.0, up=0.0, at=page.beside())  # turned
    page.let_go()
    page.page.mouse.wheel(0.0, 100.0)
    page.tick("Limit the time")
    page.nudge("Budget")
    page.tick("Limit the time")
    for colour, said in (("speed", "m/s"), ("strain", "mean strain"), ("plain", "kinetic")):
        page.choose("Colour by", colour)
        page.until_says(said)
    page.tick("Follow")
    page.tick("Follow")
    for key in ("Space", "s", "r", "f", "Space"):
        page.page.keyboard.press(key)
    page.page.get_by_text("Link", exact=True).first.click(force=True)  # a folder is no button
    page.until_says("While this server runs:")
    out = jelly.folder / "kept"
    for button in ("Last seconds", "Scene file", "Picture"):
        page.press(button)
    path = wait_for(lambda: next(out.glob("*.png"), None), "a picture", 300.0)
    page.until_says(path.name)
    assert max(Image.open(path).size) > 2000  # larger than the window
    assert page.complaints == []


def test_lessons_and_scenes_are_chosen_with_the_mouse(tmp_path, another):
    with Served("--lesson", "verlet", folder=tmp_path) as served:
        page = another(served.url)
        page.until_says("Störmer-Verlet takes the force where it is")
        assert page.ledger().lanes == ("energy-momentum", "verlet")
        page.press("Next")
        page.until_says("page 2 of 3")
        wait_for(lambda: page.says("verlet stopped"), "the explosion")
        page.press("Back")
        page.until_says("page 1 of 3")
        wait_for(lambda: not page.says("verlet stopped"), "the beginning")
        page.press("Again")
        page.until_says("page 1 of 3")
        page.choose("Lesson", "Energy tracking")
        page.until_says("A soft cube spins freely")
        wait_for(lambda: page.ledger().lanes == ("midpoint", "bdf1"), "the cubes")
        page.choose("Lesson", "none")
        page.page.get_by_role("tab", name="Scenes").click()
        page.press("Show bar")
        page.page.get_by_role("tab", name="Energy").click()
        wait_for(lambda: "gravity" in page.ledger().rows, "the bar")
        page.tick("Small variant")
        assert page.complaints == []


def test_a_link_is_opened_in_a_new_window(tmp_path, another):
    with Served("single-spring", folder=tmp_path) as served:
        page = another(f"{served.url}&scene=bar&small=1&integrators=realtime-midpoint,bdf1")
        wait_for(lambda: page.ledger().lanes == ("realtime-midpoint", "bdf1"), "the settings")
        wait_for(lambda: page.page.get_by_label("Scene", exact=True).input_value() == "bar", "bar")
        assert page.complaints == []


def test_a_recording_is_played_in_a_loop(tmp_path, another):
    from stiffly import scenes, simulate

    simulate(scenes.load("bar", small=True), duration=1.0, out=tmp_path / "bar-run")
    with Served("bar-run", folder=tmp_path) as served:
        page = another(served.url)
        page.tick("Loop")
        page.press("Play")
        page.choose("Colour by", "speed")
        page.until_says("m/s")
        last = [page.seconds()]

        def back() -> bool:
            now, before = page.seconds(), last[0]
            last[0] = now
            return now < before

        wait_for(back, "the beginning again")
        page.nudge("Speed")
        page.nudge("Frame")
        assert page.complaints == []
