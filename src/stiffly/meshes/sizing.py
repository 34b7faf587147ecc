"""Finding the lattice spacing that gives a wanted number of vertices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..contracts import Array
from ..errors import InputError

TRIES = 8
CLOSE, TOO_FAR = 0.01, 0.05  # relative differences: good enough, and refused
NUDGE = 0.004  # relative steps of the spacing round a first answer that will not do
COARSER = 8  # a large mesh is tried first with this many times fewer vertices
LARGE = 20_000

Build = Callable[[float], tuple[Array, np.ndarray]]  # spacing -> positions, elements


def mesh_of_count(
    name: str, vertices: int, build: Build, spacing: float, power: float, sound: Callable
) -> tuple[Array, np.ndarray]:
    """The mesh build(spacing) whose number of vertices comes close to `vertices`.

    The count grows like spacing^-power: 3 for bodies, 2 for surfaces, and jumps with the lattice.
    First that law is followed; if no mesh on the way is close and `sound(elements)`, spacings
    next to the last one are tried. InputError where the result would be further off than 5 %.
    """
    if vertices > LARGE:
        spacing = _follow(vertices // COARSER, build, spacing, power)[-1][1]
        spacing *= COARSER ** (-1.0 / power)
    tried = _follow(vertices, build, spacing, power)
    near = tried[-1][1]
    nudges = [k * sign for k in range(1, TRIES) for sign in (1, -1)]
    best, off = None, np.inf
    while True:
        for mesh, _ in tried:
            error = abs(len(mesh[0]) / vertices - 1.0)
            if error < off and sound(mesh[1]):
                best, off = mesh, error
        if best is not None and (off <= CLOSE or not nudges or vertices > LARGE):
            break
        if not nudges:
            break
        factor = 1.0 + NUDGE * nudges.pop(0)
        tried = [(build(near * factor), near * factor)]
    if best is None or off > TOO_FAR:
        raise InputError(
            f"{name} of {vertices} vertices: too coarse for its thinnest parts, give more vertices"
        )
    return best


def _follow(
    vertices: int, build: Build, spacing: float, power: float
) -> list[tuple[tuple[Array, np.ndarray], float]]:
    """Meshes and spacings met while following the power law; the last one is the closest."""
    tried = []
    for _ in range(TRIES):
        mesh = build(spacing)
        tried.append((mesh, spacing))
        change = len(mesh[0]) / vertices
        if abs(change - 1.0) <= CLOSE:
            break
        spacing *= change ** (1.0 / power)
    return sorted(tried, key=lambda entry: -abs(len(entry[0][0]) / vertices - 1.0))
