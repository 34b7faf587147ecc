"""A freely spinning soft cube, 5000 steps of 0.033 s: energy, angular momentum, alpha.

    python benchmarks/spinning_cube.py [steps]

Dinev, Liu, Kavan 2018, Figs. 4-6.  Energies are relative to the energy at the start, which never
changes; a run counts as exploded where the loop stops it (20 times the honest energy), or where it
invents more energy than there is.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from common import table

import stiffly

METHODS = (
    "stabilised",
    "realtime",
    "realtime-midpoint",
    "stabilised:projective-midpoint",
    "stabilised:projective-energy-momentum",
    "energy-momentum",
    "midpoint",
    "newmark",
    "projective-midpoint",
    "energy-budget",
    "bdf1",
    "bdf2",
)


def angular_momentum(run, mass):
    x = run.positions - np.einsum("n,fnk->fk", mass, run.positions)[:, None] / mass.sum()
    return np.einsum("n,fnk->fk", mass, np.cross(x, run.velocities))


def measure(name: str, steps: int):
    scene = stiffly.scenes.load("spinning-cube")
    mass = scene.system.mass.diagonal[::3]
    start = time.perf_counter()
    verdict = "runs through"
    try:
        run = stiffly.simulate(
            scene, integrator=name, duration=steps * scene.step, every=scene.step
        )
    except stiffly.SimulationFailure as failure:
        run, verdict = failure.run, "stops at step"
    seconds = time.perf_counter() - start
    energy = run.energy
    relative = energy.numerical / energy.total[0]
    taken = run.stats["steps"]
    if verdict == "stops at step":
        verdict = f"stops at step {taken}"
    elif relative.max() > 1.0:
        verdict = f"explodes (step {int(np.argmax(relative > 1.0))})"
    L = angular_momentum(run, mass)
    error = np.linalg.norm(L - L[0], axis=1) / np.linalg.norm(L[0])
    alpha = run.diagnostics.get("alpha")
    return [
        name,
        verdict,
        f"{relative.min():+.2%} to {relative.max():+.2%}",
        f"{error.max():.2e}",
        "" if alpha is None else f"{np.abs(alpha).mean():.1e}",
        f"{1e3 * seconds / max(taken, 1):.1f}",
    ]


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    warnings.simplefilter("ignore", stiffly.StiffWarning)  # the table says it
    stiffly.simulate(stiffly.scenes.load("spinning-cube"), integrator="stabilised", duration=0.1)
    rows = []
    for name in METHODS:
        rows.append(measure(name, steps))
        print(f"  {name}: {rows[-1][1]}", file=sys.stderr, flush=True)
    header = ("method", f"{steps} steps", "energy error", "angular momentum error, largest",
              "mean abs alpha", "ms per step")  # fmt: skip
    print(table(header, rows))


if __name__ == "__main__":
    main()
