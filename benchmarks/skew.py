"""Energy-norm skew Lanczos: how well it conserves the linear energy, whatever the basis size.

    python benchmarks/skew.py

exp(hJ) u on a 24,000-dof lattice at h omega_max = 50, with m basis vectors: the change of the
linear energy x^T K x / 2 + v^T M v / 2, and the true error.
"""

from __future__ import annotations

import numpy as np
from common import lattice_tangent, table

from stiffly.matfun import SecondOrderOperator, phi_action
from stiffly.matfun.bounds import estimate


def main() -> None:
    A = lattice_tangent(20)
    omega = np.sqrt(estimate(A, 60)[0].high)
    n, h = A.size, 50.0 / omega
    u = np.random.default_rng(0).standard_normal(2 * n)
    u[n:] *= omega
    J = SecondOrderOperator(A)
    exact = phi_action(J, h, [u], 1e-12).value

    def energy(w):
        x, v = w[:n].copy(), w[n:].copy()
        return 0.5 * (x @ A.apply(x) + v @ v)

    rows = []
    for m in (2, 5, 10, 20, 40, 80):
        value = phi_action(J, h, [u], method="skew", basis=m).value
        error = np.linalg.norm(value - exact) / np.linalg.norm(exact)
        rows.append((m, f"{energy(value) / energy(u) - 1.0:.1e}", f"{error:.1e}"))
    print(table(("basis vectors", "relative change of energy", "true error"), rows))


if __name__ == "__main__":
    main()
