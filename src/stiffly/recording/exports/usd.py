"""Universal Scene Description: Blender, Houdini, Maya, Omniverse, usdview.

/World/Body holds the surface (Mesh), /World/Lines ropes and hair (linear BasisCurves),
/World/Points loose particles; /World/Colliders what they touch.  Bodies that have names are prims
of their own, /World/NAME, /World/NAME_lines and /World/NAME_points, with their colours, textures
and texture coordinates (primvars:st).  Fields that were asked for are primvars by name.  Points
and, where recorded, velocities are time samples, at the times of the frames; time codes per second
are a whole number, the nearest to one a frame.  Metres, z up.
"""

from __future__ import annotations

import filecmp
import shutil
from importlib import import_module
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...contracts import Array
from ...errors import InputError
from ...meshes import Look
from ...meshes.look import PLAIN
from .frames import Fields, Motion, Progress, Solid, chains, motion, solids
from .pieces import GREY, linear, pieces, roughness, size, thickness, time_codes

ENDINGS = (".usdc", ".usd", ".usda")
TAKEN = ("Colliders", "Lines", "Points", "Materials")  # names that no body gets


def write(recording: Any, path: Path, progress: Progress, fields: Fields) -> None:
    pxr = _library()
    shown = motion(recording)
    rate, codes = time_codes(shown.times)
    stage = pxr.Usd.Stage.CreateNew(str(path))
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.z)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    stage.SetStartTimeCode(float(codes[0]))
    stage.SetEndTimeCode(float(np.ceil(codes[-1])))  # players show whole frames
    stage.SetDefaultPrim(pxr.UsdGeom.Xform.Define(stage, "/World").GetPrim())
    keys = ("name", "integrator", "step")
    stage.GetRootLayer().customLayerData = {
        key: value for key in keys if (value := getattr(recording, key, None)) is not None
    }
    _write_body(pxr, stage, path.parent, shown, codes, progress, fields)
    for k, solid in enumerate(solids(shown.colliders, *shown.box)):
        _write_collider(pxr, stage, f"/World/Colliders/Shape{k}", solid, shown.times, codes)
    stage.GetRootLayer().Save()


def _library() -> Any:
    """The parts of USD's own library that are used here; it has no types."""
    try:
        parts = ("Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdShade", "Vt")
        return SimpleNamespace(**{part: import_module(f"pxr.{part}") for part in parts})
    except ImportError:
        raise InputError(
            'writing usd needs usd-core: pip install "stiffly[usd]", or export to vtkhdf or ply'
        ) from None


def _write_body(
    pxr: Any,
    stage: Any,
    folder: Path,
    shown: Motion,
    codes: Array,
    progress: Progress,
    fields: Fields,
) -> None:
    prims: list[Any] = []  # (geometry, which particles its points are)
    taken: set[str] = {*TAKEN}
    for piece in pieces(shown):
        home = _home(pxr, piece.name, taken)
        made = []
        if len(piece.triangles):
            mesh = pxr.UsdGeom.Mesh.Define(stage, home)
            _set_faces(pxr, mesh, np.searchsorted(piece.points, piece.triangles))
            _set_uv(pxr, mesh, piece.uv)
            made.append((mesh, piece.points))
        if len(piece.lines):
            path = "/World/Lines" if piece.look is None else f"{home}_lines"
            made.append(_curves(pxr, stage, path, shown, piece.lines))
        if len(piece.dots):
            path = "/World/Points" if piece.look is None else f"{home}_points"
            made.append(_points(pxr, stage, path, shown, piece.dots))
        if piece.look is not None:
            textured = piece.look.texture and piece.uv is not None
            picture = _beside(folder, Path(piece.look.texture)) if textured else ""
            for geometry, _ in made:
                _paint(pxr, stage, geometry, home, piece.look, picture)
        prims += made
    for geometry, _ in prims:
        if not geometry.GetDisplayColorAttr().HasAuthoredValue():
            geometry.CreateDisplayColorAttr([linear(PLAIN)])
    single, vertex = pxr.Sdf.ValueTypeNames.FloatArray, pxr.UsdGeom.Tokens.vertex
    names = {name: name.replace("-", "_") for name in fields}
    for i, x, v in shown.frames(progress):
        values = {name: shown.shown(value(i)[:, None])[:, 0] for name, value in fields.items()}
        for geometry, which in prims:
            at = x[which]
            geometry.GetPointsAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(at), codes[i])
            extent = np.array([at.min(axis=0), at.max(axis=0)])
            geometry.GetExtentAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(extent), codes[i])
            if v is not None:
                geometry.GetVelocitiesAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(v[which]), codes[i])
            own = pxr.UsdGeom.PrimvarsAPI(geometry)
            for name, value in values.items():
                numbers = pxr.Vt.FloatArray.FromNumpy(value[which].astype(np.float32))
                own.CreatePrimvar(names[name], single, vertex).Set(numbers, codes[i])


def _home(pxr: Any, name: str, taken: set[str]) -> str:
    """The path of a body that no other has; taken: what others have."""
    if not name:
        return "/World/Body"
    stem = pxr.Tf.MakeValidIdentifier(name)
    stem = next(s for k in count() if (s := stem + "_" * k) not in taken)
    taken.add(stem)
    return f"/World/{stem}"


def _set_uv(pxr: Any, mesh: Any, uv: np.ndarray | None) -> None:
    """One for every corner of every triangle."""
    if uv is None or not np.isfinite(uv).any():
        return
    values = np.nan_to_num(uv).reshape(-1, 2).astype(np.float32)
    primvar = pxr.UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
        "st", pxr.Sdf.ValueTypeNames.TexCoord2fArray, pxr.UsdGeom.Tokens.faceVarying
    )
    primvar.Set(pxr.Vt.Vec2fArray.FromNumpy(values))


