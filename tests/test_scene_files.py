"""Scene files: both forms, values beside the file, texts that give a scene again."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import numpy as np
import pytest
from thinned import thinned

from stiffly import InputError, scenes, simulate
from stiffly.recording.provenance import fingerprint
from stiffly.scenes import files
from stiffly.scenes.schema import SceneFile

JELLY = """\
duration = 1.0
step = 0.01

[[body]]
shape = { kind = "cube", cells = 2, side = 0.2 }
elasticity = "tetrahedra"
young = 1e5      # soft
poisson = 0.3
density = 1000.0

[[load]]
kind = "gravity"
"""
COIL = """\
scene = "coil-spring"
duration = 2.0
every = 0.5

[parameters]
vertices = 160
stiffness = 1e5
"""


def write(folder, text, name="scene.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def same_scene(a, b) -> bool:
    """Starts, runs and forces near the start are the same, bit for bit."""
    options = all(
        getattr(a, key) == getattr(b, key) for key in ("step", "duration", "integrator", "every")
    )
    starts = np.array_equal(a.x0, b.x0) and np.array_equal(a.v0, b.v0)
    moved = a.x0 + 1e-3 * np.random.default_rng(1).standard_normal(a.x0.shape)
    forces = []
    for scene in (a, b):
        system, state = scene.system.bind(moved, scene.v0)
        forces.append(system.force(state))
    return options and starts and np.array_equal(*forces)


# ------------------------------------------------------------------ both forms


def test_a_composed_file(tmp_path):
    scene = files.check(write(tmp_path, JELLY, "jelly.toml"))
    assert isinstance(scene, scenes.Scene) and scene.name == "jelly"
    assert scene.summary == "27 particles, from jelly.toml"
    assert (scene.step, scene.duration, scene.every) == (0.01, 1.0, None)
    assert scene.integrator == "energy-momentum"
    assert scene.mesh is not None and len(scene.mesh.tets) == 40
    assert np.array_equal(scene.mesh.positions, scene.x0)
    assert scene.system.mass.apply(np.ones(81)).sum() == pytest.approx(3 * 8.0)  # 0.2^3 * 1000


def test_a_built_in_scene_with_other_parameters(tmp_path):
    scene = files.check(write(tmp_path, COIL))
    expected = scenes.load("coil-spring", vertices=160, stiffness=1e5, duration=2.0, every=0.5)
    assert scene.name == "coil-spring" and scene.every == 0.5
    assert same_scene(scene, expected)
    assert dict(scene.parameters) == dict(expected.parameters)


def test_options_of_a_run(tmp_path):
    text = "summary = 'räumlich'\nrtol = 1e-4\natol = 1e-8\nframes_per_second = 25\n"
    text += JELLY.replace("step = 0.01\n", "")
    text += "[output]\ndtype = 'float64'\nvelocities = false\ncheckpoint = 0.0\n"
    scene = files.read(write(tmp_path, text))
    assert scene.summary == "räumlich" and scene.every == pytest.approx(0.04)
    assert scene.integrator == "pexprb43"  # the default has no error estimate
    assert (scene.file.rtol, scene.file.atol) == (1e-4, 1e-8)
    kept = {"dtype": "float64", "velocities": False, "checkpoint": 0.0}
    assert scene.file.output.model_dump() == kept
    run = simulate(scene, rtol=scene.file.rtol, duration=0.02, every=0.01)
    assert len(run.times) == 3


def test_rtol_needs_an_adaptive_scene(tmp_path):
    path = write(tmp_path, "scene = 'oscillator-pair'\nrtol = 1e-3\n")
    with pytest.raises(InputError, match=r"line 2.*eti.*no error estimate.*pexprb43"):
        files.check(path)
    assert files.read(path, integrator="pexprb43").file.rtol == 1e-3


def test_parse_builds_nothing(tmp_path):
    """A mesh that does not exist is nobody's business before `read`."""
    text = JELLY.replace('shape = { kind = "cube", cells = 2, side = 0.2 }', 'mesh = "no.obj"')
    path = write(tmp_path, text)
    file = files.parse(path)
    assert isinstance(file, SceneFile) and file.body is not None
    assert file.body[0].mesh == "no.obj" and file.body[0].young == 1e5
    with pytest.raises(InputError, match="does not exist"):
        files.read(path)


