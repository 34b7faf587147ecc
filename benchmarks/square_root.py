"""The papers' Newton iteration for sqrt(A), over the condition number of A.

    python benchmarks/square_root.py [--size 100]

A random positive definite A with eigenvalues spread evenly over the logarithms: the best residual
|Omega^2 - A| / |A| that the printed iteration reaches and after how many steps, that of the stable
form of Denman and Beavers, that by eigenvectors; then phi_0(hJ) u at h omega_max = 10 through the
printed iteration's root, asked for 1e-8, and by the eigenvectors of A (dense): errors against the
closed form.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.linalg
from common import table

from stiffly.errors import NotConverged
from stiffly.matfun import SecondOrderOperator, phi_action, square_root


def problem(n: int, condition: float, rng):
    Q = scipy.linalg.qr(rng.standard_normal((n, n)))[0]
    lam = np.logspace(-np.log10(condition), 0.0, n)
    A = (Q * lam) @ Q.T
    return 0.5 * (A + A.T), lam, Q


def relative_error(A, lam, Q, method: str, rng) -> str:
    n, h = len(A), 10.0
    u = rng.standard_normal(2 * n)
    w, (x, v) = np.sqrt(lam), (Q.T @ u[:n], Q.T @ u[n:])
    c, s = np.cos(h * w), np.sin(h * w)
    exact = np.concatenate([Q @ (c * x + s / w * v), Q @ (c * v - w * s * x)])
    try:
        value = phi_action(SecondOrderOperator(A), h, [u], 1e-8, method=method).value
    except NotConverged:
        return "refused"
    return f"{np.linalg.norm(value - exact) / np.linalg.norm(exact):.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100)
    n = parser.parse_args().size
    rng = np.random.default_rng(0)
    rows = []
    for power in range(1, 11):
        A, lam, Q = problem(n, 10.0**power, rng)
        roots = [square_root(A, name) for name in ("newton", "denman-beavers", "eigenvectors")]
        own = [f"{root.residual:.0e}" for root in roots]
        own.insert(1, str(roots[0].iterations))
        errors = [relative_error(A, lam, Q, method, rng) for method in ("root", "dense")]
        rows.append((f"1e{power}", *own, *errors))
    print(f"{n} x {n}")
    header = ("cond A", "newton", "steps", "denman-beavers", "eigenvectors", "root", "dense")
    print(table(header, rows))


if __name__ == "__main__":
    main()
