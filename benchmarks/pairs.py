"""Cost of Lennard-Jones forces, and of a viscous fluid.

    NUMBA_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/pairs.py

Milliseconds, median of nine.  Molecules are bundles of helices with about 0.05 atoms per cubic
angstrom inside; lists reach 1.2 cutoffs.
"""

from __future__ import annotations

import numpy as np
from common import median_seconds, table

from stiffly.bodies import StokesFluid, helix_molecule
from stiffly.kernels import cpu
from stiffly.parts.lennard_jones import SKIN, PreparedLennardJones
from stiffly.parts.molecules import bonded_pairs


def median(job):
    return 1e3 * median_seconds(job, 9)


def lennard_jones(atoms):
    molecule = helix_molecule(atoms)
    x, exclude = molecule.positions, bonded_pairs(molecule.bonds, atoms)
    b, out = np.ones_like(x), np.zeros_like(x)
    sigma = 2 ** (5 / 6) * molecule.radius
    for cutoff in (None, 12.0, 8.0):
        part = PreparedLennardJones(np.full(atoms, 42.0), sigma, exclude, cutoff)
        costs = [
            median(lambda p=part: p.energy(x)),
            median(lambda p=part: p.add_gradient(x, out)),
            median(lambda p=part: p.add_product(x, b, out)),
        ]
        if cutoff is not None:
            reach = (1 + SKIN) * cutoff
            costs.append(median(lambda p=part, r=reach: cpu.neighbour_list(x, r, *p._excluded)))
        yield atoms, cutoff or "all pairs", *(f"{c:.2f}" for c in costs)


def fluid(particles):
    x, v, b = np.random.default_rng(0).uniform(-1, 1, (3, particles, 3))
    prepared = StokesFluid(1.0, 0.5 * particles ** (-1 / 3)).prepared_for(particles)

    def factorise():
        prepared._factor = prepared._pushes = None
        prepared.pushes(x, v)

    K, D = np.zeros((2, particles, 3))
    products = median(lambda: prepared.add_products(0.0, x, v, b, K, D))
    return particles, f"{median(factorise):.2f}", f"{products:.2f}"


if __name__ == "__main__":
    rows = [row for atoms in (1732, 2994, 20000) for row in lennard_jones(atoms)]
    print(table(("atoms", "cutoff", "energy", "gradient", "product", "new list"), rows))
    rows = [fluid(particles) for particles in (36, 120, 360)]
    print("\n" + table(("particles in a fluid", "force", "K b and D b"), rows))
