"""Exports are read back by other programs' libraries and compared with what was recorded."""

from __future__ import annotations

import base64
import json
import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from recorded import Recorded, dust, several, sheet, solid, string, wobbling

from stiffly import InputError, scenes, simulate
from stiffly.meshes import cube
from stiffly.recording.exports import export

KINDS = {"solid": solid, "sheet": sheet, "string": string, "dust": dust}


@pytest.fixture(params=KINDS)
def recorded(request):
    return KINDS[request.param]()


# ------------------------------------------------------------------ vtkhdf


def vtkhdf_frame(path, i):
    pyvista = pytest.importorskip("pyvista")
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    reader.SetStep(i)
    reader.Update()
    return reader, pyvista.wrap(reader.GetOutputDataObject(0))


def test_vtkhdf_holds_every_frame(recorded, tmp_path):
    (path,) = export(recorded, "vtkhdf", tmp_path / "run.vtkhdf")
    for i in range(6):
        reader, grid = vtkhdf_frame(path, i)
        assert reader.GetNumberOfSteps() == 6
        np.testing.assert_array_equal(grid.points, recorded.positions[i])
        np.testing.assert_array_equal(grid["velocity"], recorded.velocities[i])


@pytest.mark.parametrize(
    "kind, cells", [("solid", {5: 48}), ("sheet", {5: 24}), ("string", {3: 8}), ("dust", {1: 20})]
)
def test_vtkhdf_holds_triangles_lines_or_points(kind, cells, tmp_path):
    _, grid = vtkhdf_frame(export(KINDS[kind](), "vtkhdf", tmp_path / "run.vtkhdf")[0], 5)
    assert {int(kind): len(rows) for kind, rows in grid.cells_dict.items()} == cells


def test_vtkhdf_keeps_doubles_and_times(tmp_path):
    recorded = solid()
    recorded.positions = recorded.positions + np.float64(1e-12)
    recorded.velocities = None
    (path,) = export(recorded, "vtkhdf", tmp_path / "run.vtkhdf")
    reader, grid = vtkhdf_frame(path, 3)
    np.testing.assert_array_equal(grid.points, recorded.positions[3])
    assert grid.points.dtype == np.float64 and "velocity" not in grid.point_data
    assert reader.GetTimeValue() == pytest.approx(0.3)


# ------------------------------------------------------------------ sequences


def test_ply_of_a_surface(tmp_path):
    meshio = pytest.importorskip("meshio")
    recorded = solid()
    paths = export(recorded, "ply", tmp_path)
    assert [p.name for p in paths] == [f"frame_{i:04d}.ply" for i in range(6)]
    for i, path in enumerate(paths):
        read = meshio.read(path)
        np.testing.assert_array_equal(read.points, recorded.positions[i])
        velocity = np.column_stack([read.point_data[name] for name in ("vx", "vy", "vz")])
        np.testing.assert_array_equal(velocity, recorded.velocities[i])
        np.testing.assert_array_equal(read.cells_dict["triangle"], recorded.mesh.triangles)


