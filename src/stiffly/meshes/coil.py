"""A coil spring made of tetrahedra."""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .mesh import Mesh, grid_tets, mesh_of_tets

ACROSS = 4  # vertices along each side of the square cross-section


def coil(
    vertices: int = 8000,
    *,
    turns: float = 8.0,
    radius: float = 0.05,
    wire: float = 0.01,
    height: float = 0.3,
) -> Mesh:
    """A wire of square cross-section (side `wire`) wound `turns` times up the z axis.

    radius: of the helix, to the middle of the wire; height: between the middles of both ends [m].
    vertices: a multiple of 16, the 4 x 4 vertices of each cross-section.
    """
    sections, remainder = divmod(vertices, ACROSS * ACROSS)
    if remainder or sections < 2:
        near = max(2, round(vertices / ACROSS**2)) * ACROSS**2
        raise InputError(
            f"coil of {vertices} vertices: give a multiple of 16 from 32 on, such as {near}"
        )
    _require_room(turns, radius, wire, height)
    grid = (sections, ACROSS, ACROSS)
    return mesh_of_tets(_positions(sections, turns, radius, wire, height), grid_tets(grid))


def _require_room(turns: float, radius: float, wire: float, height: float) -> None:
    for name, value in (("turns", turns), ("radius", radius), ("wire", wire), ("height", height)):
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"coil {name} = {value}: it must be positive")
    if wire >= 2.0 * radius:
        raise InputError(f"coil wire {wire} m is too thick for radius {radius} m: keep it below 2r")
    if turns > 1.0 and height / turns <= wire:
        raise InputError(
            f"coil turns overlap ({height / turns:.3g} m apart, wire {wire} m): raise height, "
            "or lower turns or wire"
        )


def _positions(sections: int, turns: float, radius: float, wire: float, height: float) -> Array:
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
    side = np.linspace(-0.5 * wire, 0.5 * wire, ACROSS)
    positions = (
        centre[:, None, None]
        + side[:, None, None] * radial[:, None, None]
        + side[:, None] * normal[:, None, None]
    )
    return positions.reshape(-1, 3)
