"""Round things: a sphere, a torus, a dome, a coil spring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .grids import grid_tets, layer_tets, quad_sheet, turned_positive
from .mesh import (
    Mesh,
    grouped_edges,
    mesh_of_tets,
    pairs,
    require_counts,
    require_positive,
    require_room,
    require_several,
)

ACROSS = 4  # vertices along each side of the cross-section of a coil's wire


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
    require_room("sphere", rings, segments)
    require_positive("sphere", radius=radius)
    latitude = np.pi * (np.arange(1, rings + 1) / (rings + 1) - 0.5)
    longitude = 2.0 * np.pi * np.arange(segments) / segments
    circle = np.stack([np.cos(longitude), np.sin(longitude)], axis=1)
    positions = np.zeros((2 + rings * segments, 3))
    positions[0, 2], positions[1, 2] = -1.0, 1.0
    positions[2:, :2] = (np.cos(latitude)[:, None, None] * circle).reshape(-1, 2)
    positions[2:, 2] = np.repeat(np.sin(latitude), segments)
    ring = 2 + np.arange(rings * segments).reshape(rings, segments)
    after = np.roll(ring, -1, axis=1)
    lower, upper = np.zeros_like(ring[0]), np.ones_like(ring[0])  # the poles
    columns = np.stack([lower, *ring, upper])
    groups = {"structural": np.concatenate([pairs(ring, after), pairs(columns[:-1], columns[1:])])}
    if diagonals:
        groups["shear"] = pairs(ring[:-1], after[1:])
    edges, rows = grouped_edges(groups)
    a, b, c, d = (q.ravel() for q in (ring[:-1], after[:-1], after[1:], ring[1:]))
    corners = [(a, b, c), (a, c, d), (lower, after[0], ring[0]), (upper, ring[-1], after[-1])]
    skin = np.concatenate([np.stack(corner, axis=1) for corner in corners])
    sets = {"poles": np.array([0, 1])}
    return Mesh(radius * positions, edges, triangles=skin, edge_groups=rows, vertex_sets=sets)


def torus(
    sections: int = 53, around: int = 12, *, radius: float = 0.15, tube: float = 0.05
) -> Mesh:
    """`sections` discs about the z axis, each a core particle and a circle of `around` on the skin.

    radius: from the axis to the core; tube: of the discs [m].
    Group 'structural': circles, spokes and lengthwise edges; group 'shear': one diagonal of each
    quad of the skin. Sets: 'core', 'skin', 'bottom' (the lowest circle of the skin).

    The default has 689 particles (as the paper's 53 x 13) and 2597 edges; Michels, Sobottka and
    Weber (2014) name 689 and 2500, which no torus of equal sections meets: 2500 / 53 is not whole.
    Apart from moving rigidly, it can slide its core round without stretching an edge.
    """
    require_counts("torus", 3, sections=sections, around=around)
    require_room("torus", sections, around)
    require_positive("torus", radius=radius, tube=tube)
    if tube >= radius:
        raise InputError(f"torus tube {tube} m reaches the axis: keep it below radius {radius} m")
    along = 2.0 * np.pi * np.arange(sections)[:, None] / sections
    about = 2.0 * np.pi * np.arange(around) / around - 0.5 * np.pi  # the first lies lowest
    distance = np.concatenate([[radius], radius + tube * np.cos(about)])
    height = np.concatenate([[0.0], tube * np.sin(about)])
    positions = np.stack(
        [distance * np.cos(along), distance * np.sin(along), np.tile(height, (sections, 1))],
        axis=-1,
    ).reshape(-1, 3)
    number = np.arange(len(positions)).reshape(sections, around + 1)
    core, skin = number[:, 0], number[:, 1:]
    circles = pairs(skin, np.roll(skin, -1, axis=1))
    spokes = pairs(number[:, :1], skin)
    lengthwise = pairs(number, np.roll(number, -1, axis=0))
    diagonal = pairs(skin, np.roll(skin, (-1, -1), axis=(0, 1)))
    structural = np.concatenate([circles, spokes, lengthwise])
    edges, rows = grouped_edges({"structural": structural, "shear": diagonal})
    sets = {"core": core, "skin": skin.ravel(), "bottom": skin[:, 0]}
    triangles = quad_sheet(np.pad(skin, (0, 1), mode="wrap"))
    return Mesh(positions, edges, triangles=triangles, edge_groups=rows, vertex_sets=sets)


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
    require_room("dome", 2, rings, border)
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
    mesh = mesh_of_tets(positions, tets, sets)
    on_border = np.isin(mesh.edges, sets["border"]).all(axis=1)
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


def coil(
    vertices: int = 8000,
    *,
    turns: float = 8.0,
    radius: float = 0.05,
    wire: float = 0.01,
    height: float = 0.3,
    across: tuple[int, int] = (ACROSS, ACROSS),
) -> Mesh:
    """A wire of square cross-section (side `wire`) wound `turns` times up the z axis.

    radius: of the helix, to the middle of the wire; height: between the middles of both ends [m].
    across: vertices of a cross-section outwards and upwards; `vertices` is a multiple of their
    product. Sets: 'bottom', 'top' (the cross-sections at both ends).

    The default has the 8000 vertices of Luan and Michels (2018). coil(1164, across=(3, 4)) has
    1164 particles and 5591 edges; Michels, Sobottka and Weber (2014) name 1167 and 5600, which
    no grid of cross-sections meets.
    """
    require_several("coil", 2, across=across)
    require_counts("coil", 1, vertices=vertices, across_out=across[0], across_up=across[1])
    if min(across) < 2:
        raise InputError(f"coil across = {across}: give at least two vertices each way")
    section = across[0] * across[1]
    sections, remainder = divmod(vertices, section)
    if remainder or sections < 2:
        near = max(2, round(vertices / section)) * section
        raise InputError(
            f"coil of {vertices} vertices: give a multiple of {section} from {2 * section} on, "
            f"such as {near}"
        )
    _require_room(turns, radius, wire, height)
    positions = _coiled(sections, across, turns, radius, wire, height)
    ends = {"bottom": np.arange(section), "top": np.arange(vertices - section, vertices)}
    return mesh_of_tets(positions, grid_tets((sections, *across)), ends)


def _require_room(turns: float, radius: float, wire: float, height: float) -> None:
    require_positive("coil", turns=turns, radius=radius, wire=wire, height=height)
    if wire >= 2.0 * radius:
        raise InputError(f"coil wire {wire} m is too thick for radius {radius} m: keep it below 2r")
    if turns > 1.0 and height / turns <= wire:
        raise InputError(
            f"coil turns overlap ({height / turns:.3g} m apart, wire {wire} m): raise height, "
            "or lower turns or wire"
        )


def _coiled(
    sections: int,
    across: tuple[int, int],
    turns: float,
    radius: float,
    wire: float,
    height: float,
) -> Array:
    """Cross-sections normal to the helix c(angle), spanned by the radial direction and t x radial.

    (tangent, radial, t x radial) is right-handed, as grid_tets needs it.
    """
    angle = np.linspace(0.0, 2.0 * np.pi * turns, sections)
    cos, sin, zero = np.cos(angle), np.sin(angle), np.zeros(sections)
    rise = height / (2.0 * np.pi * turns)
    centre = np.stack([radius * cos, radius * sin, rise * angle], axis=1)
    radial = np.stack([cos, sin, zero], axis=1)
    tangent = np.stack([-radius * sin, radius * cos, zero + rise], axis=1)
    tangent /= np.hypot(radius, rise)
    normal = np.cross(tangent, radial)
    outwards, upwards = (np.linspace(-0.5 * wire, 0.5 * wire, count) for count in across)
    positions = (
        centre[:, None, None]
        + outwards[:, None, None] * radial[:, None, None]
        + upwards[:, None] * normal[:, None, None]
    )
    return positions.reshape(-1, 3)
