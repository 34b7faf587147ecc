"""Programs of others open what is exported: Blender (bpy), glTF's own validator (node).

`make test-programs` sets both up and runs these tests.  Elsewhere both are looked for and not
installed: `pip install bpy` in an environment of its own, then STIFFLY_BPY=/its/bin/python;
`npm install gltf-validator`, then NODE_PATH=its/node_modules.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from recorded import dust, several, sheet, solid, string

import stiffly
from stiffly import shapes
from stiffly.collisions import Hemisphere, rotation
from stiffly.recording.exports import export
from stiffly.recording.exports.frames import motion

HERE = Path(__file__).parent
BOX = """v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
f 1/1 4/2 3/3 2/4\nf 5/1 6/2 7/3 8/4\nf 1/1 2/2 6/3 5/4
f 2/1 3/2 7/3 6/4\nf 3/1 4/2 8/3 7/4\nf 4/1 1/2 5/3 8/4
"""


def blender():
    """The command that runs a script with bpy, or None."""
    if named := os.environ.get("STIFFLY_BPY"):
        return [named]
    if importlib.util.find_spec("bpy"):
        return [sys.executable]
    return ["blender", "--background", "--python"] if shutil.which("blender") else None


def seen_by_blender(path):
    """What blender_import.py finds in a file."""
    command = [*blender(), str(HERE / "blender_import.py"), *(["--"] * (len(blender()) > 1))]
    bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    made = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, timeout=300, env=bare
    )
    lines = [s for s in made.stdout.splitlines() if s.startswith("BLENDER ")]
    assert lines, made.stderr
    return json.loads(lines[0].removeprefix("BLENDER "))


@pytest.mark.slow
@pytest.mark.skipif(blender() is None, reason="no bpy: set STIFFLY_BPY")
def test_blender_moves_every_body_and_has_its_texture_coordinates(tmp_path):
    pytest.importorskip("pxr")
    (tmp_path / "box.obj").write_text(BOX)
    pytest.importorskip("PIL.Image").new("RGB", (4, 4)).save(tmp_path / "skin.png")
    scene = stiffly.Scene("both", duration=0.2, step=0.005)
    scene.add(shapes.cloth(5, 5), name="the cloth", position=(0, 0, 2), pins=[0])
    box = {"texture": str(tmp_path / "skin.png"), "tetrahedralise": 20, "young": 1e5}
    scene.add(tmp_path / "box.obj", name="box", position=(3, 0, 1), **box)
    scene.floor()
    run = scene.simulate()
    (path,) = run.export("usd", tmp_path / "both.usdc")
    told, shown = seen_by_blender(path), motion(run)
    assert told["range"] == [0, 6]  # 0.2 s of 30 frames a second
    assert {"the_cloth", "box"} <= set(told["bodies"])
    for number, name in enumerate(("the_cloth", "box")):
        body, own = told["bodies"][name], shown.owner == number
        assert len(body["points"]) == len(run.times) == 7
        for i, points in enumerate(body["points"]):
            np.testing.assert_allclose(points, shown.frame(i)[own], atol=1e-6)
    assert told["bodies"]["box"]["materials"] == ["box"]
    (uv,) = told["bodies"]["box"]["uv"]
    faces = shown.owner[shown.triangles[:, 0]] == 1
    np.testing.assert_allclose(uv, shown.uv[faces].reshape(-1, 2), atol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(blender() is None, reason="no bpy: set STIFFLY_BPY")
def test_a_blender_file_has_bodies_motion_looks_camera_and_light(tmp_path):
    (tmp_path / "box.obj").write_text(BOX)
    pytest.importorskip("PIL.Image").new("RGB", (4, 2)).save(tmp_path / "skin.png")
    scene = stiffly.Scene("both", duration=0.21, step=0.005)
    scene.add(shapes.cloth(5, 5), name="the cloth", position=(0, 0, 2), pins=[0], color=(1, 0.5, 0))
    scene.add(shapes.rope(6, start=(0, 3, 2)), name="rope", pins=[0])
    box = {"texture": str(tmp_path / "skin.png"), "tetrahedralise": 20, "young": 1e5}
    scene.add(tmp_path / "box.obj", name="box", position=(3, 0, 1), **box)
    grains = shapes.particles([[5, 0, 1], [6, 0, 1]])
    scene.add(grains, name="grains", elasticity="none", mass=0.1)
    scene.floor()
    run = scene.simulate()
    (path,) = run.export("blend", tmp_path / "both.blend")
    (tmp_path / "skin.png").unlink()  # it is in the file
    told, shown = seen_by_blender(path), motion(run)
    assert (told["range"], told["fps"]) == ([0, 7], 30)  # 0.21 s
    assert (told["camera"], told["lights"]) == ("Camera", ["Sun"])
    assert set(told["bodies"]) == {"the cloth", "rope", "box", "grains", "collider 0"}
    for number, name in enumerate(("the cloth", "rope", "box", "grains")):
        points, own = told["bodies"][name]["points"], shown.owner == number
        assert len(points) == 8
        for i in range(7):  # the last but one: recorded at whole frames
            np.testing.assert_allclose(points[i], shown.frame(i)[own], atol=1e-5)
        np.testing.assert_allclose(points[7], shown.frame(7)[own], atol=1e-5)  # held, from 6.3 on
    np.testing.assert_allclose(told["colors"]["the cloth"], [1.0, 0.214, 0.0], atol=5e-4)
    assert told["colors"]["box"] == ["skin.png", [4, 2], True]
    assert told["thick"]["rope"] > 6  # a tube
    assert told["thick"]["grains"] >= 12 * 2  # a ball each
    (uv,) = told["bodies"]["box"]["uv"]
    faces = shown.owner[shown.triangles[:, 0]] == 2
    np.testing.assert_allclose(uv, shown.uv[faces].reshape(-1, 2), atol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(blender() is None, reason="no bpy: set STIFFLY_BPY")
def test_a_blender_file_of_points_and_of_what_moves_by_itself(tmp_path):
    (path,) = export(dust(), "blend", tmp_path / "dust.blend")
    told, shown = seen_by_blender(path), motion(dust())
    (body,) = told["bodies"].values()
    for i, points in enumerate(body["points"]):
        np.testing.assert_allclose(points, shown.frame(i), atol=1e-5)
    assert next(iter(told["thick"].values())) >= 12 * len(shown.rest)  # a ball each
    turned = solid()
    turn = rotation(axis=(0, 0, 1), centre=(1.0, 0.0, 0.0), rate=20.0)
    turned.colliders = (Hemisphere((0.5, 0.0, -1.0), 0.25, motion=turn),)
    (path,) = export(turned, "blend", tmp_path / "turned.blend")
    angles = 20.0 * turned.times  # more than a full turn
    expected = np.stack([1.0 - 0.5 * np.cos(angles), -0.5 * np.sin(angles), -1.0 + 0.0 * angles], 1)
    places = np.array(seen_by_blender(path)["places"]["collider 0"])
    centres = places @ [0.5, 0.0, -1.0, 1.0]
    np.testing.assert_allclose(centres[:, :3], expected, atol=1e-5)


VALIDATE = """
const validator = require('gltf-validator'), fs = require('fs');
validator.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1])))
  .then(told => console.log(JSON.stringify(told.issues)));
"""


def has_validator():
    code = "require.resolve('gltf-validator')"
    return (
        shutil.which("node")
        and not subprocess.run(["node", "-e", code], capture_output=True).returncode
    )


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_gltf_is_valid(tmp_path):
    if not has_validator():
        pytest.skip("no gltf-validator: npm install it, and set NODE_PATH")
    for make in (solid, sheet, string, dust, several):
        (path,) = export(make(), "gltf", tmp_path / f"{make.__name__}.glb")
        made = subprocess.run(
            ["node", "-e", VALIDATE, str(path)], capture_output=True, text=True, check=True
        )
        told = json.loads(made.stdout)
        assert told["messages"] == [] and told["numErrors"] == told["numWarnings"] == 0
