"""phi_1(hJ) v from 24,000 to 450,000 degrees of freedom: time and memory must grow linearly.

python benchmarks/scaling.py [--phase 50]
"""

from __future__ import annotations

import argparse
import resource

import numpy as np
from common import lattice_tangent, median_seconds, table

from stiffly.matfun import SecondOrderOperator, phi_action
from stiffly.matfun.bounds import estimate


def peak_gigabytes() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phase", type=float, default=50.0, help="h omega_max")
    phase = parser.parse_args().phase
    rng = np.random.default_rng(0)
    rows = []
    for side in (20, 28, 37, 44, 53, 54):  # grows, so the peak belongs to the row
        A = lattice_tangent(side)
        h = phase / np.sqrt(estimate(A, 60)[0].high)
        u = rng.standard_normal(2 * A.size)
        J = SecondOrderOperator(A)
        action = phi_action(J, h, [None, u], 1e-6)
        seconds = median_seconds(lambda J=J, u=u, h=h: phi_action(J, h, [None, u], 1e-6), 5)
        per = 1e9 * seconds / action.products / A.size
        rows.append(
            (A.size, action.products, f"{seconds:.3f}", f"{per:.2f}", f"{peak_gigabytes():.2f}")
        )
    header = ("dof", "products", "seconds", "ns per product and dof", "peak memory GB")
    print(table(header, rows))


if __name__ == "__main__":
    main()
