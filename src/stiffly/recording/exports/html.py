"""A page that plays the motion in 3D: one file that needs nothing but a browser, online or not.

Positions are 16-bit numbers within the box of the whole motion; between frames the page goes
straight.  Where a motion is too large, frames are left out evenly.
"""

from __future__ import annotations

import json
from base64 import b64encode
from html import escape
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts import Array
from ...errors import InputError
from ..plots.style import describe
from .frames import Fields, Motion, Progress, Solid, motion, solids, unheard
from .player import PLAYER

ENDINGS = (".html",)
MOST_BYTES, INLINE = 100_000_000, 12_000_000  # of positions: of a file, within a notebook
FEWEST = 10  # frames, where they would not fit: fewer show no motion
LEVELS = 65535


def write(recording: Any, path: Path, progress: Progress, _: Fields) -> None:
    path.write_text(page(recording, MOST_BYTES, progress), encoding="utf-8")


def page(recording: Any, most: int, progress: Progress = unheard) -> str:
    """The page; InputError where not even a few frames are within so many bytes."""
    shown = motion(recording)
    bytes_per_frame = 6 * len(shown.rest)
    stride = max(1, ceil(len(shown) * bytes_per_frame / most))
    chosen = np.arange(0, len(shown), stride)
    if len(chosen) < min(FEWEST, len(shown)):
        raise InputError(
            f"{len(shown.rest):,} points are too many for a page: export to usd or vtkhdf instead"
        )
    low, high = shown.box
    data = {
        "low": low.tolist(),
        "size": np.maximum(high - low, 1e-12).tolist(),
        "times": shown.times[chosen].tolist(),
        "points": len(shown.rest),
        "frames": _encoded(_frames(shown, chosen, low, high, progress)),
        "colors": _encoded(shown.paint),
        "triangles": _encoded(shown.triangles.astype(np.uint32)),
        "lines": _encoded(shown.lines.astype(np.uint32)),
        "dots": _encoded(shown.dots.astype(np.uint32)),
        "solids": [_solid(s, shown.times[chosen]) for s in solids(shown.colliders, low, high)],
    }
    title = " ".join(filter(None, (getattr(recording, "name", ""), describe(recording))))
    text = PLAYER.replace("{{title}}", escape(title or "stiffly"))
    return text.replace("{{data}}", json.dumps(data, separators=(",", ":")))


def _frames(
    shown: Motion, chosen: np.ndarray, low: Array, high: Array, progress: Progress
) -> np.ndarray:
    """(frames, N, 3) uint16."""
    out = np.empty((len(chosen), len(shown.rest), 3), dtype=np.uint16)
    scale = LEVELS / np.maximum(high - low, 1e-12)
    for k, i in enumerate(chosen):
        share = np.nan_to_num((shown.frame(int(i)) - low) * scale)
        out[k] = np.clip(share, 0, LEVELS).round()
        progress(k + 1, len(chosen))
    return out


def _solid(solid: Solid, times: Array) -> dict[str, Any]:
    """Where it was given, and where it is at the times: columns of matrices, as WebGL has them."""
    moved = times if solid.moving else times[:1]
    poses = []
    for t in moved:
        frame, matrix = solid.frame(float(t)), np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = frame.rotation, frame.origin
        poses.append(matrix.T.ravel().tolist())
    return {
        "points": _encoded(solid.positions.astype(np.float32)),
        "triangles": _encoded(solid.triangles.astype(np.uint32)),
        "flat": solid.flat,
        "hollow": solid.hollow,
        "poses": poses,
    }


def _encoded(values: np.ndarray) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()
