"""Finding the lattice spacing that gives a wanted number of vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..contracts import Array
from ..errors import InputError
from . import cache

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

    Large meshes, which take seconds, are kept (see cache.py): name, vertices, spacing and power
    have to say together what `build` makes.
    """
    if vertices <= LARGE:
        return _searched(name, vertices, build, spacing, power, sound)
    entry = cache.key(f"mesh_of_count {name} {vertices} {spacing!r} {power}", ())
    found = cache.load(entry, name)
    if found is None:
        positions, elements = _searched(name, vertices, build, spacing, power, sound)
        found = {"positions": positions, "elements": elements}
        cache.save(entry, found)
    return found["positions"], found["elements"]


def _searched(
    name: str, vertices: int, build: Build, spacing: float, power: float, sound: Callable
) -> tuple[Array, np.ndarray]:
    if vertices > LARGE:
        coarse = vertices // COARSER
        spacing = follow(coarse, build, spacing, power, TOO_FAR)[-1][1]
        spacing *= COARSER ** (-1.0 / power)
    enough = TOO_FAR if vertices > LARGE else CLOSE  # large meshes take seconds each
    best, off = None, np.inf
    for positions, elements in _candidates(vertices, build, spacing, power):
        error = abs(len(positions) / vertices - 1.0)
        if error < min(off, 1.0) and sound(elements):
            best, off = (positions, elements), error
        if off <= enough:
            break
    if best is None or off > TOO_FAR:
        raise InputError(
            f"{name} of {vertices} vertices: too coarse for its thinnest parts, give more vertices"
        )
    return best


def _candidates(
    vertices: int, build: Build, spacing: float, power: float
) -> Iterator[tuple[Array, np.ndarray]]:
    tried = follow(vertices, build, spacing, power, CLOSE)
    yield from (mesh for mesh, _ in reversed(tried))
    for step in range(1, TRIES):
        for nudge in (NUDGE * step, -NUDGE * step):
            yield build(tried[-1][1] * (1.0 + nudge))


def follow(
    wanted: int,
    build: Build,
    spacing: float,
    power: float,
    close: float,
    count: Callable[[tuple[Array, np.ndarray]], int] = lambda mesh: len(mesh[0]),
) -> list[tuple[tuple[Array, np.ndarray], float]]:
    """Meshes and spacings met while following the power law; the last one is the closest.

    count: what of a mesh there should be `wanted` of.
    """
    tried = []
    for _ in range(TRIES):
        mesh = build(spacing)
        tried.append((mesh, spacing))
        change = max(count(mesh) / wanted, 0.1)  # 0: the body slipped through the lattice
        if abs(change - 1.0) <= close:
            break
        spacing *= change ** (1.0 / power)
    return sorted(tried, key=lambda entry: -abs(count(entry[0]) / wanted - 1.0))
