"""Wavefront OBJ, one file per frame: read by nearly everything, text, without velocities."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...contracts import Array
from .frames import Motion

ENDINGS = (".obj",)


def write_frame(path: Path, x: Array, v: Array | None, motion: Motion, _: object = None) -> None:
    """Nine digits, which give back every float32; OBJ counts vertices from 1."""
    parts = [
        _rows("v %.9g %.9g %.9g\n", x),
        _rows("f %d %d %d\n", motion.triangles + 1),
        _rows("l %d %d\n", motion.lines + 1),
    ]
    path.write_text("".join(parts))


def _rows(form: str, values: np.ndarray) -> str:
    """One format for all rows at once: ten times faster than row by row."""
    return (form * len(values)) % tuple(values.ravel().tolist())