def test_unicode_works_everywhere(tmp_path):
    folder = tmp_path / "фигуры 図形"
    folder.mkdir()
    (folder / "крыло.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    text = (
        "duration = 1.0\nstep = 0.1\nsummary = '蝶の羽 🦋'\n[[body]]\nname = 'крыло'\n"
        "mesh = 'крыло.obj'\nelasticity = 'shell'\nstiffness = 10.0\nmass = 1.0\n"
        "[[attachment]]\nbody = 'крыло'\nparticles = [0]\nstiffness = 5.0\n"
    )
    scene = files.check(write(folder, text, "бабочка.toml"))
    assert scene.name == "бабочка" and scene.summary == "蝶の羽 🦋"
    assert len(scene.x0) == 3 and '"крыло"' not in scene.text and "крыло" in scene.text


def test_byte_order_marks_and_windows_line_ends(tmp_path):
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + JELLY.replace("\n", "\r\n").encode())
    assert len(files.check(path).x0) == 27


# ------------------------------------------------------------------ values beside the file


@pytest.mark.parametrize(
    "text, value",
    [
        ("20", 20), ("1e5", 1e5), ("-0.5", -0.5), ("true", True), ("[0, 1]", [0, 1]),
        ("{ kind = 'cube' }", {"kind": "cube"}), ("'quoted'", "quoted"), ("bare", "bare"),
        ("stabilised:midpoint", "stabilised:midpoint"), ("", ""), ("1 + 1", "1 + 1"),
        ("1\nscene = 2", "1\nscene = 2"), ("# no", "# no"),
    ],
)  # fmt: skip
def test_values_of_the_command_line(text, value):
    read = files.as_value(text)
    assert read == value and type(read) is type(value)


def test_overrides_change_what_the_file_says(tmp_path):
    path = write(tmp_path, JELLY)
    scene = files.read(
        path,
        **{"body.0.young": "2e5", "body.0.shape.cells": 3, "step": "0.02", "integrator": "bdf1"},
    )
    assert scene.file.body is not None and scene.file.body[0].young == 2e5
    assert len(scene.x0) == 64 and scene.step == 0.02 and scene.integrator == "bdf1"
    assert files.read(path, **{"load.0.g": [0, 0, -1]}).file.load[0].g == (0.0, 0.0, -1.0)
    assert files.read(path, **{"output.dtype": "float64"}).file.output.dtype == "float64"
    assert files.read(path, **{"damping.alpha": 0.5}).system.damping.alpha == 0.5
    assert files.read(path).step == 0.01  # the file itself is as it was
    assert dict(scene.parameters)["body.0.young"] == 2e5


def test_plain_keys_are_the_built_in_scenes_own(tmp_path):
    path = write(tmp_path, COIL)
    assert len(files.read(path, vertices="320").x0) == 320
    assert len(files.read(path, **{"parameters.vertices": 320}).x0) == 320
    assert files.read(path, duration=3).duration == 3.0
    bare = write(tmp_path, "scene = 'coil-spring'\n", "bare.toml")
    assert len(files.read(bare, vertices=160).x0) == 160
    with pytest.raises(InputError, match=r"with vertexes=320: parameters.vertexes.*vertices\?"):
        files.read(path, vertexes=320)


# ------------------------------------------------------------------ texts that give it again


@pytest.mark.parametrize("name", ["fput", "oscillator-pair", "spinning-cube"])
def test_show_gives_the_same_scene(name, tmp_path):
    text = files.show(name)
    built, expected = files.check(write(tmp_path, text)), scenes.load(name)
    assert same_scene(built, expected) and built.name == name
    assert dict(built.parameters) == dict(expected.parameters)
    entry = scenes.entry(name)
    lines = " ".join(line.lstrip("# ") for line in text.split("\n"))
    for words in (entry.summary, entry.source, entry.shows, *entry.parameters.values()):
        assert words in lines
    for option in ("integrator", "step", "duration", "every", "rtol", "frames_per_second"):
        assert f"{option} = " in text
    assert files.to_toml(built) == text


def test_show_suggests():
    with pytest.raises(InputError, match="did you mean fput"):
        files.show("fputt")


@pytest.mark.parametrize(
    "name", thinned(scenes.NAMES, keep=set(scenes.NAMES) - {"statue", "cactus"})
)
def test_every_built_in_scene_can_be_written_and_read(name, tmp_path):
    scene = scenes.load(name, small=True)
    text = files.to_toml(scene)
    assert text is not None
    assert same_scene(files.check(write(tmp_path, text)), scene)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in scenes.NAMES if n != "hair"])  # twice 1.8 GB
