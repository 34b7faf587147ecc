"""A surface embedded in tets is what is recorded, exported, rendered and shown on the page."""

import json
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from stiffly import InputError, cli, scenes, simulate
from stiffly.meshes import quality, read_mesh, sphere, tetrahedralise, write_mesh
from stiffly.recording.colors import coloring
from stiffly.recording.exports import FORMATS, export
from stiffly.recording.exports.frames import motion
from stiffly.recording.plots.body import picture
from stiffly.recording.recording import Recording
from stiffly.scenes import files
from stiffly.view.page.figures import Body, still
from stiffly.view.page.place import place_lanes
from stiffly.view.playback import Playback

SCENE = """
integrator = "energy-momentum"
step = 0.05
duration = 0.4
every = 0.1
[[body]]
name = "string"
shape = { kind = "rope", particles = 4, length = 1.0 }
position = [5, 0, 0]
elasticity = "springs"
stiffness = 10.0
mass = 1.0
pins = [0]
[[body]]
name = "egg"
mesh = "egg.ply"
scale = 2.0
rotation = { axis = [0, 0, 1], degrees = 90 }
position = [0, 0, 3]
elasticity = "tetrahedra"
young = 1e4
poisson = 0.3
density = 100.0
tetrahedralise = 120
velocity = [1.0, 0, 0]
[[load]]
kind = "gravity"
"""


@pytest.fixture(scope="module")
def falling(tmp_path_factory):
    """An egg in free flight, recorded: its surface at time t is known without any simulation."""
    folder = tmp_path_factory.mktemp("egg")
    egg = sphere(10, 16, radius=0.5)
    egg.positions[:, 2] *= 1.3
    write_mesh(folder / "egg.ply", egg)
    (folder / "egg.toml").write_text(SCENE)
    scene = files.read(folder / "egg.toml")
    recording = simulate(scene, out=folder / "run", dtype="float64")
    turned = read_mesh(folder / "egg.ply").positions @ np.array(
        [[0, 1, 0], [-1, 0, 0], [0, 0, 1.0]]
    )

    def expected(t):
        start = 2.0 * turned + np.array([0.0, 0.0, 3.0])
        return start + t * np.array([1.0, 0, 0]) - 0.5 * 9.81 * t**2 * np.array([0, 0, 1.0])

    return SimpleNamespace(scene=scene, recording=recording, expected=expected, egg=egg)


def test_the_surface_flies_as_a_stone_does(falling):
    shown = motion(falling.recording)
    ropes, count = 4, len(falling.egg.positions)
    assert shown.rest.shape == (ropes + count, 3)
    np.testing.assert_array_equal(shown.triangles - ropes, falling.egg.triangles)
    assert shown.lines.max() < ropes
    for i, t in enumerate(shown.times):
        np.testing.assert_allclose(shown.frame(i)[ropes:], falling.expected(t), atol=1e-9)
        away = shown.velocity(i)[ropes:] - np.array([1.0, 0.0, -9.81 * t])
        np.testing.assert_allclose(away, 0.0, atol=1e-8)
        np.testing.assert_array_equal(
            shown.frame(i)[:ropes], falling.recording.positions[i][:ropes]
        )


def test_a_recording_keeps_the_map_and_does_without_one(falling, tmp_path):
    kept, own = falling.recording.mesh.skin, falling.scene.mesh.skin
    for name in ("corners", "weights", "triangles", "particles"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(own, name))
    old = tmp_path / "old"
    old.mkdir()
    data = (falling.recording.folder / "recording.vtkhdf").read_bytes()
    (old / "recording.vtkhdf").write_bytes(data)
    with h5py.File(old / "recording.vtkhdf", "a") as file:
        del file["stiffly/mesh/skin"]  # as those written before there was one
        file["stiffly"].attrs["format"] = 1
    shown = motion(Recording(old))
    assert Recording(old).mesh.skin is None and len(shown.rest) == len(falling.scene.x0)


SEQUENCES = ("ply", "obj")


@pytest.mark.parametrize("to", [to for to in FORMATS if to not in ("html", "blend")])
def test_every_format_has_the_surface(falling, tmp_path, to):
    """Reads each format with what is not ours, where there is something (html has 16 bits:
    tests/test_run_shows.py; blend: tests/test_other_programs.py)."""
    written = export(
        falling.recording, to, tmp_path / (to if to in SEQUENCES else f"egg.{END[to]}")
    )
    times, count = falling.recording.times, len(falling.egg.positions)
    for i, x in enumerate(frames_of(to, written)):
        assert len(x) == 4 + count
        np.testing.assert_allclose(x[4:], falling.expected(times[i]), atol=2e-6)
    assert i == (0 if to == "gltf" else len(times) - 1)


