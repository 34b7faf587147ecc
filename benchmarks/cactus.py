"""A cactus from random positions: who finds its shape again?

    python benchmarks/cactus.py [vertices]

Dinev, Liu, Kavan 2018, Fig. 7: h = 0.033 s, k_d = 0.08 per step.  Distances are the largest of a
vertex from the rest shape, moved and turned to fit best, in units of the body's height.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from common import table

import stiffly
from stiffly.scenes.cactus import HEIGHT, distance_from_shape

METHODS = (
    "stabilised:projective-midpoint",
    "stabilised:projective-energy-momentum",
    "projective-midpoint",
    "projective",
)
FRAMES = (1, 30, 125, 300, 400)


def main() -> None:
    vertices = int(sys.argv[1]) if len(sys.argv) > 1 else 5261
    warnings.simplefilter("ignore", stiffly.StiffWarning)  # the table says it
    scene = stiffly.scenes.load("cactus", vertices=vertices)
    rest = scene.mesh.positions
    rows = []
    for name in METHODS:
        start = time.perf_counter()
        try:
            run = stiffly.simulate(scene, integrator=name, every=scene.step)
        except stiffly.SimulationFailure as failure:
            run = failure.run
        seconds = time.perf_counter() - start
        far = [
            f"{distance_from_shape(run.positions[i], rest) / HEIGHT:.2g}"
            if i < len(run.times)
            else "stopped"
            for i in FRAMES
        ]
        error = run.energy.numerical / run.energy.total[0]
        alpha = run.diagnostics.get("alpha")
        rows.append(
            [
                name,
                *far,
                f"{run.energy.total[-1] / run.energy.total[0]:.0e}",
                f"{error.min():+.1%} to {error.max():+.1%}",
                "" if alpha is None else f"{np.abs(alpha).mean():.3f}",
                f"{1e3 * seconds / max(run.stats['steps'], 1):.0f}",
            ]
        )
        print(f"  {name}", file=sys.stderr, flush=True)
    header = ("method", *(f"frame {i}" for i in FRAMES), "energy left", "numerical error",
              "mean abs alpha", "ms per step")  # fmt: skip
    print(f"{len(rest)} vertices, {len(scene.mesh.tets)} tets\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
