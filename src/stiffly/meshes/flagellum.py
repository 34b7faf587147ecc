"""The helical tail of a bacterium."""

from __future__ import annotations

import numpy as np

from .checks import require_counts, require_positive
from .mesh import Mesh, chain


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
