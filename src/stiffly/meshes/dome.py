"""A dome-shaped shell of tetrahedra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InputError
from .checks import require_counts, require_positive
from .grids import layer_tets, turned_positive
from .mesh import Mesh, mesh_of_tets


def dome(
    rings: int = 14,
    border: int = 51,
    *,
    radius: float = 0.5,
    thickness: float = 0.05,
    opening: float = 84.2,
) -> Mesh:
    """A spherical cap of two layers: an apex and `rings` circles, the last with `border` vertices.

    radius: of the outer layer [m]; opening: angle between the axis z and the rim [degrees].
    Circle i at angle a_i from the axis has border * sin(a_i) / sin(a_rim) vertices (rounded, at
    least 3), so triangles keep their size. Each prism between the layers is cut into three tets.
    Sets: 'border' (both layers of the lowest circle), 'apex'. Groups: 'border' (edges between
    border vertices), 'shell' (all others).

    The default has 930 particles and 4488 edges, the counts of Michels, Sobottka and Weber (2014).
    """
    require_counts("dome", 1, rings=rings)
    require_counts("dome", 3, border=border)
    require_positive("dome", radius=radius, thickness=thickness, opening=opening)
    if thickness >= radius:
        raise InputError(f"dome thickness {thickness} m: keep it below the radius, {radius} m")
    if opening > 150.0:
        raise InputError(f"dome opening = {opening} degrees: keep it at or below 150")
    angles = np.radians(opening) * np.arange(1, rings + 1) / rings
    sizes = np.maximum(3, np.rint(border * np.sin(angles) / np.sin(angles[-1]))).astype(int)
    unit, triangles = _cap(angles, sizes)
    if (np.linalg.det(unit[triangles]) <= 0.0).any():
        raise InputError(
            f"dome of {rings} rings with {border} vertices on its border: the sides of its rings "
            "cross; use fewer rings or a larger border"
        )
    count = len(unit)
    positions = np.concatenate([(radius - thickness) * unit, radius * unit])
    inner = np.arange(count)
    tets = turned_positive(positions, layer_tets(triangles, inner, inner + count))
    rim = np.arange(count - sizes[-1], count)
    sets = {"border": np.concatenate([rim, rim + count]), "apex": np.array([0, count])}
    return _with_groups(mesh_of_tets(positions, tets, sets))


def _with_groups(mesh: Mesh) -> Mesh:
    on_border = np.isin(mesh.edges, mesh.vertex_sets["border"]).all(axis=1)
    groups = {"border": np.flatnonzero(on_border), "shell": np.flatnonzero(~on_border)}
    return replace(mesh, edge_groups=groups)


def _cap(angles: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors (n, 3), apex first, and the triangles between circles, facing outwards."""
    points, triangles = [np.array([[0.0, 0.0, 1.0]])], []
    inner, inner_turn = np.array([0]), np.array([0.0])
    start = 1
    for angle, size in zip(angles, sizes, strict=True):
        turn = np.arange(size) / size
        around = 2.0 * np.pi * turn
        height = np.full(size, np.cos(angle))
        across = np.sin(angle)
        points.append(np.stack([across * np.cos(around), across * np.sin(around), height], axis=1))
        outer = np.arange(start, start + size)
        triangles += _stitch(inner, inner_turn, outer, turn)
        inner, inner_turn, start = outer, turn, start + size
    return np.concatenate(points), np.array(triangles)


def _stitch(
    inner: np.ndarray, inner_turn: np.ndarray, outer: np.ndarray, outer_turn: np.ndarray
) -> list[list[int]]:
    """Triangles between two circles: walk along both, always to the vertex that comes next."""
    p, q = len(inner), len(outer)
    steps = 0 if p == 1 else p  # the apex alone has nowhere to walk to
    next_inner, next_outer = np.append(inner_turn[1:], 1.0), np.append(outer_turn[1:], 1.0)
    i = j = 0
    triangles = []
    while i < steps or j < q:
        if j == q or (i < steps and next_inner[i] < next_outer[j]):
            triangles.append([inner[i % p], outer[j % q], inner[(i + 1) % p]])
            i += 1
        else:
            triangles.append([inner[i % p], outer[j % q], outer[(j + 1) % q]])
            j += 1
    return triangles
