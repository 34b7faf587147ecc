"""The surface of a sphere."""

from __future__ import annotations

import numpy as np

from .checks import require_counts, require_positive
from .mesh import Mesh, grouped_edges, pairs


def sphere(
    rings: int = 17, segments: int = 56, *, radius: float = 0.1, diagonals: bool = False
) -> Mesh:
    """Two poles and `rings` circles of latitude with `segments` particles each.

    Group 'structural' runs along the meridians and the circles; `diagonals` adds group 'shear',
    one diagonal of each quad (the one that the triangles use). Sets: 'poles' (lower, upper).

    The default has 954 particles and 1960 edges. Michels, Sobottka and Weber (2014) name 954 and
    2000 for their steel sphere. Below 3 N - 6 = 2856 edges springs along edges cannot keep a
    shape by themselves; with diagonals there are 2856, the triangulated sphere.
    """
    require_counts("sphere", 3, segments=segments)
    require_counts("sphere", 1, rings=rings)
    require_positive("sphere", radius=radius)
    latitude = np.pi * (np.arange(1, rings + 1) / (rings + 1) - 0.5)
    longitude = 2.0 * np.pi * np.arange(segments) / segments
    circle = np.stack([np.cos(longitude), np.sin(longitude)], axis=1)
    positions = np.zeros((2 + rings * segments, 3))
    positions[0, 2], positions[1, 2] = -1.0, 1.0
    positions[2:, :2] = (np.cos(latitude)[:, None, None] * circle).reshape(-1, 2)
    positions[2:, 2] = np.repeat(np.sin(latitude), segments)
    ring = 2 + np.arange(rings * segments).reshape(rings, segments)
    edges, rows = grouped_edges(_groups(ring, diagonals))
    poles = {"poles": np.array([0, 1])}
    return Mesh(
        radius * positions, edges, triangles=_skin(ring), edge_groups=rows, vertex_sets=poles
    )


def _groups(ring: np.ndarray, diagonals: bool) -> dict[str, np.ndarray]:
    after = np.roll(ring, -1, axis=1)
    columns = np.concatenate(
        [np.zeros_like(ring[:1]), ring, np.ones_like(ring[:1])]  # pole, circles, pole
    )
    along = pairs(ring, after)
    up = pairs(columns[:-1], columns[1:])
    groups = {"structural": np.concatenate([along, up])}
    if diagonals:
        groups["shear"] = pairs(ring[:-1], after[1:])
    return groups


def _skin(ring: np.ndarray) -> np.ndarray:
    after = np.roll(ring, -1, axis=1)
    a, b, c, d = (q.ravel() for q in (ring[:-1], after[:-1], after[1:], ring[1:]))
    lower, upper = np.zeros_like(ring[0]), np.ones_like(ring[0])
    corners = [(a, b, c), (a, c, d), (lower, after[0], ring[0]), (upper, ring[-1], after[-1])]
    return np.concatenate([np.stack(corner, axis=1) for corner in corners])
