"""A torus: a core ring, and a skin that spokes hold to it."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .checks import require_counts, require_positive
from .grids import quad_sheet
from .mesh import Mesh, grouped_edges, pairs


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
    edges, rows = grouped_edges(_groups(number, skin))
    sets = {"core": core, "skin": skin.ravel(), "bottom": skin[:, 0]}
    triangles = quad_sheet(np.pad(skin, (0, 1), mode="wrap"))
    return Mesh(positions, edges, triangles=triangles, edge_groups=rows, vertex_sets=sets)


def _groups(number: np.ndarray, skin: np.ndarray) -> dict[str, np.ndarray]:
    circles = pairs(skin, np.roll(skin, -1, axis=1))
    spokes = pairs(number[:, :1], skin)
    lengthwise = pairs(number, np.roll(number, -1, axis=0))
    diagonal = pairs(skin, np.roll(skin, (-1, -1), axis=(0, 1)))
    return {"structural": np.concatenate([circles, spokes, lengthwise]), "shear": diagonal}
