"""What is seen of a system: its scene's mesh, or what its parts are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..meshes import Mesh
from ..meshes.mesh import tet_edges, tet_surface, unique_rows

ELEMENTS = {"edges": 2, "tets": 4, "triangles": 3}


class Drawn(NamedTuple):
    """name of the scene; mesh: with a vertex for every particle, or None; colliders: shapes."""

    name: str = ""
    mesh: Mesh | None = None
    colliders: tuple[Any, ...] = ()


def drawn(system: Any, scene: Any, x0: Array) -> Drawn:
    """scene: that the system came in, or None; x0 (N, 3): the shape where it has no other."""
    if scene is not None:
        return Drawn(scene.name, getattr(scene, "mesh", None), getattr(scene, "colliders", ()))
    parts = getattr(getattr(system, "given", None), "parts", ())
    colliders = tuple(shape for part in parts for shape in getattr(part, "shapes", ()))
    rest = getattr(system, "rest", None)
    return Drawn("", _mesh(parts, x0 if rest is None else rest), colliders)


def _mesh(parts: Any, rest: Array) -> Mesh | None:
    """Springs as edges, solids as tets, what the wind blows on as triangles."""
    found = {
        kind: [np.empty((0, k), dtype=np.int64)]
        + [getattr(p, kind) for p in parts if isinstance(getattr(p, kind, None), np.ndarray)]
        for kind, k in ELEMENTS.items()
    }
    if not any(len(own) for kind in found.values() for own in kind):
        return None
    tets = np.concatenate(found["tets"])
    edges = np.concatenate([*found["edges"], tet_edges(tets)])
    edges.sort(axis=1)  # in place: springs of a large cloth are a tenth of a gigabyte
    tets = unique_rows(tets)
    triangles = np.concatenate([*found["triangles"], tet_surface(tets)])
    return Mesh(np.asarray(rest, dtype=np.float64), unique_rows(edges), tets, triangles)
