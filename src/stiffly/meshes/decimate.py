"""Fewer vertices for the same surface (fast-simplification, the optional extra `tets`)."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .mesh import Mesh, row_keys
from .topology import shell
from .validate import validate

TRIES = 6
CLOSE, TOO_FAR = 0.01, 0.05


def decimate(surface: Mesh, particles: int, *, name: str = "surface") -> Mesh:
    """The triangle surface of a mesh with about `particles` vertices (within 5 %, mostly 1 %).

    Edges are collapsed in the order of their quadric error (Garland and Heckbert, 1997). Groups
    'structural' and 'bending' of the result are those of `shell`.
    """
    validate(surface, name=name)
    used = len(np.unique(surface.triangles))
    if used == 0:
        raise InputError(f"{name} has no triangles: there is nothing to decimate")
    if not 4 <= particles <= used:
        raise InputError(
            f"{particles} particles wanted, but {name} has {used}: give 4 to {used} of them"
        )
    if particles == used:
        return _clean(surface.positions, surface.triangles)
    best, off = _closest(surface, particles, len(surface.triangles) * particles / used)
    if best is None or off > TOO_FAR:
        got = 0 if best is None else len(best.positions)
        raise InputError(
            f"{name} cannot be brought to {particles} particles (closest: {got}): it has too many "
            "separate pieces or borders"
        )
    validate(best, name=name)
    return best


def _closest(surface: Mesh, particles: int, faces: float) -> tuple[Mesh | None, float]:
    """The closest of up to TRIES meshes and how far off it is; `faces` is a first guess."""
    simplify = _simplify()
    best, off = None, np.inf
    for _ in range(TRIES):
        mesh = _clean(
            *simplify(
                surface.positions,
                surface.triangles.astype(np.int32),
                target_count=int(np.clip(round(faces), 4, len(surface.triangles))),
            )
        )
        count = len(mesh.positions)
        if abs(count / particles - 1.0) < off:
            best, off = mesh, abs(count / particles - 1.0)
        if off <= CLOSE or count == 0:
            break
        faces *= particles / count
    return best, off


def _clean(positions: np.ndarray, triangles: np.ndarray) -> Mesh:
    """Without collapsed and repeated triangles and without unused vertices."""
    ordered = np.sort(triangles, axis=1)
    triangles, ordered = (
        rows[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)] for rows in (triangles, ordered)
    )
    _, first = np.unique(row_keys(ordered), return_index=True)
    triangles = triangles[np.sort(first)]
    used, numbers = np.unique(triangles, return_inverse=True)
    return shell(np.asarray(positions, dtype=np.float64)[used], numbers.reshape(-1, 3))


def _simplify():
    try:
        from fast_simplification import simplify
    except ImportError:
        raise InputError(
            "decimating a surface needs fast-simplification: pip install 'stiffly[tets]'"
        ) from None
    return simplify
