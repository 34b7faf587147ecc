"""The order that keeps near things near: for trees of boxes over triangles."""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from ..errors import InputError

BITS = 20


def morton(points: Array) -> np.ndarray:
    """Numbers along a Z-shaped curve (Morton 1966): points near on it are near in space."""
    if len(points) == 0:
        return np.empty(0, dtype=np.uint64)
    low, extent = points.min(axis=0), float(np.ptp(points, axis=0).max())
    if not np.isfinite(extent):
        raise InputError("positions are too far apart: their differences must be finite")
    cells = (points - low) / (extent or 1.0) * (2**BITS - 1)
    code = np.zeros(len(points), dtype=np.uint64)
    for axis in range(3):
        bits = cells[:, axis].astype(np.uint64)
        for b in range(BITS):
            code |= ((bits >> np.uint64(b)) & np.uint64(1)) << np.uint64(3 * b + axis)
    return code
