"""Filling a closed surface with tetrahedra (pytetwild, the optional extra `tets`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import InputError
from .grids import turned_positive
from .mesh import Mesh, mesh_of_tets
from .topology import require_closed
from .validate import validate

TRIES = 4
CLOSE = 0.1  # relative difference from the wanted count that ends the search


def tetrahedralise(surface: Mesh, target: int | None = None, *, name: str = "surface") -> Mesh:
    """Tets inside the closed triangle surface of a mesh, by fTetWild (Hu et al., 2020).

    target: number of vertices wanted; up to four meshes are made and the closest is returned, as a
    rule within 10 %. Fewer vertices than the shape needs at the surface cannot be had. Without a
    target, edges are 1/20 of the bounding box's diagonal. The surface may move by up to 1/1000 of
    that diagonal.
    """
    validate(surface, name=name)
    require_closed(name, surface.triangles)
    if target is not None and target < 4:
        raise InputError(f"target = {target} vertices: a tet has four")
    fill = _tetwild()
    diagonal = np.linalg.norm(np.ptp(surface.positions, axis=0))
    faces = surface.triangles.astype(np.int32)
    length, best, off = 0.05 * diagonal, None, np.inf
    for _ in range(TRIES):
        positions, tets = fill(surface.positions, faces, edge_length_abs=float(length), quiet=True)
        if len(tets) == 0:
            raise InputError(f"{name}: no tet lies inside; are its triangles facing outwards?")
        error = 0.0 if target is None else abs(len(positions) / target - 1.0)
        if error < off:
            best, off = (positions, tets.astype(np.int64)), error
        if target is None or error <= CLOSE:
            break
        length *= (len(positions) / target) ** (1.0 / 3.0)
    assert best is not None
    positions, tets = best
    used, numbers = np.unique(tets, return_inverse=True)
    positions, tets = positions[used], numbers.reshape(-1, 4)
    return mesh_of_tets(positions, turned_positive(positions, tets))


def _tetwild() -> Callable:
    try:
        from pytetwild import tetrahedralize  # type: ignore[reportPrivateImportUsage]
    except ImportError:
        raise InputError(
            "filling a surface with tets needs pytetwild: pip install stiffly[tets]"
        ) from None
    return tetrahedralize
