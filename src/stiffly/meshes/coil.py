"""A coil spring made of tetrahedra."""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .checks import require_positive
from .grids import grid_tets
from .mesh import Mesh, mesh_of_tets

ACROSS = 4  # vertices along each side of the cross-section


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
    positions = _positions(sections, across, turns, radius, wire, height)
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


def _positions(
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