END = {"usd": "usdc", "vtkhdf": "vtkhdf", "gltf": "glb", "npz": "npz"}


def frames_of(to, written):
    if to == "ply":  # also with edges in it, which meshio refuses
        trimesh = pytest.importorskip("trimesh")
        rows = [trimesh.load(path).metadata["_ply_raw"]["vertex"]["data"] for path in written]
        return [np.column_stack([row[axis] for axis in "xyz"]) for row in rows]
    if to == "obj":
        meshio = pytest.importorskip("meshio")
        return [meshio.read(path).points for path in written]
    if to == "npz":
        data = np.load(written[0])
        skin = np.einsum(
            "ij,fijk->fik", data["skin_weights"], data["positions"][:, data["skin_corners"]]
        )
        return np.concatenate([data["positions"][:, :4], skin], axis=1)
    if to == "vtkhdf":
        with h5py.File(written[0]) as file:
            points, at = file["VTKHDF/Points"][()], file["VTKHDF/Steps/PointOffsets"][()]
            return [points[a : a + file["VTKHDF/NumberOfPoints"][0]] for a in at]
    if to == "usd":
        Usd, UsdGeom = pytest.importorskip("pxr.Usd"), pytest.importorskip("pxr.UsdGeom")
        stage = Usd.Stage.Open(str(written[0]))
        egg = UsdGeom.Mesh.Get(stage, "/World/egg").GetPointsAttr()
        string = UsdGeom.BasisCurves.Get(stage, "/World/string_lines").GetPointsAttr()
        codes = egg.GetTimeSamples()
        return [np.concatenate([string.Get(code), egg.Get(code)]) for code in codes]
    with open(written[0], "rb") as file:  # glb: two chunks, the first is JSON
        head = file.read(20)
        content = json.loads(file.read(int.from_bytes(head[12:16], "little")))
        file.read(8)
        data = file.read()
    found = []
    for mesh in content["meshes"]:  # the string, the egg
        accessor = content["accessors"][mesh["primitives"][0]["attributes"]["POSITION"]]
        start = content["bufferViews"][accessor["bufferView"]].get("byteOffset", 0)
        found.append(np.frombuffer(data, "<f4", 3 * accessor["count"], start).reshape(-1, 3))
    return [np.concatenate(found)]


def test_the_page_and_the_player_show_the_surface(falling):
    nodes = {}

    class Stage:
        def add_mesh_simple(self, name, vertices, faces, **_):
            nodes[name] = SimpleNamespace(name=name, vertices=vertices, faces=faces, color=None)
            return nodes[name]

        def add_line_segments(self, name, points, *_, **__):
            return SimpleNamespace(points=points)

        def add_frame(self, *_, **__): ...

        def add_label(self, *_, **__):
            return SimpleNamespace(text="")

    scene, count = falling.scene, len(falling.egg.positions)
    shown = still(scene.name, scene.x0, scene.mesh, scene.colliders)
    place = place_lanes(shown.rest, 1)
    body = Body(Stage(), 0, shown, np.array([0]), place, "egg")
    assert len(body.nodes) == 3  # the egg, the string, the pin
    player = Playback(falling.recording)
    try:
        snapshot = player.snapshot(3)
    finally:
        player.close()
    assert len(snapshot.lanes[0].positions) == len(scene.x0)
    body.show(snapshot.lanes[0].positions, "egg", failed=False)
    drawn = nodes["/lane-0/body-1"]  # the string is the first
    assert len(drawn.vertices) == count and len(drawn.faces) == len(falling.egg.triangles)
    where = drawn.vertices / place.scale + place.centre
    np.testing.assert_allclose(where, falling.expected(snapshot.t), atol=1e-5)
    pin = nodes["/lane-0/pins"].vertices.mean(axis=0) / place.scale + place.centre
    np.testing.assert_allclose(pin, scene.x0[0], atol=1e-5)


def test_colours_and_pictures_follow_the_surface(falling, tmp_path):
    shown = motion(falling.recording)
    (speed,) = coloring([falling.recording], [shown], "speed")
    t = shown.times[2]
    np.testing.assert_allclose(speed.values(2)[4:], np.hypot(1.0, 9.81 * t), rtol=1e-6)
    stretched = SimpleNamespace(
        mesh=falling.recording.mesh, times=[0.0], positions=1.1 * falling.scene.mesh.positions[None]
    )
    (strain,) = coloring([stretched], [motion(stretched)], "strain")
    np.testing.assert_allclose(strain.values(0)[4:], 10.0, rtol=1e-6)  # percent, all over
    picture(falling.scene.mesh, tmp_path / "egg.png", positions=falling.recording.positions[-1])
    assert (tmp_path / "egg.png").stat().st_size > 1000


