"""Fewer vertices for the same surface (fast-simplification, the optional extra `tets`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import InputError
from .mesh import Mesh, require_counts, row_keys, used_only
from .topology import is_closed, shell
from .validate import validate

TRIES = 6
CLOSE, TOO_FAR = 0.01, 0.05


def decimate(surface: Mesh, particles: int, *, name: str = "surface") -> Mesh:
    """The triangle surface of a mesh with about `particles` vertices (within 5 %, mostly 1 %).

    Edges are collapsed in the order of their quadric error (Garland and Heckbert, 1997). Groups
    'structural' and 'bending' of the result are those of `shell`. A closed surface stays closed.
    """
    validate(surface, name=name)
    require_counts(name, 1, particles=particles)
    used = len(np.unique(surface.triangles))
    if used == 0:
        raise InputError(f"{name} has no triangles: there is nothing to decimate")
    if not 4 <= particles <= used:
        raise InputError(
            f"{particles} particles wanted, but {name} has {used}: give 4 to {used} of them"
        )
    if particles == used:
        return _clean(surface.positions, surface.triangles)
    make = _maker(surface)
    best, off = _closest(make, particles, len(surface.triangles) * particles / used)
    if best is None or off > TOO_FAR:
        raise _refusal(make, surface, particles, name)
    return best


def _maker(surface: Mesh) -> Callable[[float], tuple[Mesh, bool]]:
    """faces -> the surface with about that many triangles, and whether it is sound.

    A closed surface that opens is not: collapsing too far leaves flaps.
    """
    simplify = _simplify()
    closed = is_closed(surface.triangles)

    def make(faces: float) -> tuple[Mesh, bool]:
        count = int(np.clip(round(faces), 4, len(surface.triangles)))
        triangles = surface.triangles.astype(np.int32)
        mesh = _clean(*simplify(surface.positions, triangles, target_count=count))
        try:
            validate(mesh)
        except InputError:
            return mesh, False
        return mesh, not closed or is_closed(mesh.triangles)

    return make


def _closest(
    make: Callable[[float], tuple[Mesh, bool]], particles: int, faces: float
) -> tuple[Mesh | None, float]:
    """The closest of up to TRIES sound meshes and how far off it is; `faces` is a first guess."""
    best, off = None, np.inf
    for _ in range(TRIES):
        mesh, sound = make(faces)
        count = len(mesh.positions)
        if sound and abs(count / particles - 1.0) < off:
            best, off = mesh, abs(count / particles - 1.0)
        if off <= CLOSE or count == 0:
            break
        faces *= particles / count
    return best, off


def _refusal(
    make: Callable[[float], tuple[Mesh, bool]], surface: Mesh, particles: int, name: str
) -> InputError:
    """Says which number of particles works, found by going up from the fewest triangles."""
    faces, most = max(4.0, particles - 2.0), len(surface.triangles)
    while faces < most:
        mesh, sound = make(faces)
        if sound and len(mesh.positions) > particles:
            return InputError(
                f"{name} cannot be brought to {particles} particles without opening or folding it: "
                f"give {len(mesh.positions)} or more"
            )
        faces = 1.0 + 1.2 * faces
    return InputError(
        f"{name} cannot be brought to {particles} particles: it has too many separate pieces or "
        "borders; give more particles or use it as it is"
    )


def _clean(positions: np.ndarray, triangles: np.ndarray) -> Mesh:
    """Without collapsed and repeated triangles and without unused vertices."""
    ordered = np.sort(triangles, axis=1)
    triangles, ordered = (
        rows[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)] for rows in (triangles, ordered)
    )
    _, first = np.unique(row_keys(ordered), return_index=True)
    triangles = triangles[np.sort(first)]
    return shell(*used_only(np.asarray(positions, dtype=np.float64), triangles))


def _simplify():
    try:
        from fast_simplification import simplify
    except ImportError as problem:
        raise InputError(
            f"decimating a surface needs fast-simplification ({problem}): "
            "pip install 'stiffly[tets]'"
        ) from None
    return simplify
