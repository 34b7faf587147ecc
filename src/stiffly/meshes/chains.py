"""Chains of particles: a straight rope, the helical tail of a bacterium."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from .checks import require_counts, require_positive
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


def flagellum(
    particles: int = 120,
    *,
    length: float = 6.0,
    radius: float = 0.25,
    turns: float = 3.0,
    taper: float = 1.0,
) -> Mesh:
    """A chain of particles along a helix that starts on its axis x [any unit of length].

    y, z = radius * E(x) (cos, sin)(2 pi turns x / length), E(x) = 1 - exp(-(x / taper)^2)
    (Higdon, 1979): straight at the base, full radius beyond a few `taper`. Particles lie equally
    far apart along x. Set: 'base'.

    The default has the 360 coordinates of the swimmer of Michels, Luan and Tokman (2017).
    """
    require_counts("flagellum", 2, particles=particles)
    require_positive("flagellum", length=length, radius=radius, turns=turns, taper=taper)
    x = np.linspace(0.0, length, particles)
    wide = radius * -np.expm1(-((x / taper) ** 2))
    turn = 2.0 * np.pi * turns * x / length
    positions = np.stack([x, wide * np.cos(turn), wide * np.sin(turn)], axis=1)
    return Mesh(positions, chain(particles), vertex_sets={"base": np.array([0])})
