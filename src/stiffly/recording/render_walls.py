"""Upright planes as pictures show them: slabs that stand on the floor, behind the body."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..contracts import Array
from .exports.frames import Solid, solids
from .render_view import View

UPRIGHT = 0.3  # a plane whose normal points up at least this much is one to stand on
BESIDE = 0.12  # of the picture's size: by so much a slab is wider and higher than the motion
THICK = 0.05  # of the picture's size
# corners of a box from -1 to 1, and its faces outwards
CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


def is_level(solid: Solid) -> bool:
    return solid.flat and solid.shape.normal[2] > UPRIGHT


def is_wall(solid: Solid) -> bool:
    """A plane that nothing stands on nor hangs from."""
    return solid.flat and abs(solid.shape.normal[2]) <= UPRIGHT


def wall_normals(colliders: Sequence[Any]) -> Array:
    """(k, 3): which way the walls among the colliders face at first."""
    found = [s for s in solids(colliders, np.zeros(3), np.zeros(3)) if is_wall(s)]
    return np.array([s.frame(0.0).directions(s.shape.normal) for s in found]).reshape(-1, 3)


def slab(solid: Solid, view: View, ground: float) -> Solid:
    """A wall as a box whose front is the plane: from the ground [m] to above all that moves.

    One that is seen from behind stays a sheet, which is drawn from its front only.
    """
    frame, normal = solid.frame(0.0), solid.shape.normal
    facing, point = frame.directions(normal), frame.points(solid.shape.point)
    if (view.eye - point) @ facing <= 0.0:
        return solid
    across = np.cross([0.0, 0.0, 1.0], facing)
    across /= np.linalg.norm(across)
    up = np.cross(facing, across)
    axes = np.stack([across, up, -facing])  # of the box
    box = np.where(CORNERS > 0.0, view.high, view.low)
    seen = (box - point) @ axes.T
    low, high = seen.min(axis=0) - BESIDE * view.size, seen.max(axis=0) + BESIDE * view.size
    low[1] = (ground - point[2]) / up[2]
    low[2], high[2] = 0.0, THICK * view.size
    placed = point + np.where(CORNERS > 0.0, high, low) @ axes
    faces = FACES if np.linalg.det(axes) > 0.0 else FACES[:, ::-1]
    return solid._replace(positions=frame.home(placed), triangles=faces)
