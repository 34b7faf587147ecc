"""The shell of a car."""

from __future__ import annotations

import numpy as np

from .checks import require_counts, require_positive
from .implicit import joined, rounded_box, wheel
from .mesh import Mesh
from .sizing import mesh_of_count
from .stuffing import skin
from .topology import is_one_closed, shell

LOW, HIGH = np.array([-2.3, -1.0, -0.05]), np.array([2.3, 1.0, 1.6])
BLEND = 0.04  # [m]
STRETCH = 1.4  # leaning the cabin changes distances by about this factor


def car(vertices: int = 120_000, *, length: float = 4.3) -> Mesh:
    """A closed surface of about `vertices` vertices: body, cabin and four wheels in one piece.

    x forwards, z upwards, wheels on z = 0; length over all [m]. The count is met within 5 %.
    Groups: 'structural' (edges), 'bending' (vertices opposite each edge).
    Sets: 'front' (the foremost 5 % of the length), 'wheels' (below the body).

    The default has about the 120,000 vertices of Luan and Michels (2018), whose mesh also holds
    the inside of the car; this one is the outer shell only.
    """
    require_counts("car", 200, vertices=vertices)
    require_positive("car", length=length)
    start = (2.0 / vertices) ** 0.5 * (HIGH - LOW).max()
    positions, triangles = mesh_of_count(
        "car", vertices, lambda h: skin(_car, LOW, HIGH, h), start, 2.0, is_one_closed
    )
    positions[:, 2] -= positions[:, 2].min()
    positions *= length / np.ptp(positions[:, 0])
    nose = positions[:, 0].max() - 0.05 * length
    sets = {
        "front": np.flatnonzero(positions[:, 0] > nose),
        "wheels": np.flatnonzero(positions[:, 2] < 0.25 * length / 4.3),
    }
    return shell(positions, triangles, sets)


def _car(points: np.ndarray) -> np.ndarray:
    lean = 0.35 * (points[:, 2] - 0.8)  # windscreens and sides close in towards the roof
    cabin_points = points.copy()
    cabin_points[:, 0] *= 1.0 + lean
    cabin_points[:, 1] *= 1.0 + 0.6 * lean
    body = rounded_box((0.0, 0.0, 0.6), (2.15, 0.85, 0.3), 0.15)
    cabin = rounded_box((-0.25, 0.0, 1.0), (1.15, 0.75, 0.45), 0.15)
    wheels = [wheel((x, y, 0.32), 0.32, 0.11, 0.05) for x in (-1.35, 1.35) for y in (-0.78, 0.78)]
    return joined([body, lambda _: cabin(cabin_points) / STRETCH, *wheels], blend=BLEND)(points)
