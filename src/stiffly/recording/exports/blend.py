"""A Blender file (.blend): every body an object with its motion, a material, a camera and a light.

Blender writes it: as a program of its own, which `in_blender.py` tells what to do, on numbers that
lie beside the file until it is there.  So it need not share our Python, nor our NumPy.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...contracts import Array
from ...errors import InputError
from ...meshes import Look
from ...meshes.look import PLAIN, SHINE
from ..render_view import OPENING, look_at, points_of, sampled, sunlight
from ..render_walls import wall_normals
from .frames import Fields, Motion, Progress, Solid, motion, solids
from .pieces import GREY, Piece, linear, pieces, roughness, size, thickness, time_codes

ENDINGS = (".blend",)
PROGRAM = "STIFFLY_BPY"  # of the environment: a Python that has bpy
MOST_BYTES = 2**31  # of positions: Blender has all of them in memory
PICTURE = 1920, 1080
OPTIONS = ("--background", "--factory-startup", "--python-exit-code", "1", "--python")


def write(recording: Any, path: Path, progress: Progress, _: Fields) -> None:
    program = blender()
    shown = motion(recording)
    frames, points = len(shown), len(shown.rest)
    if 12 * frames * points > MOST_BYTES:
        raise InputError(
            f"{frames} frames of {points} vertices are too much for one blend file "
            f"({12 * frames * points / 2**20:,.0f} MB; at most {MOST_BYTES >> 20:,} MB): export "
            "to usd, which Blender reads frame by frame, or record fewer frames"
        )
    with TemporaryDirectory(prefix=".blend-", dir=path.parent) as name:
        folder = Path(name)
        shape = (frames, points, 3)
        lib = np.lib.format.open_memmap(folder / "positions.npy", "w+", np.float32, shape)
        for i, x, _v in shown.frames(progress):
            lib[i] = x
        lib.flush()
        _describe(folder, shown)
        _run([*program, str(Path(__file__).with_name("in_blender.py")), "--", name, str(path)])
    if not path.exists():
        raise InputError("Blender has written no file: try export --to usd, which it opens")


def blender() -> list[str]:
    """The command that runs a script with bpy; InputError where there is none."""
    if named := os.environ.get(PROGRAM):
        if shutil.which(named) is None:
            raise InputError(f"{PROGRAM}={named} is no program: name a Python that has bpy")
        return [named]
    if find_spec("bpy") is not None:
        return [sys.executable]
    if blender := shutil.which("blender"):
        return [blender, *OPTIONS]
    raise InputError(
        "writing blend needs Blender: pip install bpy (in an environment of its own, then "
        f"{PROGRAM}=/its/bin/python), or have the command blender; or export to usd"
    )


def _run(command: list[str]) -> None:
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    made = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=own, check=False
    )
    if made.returncode:
        said = [line.strip() for line in made.stderr.splitlines() if line.strip()]
        raise InputError(
            f"Blender ({command[0]}) could not write the file: {said[-1] if said else 'no reason'}"
            "; export to usd instead"
        )


def _describe(folder: Path, shown: Motion) -> None:
    """scene.json, and the arrays that it names in arrays.npz; in_blender.py reads both."""
    arrays: dict[str, Any] = {}
    rate, codes = time_codes(shown.times)
    things = [thing for piece in pieces(shown) for thing in _things(shown, piece, arrays)]
    low, high = shown.box
    colliders = [
        _collider(k, solid, shown.times, arrays)
        for k, solid in enumerate(solids(shown.colliders, low, high))
    ]
    np.savez(folder / "arrays.npz", **arrays)
    told = {"name": shown.name, "rate": rate, "codes": codes.tolist(), "picture": PICTURE}
    told |= {"things": things, "colliders": colliders, **_seen(shown)}
    (folder / "scene.json").write_text(json.dumps(told))


def _things(shown: Motion, piece: Piece, arrays: dict[str, Any]) -> list[dict[str, Any]]:
    """Its surface, its lines and its dots, each with vertices of its own."""
    found, name = [], piece.name or shown.name
    parts = {"surface": piece.triangles, "lines": piece.lines, "points": piece.dots}
    parts = {kind: rows for kind, rows in parts.items() if len(rows)}
    for kind, rows in parts.items():
        key, first = f"{len(arrays)}", not found
        # of several, each has what it needs; one alone keeps all, as they are
        points = np.unique(rows) if len(parts) > 1 else piece.points
        arrays[key] = points
        own: dict[str, Any] = {"name": name if first else f"{name} {kind}", "kind": kind}
        own["points"], spread = key, False
        if kind == "points":
            own["radius"] = 0.005 * size(shown)
        else:
            arrays[f"{key} rows"] = np.searchsorted(points, rows)
            own["rows"] = f"{key} rows"
        if kind == "lines":
            own["radius"] = 0.5 * thickness(shown, rows)
        elif kind == "surface" and piece.uv is not None and np.isfinite(piece.uv).any():
            spread = True
            arrays[f"{key} uv"] = np.nan_to_num(piece.uv).reshape(-1, 2).astype(np.float32)
            own["uv"] = f"{key} uv"
        found.append(own | _material(piece.look, spread))
    return found


def _material(look: Look | None, spread: bool) -> dict[str, Any]:
    color, shine = (PLAIN, SHINE) if look is None else (look.color, look.shine)
    texture = look.texture if look is not None and spread else ""
    return {"color": linear(color), "roughness": roughness(shine), "texture": texture}


def _collider(number: int, solid: Solid, times: Array, arrays: dict[str, Any]) -> dict[str, Any]:
    key = f"collider {number}"
    arrays[key], arrays[f"{key} rows"] = solid.positions.astype(np.float32), solid.triangles
    own: dict[str, Any] = {"name": key, "points": key, "rows": f"{key} rows"}
    own |= {"hollow": solid.hollow, "color": linear(GREY), "roughness": 1.0, "texture": ""}
    if solid.moving:
        frames = [solid.frame(float(t)) for t in times]
        matrices = np.tile(np.eye(4), (len(frames), 1, 1))
        matrices[:, :3, :3] = [frame.rotation for frame in frames]
        matrices[:, :3, 3] = [frame.origin for frame in frames]
        arrays[f"{key} places"] = matrices
        own["places"] = f"{key} places"
    return own


def _seen(shown: Motion) -> dict[str, Any]:
    """A camera and a sun where pictures have theirs; matrices (4, 4) that put them there."""
    points = points_of(shown, sampled(shown))
    walls = wall_normals(shown.colliders)
    view = look_at(points, PICTURE[0] / PICTURE[1], walls=walls)
    camera, sun = np.eye(4), np.eye(4)
    camera[:3] = np.column_stack([view.right, view.up, -view.forward, view.eye])
    ray = sunlight(view)
    side = np.cross(view.right, ray) / np.linalg.norm(np.cross(view.right, ray))
    sun[:3] = np.column_stack([np.cross(side, -ray), side, -ray, view.eye])
    far = float(np.linalg.norm(points - view.eye, axis=1).max()) + 10.0 * view.size
    return {
        "camera": camera.tolist(), "opening": OPENING, "far": far, "sun": sun.tolist(),
    }  # fmt: skip
