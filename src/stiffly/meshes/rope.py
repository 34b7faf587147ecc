"""A straight rope of particles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from .mesh import Mesh, chain


def rope(
    particles: int = 80,
    *,
    length: float = 1.0,
    start: Sequence[float] = (0.0, 0.0, 0.0),
    direction: Sequence[float] = (1.0, 0.0, 0.0),
) -> Mesh:
    """`particles` in a line of `length` [m] from `start`, each joined to the next."""
    if particles < 2:
        raise InputError(f"a rope of {particles} particles: give at least two")
    axis = np.asarray(direction, dtype=np.float64)
    norm = np.linalg.norm(axis)
    if not (np.isfinite(norm) and norm > 0.0 and np.isfinite(length) and length > 0.0):
        raise InputError(f"rope length {length} along {tuple(direction)}: both must be non-zero")
    along = np.linspace(0.0, length, particles)
    positions = np.asarray(start, dtype=np.float64) + along[:, None] * (axis / norm)
    return Mesh(positions, chain(particles))