def test_unions_keep_the_skins_of_their_bodies(falling, tmp_path):
    write_mesh(tmp_path / "egg.ply", falling.egg)
    second = SCENE[SCENE.index('[[body]]\nname = "egg"') : SCENE.index("[[load]]")]
    second = second.replace('"egg"\n', '"other"\n').replace("[0, 0, 3]", "[0, 7, 3]")
    (tmp_path / "two.toml").write_text(SCENE + second)
    scene = files.read(tmp_path / "two.toml")
    skin, count = scene.mesh.skin, len(falling.egg.positions)
    x = skin.values(scene.mesh.positions)
    np.testing.assert_allclose(x[:count], falling.expected(0.0), atol=1e-12)
    np.testing.assert_allclose(x[count:], falling.expected(0.0) + np.array([0, 7.0, 0]), atol=1e-12)
    assert skin.triangles.max() == 2 * count - 1
    assert scene.note.count("was filled: ") == 2 and "no slivers" in scene.note


# ------------------------------------------------------------------ the command line


def run(arguments, capsys):
    code = cli.main(arguments)
    seen = capsys.readouterr()
    return code, seen.out, seen.err


@pytest.fixture
def folder(tmp_path, falling):
    write_mesh(tmp_path / "egg.ply", falling.egg)
    (tmp_path / "egg.toml").write_text(SCENE)
    return tmp_path


def test_check_tells_how_good_the_filling_is(folder, capsys):
    code, out, _ = run(["scene", "check", str(folder / "egg.toml")], capsys)
    found = tetrahedralise(read_mesh(folder / "egg.ply"), 120)
    assert code == 0
    assert f"note: egg was filled: {quality(found)}"[:60] in out
    assert "dihedral angles" in out and "no slivers" in out


def spoil_open(path):
    mesh = read_mesh(path)
    write_mesh(path, type(mesh)(mesh.positions, mesh.edges, triangles=mesh.triangles[1:]))


def spoil_empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil, count, message",
    [
        (spoil_open, 120, "is open: 1 hole along 3 edges"),
        (spoil_empty, 120, "egg.ply"),
        (None, 1_000_000_000, "tetrahedralise"),
        (None, 3, "tetrahedralise"),
    ],
    ids=["open", "empty", "far too many", "too few"],
)
def test_what_cannot_be_filled_is_one_line_and_nothing_is_written(
    folder, capsys, spoil, count, message
):
    if spoil is not None:
        spoil(folder / "egg.ply")
    text = SCENE.replace("tetrahedralise = 120", f"tetrahedralise = {count}")
    (folder / "egg.toml").write_text(text)
    before = sorted(folder.rglob("*"))
    code, out, err = run(["run", str(folder / "egg.toml"), "--out", str(folder / "run")], capsys)
    assert code == 2 and out == ""
    assert err.count("\n") == 1 and err.startswith("error: egg.toml line ") and message in err
    assert sorted(folder.rglob("*")) == before


def test_repair_closes_the_holes_with_a_warning(folder, capsys):
    spoil_open(folder / "egg.ply")
    text = SCENE.replace("tetrahedralise = 120", "tetrahedralise = 120\nrepair = true")
    (folder / "egg.toml").write_text(text)
    code, out, err = run(["scene", "check", str(folder / "egg.toml")], capsys)
    assert code == 0 and "1 hole closed" in out
    assert "closed 1 hole along 3 edges" in err


def test_a_file_that_changes_under_the_cache_is_another_body(folder):
    files.read(folder / "egg.toml")
    first = files.read(folder / "egg.toml")
    mesh = read_mesh(folder / "egg.ply")
    mesh.positions[:, 0] *= 1.5
    write_mesh(folder / "egg.ply", mesh)
    second = files.read(folder / "egg.toml")
    wide = [np.ptp(s.mesh.skin.values(s.mesh.positions)[:, 1]) for s in (first, second)]
    assert wide[1] == pytest.approx(1.5 * wide[0], rel=1e-6)


def test_built_in_scenes_take_scans_too(folder):
    scene = scenes.load("dragon", mesh=str(folder / "egg.ply"), vertices=150)
    assert scene.mesh.skin is not None and "filled: " in scene.note
    with pytest.raises(InputError, match="has no tets"):
        quality(sphere(4, 6))
