"""PLY, one file per frame: Blender, MeshLab, Houdini, point-cloud tools.

Binary, little-endian: x, y, z and, where recorded, the velocity vx, vy, vz of every vertex [m,
m/s], fields that were asked for; surface triangles as faces; edges of ropes and hair as edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts import Array
from .frames import NO_FIELDS, Motion

ENDINGS = (".ply",)


def write_frame(
    path: Path, x: Array, v: Array | None, motion: Motion, fields: Mapping[str, Array] = NO_FIELDS
) -> None:
    columns = ["x", "y", "z"] + ([] if v is None else ["vx", "vy", "vz"])
    columns += [name.replace("-", "_") for name in fields]
    vertices = np.column_stack([x, *([] if v is None else [v]), *fields.values()])
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(x)}"]
    header += [f"property float {name}" for name in columns]
    blocks: list[Any] = [vertices.astype("<f4")]
    if len(motion.triangles):
        header += [
            f"element face {len(motion.triangles)}",
            "property list uchar int vertex_indices",
        ]
        faces = np.empty(len(motion.triangles), dtype=[("count", "u1"), ("corners", "<i4", 3)])
        faces["count"], faces["corners"] = 3, motion.triangles
        blocks.append(faces)
    if len(motion.lines):
        header += [f"element edge {len(motion.lines)}"]
        header += ["property int vertex1", "property int vertex2"]
        blocks.append(motion.lines.astype("<i4"))
    with path.open("wb") as file:
        file.write("\n".join([*header, "end_header", ""]).encode())
        for block in blocks:
            file.write(block.tobytes())
