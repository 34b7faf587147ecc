"""Small made-up recordings: everything that exports and pictures read, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stiffly.meshes import Look, Mesh, cloth, cube, rope
from stiffly.recording.run import EnergyHistory


@dataclass
class Recorded:
    """The attributes of a Recording over plain arrays."""

    positions: Any
    velocities: Any
    times: Any
    mesh: Any = None
    mass: Any = None
    name: str = "made-up"
    integrator: str = "verlet"
    step: float | None = 0.01
    colliders: tuple = ()
    folder: Path | None = None
    energy: Any = None
    stats: dict = field(default_factory=dict)
    diagnostics: dict = field(default_factory=dict)

    def __post_init__(self):
        if self.energy is None:
            self.energy = ledger(self.times, kinetic=np.ones(len(self.times)))


def ledger(times, added=None, dissipated=None, **parts):
    zero = np.zeros(len(times))
    parts = {name: np.asarray(series, dtype=float) for name, series in parts.items()}
    return EnergyHistory(
        np.asarray(times),
        parts,
        zero if added is None else added,
        zero if dissipated is None else dissipated,
        zero,
    )


def wobbling(mesh, frames=6, interval=0.1, **more):
    """Every vertex on its own way, so that mixed-up vertices or frames are noticed."""
    rng = np.random.default_rng(7)
    ways = 0.3 * rng.normal(size=mesh.positions.shape)
    times = interval * np.arange(frames)
    positions = mesh.positions + np.sin(5.0 * times)[:, None, None] * ways
    velocities = 5.0 * np.cos(5.0 * times)[:, None, None] * ways
    return Recorded(
        positions.astype(np.float32), velocities.astype(np.float32), times, mesh=mesh, **more
    )


def solid():
    return wobbling(cube(2))


def sheet():
    return wobbling(cloth(5, 4, spacing=0.1))


def string():
    return wobbling(rope(9))


def dust():
    x = np.random.default_rng(1).random((20, 3))
    recorded = wobbling(Mesh(x, np.empty((0, 2), dtype=int)))
    recorded.mesh = None
    return recorded


def several():
    """A red cube, a green rope and two loose grains, in this order, each a body with a name."""
    box, cord = cube(1), rope(4)
    grains = np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 1.0]])
    counts = np.cumsum([0, len(box.positions), len(cord.positions), len(grains)])
    looks = [("red cube", (1.0, 0.0, 0.0)), ("rope", (0.0, 0.5, 0.0)), ("grains", (0.2, 0.2, 0.2))]
    bodies = {
        name: Look(np.arange(begin, end), color)
        for (name, color), begin, end in zip(looks, counts, counts[1:], strict=False)
    }
    positions = np.concatenate([box.positions, cord.positions + np.array([0.0, 2.0, 0.0]), grains])
    edges = np.concatenate([box.edges, cord.edges + counts[1]])
    return wobbling(Mesh(positions, edges, box.tets, box.triangles, bodies=bodies))
