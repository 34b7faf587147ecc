"""glTF 2.0 in one binary file (.glb): web pages, PowerPoint, Windows and macOS viewers.

Frame 0 is the mesh and every later frame a morph target; the animation lets one target grow while
the one before shrinks, which is linear motion between frames.  Such files hold every frame in the
viewer's memory, so large recordings are refused.  No normals are written: viewers then shade each
triangle by itself, which stays right while the body deforms.  glTF has y up: a rotation of the
node turns it, the numbers of the vertices stay the recording's.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts import Array
from ...errors import InputError
from .frames import Fields, Motion, Progress, motion

ENDINGS = (".glb",)
MOST_BYTES = 256 * 2**20  # viewers load all of it at once
MOST_FRAMES = 2000  # the animation holds frames x frames weights
FLOAT, UNSIGNED, ARRAY, ELEMENTS = 5126, 5125, 34962, 34963  # numbers that glTF gives them
POINTS, LINES, TRIANGLES = 0, 1, 4
Z_UP = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # a quarter turn about x, as a quaternion
COLOR = [0.24, 0.47, 0.74, 1.0]
MATERIAL = {"baseColorFactor": COLOR, "metallicFactor": 0.0, "roughnessFactor": 0.6}


class _Document:
    """The JSON of the file, and where each block of numbers lies in its binary part."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.length = 0
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, values: np.ndarray, target: int | None = None, bounds: bool = False) -> int:
        """Append an array to the binary part; its number as an accessor."""
        data = values.tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.length, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        self.views.append(view)
        self.blocks.append(data)
        self.length += len(data)  # all are 4-byte numbers: what follows stays aligned
        accessor: dict[str, Any] = {
            "bufferView": len(self.views) - 1,
            "componentType": FLOAT if values.dtype == np.float32 else UNSIGNED,
            "count": len(values),
            "type": "VEC3" if values.ndim == 2 else "SCALAR",
        }
        if bounds:
            columns = values.reshape(len(values), -1)
            accessor["min"] = columns.min(axis=0).tolist()
            accessor["max"] = columns.max(axis=0).tolist()
        self.accessors.append(accessor)
        return len(self.accessors) - 1


def write(recording: Any, path: Path, progress: Progress, _: Fields) -> None:
    shown = motion(recording)
    frames, points = len(shown), len(shown.rest)
    size = 12 * frames * points + 4 * frames * frames
    if frames > MOST_FRAMES or size > MOST_BYTES:
        raise InputError(
            f"{frames} frames of {points} vertices are too much for one glb file "
            f"({size / 2**20:.0f} MB; at most {MOST_BYTES >> 20} MB and {MOST_FRAMES} frames): "
            "export to usd, or record fewer frames"
        )
    document = _Document()
    _assemble(path, _content(document, shown, progress), document)


def _content(document: _Document, shown: Motion, progress: Progress) -> dict[str, Any]:
    targets, start = [], np.empty((0, 3))
    for i, x, _ in shown.frames(progress):
        if i == 0:
            start = x
            base = document.add(x, ARRAY, bounds=True)
        else:
            targets.append({"POSITION": document.add(x - start, ARRAY, bounds=True)})
    primitives = []
    for mode, rows in _elements(shown):
        primitive: dict[str, Any] = {"attributes": {"POSITION": base}, "material": 0, "mode": mode}
        if mode != POINTS:
            primitive["indices"] = document.add(rows.ravel().astype(np.uint32), ELEMENTS)
        primitives.append(primitive | ({"targets": targets} if targets else {}))
    content: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "stiffly"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": shown.name, "rotation": Z_UP}],
        "materials": [{"doubleSided": True, "pbrMetallicRoughness": MATERIAL}],
        "meshes": [{"primitives": primitives}],
    }
    if targets:
        content["meshes"][0]["weights"] = [0.0] * len(targets)
        content["animations"] = [_animation(document, shown.times)]
    content["buffers"] = [{"byteLength": document.length}]
    return content | {"bufferViews": document.views, "accessors": document.accessors}


def _elements(shown: Motion) -> list[tuple[int, np.ndarray]]:
    if shown.only_points:
        return [(POINTS, np.empty(0))]
    kinds = ((TRIANGLES, shown.triangles), (LINES, shown.lines))
    return [(mode, rows) for mode, rows in kinds if len(rows)]


def _animation(document: _Document, times: Array) -> dict[str, Any]:
    """At frame i the weight of target i - 1 is one, all others zero."""
    seconds = document.add((times - times[0]).astype(np.float32), bounds=True)
    weights = np.eye(len(times), dtype=np.float32)[:, 1:]
    output = document.add(np.ascontiguousarray(weights).ravel())
    return {
        "samplers": [{"input": seconds, "output": output, "interpolation": "LINEAR"}],
        "channels": [{"sampler": 0, "target": {"node": 0, "path": "weights"}}],
    }


def _assemble(path: Path, content: dict[str, Any], document: _Document) -> None:
    """Header, JSON chunk, binary chunk, each a multiple of four bytes."""
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    with path.open("wb") as file:
        file.write(struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + document.length))
        file.write(struct.pack("<I4s", len(text), b"JSON") + text)
        file.write(struct.pack("<I4s", document.length, b"BIN\0"))
        file.writelines(document.blocks)