def test_every_built_in_scene_can_be_shown(name, tmp_path):
    built, expected = files.check(write(tmp_path, files.show(name))), scenes.load(name)
    assert same_scene(built, expected)


def test_the_text_of_a_file_is_kept(tmp_path):
    path = write(tmp_path, JELLY)
    assert files.to_toml(files.read(path)) == JELLY  # comments, too
    changed = files.read(path, **{"body.0.young": 3e5, "damping.alpha": 0.1})
    again = files.read(write(tmp_path, changed.text, "again.toml"))
    assert same_scene(changed, again) and again.system.damping.alpha == 0.1
    assert not same_scene(changed, files.read(path))


@pytest.mark.parametrize("folder, overrides", [("", {}), ("", {"step": 0.1}), ("shapes", {})])
def test_kept_texts_find_their_meshes_from_elsewhere(folder, overrides, tmp_path):
    where = tmp_path / folder
    where.mkdir(exist_ok=True)
    (where / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    text = "duration = 1.0\nstep = 0.1\n"
    text += f"folder = '{folder}'\n" if folder else ""
    text += "[[body]]\nmesh = 'a.obj'\nelasticity = 'shell'\nstiffness = 1.0\nmass = 1.0\n"
    scene = files.read(write(tmp_path, text), **overrides)
    elsewhere = tmp_path / "run" / "deep"
    elsewhere.mkdir(parents=True)
    assert same_scene(files.read(write(elsewhere, scene.text)), scene)


def test_scenes_that_no_file_gives_have_no_text():
    from dataclasses import replace

    scene = scenes.load("fput", m=2)
    assert files.to_toml(replace(scene, name="my own")) is None
    assert files.to_toml(replace(scene, parameters={"m": object()})) is None
    assert tomllib.loads(files.to_toml(scene) or "")["parameters"]["m"] == 2


# ------------------------------------------------------------------ what a run needs


def test_a_file_read_twice_gives_the_same_system(tmp_path):
    """`resume` asks; every load, motion and contact counts, and what they were set to."""
    text = JELLY + (
        "[[load]]\nkind = 'wind'\nwind = [1, 0, 0]\nswing = { amplitude = [1, 0, 0], period = 2 }\n"
        "[[load]]\nkind = 'field'\nswing = { amplitude = [0, 1, 0], period = 0.5 }\n"
        "[[load]]\nkind = 'drag'\ncoefficient = 0.1\npower = 2\nbodies = ['cube']\n"
        "[[load]]\nkind = 'force'\nparticles = ['top']\nforce = [0, 0, 1]\n"
        "[[collider]]\nkind = 'sphere'\ncentre = [0, 0, -1]\nradius = 0.5\nstiffness = 10\n"
        "motion = { kind = 'rotation', axis = [0, 0, 1], rate = 1 }\n"
        "[[collider]]\nkind = 'triangle-mesh'\nshape = { kind = 'torus' }\nposition = [0, 0, -1]\n"
        "stiffness = 10\n"
        "[[support]]\nparticles = ['bottom']\n"
        "motion = { kind = 'keyframes', times = [0, 1], offsets = [[0, 0, 0], [1, 0, 0]] }\n"
        "[[attachment]]\nparticles = [-1]\nstiffness = 2.0\n"
        "[contact]\nthickness = 0.01\nstiffness = 10\n[damping]\nalpha = 0.1\nrate = 0.5\n"
    )
    scene = files.check(write(tmp_path, text))
    one = fingerprint(scene.system)
    assert fingerprint(files.read(write(tmp_path, text)).system) == one
    changes = (
        ("wind = [1,", "wind = [2,"),
        ("period = 2", "period = 3"),
        ("rate = 1 }", "rate = 2 }"),
    )
    for old, new in (
        *changes,
        ("offsets = [[0,", "offsets = [[1,"),
        ("radius = 0.5", "radius = 0.6"),
    ):
        assert old in text
        assert fingerprint(files.read(write(tmp_path, text.replace(old, new))).system) != one
    assert len(scene.colliders) == 2


def test_checking_a_simple_file_stays_light(tmp_path):
    path = write(tmp_path, JELLY)
    code = f"from stiffly.scenes import files; files.check({str(path)!r}); import sys; "
    code += "print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(out.stdout.split())
    assert "stiffly.scenes.files" in loaded
    heavy = {"ipctk", "meshio", "pyvista", "gemmi", "trimesh", "matplotlib", "h5py"}
    assert not (heavy | {"pxr", "imageio_ffmpeg", "typer", "rich"}) & loaded
