"""Filling a closed surface with tetrahedra (pytetwild, the optional extra `tets`)."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable

import numpy as np

from ..errors import InputError
from .grids import turned_positive
from .mesh import Mesh, mesh_of_tets
from .topology import require_closed
from .validate import validate

TRIES = 6
POWER = 2.0  # measured: the count grows like length^-1.6 to -2.6, surface and inside together
CLOSE = 0.1  # relative difference from the wanted count that ends the search


def tetrahedralise(surface: Mesh, target: int | None = None, *, name: str = "surface") -> Mesh:
    """Tets inside the closed triangle surface of a mesh, by fTetWild (Hu et al., 2020).

    target: number of vertices wanted; up to six meshes are made and the closest is returned, as a
    rule within 10 %. Without one, edges are 1/20 of the bounding box's diagonal. The surface may
    move by up to 1/20 of an edge. Takes seconds to minutes.
    """
    validate(surface, name=name)
    require_closed(name, surface.triangles)
    if target is not None and target < 4:
        raise InputError(f"target = {target} vertices: a tet has four")
    fill = _tetwild()
    length = 0.05  # of an edge, as part of the diagonal
    best, off = None, np.inf
    for _ in range(TRIES):
        positions, tets = fill(surface, length)
        if len(tets) == 0:
            raise InputError(f"{name}: no tet lies inside; are its triangles facing outwards?")
        error = 0.0 if target is None else abs(len(positions) / target - 1.0)
        if error < off:
            best, off = (positions, tets.astype(np.int64)), error
        if target is None or error <= CLOSE:
            break
        length = min(0.5, length * (len(positions) / target) ** (1.0 / POWER))
    assert best is not None  # the first mesh is always better than none
    positions, tets = best
    used, numbers = np.unique(tets, return_inverse=True)
    positions, tets = positions[used], numbers.reshape(-1, 4)
    return mesh_of_tets(positions, turned_positive(positions, tets))


def _tetwild() -> Callable[[Mesh, float], tuple[np.ndarray, np.ndarray]]:
    try:
        from pytetwild import tetrahedralize  # type: ignore[reportPrivateImportUsage]  # its public name
    except ImportError as problem:  # it also imports pyvista, which it does not require
        raise InputError(
            f"filling a surface with tets needs pytetwild ({problem}): pip install 'stiffly[tets]'"
        ) from None

    def fill(surface: Mesh, length: float) -> tuple[np.ndarray, np.ndarray]:
        # it leaves a file of its own in the current folder: give it one that goes away
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            return tetrahedralize(
                surface.positions,
                surface.triangles.astype(np.int32),
                edge_length_fac=length,
                epsilon=0.05 * length,
                quiet=True,
            )

    return fill
