"""Universal Scene Description: Blender, Houdini, Maya, Omniverse, usdview.

/World/Body holds the surface (Mesh), /World/Lines ropes and hair (linear BasisCurves),
/World/Points particles that have neither; /World/Colliders what they touch.  Points and, where
recorded, velocities are time samples, one time code per frame.  Metres, z up.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...contracts import Array
from ...errors import InputError
from .frames import Motion, Progress, Solid, chains, motion, solids, typical_interval

ENDINGS = (".usdc", ".usd", ".usda")
BODY, GREY = (0.24, 0.47, 0.74), (0.62, 0.62, 0.62)


def write(recording: Any, path: Path, progress: Progress) -> None:
    pxr = _library()
    shown = motion(recording)
    interval = typical_interval(shown.times)
    codes = (shown.times - shown.times[0]) / interval
    whole = np.round(codes)
    codes = np.where(np.abs(codes - whole) < 1e-6, whole, codes)  # a short last interval stays
    stage = pxr.Usd.Stage.CreateNew(str(path))
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.z)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(1.0 / interval)
    stage.SetFramesPerSecond(1.0 / interval)
    stage.SetStartTimeCode(float(codes[0]))
    stage.SetEndTimeCode(float(codes[-1]))
    stage.SetDefaultPrim(pxr.UsdGeom.Xform.Define(stage, "/World").GetPrim())
    keys = ("name", "integrator", "step")
    stage.GetRootLayer().customLayerData = {
        key: value for key in keys if (value := getattr(recording, key, None)) is not None
    }
    _write_body(pxr, stage, shown, codes, progress)
    for k, solid in enumerate(solids(shown.colliders, *shown.box)):
        _write_collider(pxr, stage, f"/World/Colliders/Shape{k}", solid, shown.times, codes)
    stage.GetRootLayer().Save()


def _library() -> Any:
    """The parts of USD's own library that are used here; it has no types."""
    try:
        parts = ("Gf", "Sdf", "Usd", "UsdGeom", "Vt")
        return SimpleNamespace(**{part: import_module(f"pxr.{part}") for part in parts})
    except ImportError:
        raise InputError(
            'writing usd needs usd-core: pip install "stiffly[usd]", or export to vtkhdf or ply'
        ) from None


def _write_body(pxr: Any, stage: Any, shown: Motion, codes: Array, progress: Progress) -> None:
    prims = []  # (geometry, which particles its points are)
    everything = np.arange(len(shown.rest))
    if len(shown.triangles):
        mesh = pxr.UsdGeom.Mesh.Define(stage, "/World/Body")
        _set_faces(pxr, mesh, shown.triangles)
        prims.append((mesh, everything))
    if len(shown.lines):
        prims.append(_curves(pxr, stage, shown))
    if shown.only_points:
        points = pxr.UsdGeom.Points.Define(stage, "/World/Points")
        points.CreateWidthsAttr([0.01 * _size(shown)])
        points.SetWidthsInterpolation(pxr.UsdGeom.Tokens.constant)
        points.CreateIdsAttr(pxr.Vt.Int64Array.FromNumpy(everything))
        prims.append((points, everything))
    for geometry, _ in prims:
        geometry.CreateDisplayColorAttr([BODY])
    for i, x, v in shown.frames(progress):
        for geometry, which in prims:
            at = x[which]
            geometry.GetPointsAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(at), codes[i])
            extent = np.array([at.min(axis=0), at.max(axis=0)])
            geometry.GetExtentAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(extent), codes[i])
            if v is not None:
                geometry.GetVelocitiesAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(v[which]), codes[i])


def _set_faces(pxr: Any, mesh: Any, triangles: np.ndarray) -> None:
    corners = np.ascontiguousarray(triangles.ravel(), dtype=np.int32)
    mesh.CreateFaceVertexIndicesAttr(pxr.Vt.IntArray.FromNumpy(corners))
    mesh.CreateFaceVertexCountsAttr(pxr.Vt.IntArray(len(triangles), 3))
    mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)  # the triangles are meant, no patches
    mesh.CreateDoubleSidedAttr(True)


def _curves(pxr: Any, stage: Any, shown: Motion) -> tuple[Any, np.ndarray]:
    """Curves cannot share vertices, so forks repeat them; primvars:particle says which it is."""
    paths = chains(shown.lines)
    which = np.concatenate(paths)
    curves = pxr.UsdGeom.BasisCurves.Define(stage, "/World/Lines")
    curves.CreateTypeAttr(pxr.UsdGeom.Tokens.linear)
    curves.CreateCurveVertexCountsAttr([len(path) for path in paths])
    a, b = shown.rest[shown.lines].swapaxes(0, 1)
    width = min(0.3 * float(np.median(np.linalg.norm(a - b, axis=1))), 0.01 * _size(shown))
    curves.CreateWidthsAttr([width])
    curves.SetWidthsInterpolation(pxr.UsdGeom.Tokens.constant)
    primvar = pxr.UsdGeom.PrimvarsAPI(curves).CreatePrimvar(
        "particle", pxr.Sdf.ValueTypeNames.IntArray, pxr.UsdGeom.Tokens.vertex
    )
    primvar.Set(pxr.Vt.IntArray.FromNumpy(which.astype(np.int32)))
    return curves, which


def _write_collider(
    pxr: Any, stage: Any, path: str, solid: Solid, times: Array, codes: Array
) -> None:
    mesh = pxr.UsdGeom.Mesh.Define(stage, path)
    _set_faces(pxr, mesh, solid.triangles)
    points = solid.positions.astype(np.float32)
    mesh.CreatePointsAttr(pxr.Vt.Vec3fArray.FromNumpy(points))
    extent = np.array([points.min(axis=0), points.max(axis=0)])
    mesh.CreateExtentAttr(pxr.Vt.Vec3fArray.FromNumpy(extent))
    mesh.CreateDisplayColorAttr([GREY])
    if not solid.moving:
        return
    transform = mesh.AddTransformOp()
    for t, code in zip(times, codes, strict=True):
        frame = solid.frame(float(t))
        matrix = np.eye(4)
        matrix[:3, :3], matrix[3, :3] = frame.rotation.T, frame.origin  # points are rows here
        transform.Set(pxr.Gf.Matrix4d(*matrix.ravel().tolist()), float(code))


def _size(shown: Motion) -> float:
    return max(float(np.linalg.norm(np.ptp(shown.rest, axis=0))), 1e-6)
