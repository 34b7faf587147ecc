"""Exports: every format from a recording, wrong input, interruptions, shapes of colliders."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from recorded import sheet, solid, wobbling

from stiffly import InputError, scenes, simulate
from stiffly.collisions import Hemisphere, Plane, Sphere, TriangleMesh
from stiffly.meshes import Mesh, cube
from stiffly.recording.exports import FORMATS, export
from stiffly.recording.exports.frames import chains, motion, solids

# ------------------------------------------------------------------ real recordings


@pytest.mark.parametrize("to", [to for to in FORMATS if to != "blend"])  # test_other_programs.py
def test_recording_goes_everywhere(cube_recording, to):
    done = []
    paths = export(cube_recording, to, progress=lambda *count: done.append(count))
    assert all(path.exists() and path.stat().st_size > 100 for path in paths)
    assert all(cube_recording.folder in path.parents for path in paths)
    assert done[-1][0] == done[-1][1] >= len(cube_recording)
    assert [count[0] for count in done] == list(range(1, len(done) + 1))
    assert not [p for p in cube_recording.folder.rglob("*") if "partial" in p.name]


@pytest.fixture(scope="module")
def cube_recording(tmp_path_factory):
    scene = scenes.load("spinning-cube", small=True)
    return simulate(scene, duration=0.33, every=0.033, out=tmp_path_factory.mktemp("run") / "cube")


def test_recording_is_never_overwritten(cube_recording):
    own = cube_recording.folder / "recording.vtkhdf"
    before = own.read_bytes()
    with pytest.raises(InputError, match="is the recording itself"):
        export(cube_recording, "vtkhdf", own, force=True)
    assert own.read_bytes() == before


# ------------------------------------------------------------------ input and interruptions


def test_formats_are_named_and_guessed(tmp_path):
    assert FORMATS == ("usd", "blend", "vtkhdf", "ply", "obj", "gltf", "npz", "html")
    with pytest.raises(InputError, match="unknown export format vtkhd: did you mean vtkhdf"):
        export(solid(), "vtkhd", tmp_path)
    with pytest.raises(InputError, match=r"ends in \.usdc or \.usd or \.usda"):
        export(solid(), "usd", tmp_path / "run.blend")
    with pytest.raises(InputError, match="out is missing"):
        export(solid(), "usd")
    (path,) = export(solid(), "npz", tmp_path)  # a folder: the name is that of the scene
    assert path == tmp_path / "made-up.npz"


def test_existing_files_stay_without_force(tmp_path):
    path = tmp_path / "run.npz"
    path.write_text("mine")
    with pytest.raises(InputError, match=r"exists.*force"):
        export(solid(), "npz", path)
    assert path.read_text() == "mine"
    export(solid(), "npz", path, force=True)
    assert np.load(path)["positions"].shape == (6, 27, 3)


def test_frames_replace_frames_and_nothing_else(tmp_path):
    export(wobbling(cube(1), frames=9), "obj", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds frames already"):
        export(solid(), "obj", tmp_path)
    paths = export(solid(), "obj", tmp_path, force=True)
    assert sorted(tmp_path.iterdir()) == [*paths, tmp_path / "notes.txt"]
    assert len(export(solid(), "ply", tmp_path)) == 6  # beside frames of another format


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_interrupted_export_leaves_nothing(to, stop, tmp_path, monkeypatch):
    monkeypatch.setenv("STIFFLY_BPY", sys.executable)  # of blend: not reached

    def progress(done, total):
        if done == 3:
            raise stop

    out = tmp_path / "frames" if to in ("ply", "obj") else tmp_path / f"run{ending(to)}"
    with pytest.raises(stop):
        export(solid(), to, out, progress=progress)
    assert list(tmp_path.rglob("*")) == []


def ending(to):
    return {"usd": ".usdc", "gltf": ".glb"}.get(to, f".{to}")


def test_interrupted_export_leaves_the_old_file(tmp_path):
    (path,) = export(solid(), "vtkhdf", tmp_path / "run.vtkhdf")
    before = path.read_bytes()

    def progress(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(sheet(), "vtkhdf", path, force=True, progress=progress)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("to", ["usd", "ply", "obj", "gltf"])
def test_exploded_frames_are_refused_by_name(to, tmp_path):
    recorded = solid()
    recorded.positions = recorded.positions.astype(np.float64)
    recorded.positions[4, 7, 1] = 1e200
    out = tmp_path / "frames" if to in ("ply", "obj") else tmp_path / f"run{ending(to)}"
    with pytest.raises(InputError, match=r"frame 4 \(t = 0.4 s\).*exploded; export to npz"):
        export(recorded, to, out)
    assert list(tmp_path.rglob("*")) == []
    export(recorded, "npz", tmp_path / "run.npz")


def test_missing_usd_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    for part in ("Gf", "Sdf", "Usd", "UsdGeom", "Vt"):
        monkeypatch.setitem(sys.modules, f"pxr.{part}", None)
    with pytest.raises(InputError, match=r'pip install "stiffly\[usd\]"'):
        export(solid(), "usd", tmp_path / "run.usdc")


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        export(solid(), "npz", tmp_path / "file" / "run.npz")
    with pytest.raises(InputError, match="is a file: name a folder"):
        export(solid(), "ply", tmp_path / "file")
    (tmp_path / "folder.npz").mkdir()
    (path,) = export(solid(), "npz", tmp_path / "folder.npz")
    assert path.parent == tmp_path / "folder.npz"


def test_frames_go_to_the_folder_one_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = export(solid(), "ply", ".")
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in paths]


def test_mesh_of_other_particles_is_refused(tmp_path):
    recorded = solid()
    recorded.mesh = cube(3)
    with pytest.raises(InputError, match="mesh has 64 vertices and the frames 27"):
        export(recorded, "ply", tmp_path / "frames")


# ------------------------------------------------------------------ shapes


def volume(solid_shape):
    a, b, c = (solid_shape.positions[solid_shape.triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def test_colliders_enclose_what_they_should():
    box = cube(1)
    shapes = [
        Sphere((1.0, 2.0, 3.0), 0.5),
        Sphere((0.0, 0.0, 0.0), 2.0, inside=True),
        Hemisphere((0.0, 1.0, 0.0), 0.3, axis=(1.0, 1.0, 0.0)),
        TriangleMesh(box.positions, box.triangles),
    ]
    ball, room, dome, block = solids(shapes, np.zeros(3), np.ones(3))
    assert volume(ball) == pytest.approx(4.0 / 3.0 * np.pi * 0.5**3, rel=0.01)
    assert volume(room) == pytest.approx(-4.0 / 3.0 * np.pi * 2.0**3, rel=0.01)  # seen from inside
    assert volume(dome) == pytest.approx(2.0 / 3.0 * np.pi * 0.3**3, rel=0.01)
    assert volume(block) == pytest.approx(1.0)
    axis = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    along = (dome.positions - [0.0, 1.0, 0.0]) @ axis
    assert along.min() > -1e-12 and along.max() == pytest.approx(0.3)


def test_planes_lie_below_the_motion():
    plane = Plane((0.0, 0.0, -1.0), (0.0, 1.0, 1.0))
    (square,) = solids([plane], np.array([4.0, 4.0, 4.0]), np.array([6.0, 5.0, 4.5]))
    n = np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0)
    np.testing.assert_allclose((square.positions - [0.0, 0.0, -1.0]) @ n, 0.0, atol=1e-12)
    a, b, c = square.positions[square.triangles[0]]
    assert np.cross(b - a, c - a) @ n > 0.0
    middle, foot = np.array([5.0, 4.5, 4.25]), square.positions.mean(axis=0)
    np.testing.assert_allclose(np.cross(middle - foot, n), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "lines, counts",
    [
        ([[0, 1], [1, 2], [2, 3]], [4]),
        ([[3, 1], [0, 1], [2, 1]], [2, 2, 2]),  # a fork
        ([[0, 1], [1, 2], [2, 0]], [4]),  # a ring
        ([[0, 1], [1, 2], [2, 0], [2, 3], [3, 4]], [3, 4]),  # a ring with a tail
        ([[5, 6], [0, 1]], [2, 2]),
    ],
)
def test_chains_take_every_line_once(lines, counts):
    found = chains(np.array(lines))
    pairs = sorted(tuple(sorted(p)) for path in found for p in pairwise(path))
    assert pairs == sorted(tuple(sorted(line)) for line in lines)
    assert sorted(map(len, found)) == counts


def test_springs_inside_a_surface_are_not_drawn():
    box, middle = cube(1), np.zeros((1, 3))
    spokes = np.column_stack([np.arange(8), np.full(8, 8)])
    tail = np.array([[0, 9], [9, 10], [10, 11]])
    x = np.concatenate([box.positions, middle, np.arange(9.0).reshape(3, 3)])
    mesh = Mesh(x, np.concatenate([box.edges, spokes, tail]), triangles=box.triangles)
    np.testing.assert_array_equal(motion(wobbling(mesh)).lines, tail)
