"""A cube of tetrahedra."""

from __future__ import annotations

import numpy as np

from .checks import require_counts, require_positive
from .grids import alternating_tets
from .mesh import Mesh, mesh_of_tets


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
