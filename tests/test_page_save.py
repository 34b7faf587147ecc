"""What is saved from a page: where it goes, and that it is what was seen."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from live_scenes import little_cloth, made_up

from stiffly import Recording, System, scenes
from stiffly.bodies import Gravity
from stiffly.errors import InputError
from stiffly.recording.folder import new_path
from stiffly.scenes.files import read
from stiffly.view.page.save import as_png, scene_text, written
from stiffly.view.settings import Settings
from stiffly.view.stage import Stage


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cloth", "cloth.png"),
        ("../../etc/passwd", "etc-passwd.png"),
        ("/root", "root.png"),
        ("a b\n<c>", "a-b-c.png"),
        ("..", "scene.png"),
        ("", "scene.png"),
    ],
)
def test_names_lead_nowhere_else(tmp_path, name, expected):
    path = new_path(tmp_path, name, ".png")
    assert path == tmp_path / expected and path.resolve().parent == tmp_path.resolve()


def test_nothing_that_exists_is_replaced(tmp_path):
    for expected in ("cloth.toml", "cloth-2.toml", "cloth-3.toml"):
        path = new_path(tmp_path, "cloth", ".toml")
        assert path.name == expected
        path.write_text("")


def test_the_scene_file_gives_the_simulation_as_it_was_set(tmp_path):
    stage = Stage(scenes.load("cloth", resolution=7))
    stage.change(step=0.02, stiffness=2.5, gravity=1.62, damping=1e-3, iterations=7)
    file = tmp_path / "mine.toml"
    file.write_text(scene_text(stage.recent()))
    again = read(file)
    assert again.name == "cloth" and len(again.x0) == 49
    settings = Settings.of(again)
    assert settings.step == 0.02 and settings.iterations == 7
    assert settings.gravity == pytest.approx(1.62) and settings.damping == pytest.approx(1e-3)
    stretched = again.x0 * [1.1, 1.0, 1.0]
    soft = elastic(little_cloth(), stretched)
    assert elastic(again, stretched) == pytest.approx(2.5 * soft, rel=1e-9)


def test_the_budget_of_a_scene_file_is_one_of_steps(tmp_path):
    """12 ms for a frame of three steps in two lanes: 2 ms each."""
    stage = Stage(little_cloth())
    stage.change(step=0.011, integrators=("realtime", "projective"), budget=0.012)
    file = tmp_path / "mine.toml"
    file.write_text(scene_text(stage.recent()))
    assert tomllib.loads(file.read_text())["method"]["budget"] == pytest.approx(0.002)
    assert Settings.of(read(file)).options["budget"] == pytest.approx(0.002)


def elastic(scene, x):
    system, state = scene.system.bind(scene.x0)
    return system.energy(replace(state, x=x[system.free].ravel()))["elastic"]


def test_a_scene_of_a_program_has_no_file():
    system = System(np.ones(2), [Gravity()])
    stage = Stage(made_up(system, np.eye(3)[:2]))
    with pytest.raises(InputError, match="no scene file"):
        scene_text(stage.recent())


def test_scene_files_name_no_method_options_that_the_method_lacks():
    stage = Stage(little_cloth(), replace(Settings.of(little_cloth()), integrators=("bdf1",)))
    text = scene_text(stage.recent())
    said = tomllib.loads(text)
    assert said["integrator"] == "bdf1" and not said.get("method")


def test_the_last_seconds_are_a_recording_of_each_lane(tmp_path):
    stage = Stage(little_cloth())
    stage.change(integrators=("realtime", "bdf1"))
    for _ in range(5):
        last = stage.advance()
    for lane, name in enumerate(stage.settings.integrators):
        folder = new_path(tmp_path, f"cloth-{name}", "")
        stage.recent().write(folder, lane)
        recording = Recording(folder)
        np.testing.assert_array_equal(recording.positions[-1], last.lanes[lane].positions)
        assert recording.name == "cloth"
        said = tomllib.loads((folder / "scene.toml").read_text())
        assert said["integrator"] == name  # so that it can be run again


def test_a_lane_that_has_not_moved_is_left_out_and_the_others_are_written(tmp_path):
    stage = Stage(little_cloth())
    for _ in range(5):
        stage.advance()
    stage.change(integrators=("bdf1", "realtime"))  # the first one is new
    title, text = written(stage.recent(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["cloth-realtime"]
    assert title == "0.165 s recorded" and str(tmp_path / "cloth-realtime") in text  # 5 x 33 ms
    assert "not bdf1" in text


def test_where_no_lane_has_moved_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="nothing to record"):
        written(Stage(little_cloth()).recent(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_pictures_stand_on_white():
    from io import BytesIO

    from PIL import Image

    pixels = np.zeros((2, 3, 4), dtype=np.uint8)
    pixels[0, 0] = 200, 100, 0, 255
    pixels[0, 1] = 0, 0, 0, 51  # a fifth of black
    found = np.asarray(Image.open(BytesIO(as_png(pixels))))
    assert found.shape == (2, 3, 3)
    assert found[0, 0].tolist() == [200, 100, 0] and found[0, 1].tolist() == [204, 204, 204]
    assert (found[1] == 255).all()
