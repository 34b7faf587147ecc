"""Cloth: particles on a rectangle with structural, shear and bending edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InputError
from .checks import require_counts, require_positive
from .grids import quad_sheet
from .mesh import Mesh, grouped_edges, pairs


def cloth(
    nx: int = 101,
    ny: int = 101,
    *,
    spacing: float = 0.01,
    diagonals: int = 2,
    bending: bool = True,
) -> Mesh:
    """nx x ny particles in the plane z = 0, one every `spacing` [m], numbered with y fastest.

    Groups: 'structural' joins neighbours, 'shear' one or both diagonals of every square (as
    `diagonals` says, or none), 'bending' every second particle along x and y.
    Sets: 'left' and 'right' (x ends), 'bottom' and 'top' (y ends), 'corners' (four, from (0, 0)
    along y first). Triangles face up.

    cloth(101, 101, diagonals=1) is the cloth of Dinev, Liu and Kavan (2018): 10,201 particles and
    50,198 edges; with the two springs that hold it these are the 50,200 of their table.
    """
    require_counts("cloth", 2, nx=nx, ny=ny)
    require_positive("cloth", spacing=spacing)
    if diagonals not in (0, 1, 2):
        raise InputError(f"cloth diagonals = {diagonals}: give 0, 1 or 2 for every square")
    number = np.arange(nx * ny).reshape(nx, ny)
    positions = np.zeros((nx * ny, 3))
    positions[:, :2] = spacing * np.indices((nx, ny)).reshape(2, -1).T
    groups = {
        "structural": np.concatenate([_along(number, 1), _along(number.T, 1)]),
        "shear": _diagonals(number, diagonals),
    }
    if bending:
        groups["bending"] = np.concatenate([_along(number, 2), _along(number.T, 2)])
    edges, rows = grouped_edges(groups)
    sets = {
        "left": number[0],
        "right": number[-1],
        "bottom": number[:, 0],
        "top": number[:, -1],
        "corners": number[[0, 0, -1, -1], [0, -1, 0, -1]],
    }
    triangles = quad_sheet(number)
    return Mesh(positions, edges, triangles=triangles, edge_groups=rows, vertex_sets=sets)


def textile(nx: int = 100, ny: int = 100, *, spacing: float = 0.01) -> Mesh:
    """The textile of Michels, Sobottka and Weber (2014): tensile and shear edges only.

    100 x 100 particles; 19,800 structural and 19,602 shear edges (the paper gives no count).
    """
    return cloth(nx, ny, spacing=spacing, bending=False)


def foil(nx: int = 10, ny: int = 10, *, spacing: float = 0.01) -> Mesh:
    """The aluminium foil of Michels, Sobottka and Weber (2014): 10 x 10 particles, 502 edges.

    180 structural + 162 shear + 160 bending: exactly the paper's 502, which it calls tensile and
    shear springs.
    """
    return cloth(nx, ny, spacing=spacing)


def flag(nx: int = 70, ny: int = 50, *, spacing: float = 0.02) -> Mesh:
    """The flag of Michels, Luan and Tokman (2017): 50 x 70 particles, all three kinds of edges.

    It hangs in the plane y = 0, its pole at x = 0 (set 'left'), its length along x, z upwards.
    """
    flat = cloth(nx, ny, spacing=spacing)
    upright = flat.positions[:, [0, 2, 1]]
    return replace(flat, positions=upright, triangles=flat.triangles[:, ::-1])


def _diagonals(number: np.ndarray, count: int) -> np.ndarray:
    """None, the one that the triangles use, or both of every square."""
    falling = pairs(number[:-1, :-1], number[1:, 1:])
    rising = pairs(number[1:, :-1], number[:-1, 1:])
    return np.concatenate(
        [falling[: len(falling) * (count > 0)], rising[: len(rising) * (count > 1)]]
    )


def _along(number: np.ndarray, step: int) -> np.ndarray:
    return pairs(number[:-step], number[step:])
