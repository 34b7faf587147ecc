"""A stiff rope: which methods survive large steps.

    python benchmarks/rope.py [--duration 20]

20 links, 1 m, 1 kg, held at one end and released from horizontal, thirty steps a second for 20 s.
strain: by how much its own weight would stretch the top link.  error: the largest numerical error
of the ledger against the energy exchanged.  time: against energy-momentum at the same strain.
What a second of motion costs over strain and resolution: `stiffly lab rope-cost`.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from common import table

import stiffly
from stiffly.meshes import rope

LINKS, STEP = 20, 1 / 30
METHODS = (
    "energy-momentum",
    "projective-energy-momentum",
    "stabilised",
    "stabilised:projective-midpoint",
    "stabilised:projective-energy-momentum",
    "stabilised:exprb42",
    "exprb42",
    "midpoint",
    "newmark",
)


def hung(strain: float):
    mesh = rope(LINKS + 1, length=1.0)
    mass = 1.0 / LINKS
    stiffness = LINKS * mass * 9.81 / (strain / LINKS)
    parts = [stiffly.Springs(mesh.edges, stiffness), stiffly.Gravity()]
    system = stiffly.System(np.full(LINKS + 1, mass), parts, fixed=[0], rest=mesh.positions)
    return system, mesh.positions


def compare(strain: float, duration: float):
    system, x0 = hung(strain)
    unit = None
    for name in METHODS:
        stiffly.simulate(system, x0, integrator=name, step=1e-4, duration=1e-3)  # compiles
        outcome = "finished"
        try:
            run = stiffly.simulate(
                system, x0, integrator=name, step=STEP, duration=duration, every=STEP
            )
        except stiffly.SimulationFailure as failure:
            run = failure.run
            outcome = f"{type(failure).__name__} at {run.times[-1]:.2g} s"
        unit = unit or run.wall_seconds
        error = np.abs(run.energy.numerical).max() / run.energy.exchanged
        yield (
            f"{strain:g}",
            name,
            outcome,
            f"{error:.1e}",
            f"{np.nansum(run.diagnostics.get('halvings', 0)):.0f}",
            run.stats["newton_iterations"],
            f"{run.wall_seconds / unit:.2f}" if outcome == "finished" else "",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=20.0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", stiffly.StiffWarning)
    header = ("strain", "method", "outcome", "error", "halvings", "newton", "time")
    rows = [r for strain in (1e-2, 1e-4, 1e-6) for r in compare(strain, asked.duration)]
    print(table(header, rows))


if __name__ == "__main__":
    main()
