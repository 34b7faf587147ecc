"""Boxes of tetrahedra: beams and bars along the x axis, cubes."""

from __future__ import annotations

import numpy as np

from .checks import require_counts, require_positive
from .grids import alternating_tets, grid_tets
from .mesh import Mesh, mesh_of_tets


def beam(
    along: int = 26,
    across: tuple[int, int] = (5, 5),
    *,
    length: float = 1.0,
    width: float = 0.16,
    height: float = 0.16,
) -> Mesh:
    """along x across[0] x across[1] vertices over length x width x height [m], six tets per cell.

    The x axis runs through the middle. Sets: 'left', 'right' (the ends), and their outlines
    'left rim', 'right rim'.

    The default has 650 particles, 3481 edges and 2400 tets. Michels, Sobottka and Weber (2014)
    name 650 particles and 3481 springs in the text, 2400 springs in the caption of Figure 17: the
    caption counts the tets of this grid. The springs are the 3481 edges.
    """
    require_counts("beam", 2, along=along, across_y=across[0], across_z=across[1])
    require_positive("beam", length=length, width=width, height=height)
    shape = (along, *across)
    positions = box_grid(shape, (length, width, height))
    return mesh_of_tets(positions, grid_tets(shape), _ends(shape))


def bar(
    along: int = 17, across: tuple[int, int] = (4, 4), *, length: float = 1.0, side: float = 0.1875
) -> Mesh:
    """A bar of alternating five-tet cells, along x; sets as for `beam`.

    The default has 272 vertices and 720 tets; Dinev, Liu and Kavan (2018) use 290 and 716. Theirs
    are the surface vertices of a 4 x 4 x 16 grid without any inside, which makes long thin tets:
    these cells are cubes instead.
    """
    require_counts("bar", 2, along=along, across_y=across[0], across_z=across[1])
    require_positive("bar", length=length, side=side)
    shape = (along, *across)
    return mesh_of_tets(
        box_grid(shape, (length, side, side)), alternating_tets(shape), _ends(shape)
    )


def cube(cells: int = 6, *, side: float = 1.0) -> Mesh:
    """cells^3 cubes of five tets each, centred on the origin; sets 'bottom', 'top' (z ends).

    The default has 343 vertices and 1080 tets; Dinev, Liu and Kavan (2018) use 386 and 996. Theirs
    are the surface vertices of an 8 x 8 x 8 grid (6 * 8^2 + 2 = 386) without any inside, which
    makes long thin tets: here the inside is filled.
    """
    require_counts("cube", 1, cells=cells)
    require_positive("cube", side=side)
    shape = (cells + 1, cells + 1, cells + 1)
    number = np.arange(np.prod(shape)).reshape(shape)
    positions = side * (np.indices(shape).reshape(3, -1).T / cells - 0.5)
    sets = {"bottom": number[..., 0].ravel(), "top": number[..., -1].ravel()}
    return mesh_of_tets(positions, alternating_tets(shape), sets)


def box_grid(shape: tuple[int, int, int], size: tuple[float, float, float]) -> np.ndarray:
    """Vertices (N, 3) of a grid over a box that starts at x = 0 and is centred in y and z."""
    axes = [np.linspace(0.0, size[0], shape[0])]
    axes += [np.linspace(-0.5 * s, 0.5 * s, n) for s, n in zip(size[1:], shape[1:], strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _ends(shape: tuple[int, int, int]) -> dict[str, np.ndarray]:
    number = np.arange(np.prod(shape)).reshape(shape)
    inside = np.zeros(shape[1:], dtype=bool)
    inside[1:-1, 1:-1] = True
    return {
        "left": number[0].ravel(),
        "right": number[-1].ravel(),
        "left rim": number[0][~inside],
        "right rim": number[-1][~inside],
    }
