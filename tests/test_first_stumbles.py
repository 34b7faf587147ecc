"""What cannot be done and is tried first: one line, cause and remedy, and nothing is written."""

from pathlib import Path

import h5py
import pytest
from broken_input import BODY, refused
from test_run_shows import BOX

import stiffly
from stiffly import shapes
from stiffly.errors import InputError
from stiffly.recording.layout import counter, find

ROPE = stiffly.meshes.rope().positions
PEBBLE = Path(__file__).parent.parent / "examples" / "scenes" / "pebble.obj"


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
        ("text.png", "text.png does not begin as a .png does: save the picture as one again"),
        ("n" * 300 + ".png", "does not exist"),
        ("two\\nlines.png", "has letters that USD files cannot have: rename it"),
    ],
)
def test_a_texture_that_is_none(texture, words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.png").write_text("a text")
    said = refused(capfd, "run", textured(tmp_path, texture))  # a line: nothing was filled before
    assert "line 10: body.texture" in said and words in said
    assert not (tmp_path / "mine-run").exists()


def test_a_texture_for_a_scan_without_coordinates(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stiffly.meshes, "tetrahedralise", None)  # it would take long
    file = textured(tmp_path, "skin.png")
    (tmp_path / "skin.png").write_bytes(b"\x89PNG")
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


def test_a_mesh_is_no_scene(tmp_path, monkeypatch, capfd):
    """But becomes one with the line that is told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box.obj").write_text(BOX)
    said = refused(capfd, "run", "box.obj")
    assert "box.obj is no scene file" in said
    told = "stiffly.dropped('box.obj').save('box.toml')"
    assert said.rstrip().endswith(told)
    assert eval(told, {"stiffly": stiffly}).exists()


@pytest.mark.parametrize("name", ["mine", "mine.tml", "./mine"])
def test_a_scene_file_without_its_ending_is_meant(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(BODY)
    assert f"unknown scene {name}: did you mean mine.toml?" in refused(capfd, "run", name)


def of_a_drop(**keys):
    return stiffly.dropped(PEBBLE, **keys)


@pytest.mark.parametrize(
    "act, words",
    [
        (
            lambda s: of_a_drop(damping=0.1),
            'damping must be a table, such as {"key": value}, got 0.1: {"alpha": 0.5}, a share',
        ),
        (
            lambda s: s.add(shapes.cube(), damping={"alpha": 0.5}),
            "body.damping is not known: damping is the whole scene's, not one body's: {",
        ),
        (lambda s: of_a_drop(friction=0.5), "friction is not known: it belongs to collider or"),
        (lambda s: stiffly.Scene(friction=0.5), "friction is not known: it belongs to collider or"),
        (lambda s: s.add(shapes.cube(), positions=(0, 0, 1)), "did you mean position?"),
        (
            lambda s: s.add(shapes.cube(), pins=3.5),
            "body.pins must be a whole number, got 3.5: particles that are held: vertex sets by",
        ),
        (
            lambda s: s.add(shapes.cube(), pins=3.5),
            '{"box": [low, high]} or {"plane": { point, normal }}',
        ),
        (
            lambda s: s.add(shapes.cloth(3, 3), pins="corner"),
            "body.pins: unknown set of particles corner: did you mean corners?",
        ),
        (
            lambda s: s.add(shapes.cloth(3, 3), pins="nowhere"),
            "body.pins: unknown set of particles nowhere: choose one of ",
        ),
        (
            lambda s: s.add(shapes.cube(), rotation=90),
            'body.rotation must be a table, such as {"key": value}, got 90: '
            '{"axis": [x, y, z], "degrees": 90}',
        ),
        (lambda s: s.walker(300.0), "load.path is missing: the points, such as [[0, 0, 0], "),
        (lambda s: s.walker(300.0), "load.times is missing: when it is at each point"),
        (
            lambda s: stiffly.Scene(integrator=stiffly.integrator("verlet")),
            "name of a method (one of your own goes to simulate(integrator=...))",
        ),
        (
            lambda s: s.force(s.add(shapes.rope()), lambda x: -x) or s.build().system.bind(ROPE),
            "a function of one argument gets the time; for places write it of (t, x)",
        ),
        (lambda s: s.floor(friction=30), "collider.friction must be at most 10, got 30: "),
        (lambda s: s.contact(friction=30), "contact.friction must be at most 10, got 30: "),
    ],
)
def test_what_a_scene_in_python_is_given(act, words):
    with pytest.raises(InputError) as refusal:
        act(stiffly.Scene("mine"))
    assert words in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_table_among_several_is_named_by_its_kind():
    """Gravity is one of them, which nobody has written down."""
    scene = stiffly.Scene("mine")
    scene.add(shapes.cube())
    for bodies in (None, ["bal"], None):
        scene.load("drag", coefficient=1.0, bodies=bodies)
    scene.wind((1, 0, 0))
    with pytest.raises(InputError, match=r"mine \(load drag 2\): "):
        scene.build()


def test_pins_are_one_or_several_as_all_particles_are():
    """What `at=` takes."""
    held = {}
    for pins in ("corners", 3):
        for given in (pins, [pins]):
            scene = stiffly.Scene()
            scene.add(shapes.cloth(3, 3), pins=given)
            held.setdefault(pins, []).append(sorted(scene.build().system.given.fixed))
    assert [len(one) for one, _ in held.values()] == [4, 1]
    assert all(one == several for one, several in held.values())


def test_a_scan_is_damped_as_a_scene_is():
    scene = of_a_drop(damping={"alpha": 0.5}, tetrahedralise=20)
    assert scene.build().file.damping.alpha == 0.5
