"""How good tets are, and how well they fill the surface that is embedded in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .mesh import Mesh, normals, require_mesh, tet_surface, tet_volumes
from .signed_distance import SignedDistance
from .skin import Skin
from .topology import closed

SLIVER = 9.0  # degrees: a tet with a smaller dihedral angle, or a larger one than 180 less this
BESIDE = 1e-6  # of the surface's size: how far beside it one looks for what it winds round
EDGES = ((0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 2, 0), (2, 3, 0, 1))


@dataclass(frozen=True, slots=True)
class Quality:
    """particles, tets: how many; smallest, largest: dihedral angles [degrees]; slivers: tets with
    an angle below 9 or above 171 degrees; volume [m^3].

    With a skin: fullness: volume over the volume within the surface; beyond [m]: how far outside
    all tets a vertex of the surface lies; holes: that were closed to tell inside from outside;
    crossed: share of the surface that lies inside itself, where it crosses or touches itself.
    """

    particles: int
    tets: int
    smallest: float
    largest: float
    slivers: int
    volume: float
    fullness: float | None = None
    beyond: float = 0.0
    holes: int = 0
    crossed: float = 0.0

    def __str__(self) -> str:
        words = [
            f"{self.particles:,} particles, {self.tets:,} tets",
            f"dihedral angles {self.smallest:.0f} to {self.largest:.0f} degrees",
            f"{self.slivers:,} slivers" if self.slivers else "no slivers",
        ]
        if self.fullness is not None:
            words.append(f"{100.0 * self.fullness:.0f} % of the volume within the surface")
            words.append(f"which lies up to {self.beyond:.2g} m outside them")
        if self.holes:
            words.append(f"{self.holes} hole{'s' * (self.holes > 1)} closed")
        if self.crossed:
            words.append(f"{100.0 * self.crossed:.2g} % of the surface lies inside itself")
        return ", ".join(words)


def quality(mesh: Mesh) -> Quality:
    """Of the tets of a mesh."""
    require_mesh("mesh", mesh)
    if len(mesh.tets) == 0:
        raise InputError("the mesh has no tets: fill it with tetrahedralise first")
    angles = dihedral_angles(mesh.positions, mesh.tets)
    smallest, largest = angles.min(axis=1), angles.max(axis=1)
    slivers = int(np.sum((smallest < SLIVER) | (largest > 180.0 - SLIVER)))
    volume = float(tet_volumes(mesh.positions, mesh.tets).sum())
    found = Quality(
        len(mesh.positions), len(mesh.tets), float(smallest.min()), float(largest.max()), slivers,
        volume,
    )  # fmt: skip
    return found if mesh.skin is None else _of_surface(mesh, mesh.skin, found)


def _of_surface(mesh: Mesh, skin: Skin, found: Quality) -> Quality:
    """With what there is to say about the surface."""
    x = skin.values(mesh.positions)
    whole = closed(x, skin.triangles)
    depth = SignedDistance(mesh.positions, tet_surface(mesh.tets))(x)
    inside = enclosed_volume(whole.positions, whole.triangles)
    field = SignedDistance(whole.positions, whole.triangles)
    return replace(
        found,
        fullness=found.volume / inside,
        beyond=max(0.0, -float(depth.min())),
        holes=whole.holes,
        crossed=crossed(field, x, skin.triangles),
    )


def crossed(field: SignedDistance, x: Array, triangles: np.ndarray) -> float:
    """Share of the area that does not have the body behind and nothing in front of it."""
    normal = normals(x, triangles)
    area = np.maximum(np.linalg.norm(normal, axis=1), np.finfo(float).tiny)
    normal /= area[:, None]
    step = BESIDE * float(np.ptp(x, axis=0).max()) * normal
    a, b, c = (x[triangles[:, k]] for k in range(3))
    middle = (a + b + c) / 3.0
    behind, before = field.windings(middle - step), field.windings(middle + step)
    return float(area @ ((behind != 1) | (before != 0)) / area.sum())


def enclosed_volume(x: Array, triangles: np.ndarray) -> float:
    """Volume [m^3] within a surface without border; what it winds round twice counts twice."""
    a, b, c = (x[triangles[:, k]] - x[0] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def dihedral_angles(positions: Array, tets: np.ndarray) -> Array:
    """Angles (t, 6) [degrees] between the two faces at each edge of the tets."""
    found = []
    for i, j, k, m in EDGES:
        a, b, c, d = (positions[tets[:, n]] for n in (i, j, k, m))
        one, two = np.cross(b - a, c - a), np.cross(b - a, d - a)
        sine = np.linalg.norm(np.cross(one, two), axis=1)
        found.append(np.degrees(np.arctan2(sine, np.einsum("ij,ij->i", one, two))))
    return np.stack(found, axis=1)
