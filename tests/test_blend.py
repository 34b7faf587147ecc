"""Blender files without Blender: who is asked to write them, what it is told, what goes wrong.

What Blender makes of them is in tests/test_other_programs.py.
"""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from recorded import dust, several, sheet, solid, string
from test_run_shows import BOX

import stiffly
from stiffly import shapes
from stiffly.errors import InputError, StiffWarning
from stiffly.recording.exports import blend, export
from stiffly.recording.exports.frames import motion
from stiffly.recording.exports.pieces import pieces, time_codes


def test_without_blender_a_line_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("STIFFLY_BPY", raising=False)
    monkeypatch.setattr(blend, "find_spec", lambda name: None)
    monkeypatch.setattr(blend.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match=r"needs Blender: pip install bpy.*or export to usd"):
        export(solid(), "blend", tmp_path / "a.blend")
    monkeypatch.setenv("STIFFLY_BPY", "/no/such/python")
    with pytest.raises(InputError, match=r"STIFFLY_BPY=/no/such/python is no program: name a"):
        export(solid(), "blend", tmp_path / "a.blend")
    assert list(tmp_path.iterdir()) == []


def test_the_first_that_is_there_is_asked(monkeypatch):
    monkeypatch.delenv("STIFFLY_BPY", raising=False)
    monkeypatch.setattr(blend.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(blend, "find_spec", lambda name: None)
    assert blend.blender()[:2] == ["/bin/blender", "--background"]
    monkeypatch.setattr(blend, "find_spec", lambda name: name)
    assert blend.blender() == [sys.executable]
    monkeypatch.setenv("STIFFLY_BPY", "mine")
    assert blend.blender() == ["mine"]


def test_a_python_without_bpy_is_named_with_its_reason(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'Traceback\nModuleNotFoundError: no bpy' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("STIFFLY_BPY", str(program))
    with pytest.raises(InputError, match=r"could not write the file: ModuleNotFoundError: no bpy;"):
        export(solid(), "blend", tmp_path / "a.blend")
    program.write_text("#!/bin/sh\n")
    with pytest.raises(InputError, match=r"Blender has written no file"):
        export(solid(), "blend", tmp_path / "a.blend")
    assert list(tmp_path.iterdir()) == [program]


def test_too_much_for_a_file_is_said_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("STIFFLY_BPY", sys.executable)
    run = solid()
    huge = SimpleNamespace(**vars(run) | {"positions": Endless(27), "times": np.arange(10**7)})
    with pytest.raises(InputError, match=r"10000000 frames of 27 vertices are too much.*usd"):
        export(huge, "blend", tmp_path / "a.blend")
    assert list(tmp_path.iterdir()) == []


class Endless:
    """Frames that nobody may look at."""

    def __init__(self, particles):
        self.shape = (10**7, particles, 3)

    def __len__(self):
        return self.shape[0]


@pytest.mark.parametrize(
    "make, kinds",
    [(solid, ["surface"]), (sheet, ["surface"]), (string, ["lines"]), (dust, ["points"])],
)
def test_blender_is_told_every_particle_that_is_seen(make, kinds, tmp_path):
    shown = motion(make())
    told, arrays = described(tmp_path, shown)
    assert [thing["kind"] for thing in told["things"]] == kinds
    (thing,) = told["things"]
    np.testing.assert_array_equal(arrays[thing["points"]], np.arange(len(shown.rest)))
    rows = {"surface": shown.triangles, "lines": shown.lines}.get(thing["kind"])
    if rows is not None:
        np.testing.assert_array_equal(arrays[thing["rows"]], rows)
    assert told["rate"] == 10.0 and told["codes"] == [0, 1, 2, 3, 4, 5]
    for name in ("camera", "sun"):  # turned, not mirrored nor stretched
        turn = np.array(told[name])[:3, :3]
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(turn) == pytest.approx(1.0)
    camera = np.array(told["camera"])
    seen = (shown.frame(3) - camera[:3, 3]) @ camera[:3, :3]
    assert np.all(seen[:, 2] < 0.0)  # cameras look along their -z
    assert np.all(np.abs(seen[:, 1] / seen[:, 2]) < np.tan(np.radians(told["opening"] / 2)))
    assert np.array(told["sun"])[2, 2] > 0.5  # suns shine along their -z: from above


def described(folder, shown):
    blend._describe(folder, shown)
    return json.loads((folder / "scene.json").read_text()), np.load(folder / "arrays.npz")


def test_bodies_are_told_by_name_with_their_looks(tmp_path):
    (tmp_path / "box.obj").write_text(BOX)
    (tmp_path / "skin.png").write_bytes(b"\x89PNG")
    scene = stiffly.Scene("both", duration=0.02, step=0.01)
    scene.add(shapes.cloth(3, 3), "the cloth", color=(1.0, 0.5, 0.0), shine=1.0)
    skin = str(tmp_path / "skin.png")
    scene.add(tmp_path / "box.obj", name="box", texture=skin, tetrahedralise=20)
    scene.floor(-2.0)
    shown = motion(scene.simulate())
    told, arrays = described(tmp_path, shown)
    cloth, box = told["things"]
    assert (cloth["name"], box["name"], len(told["colliders"])) == ("the cloth", "box", 1)
    # light that a screen shows as 0.5: 21.4 % of the brightest, a well-known number of sRGB
    np.testing.assert_allclose(cloth["color"], [1.0, 0.214, 0.0], atol=5e-4)
    assert cloth["roughness"] == pytest.approx(0.1)
    assert (cloth["texture"], box["texture"]) == ("", skin)
    own = arrays[box["points"]]
    assert shown.uv is not None
    triangles = own[arrays[box["rows"]]]
    np.testing.assert_array_equal(triangles, shown.triangles[-len(triangles) :])
    np.testing.assert_allclose(
        arrays[box["uv"]], shown.uv[-len(triangles) :].reshape(-1, 2), atol=1e-7
    )


def test_every_body_is_told_by_what_it_is_made_of(tmp_path):
    told, arrays = described(tmp_path, motion(several()))
    kinds = [(one["name"], one["kind"], len(arrays[one["points"]])) for one in told["things"]]
    assert kinds == [("red cube", "surface", 8), ("rope", "lines", 4), ("grains", "points", 2)]


def test_a_picture_that_is_gone_is_said(tmp_path):
    (tmp_path / "box.obj").write_text(BOX)
    (tmp_path / "skin.png").write_bytes(b"\x89PNG")
    scene = stiffly.Scene("one", duration=0.01, step=0.01)
    scene.add(
        tmp_path / "box.obj", name="box", texture=str(tmp_path / "skin.png"), elasticity="rigid"
    )
    shown = motion(scene.simulate())
    (tmp_path / "skin.png").unlink()
    with pytest.warns(
        StiffWarning, match=r"box is exported in its colour: its texture .*skin.png is gone; put"
    ):
        (piece,) = pieces(shown)
    assert piece.look is not None and piece.look.texture == ""


def test_frames_are_counted_from_the_first():
    rate, codes = time_codes(np.array([2.0, 2.1, 2.2, 2.25]))
    assert rate == 10.0
    np.testing.assert_allclose(codes, [0.0, 1.0, 2.0, 2.5])