def test_ply_of_a_rope(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    recorded = string()
    path = export(recorded, "ply", tmp_path)[4]
    read = trimesh.load(path).metadata["_ply_raw"]
    edges = np.array(read["edge"]["data"].tolist())
    np.testing.assert_array_equal(edges, recorded.mesh.edges)
    points = np.array(read["vertex"]["data"].tolist())
    np.testing.assert_array_equal(points[:, :3], recorded.positions[4])


def test_obj_of_a_surface(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    recorded = solid()
    path = export(recorded, "obj", tmp_path)[3]
    read = trimesh.load(path, process=False, maintain_order=True)
    np.testing.assert_array_equal(read.vertices.astype(np.float32), recorded.positions[3])
    np.testing.assert_array_equal(read.faces, recorded.mesh.triangles)


def test_obj_of_a_rope(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    recorded = string()
    read = pyvista.read(export(recorded, "obj", tmp_path)[2])
    np.testing.assert_array_equal(read.lines.reshape(-1, 3)[:, 1:], recorded.mesh.edges)
    np.testing.assert_array_equal(read.points.astype(np.float32), recorded.positions[2])


def test_more_frames_need_more_digits(tmp_path, monkeypatch):
    monkeypatch.setattr("stiffly.recording.exports.DIGITS", 1)
    paths = export(wobbling(cube(1), frames=101), "ply", tmp_path)
    assert paths[0].name == "frame_000.ply" and paths[-1].name == "frame_100.ply"
    assert sorted(tmp_path.iterdir()) == paths


# ------------------------------------------------------------------ gltf


def test_glb_begins_with_the_first_frame(recorded, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    (path,) = export(recorded, "gltf", tmp_path / "run.glb")
    scene = trimesh.load(path, process=False, maintain_order=True)
    (shape,) = scene.geometry.values()
    points = np.array(sorted(map(tuple, np.asarray(shape.vertices, dtype=np.float32))))
    expected = recorded.positions[0]
    if hasattr(shape, "faces"):
        np.testing.assert_array_equal(shape.faces, recorded.mesh.triangles)
    np.testing.assert_allclose(points, sorted(map(tuple, expected)), atol=1e-6)
    (node,) = scene.graph.nodes_geometry
    turn = scene.graph.get(node)[0]
    np.testing.assert_allclose(turn[:3, :3] @ [0, 0, 1], [0, 1, 0], atol=1e-6)  # up stays up


def test_glb_moves(tmp_path):
    pytest.importorskip("pyvista")
    from pyvista import wrap
    from vtkmodules.vtkIOGeometry import vtkGLTFReader

    recorded = solid()
    (path,) = export(recorded, "gltf", tmp_path / "run.glb")
    reader = vtkGLTFReader()
    reader.SetFileName(str(path))
    reader.ApplyDeformationsToGeometryOn()
    reader.SetFrameRate(60)
    reader.UpdateInformation()
    assert reader.GetAnimationDuration(0) == pytest.approx(0.5)
    reader.EnableAnimation(0)
    for t, expected in (
        (0.2, recorded.positions[2]),
        (0.35, 0.5 * (recorded.positions[3] + recorded.positions[4])),
    ):
        reader.UpdateTimeStep(t)
        body = wrap(reader.GetOutput()).combine()
        upright = np.column_stack([expected[:, 0], expected[:, 2], -expected[:, 1]])
        np.testing.assert_allclose(body.points, upright, atol=1e-5)


def told_by_glb(path):
    """Its JSON, and a function that reads the numbers of an accessor."""
    data = path.read_bytes()
    (size,) = struct.unpack("<I", data[12:16])
    told, body = json.loads(data[20 : 20 + size]), data[28 + size :]

    def numbers(k):
        accessor = told["accessors"][k]
        view = told["bufferViews"][accessor["bufferView"]]
        kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
        found = np.frombuffer(body, kind, view["byteLength"] // 4, view["byteOffset"])
        return found.reshape(accessor["count"], -1)

    return told, numbers


def test_glb_has_every_body_by_name_in_its_colour(tmp_path):
    made = several()
    (path,) = export(made, "gltf", tmp_path / "run.glb")
    told, numbers = told_by_glb(path)
    names = ["red cube", "rope", "grains"]
    for kind in ("nodes", "meshes", "materials"):
        assert [one["name"] for one in told[kind]] == names
    assert [node["mesh"] for node in told["nodes"]] == told["scenes"][0]["nodes"] == [0, 1, 2]
    colors = [one["pbrMetallicRoughness"]["baseColorFactor"] for one in told["materials"]]
    # of light, not of a screen: 0.5 there is 21.4 %, 0.2 is 3.3 %, well-known numbers of sRGB
    expected = [(1, 0, 0, 1), (0, 0.214, 0, 1), (0.0331, 0.0331, 0.0331, 1)]
    np.testing.assert_allclose(colors, expected, atol=5e-4)
    modes = {"red cube": 4, "rope": 1, "grains": 0}
    mesh = made.mesh
    rows = {"red cube": mesh.triangles, "rope": mesh.edges[mesh.edges.min(axis=1) >= 8]}
    for k, (name, look) in enumerate(mesh.bodies.items()):
        (primitive,) = told["meshes"][k]["primitives"]
        assert (primitive["mode"], primitive["material"]) == (modes[name], k)
        base = numbers(primitive["attributes"]["POSITION"])
        np.testing.assert_array_equal(base, made.positions[0][look.particles])
        if name in rows:
            own = numbers(primitive["indices"]).ravel() + look.particles[0]
            np.testing.assert_array_equal(own, rows[name].ravel())
        for i, target in enumerate(primitive["targets"], 1):
            x = made.positions[i][look.particles]
            np.testing.assert_allclose(base + numbers(target["POSITION"]), x, atol=1e-6)
        assert len(primitive["targets"]) == len(made.times) - 1
    channels = told["animations"][0]["channels"]
    assert [channel["target"]["node"] for channel in channels] == [0, 1, 2]


def test_springs_from_body_to_body_are_a_node_of_their_own(tmp_path):
    """A node's indices count its own vertices: of another body's there are none."""
    made = several()
    made.mesh = replace(made.mesh, edges=np.concatenate([made.mesh.edges, [[0, 11], [8, 12]]]))
    (path,) = export(made, "gltf", tmp_path / "run.glb")
    told, numbers = told_by_glb(path)
    names = [one["name"] for one in told["nodes"]]
    assert names[:3] == ["red cube", "rope", "grains"] and len(names) == 4
    for mesh in told["meshes"]:
        for primitive in mesh["primitives"]:
            x = numbers(primitive["attributes"]["POSITION"])
            if "indices" in primitive:
                assert numbers(primitive["indices"]).max() < len(x)
    (primitive,) = told["meshes"][3]["primitives"]
    x = numbers(primitive["attributes"]["POSITION"])[numbers(primitive["indices"]).ravel()]
    np.testing.assert_array_equal(x, made.positions[0][[0, 11, 8, 12]])


def test_loose_particles_beside_bodies_are_seen(tmp_path):
    """Of a body of their own, in USD and in pages; blend: tests/test_other_programs.py."""
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom

    made = several()
    (path,) = export(made, "usd", tmp_path / "run.usda")
    stage = Usd.Stage.Open(str(path))
    points = UsdGeom.Points(stage.GetPrimAtPath("/World/grains_points"))
    np.testing.assert_array_equal(points.GetPointsAttr().Get(3), made.positions[3][-2:])
    assert list(points.GetIdsAttr().Get()) == [12, 13]
    # of light, as in glTF: what Blender reads of both is the same colour
    np.testing.assert_allclose(points.GetDisplayColorAttr().Get(), [[0.0331] * 3], atol=5e-4)
    (page,) = export(made, "html", tmp_path / "run.html")
    (told,) = re.findall(r'"dots":"([^"]*)"', page.read_text())
    assert np.frombuffer(base64.b64decode(told), np.uint32).tolist() == [12, 13]


def test_glb_refuses_what_viewers_cannot_hold(tmp_path):
    few = np.broadcast_to(np.float32(0.0), (3000, 8, 3))
    large = Recorded(few, None, np.arange(3000.0), mesh=cube(1))
    with pytest.raises(InputError, match=r"too much for one glb file.*export to usd"):
        export(large, "gltf", tmp_path / "run.glb")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ npz


def test_npz_is_all_numbers(tmp_path):
    recorded = solid()
    recorded.mass = np.full(27, 2.0)
    recorded.diagnostics = {"t": recorded.times}
    (path,) = export(recorded, "npz", tmp_path / "run.npz")
    with np.load(path) as found:
        np.testing.assert_array_equal(found["positions"], recorded.positions)
        np.testing.assert_array_equal(found["velocities"], recorded.velocities)
        assert found["positions"].dtype == np.float32
        np.testing.assert_array_equal(found["times"], recorded.times)
        np.testing.assert_array_equal(found["tets"], recorded.mesh.tets)
        np.testing.assert_array_equal(found["energy_kinetic"], np.ones(6))
        np.testing.assert_array_equal(found["mass"], recorded.mass)
        np.testing.assert_array_equal(found["diagnostics_t"], recorded.times)
        assert str(found["integrator"]) == "verlet" and float(found["step"]) == 0.01


def test_npz_takes_equations_without_a_shape(tmp_path):
    run = simulate(scenes.load("oscillator-pair"), duration=0.1)
    (path,) = export(run, "npz", tmp_path / "run.npz")
    with np.load(path) as found:
        np.testing.assert_array_equal(found["positions"], run.positions)
    with pytest.raises(InputError, match="not positions in space: export to npz"):
        export(run, "ply", tmp_path / "frames")
