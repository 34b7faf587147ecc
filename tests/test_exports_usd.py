"""USD files are read back by USD's own library and compared with what was recorded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded import dust, sheet, solid, string, wobbling

from stiffly import scenes, simulate
from stiffly.collisions import Hemisphere, Plane, Sphere, rotation
from stiffly.meshes import cube
from stiffly.recording.exports import export

KINDS = {"solid": solid, "sheet": sheet, "string": string, "dust": dust}


@pytest.fixture(params=KINDS)
def recorded(request):
    return KINDS[request.param]()


# ------------------------------------------------------------------ usd


OPEN = []  # USD drops what belongs to a stage that nobody holds


def stage_of(path):
    Usd = pytest.importorskip("pxr.Usd")
    OPEN.append(Usd.Stage.Open(str(path)))
    return OPEN[-1]


def body_of(stage):
    """The one prim that moves, and the particle of each of its points."""
    UsdGeom = pytest.importorskip("pxr.UsdGeom")
    names = ("Body", "Lines", "Points")
    prims = [stage.GetPrimAtPath(f"/World/{name}") for name in names]
    (prim,) = [prim for prim in prims if prim]
    primvars = UsdGeom.PrimvarsAPI(prim)
    named = primvars.HasPrimvar("particle")
    which = np.array(primvars.GetPrimvar("particle").Get()) if named else slice(None)
    return UsdGeom.PointBased(prim), which


def test_usd_holds_every_frame(recorded, tmp_path):
    (path,) = export(recorded, "usd", tmp_path / "run.usdc")
    body, which = body_of(stage_of(path))
    assert body.GetPointsAttr().GetTimeSamples() == [0, 1, 2, 3, 4, 5]
    for i in range(6):
        x, v = recorded.positions[i][which], recorded.velocities[i][which]
        np.testing.assert_array_equal(np.array(body.GetPointsAttr().Get(i)), x)
        np.testing.assert_array_equal(np.array(body.GetVelocitiesAttr().Get(i)), v)
        extent = np.array(body.GetExtentAttr().Get(i))
        np.testing.assert_array_equal(extent, [x.min(axis=0), x.max(axis=0)])


def test_usd_says_its_units_and_its_time(tmp_path):
    recorded = wobbling(cube(1), interval=0.04)
    recorded.times[-1] -= 0.01  # the last interval of a run may be shorter
    UsdGeom = pytest.importorskip("pxr.UsdGeom")
    stage = stage_of(export(recorded, "usd", tmp_path / "run.usda")[0])
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == 25.0
    assert stage.GetStartTimeCode() == 0.0
    assert stage.GetEndTimeCode() == 5.0  # the first whole frame with the end in it
    body, _ = body_of(stage)
    np.testing.assert_allclose(body.GetPointsAttr().GetTimeSamples(), [0, 1, 2, 3, 4, 4.75])


def test_usd_surface_and_curves(tmp_path):
    body, _ = body_of(stage_of(export(solid(), "usd", tmp_path / "a.usdc")[0]))
    mesh = cube(2)
    corners = np.array(body.GetPrim().GetAttribute("faceVertexIndices").Get()).reshape(-1, 3)
    np.testing.assert_array_equal(corners, mesh.triangles)
    assert len(body.GetPointsAttr().Get(0)) == 27  # the inner vertex keeps its number
    curve, which = body_of(stage_of(export(string(), "usd", tmp_path / "b.usdc")[0]))
    assert list(curve.GetPrim().GetAttribute("curveVertexCounts").Get()) == [9]
    np.testing.assert_array_equal(which, np.arange(9))


def test_usd_colliders_stand_and_move(tmp_path):
    Gf, UsdGeom = pytest.importorskip("pxr.Gf"), pytest.importorskip("pxr.UsdGeom")
    turn = rotation(axis=(0, 0, 1), centre=(1.0, 0.0, 0.0), rate=2.0)
    recorded = solid()
    recorded.colliders = (
        Sphere((0.0, 0.0, -3.0), 2.0),
        Hemisphere((0.5, 0.0, -1.0), 0.25, motion=turn),
        Plane((0.0, 0.0, -5.0), (0, 0, 1)),
    )
    stage = stage_of(export(recorded, "usd", tmp_path / "a.usdc")[0])
    ball, dome, floor = (UsdGeom.Mesh.Get(stage, f"/World/Colliders/Shape{k}") for k in range(3))
    points = np.array(ball.GetPointsAttr().Get())
    np.testing.assert_allclose(np.linalg.norm(points - [0, 0, -3], axis=1), 2.0, rtol=1e-6)
    np.testing.assert_allclose(np.array(floor.GetPointsAttr().Get())[:, 2], -5.0, rtol=1e-6)
    matrix = UsdGeom.Xformable(dome).ComputeLocalToWorldTransform(4)
    angle = 2.0 * recorded.times[4]  # the flat side's centre, turned about (1, 0)
    expected = [1.0 - 0.5 * np.cos(angle), -0.5 * np.sin(angle), -1.0]
    np.testing.assert_allclose(matrix.Transform(Gf.Vec3d(0.5, 0.0, -1.0)), expected, atol=1e-12)


def test_fibers_are_drawn_along_their_length(tmp_path):
    recorded = string()
    edges = np.array([[i, i + 1] for i in range(8)] + [[0, 8]])  # the last is a diagonal
    recorded.mesh = replace(recorded.mesh, edges=edges, edge_groups={"longitudinal": np.arange(8)})
    curve, _ = body_of(stage_of(export(recorded, "usd", tmp_path / "b.usdc")[0]))
    assert list(curve.GetPrim().GetAttribute("curveVertexCounts").Get()) == [9]


@pytest.fixture(scope="module")
def cube_recording(tmp_path_factory):
    scene = scenes.load("spinning-cube", small=True)
    return simulate(scene, duration=0.33, every=0.033, out=tmp_path_factory.mktemp("run") / "cube")


def test_recording_as_usd_has_the_recorded_numbers(cube_recording, tmp_path):
    """At the recorded times, 0.033 s apart, with whole frames per second all the same."""
    stage = stage_of(export(cube_recording, "usd", tmp_path / "run.usdc")[0])
    body, _ = body_of(stage)
    codes = body.GetPointsAttr().GetTimeSamples()
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 30.0
    np.testing.assert_allclose(np.array(codes) / 30.0, cube_recording.times, rtol=1e-12)
    assert stage.GetEndTimeCode() == 10.0 >= codes[-1]
    for i in (0, 4, 10):
        points = np.array(body.GetPointsAttr().Get(codes[i]))
        np.testing.assert_array_equal(points, cube_recording.positions[i])
