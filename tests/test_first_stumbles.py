"""What cannot be done and is tried first: one line, cause and remedy, and nothing is written."""

import h5py
import pytest
from broken_input import BODY, refused
from test_run_shows import BOX

import stiffly
from stiffly import shapes
from stiffly.recording.layout import counter, find


def emptied(folder):
    """As a run leaves it that ended before its first frame was whole: none is counted."""
    run = stiffly.Recording(folder)
    with h5py.File(folder / "recording.vtkhdf") as file:
        place = find(file).frames
    with (folder / "recording.vtkhdf").open("r+b") as file:
        file.seek(place)
        file.write(counter(0, str(run.provenance["run"])))


@pytest.mark.parametrize(
    "command", [("render",), ("plot",), ("export", "--to", "usd"), ("view", "--no-open")]
)
def test_a_recording_without_a_frame(command, tmp_path, capfd):
    scene = stiffly.Scene("x", duration=0.02, step=0.01)
    scene.add(shapes.rope(3))
    scene.simulate(out=tmp_path / "run")
    emptied(tmp_path / "run")
    there = sorted((tmp_path / "run").iterdir())
    capfd.readouterr()
    said = refused(capfd, command[0], str(tmp_path / "run"), *command[1:])
    assert "holds no frame yet" in said and "run it again" in said
    assert sorted((tmp_path / "run").iterdir()) == there


def textured(tmp_path, texture):
    (tmp_path / "box.obj").write_text(BOX)
    lines = ["duration = 0.1", "step = 0.01", "[[body]]", "mesh = 'box.obj'", "young = 1e5"]
    lines += ["elasticity = 'tetrahedra'", "density = 1e3", "poisson = 0.3", "tetrahedralise = 20"]
    (tmp_path / "mine.toml").write_text("\n".join([*lines, f'texture = "{texture}"', ""]))
    return str(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    "texture, words",
    [
        ("gone.png", "gone.png does not exist: check the path"),
        ("box.obj", "box.obj is no picture: give a file that ends in .png or .jpg"),
        (".", "is no picture"),
        ("n" * 300 + ".png", "does not exist"),
        ("two\\nlines.png", "has letters that USD files cannot have: rename it"),
    ],
)
def test_a_texture_that_is_none(texture, words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    said = refused(capfd, "run", textured(tmp_path, texture))  # a line: nothing was filled before
    assert "line 10: body.texture" in said and words in said
    assert not (tmp_path / "mine-run").exists()


def test_a_texture_for_a_scan_without_coordinates(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stiffly.meshes, "tetrahedralise", None)  # it would take long
    file = textured(tmp_path, "skin.png")
    (tmp_path / "skin.png").write_bytes(b"a picture")
    stiffly.meshes.write_mesh(tmp_path / "box.obj", stiffly.meshes.cube(1))
    assert "box.obj has no texture coordinates: export it as obj" in refused(capfd, "run", file)


def test_scenes_without_bodies_and_bodies_tied_to_themselves(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("duration = 0.1\nstep = 0.01\n")
    assert "give scene = 'NAME', or a [[body]] with a shape" in refused(capfd, "run", "mine.toml")
    to = 'to = { body = "a", particles = [1] }'
    tied = f'[[attachment]]\nbody = "a"\nparticles = [0]\n{to}\nstiffness = 1.0\n'
    (tmp_path / "mine.toml").write_text(BODY + 'name = "a"\n' + tied)
    said = refused(capfd, "run", "mine.toml")
    assert "line 13: attachment" in said and "attached to itself: name another body" in said
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.toml"]
