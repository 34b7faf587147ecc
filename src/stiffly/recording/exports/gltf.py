"""glTF 2.0 in one binary file (.glb): web pages, PowerPoint, Windows and macOS viewers.

Every body is a node of its own with its name, its mesh and its material in its colour.  Frame 0 is
the mesh and every later frame a morph target; the animation lets one target grow while
the one before shrinks, which is linear motion between frames.  Such files hold every frame in the
viewer's memory, so large recordings are refused.  No normals are written: viewers then shade each
triangle by itself, which stays right while the body deforms.  glTF has y up: a rotation of the
nodes turns it, the numbers of the vertices stay the recording's.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts import Array
from ...errors import InputError
from ...meshes.look import PLAIN, SHINE
from .frames import Fields, Motion, Progress, motion
from .pieces import Piece, linear, pieces, roughness

ENDINGS = (".glb",)
MOST_BYTES = 256 * 2**20  # viewers load all of it at once
MOST_FRAMES = 2000  # the animation holds frames x frames weights
FLOAT, UNSIGNED, ARRAY, ELEMENTS = 5126, 5125, 34962, 34963  # numbers that glTF gives them
POINTS, LINES, TRIANGLES = 0, 1, 4
Z_UP = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # a quarter turn about x, as a quaternion


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
    bodies = [p for p in pieces(shown) if len(p.points)]
    start, bases = np.empty((0, 3)), list[int]()
    targets: list[list[dict[str, int]]] = [[] for _ in bodies]
    for i, x, _ in shown.frames(progress):
        if i == 0:
            start = x
            bases = [document.add(x[body.points], ARRAY, bounds=True) for body in bodies]
            continue
        for body, own in zip(bodies, targets, strict=True):
            moved = x[body.points] - start[body.points]
            own.append({"POSITION": document.add(moved, ARRAY, bounds=True)})
    meshes = []
    for k, body in enumerate(bodies):
        known = {"attributes": {"POSITION": bases[k]}, "material": k}
        known |= {"targets": targets[k]} if targets[k] else {}
        primitives = [known | own for own in _primitives(document, body)]
        weights = {"weights": [0.0] * len(targets[k])} if targets[k] else {}
        meshes.append({"name": body.name or shown.name, "primitives": primitives, **weights})
    nodes = [{"mesh": k, "name": m["name"], "rotation": Z_UP} for k, m in enumerate(meshes)]
    content: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "stiffly"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "materials": [_material(body, m["name"]) for body, m in zip(bodies, meshes, strict=True)],
        "meshes": meshes,
    }
    if len(shown) > 1:
        content["animations"] = [_animation(document, shown.times, len(nodes))]
    content["buffers"] = [{"byteLength": document.length}]
    return content | {"bufferViews": document.views, "accessors": document.accessors}


def _primitives(document: _Document, body: Piece) -> Iterator[dict[str, Any]]:
    """Surface, lines and loose particles of a body, whose vertices are its own."""
    for mode, rows in ((TRIANGLES, body.triangles), (LINES, body.lines), (POINTS, body.dots)):
        if mode == POINTS and len(rows) == len(body.points):
            yield {"mode": mode}  # all of them, in their order
        elif len(rows):
            own = np.searchsorted(body.points, rows).ravel().astype(np.uint32)
            yield {"mode": mode, "indices": document.add(own, ELEMENTS)}


def _material(body: Piece, name: str) -> dict[str, Any]:
    color, shine = (PLAIN, SHINE) if body.look is None else (body.look.color, body.look.shine)
    own = {"baseColorFactor": [*linear(color), 1.0], "metallicFactor": 0.0}
    own["roughnessFactor"] = roughness(shine)
    return {"name": name, "doubleSided": True, "pbrMetallicRoughness": own}


def _animation(document: _Document, times: Array, nodes: int) -> dict[str, Any]:
    """At frame i the weight of target i - 1 is one, all others zero: of every body alike."""
    seconds = document.add((times - times[0]).astype(np.float32), bounds=True)
    weights = np.eye(len(times), dtype=np.float32)[:, 1:]
    output = document.add(np.ascontiguousarray(weights).ravel())
    return {
        "samplers": [{"input": seconds, "output": output, "interpolation": "LINEAR"}],
        "channels": [
            {"sampler": 0, "target": {"node": node, "path": "weights"}} for node in range(nodes)
        ],
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
