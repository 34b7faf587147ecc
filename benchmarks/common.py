"""What the benchmarks share: test matrices, timing by medians, tables."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from stiffly.bodies import Springs, System
from stiffly.meshes import lattice
from stiffly_lab.trial import timed


def median_seconds(job: Callable[[], object], repeats: int = 5) -> float:
    """Median of `repeats` runs, after one run that is not counted (compilation, caches)."""
    job()
    return timed(job, repeats, slow=math.inf, clock=time.perf_counter)[1]


def by_turns(jobs: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Processor seconds of each, the best of so many by turns: others use the machine, too."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for k, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[k] = min(best[k], time.process_time() - start)
    return best


def lattice_tangent(side: int, *, squeeze: float = 0.0, seed: int = 0):
    """M^-1 K of a side^3 mass-spring lattice (structural springs, slightly perturbed).

    squeeze: compress the lattice by this share, so that the tangent turns indefinite.
    """
    mesh = lattice(side, side, side, diagonals=False)
    rng = np.random.default_rng(seed)
    positions = mesh.positions + 0.05 * rng.standard_normal(mesh.positions.shape)
    d = positions[mesh.edges[:, 1]] - positions[mesh.edges[:, 0]]
    rest = np.linalg.norm(d, axis=1)
    system = System(
        mass=np.ones(len(positions)), parts=[Springs(mesh.edges, 1.0, rest)], rest=positions
    )
    bound, state = system.bind(positions * (1.0 - squeeze))
    return bound.tangent(state).stiffness


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
