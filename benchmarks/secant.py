"""neti with the tangent and with the paper's secant matrix, on springs near their rest length.

    python benchmarks/secant.py

Largest position error after T against Verlet with a step of 0.02 / omega_max.
"""

from __future__ import annotations

import warnings

import numpy as np
from common import table

import stiffly
from stiffly.bodies import Gravity, Springs, System
from stiffly.integrators import Neti
from stiffly.meshes import lattice, rope


def compare(name, mesh, stiffness, mass, fixed, steps, duration):
    system = System(
        np.full(len(mesh.positions), mass),
        [Springs(mesh.edges, stiffness), Gravity()],
        fixed=fixed,
        rest=mesh.positions,
    )
    omega = np.sqrt(system.linear_part().tangent.stiffness.eigenbasis()[0][-1])

    def end(integrator, h):
        run = stiffly.simulate(
            system, mesh.positions, integrator=integrator, step=h, duration=duration
        )
        return run.positions[-1]

    exact = end("verlet", 0.02 / omega)
    for h in steps:
        row = [name, f"{h:g}", f"{h * omega:.1f}"]
        for form in ("tangent", "secant"):
            try:
                row.append(f"{np.abs(end(Neti(linearisation=form), h) - exact).max():.1e}")
            except stiffly.SimulationFailure as failure:
                row.append(type(failure).__name__.lower())
        yield row


def main() -> None:
    warnings.simplefilter("ignore", stiffly.StiffWarning)
    beam = lattice(8, 3, 3, spacing=0.1)
    rows = [
        *compare("rope, 20 links", rope(21), 5e3, 0.05, [0], (1e-3, 4e-3, 1e-2), 0.5),
        *compare("beam", beam, 1e5, 0.1, beam.positions[:, 0] == 0, (1e-4, 1e-3, 5e-3), 0.3),
    ]
    print(table(("body", "h [s]", "h omega_max", "tangent", "secant"), rows))


if __name__ == "__main__":
    main()
