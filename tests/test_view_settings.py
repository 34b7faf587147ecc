"""What a live simulation starts with, and what it refuses."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_scenes import drifting, little_cloth

from stiffly import InputError, scenes
from stiffly.view.page.controls import SPEEDS
from stiffly.view.settings import Settings

PLAIN = Settings(integrators=("realtime",), step=0.01)


def test_a_scene_brings_its_own_settings():
    found = Settings.of(scenes.load("cloth", resolution=7, damping=3e-4))
    assert found.integrators == ("realtime",) and found.step == 0.033
    assert found.damping == 3e-4 and found.gravity == 9.81 and found.stiffness == 1.0
    assert Settings.of(scenes.load("spinning-cube", small=True)).gravity == 0.0


def test_scenes_that_last_less_than_a_second_are_slowed_down_to_ten():
    assert Settings.of(drifting(duration=3e-6, step=1e-8)).speed == pytest.approx(3e-7)
    # but not to a step every now and then: 15 frames per second at least
    assert Settings.of(drifting(duration=0.5, step=0.01)).speed == pytest.approx(0.15)
    assert Settings.of(drifting(duration=0.5, step=0.1)).speed == 1.0
    assert Settings.of(drifting(duration=1.0)).speed == 1.0
    assert Settings.of(drifting(duration=60.0)).speed == 1.0


@pytest.mark.parametrize(
    "step, speed, steps",
    [(0.01, 1.0, 3), (0.05, 1.0, 1), (1 / 30, 1.0, 1), (0.001, 1.0, 33), (1e-9, 1e-6, 33)],
)
def test_a_frame_is_as_many_whole_steps_as_come_nearest_to_a_thirtieth(step, speed, steps):
    settings = replace(PLAIN, step=step, speed=speed)
    assert settings.steps == steps
    assert settings.frame_time == pytest.approx(steps * step)


@given(step=st.floats(-4.0, 0.0), speed=st.floats(-2.0, 1.0))
def test_a_second_has_at_most_45_frames(step, speed):
    settings = replace(PLAIN, step=10.0**step, speed=10.0**speed)
    frame = settings.frame_time / settings.speed  # seconds of real time
    assert frame >= 1 / 45 * (1 - 1e-12)
    assert frame <= max(1 / 22.5, settings.step / settings.speed) * (1 + 1e-12)


def test_lanes_and_steps_share_the_budget_of_a_frame():
    three = replace(PLAIN, integrators=("eti", "realtime"), budget=0.012)
    assert three.options["budget"] == pytest.approx(0.002)
    assert PLAIN.options["budget"] is None


def test_the_budget_of_a_scene_is_one_of_steps():
    scene = replace(little_cloth(), method={"budget": 0.002, "iterations": 4}, step=0.01)
    found = Settings.of(scene)
    assert found.iterations == 4 and found.budget == pytest.approx(0.006)
    assert found.options["budget"] == pytest.approx(0.002)


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"integrators": ()}, "1 to 3 integrators"),
        ({"integrators": ("eti",) * 4}, "1 to 3 integrators"),
        ({"integrators": "eti"}, "1 to 3 integrators"),
        ({"integrators": None}, "1 to 3 integrators"),
        ({"step": 0.0}, "step = 0.0"),
        ({"step": -0.1}, "step = -0.1"),
        ({"step": float("nan")}, "step = nan"),
        ({"step": "0.1"}, "step = 0.1"),
        ({"step": None}, "step = None"),
        ({"step": 1e-9}, "more than 100,000 steps"),
        ({"step": 1e30}, "stays for more than an hour"),
        ({"speed": 1e-6}, "stays for more than an hour"),
        ({"speed": float("inf")}, "speed = inf"),
        ({"stiffness": 0.0}, "stiffness = 0"),
        ({"damping": -1e-3}, "damping = -0.001"),
        ({"gravity": True}, "gravity = True"),
        ({"tolerance": 1.5}, "tolerance = 1.5"),
        ({"iterations": 2.5}, "iterations = 2.5"),
        ({"iterations": 0}, "iterations = 0"),
        ({"iterations": "many"}, "iterations = many"),
        ({"iterations": None}, "iterations = None"),
        ({"budget": 0.0}, "budget = 0"),
        ({"budget": 1e-7}, "1e-06 or more"),
        ({"budget": 2e3}, "at most 1000"),
        ({"budget": [1]}, "budget = [1]"),
    ],
)
def test_nonsense_is_refused_in_one_line(wrong, said):
    with pytest.raises(InputError) as refused:
        replace(PLAIN, **wrong)
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("name", scenes.NAMES)
def test_the_whole_range_of_the_speed_control_is_allowed(name):
    """Down to a thousandth of what the scene itself asks for."""
    scene = scenes.load(name, small=True)
    if scene.x0.ndim == 2:
        own = Settings.of(scene)
        for power in SPEEDS:
            assert replace(own, speed=own.speed * 10.0**power).steps >= 1