def _beside(folder: Path, picture: Path) -> str:
    """Where a picture is, seen from the folder: one from elsewhere is copied to textures/ in it, so
    that the folder can be moved.  What lies there is not written over."""
    picture, folder = picture.resolve(), folder.resolve()
    if picture.is_relative_to(folder):
        return f"./{picture.relative_to(folder).as_posix()}"
    (folder / "textures").mkdir(exist_ok=True)
    names = (f"textures/{picture.stem}{'-' * k}{picture.suffix}" for k in count())
    return f"./{next(name for name in names if _holds(folder / name, picture))}"


def _holds(copy: Path, picture: Path) -> bool:
    """The copy is that of the picture: now, where there was none."""
    if not copy.exists():
        shutil.copyfile(picture, copy)
    return filecmp.cmp(picture, copy, shallow=False)


def _paint(pxr: Any, stage: Any, geometry: Any, home: str, look: Look, picture: str) -> None:
    """Its colour, and a material with that or with its texture; picture: its path, "" for none."""
    kinds, shade = pxr.Sdf.ValueTypeNames, pxr.UsdShade
    light = linear(look.color)
    geometry.CreateDisplayColorAttr([light])
    path = f"/World/Materials/{home.rsplit('/', 1)[1]}"
    material = shade.Material.Define(stage, path)
    surface = shade.Shader.Define(stage, f"{path}/Surface")
    surface.CreateIdAttr("UsdPreviewSurface")
    color = surface.CreateInput("diffuseColor", kinds.Color3f)
    color.Set(pxr.Gf.Vec3f(*light))
    surface.CreateInput("roughness", kinds.Float).Set(roughness(look.shine))
    if picture:
        reader = shade.Shader.Define(stage, f"{path}/Coordinates")
        reader.CreateIdAttr("UsdPrimvarReader_float2")
        reader.CreateInput("varname", kinds.String).Set("st")
        sampler = shade.Shader.Define(stage, f"{path}/Texture")
        sampler.CreateIdAttr("UsdUVTexture")
        sampler.CreateInput("file", kinds.Asset).Set(picture)
        place = reader.CreateOutput("result", kinds.Float2)
        sampler.CreateInput("st", kinds.Float2).ConnectToSource(place)
        color.ConnectToSource(sampler.CreateOutput("rgb", kinds.Float3))
    material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    shade.MaterialBindingAPI.Apply(geometry.GetPrim()).Bind(material)


def _set_faces(pxr: Any, mesh: Any, triangles: np.ndarray) -> None:
    corners = np.ascontiguousarray(triangles.ravel(), dtype=np.int32)
    mesh.CreateFaceVertexIndicesAttr(pxr.Vt.IntArray.FromNumpy(corners))
    mesh.CreateFaceVertexCountsAttr(pxr.Vt.IntArray(len(triangles), 3))
    mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)  # the triangles are meant, no patches
    mesh.CreateDoubleSidedAttr(True)


def _curves(
    pxr: Any, stage: Any, path: str, shown: Motion, lines: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Curves cannot share vertices, so forks repeat them; primvars:particle says which it is."""
    paths = chains(lines)
    which = np.concatenate(paths)
    curves = pxr.UsdGeom.BasisCurves.Define(stage, path)
    curves.CreateTypeAttr(pxr.UsdGeom.Tokens.linear)
    curves.CreateCurveVertexCountsAttr([len(path) for path in paths])
    curves.CreateWidthsAttr([thickness(shown, lines)])
    curves.SetWidthsInterpolation(pxr.UsdGeom.Tokens.constant)
    primvar = pxr.UsdGeom.PrimvarsAPI(curves).CreatePrimvar(
        "particle", pxr.Sdf.ValueTypeNames.IntArray, pxr.UsdGeom.Tokens.vertex
    )
    primvar.Set(pxr.Vt.IntArray.FromNumpy(which.astype(np.int32)))
    return curves, which


def _points(
    pxr: Any, stage: Any, path: str, shown: Motion, which: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Loose particles; their ids say which ones."""
    points = pxr.UsdGeom.Points.Define(stage, path)
    points.CreateWidthsAttr([0.01 * size(shown)])
    points.SetWidthsInterpolation(pxr.UsdGeom.Tokens.constant)
    points.CreateIdsAttr(pxr.Vt.Int64Array.FromNumpy(which.astype(np.int64)))
    return points, which


def _write_collider(
    pxr: Any, stage: Any, path: str, solid: Solid, times: Array, codes: Array
) -> None:
    mesh = pxr.UsdGeom.Mesh.Define(stage, path)
    _set_faces(pxr, mesh, solid.triangles)
    points = solid.positions.astype(np.float32)
    mesh.CreatePointsAttr(pxr.Vt.Vec3fArray.FromNumpy(points))
    extent = np.array([points.min(axis=0), points.max(axis=0)])
    mesh.CreateExtentAttr(pxr.Vt.Vec3fArray.FromNumpy(extent))
    mesh.CreateDisplayColorAttr([linear(GREY)])
    if not solid.moving:
        return
    transform = mesh.AddTransformOp()
    for t, code in zip(times, codes, strict=True):
        frame = solid.frame(float(t))
        matrix = np.eye(4)
        matrix[:3, :3], matrix[3, :3] = frame.rotation.T, frame.origin  # points are rows here
        transform.Set(pxr.Gf.Matrix4d(*matrix.ravel().tolist()), float(code))
