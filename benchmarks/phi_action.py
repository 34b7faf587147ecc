"""phi_1(hJ) v on a 24,000-dof mass-spring lattice, against what SciPy offers.

    python benchmarks/phi_action.py [--side 20]

stiffly and funm_multiply_krylov are asked for a relative error of 1e-6 (expm_multiply has no such
setting); the error that each delivers, of positions and velocities each, is measured against a
Chebyshev sum at 1e-10 that is itself checked against Lanczos.  J = [[0, I], [-A, 0]]; expm_multiply
sees the usual augmented matrix, funm_multiply_krylov sees A and applies cos and sinc of its square
root, stiffly sees A: as its own operator, or as the CSR matrix that the others see, which it checks
and takes apart into blocks every time.  Processor milliseconds of one thread, the best of five by
turns.
"""

from __future__ import annotations

import argparse
import os
from functools import partial

os.environ["NUMBA_NUM_THREADS"] = "1"

import numpy as np
import scipy.sparse as sp
from common import by_turns, lattice_tangent, table
from scipy.sparse.linalg import expm_multiply, funm_multiply_krylov

from stiffly.matfun import SecondOrderOperator, phi_action
from stiffly.matfun.bounds import estimate
from stiffly.matfun.operators import BlockOperator

ASKED = 1e-6


def with_expm_multiply(A, h, p, q, phase):
    """phi_1(hJ)(p, q) is the upper part of exp([[hJ, (p, q)], [0, 0]]) e_last."""
    n = A.shape[0]
    J = sp.bmat([[None, sp.identity(n)], [-A, None]])
    column = sp.csr_matrix(np.concatenate([p, q])[:, None])
    big = sp.bmat([[h * J, column], [None, sp.csr_matrix((1, 1))]]).tocsr()
    start = np.zeros(2 * n + 1)
    start[-1] = 1.0
    return expm_multiply(big, start, traceA=0.0)[: 2 * n]


def with_funm_krylov(A, h, p, q, phase):
    """c_1 p + h c_2 q and -h A c_2 p + c_1 q, four actions of functions of A on two vectors."""

    def dense(function):
        def apply(T):
            lam, S = np.linalg.eigh(0.5 * (T + T.T))
            return (S * function(np.maximum(lam, 0.0))) @ S.T

        return apply

    def c1(lam):
        return np.sinc(h * np.sqrt(lam) / np.pi)

    def c2(lam):
        return 0.5 * np.sinc(0.5 * h * np.sqrt(lam) / np.pi) ** 2

    def call(function, b):
        return funm_multiply_krylov(
            dense(function),
            A,
            b,
            assume_a="her",
            rtol=ASKED,
            restart_every_m=int(0.6 * phase + 40),  # one long basis: its best setting here
            max_restarts=10,
        )

    x = call(c1, p) + h * call(c2, q)
    v = call(c1, q) - h * call(lambda lam: lam * c2(lam), p)
    return np.concatenate([x, v])


def error(value, exact):
    n = exact.size // 2
    parts = ((value[:n], exact[:n]), (value[n:], exact[n:]))
    return max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in parts)


def fresh(A: BlockOperator) -> SecondOrderOperator:
    """The same matrix without anything that earlier calls computed and kept."""
    copy = BlockOperator(A.indptr, A.indices, A.blocks, A.mass, low=A.low, pairwise=A.pairwise)
    return SecondOrderOperator(copy)


def compare(A: BlockOperator, omega: float, rng) -> None:
    n = A.size
    matrix = A.tosparse().tocsr()
    rows = []
    for phase in (10, 50, 200):
        h = phase / omega
        u = rng.standard_normal(2 * n)
        u[n:] *= omega
        p, q = u[:n].copy(), u[n:].copy()
        exact = phi_action(fresh(A), h, [None, u], 1e-10).value
        check = phi_action(fresh(A), h, [None, u], 1e-10, method="lanczos").value
        assert error(check, exact) < 1e-9
        ours = phi_action(fresh(A), h, [None, u], ASKED)
        calls = {"expm_multiply": with_expm_multiply, "funm": with_funm_krylov}
        known = [partial(call, matrix, h, p, q, phase) for call in calls.values()]
        errors = [error(job(), exact) for job in known]
        own = [
            lambda u=u, h=h: phi_action(fresh(A), h, [None, u], ASKED),
            lambda u=u, h=h: phi_action(SecondOrderOperator(matrix), h, [None, u], ASKED),
        ]
        mine, users, *seconds = by_turns([*own, *known], 5)
        peers = dict(zip(calls, zip(seconds, errors, strict=True), strict=True))
        allowed = 1.2 * (phase / 2 + 20)
        rows.append(
            (
                phase,
                f"{1e3 * mine:.1f}",
                f"{1e3 * users:.1f}",
                f"{error(ours.value, exact):.1e}",
                f"{ours.products / 2:.0f} ({allowed:.0f})",
                f"{1e3 * peers['expm_multiply'][0]:.0f}",
                f"{peers['expm_multiply'][1]:.1e}",
                f"{peers['expm_multiply'][0] / mine:.0f}x",
                f"{peers['expm_multiply'][0] / users:.0f}x",
                f"{1e3 * peers['funm'][0]:.0f}",
                f"{peers['funm'][1]:.1e}",
                f"{peers['funm'][0] / mine:.0f}x",
                ours.method,
            )
        )
    header = (
        "h omega_max",
        "stiffly ms",
        "from CSR ms",
        "error",
        "products per column (allowed)",
        "expm_multiply ms",
        "error",
        "ratio",
        "from CSR",
        "funm_multiply_krylov ms",
        "error",
        "ratio",
        "method",
    )
    print(table(header, rows))


def hard_cases(rng) -> None:
    """Asked for 1e-6: omega_max = 1e4, and a compressed lattice whose tangent is indefinite."""
    rows = []
    for name, A, factor in (
        ("omega_max 1e4", lattice_tangent(12), 1e4),
        ("compressed 10 %", lattice_tangent(12, squeeze=0.10), 1.0),
        ("compressed 30 %", lattice_tangent(12, squeeze=0.30), 1.0),
    ):
        top = np.sqrt(estimate(A, 60)[0].high)
        K = A.tosparse().tocsr() * (factor / top) ** 2
        omega = factor if factor != 1.0 else 1.0
        n = K.shape[0]
        lowest = np.linalg.eigvalsh(K.toarray())[0] if n <= 6000 else np.nan
        for phase in (10, 50, 200):
            u = rng.standard_normal(2 * n)
            u[n:] *= omega
            h = phase / omega
            exact = phi_action(SecondOrderOperator(K), h, [None, u], 1e-8, method="lanczos").value
            ours = phi_action(SecondOrderOperator(K), h, [None, u], ASKED)
            rows.append(
                (
                    name,
                    f"{lowest / omega**2:.3f}",
                    phase,
                    f"{error(ours.value, exact):.1e}",
                    f"{ours.products / 2:.0f}",
                    ours.method,
                )
            )
    print()
    header = ("case", "lam_min/lam_max", "h omega_max", "true error", "products/col", "method")
    print(table(header, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--side", type=int, default=20, help="particles along an edge (20: 24k dof)"
    )
    side = parser.parse_args().side
    rng = np.random.default_rng(1)
    A = lattice_tangent(side)
    omega = float(np.sqrt(estimate(A, 60)[0].high))
    print(f"{A.size} degrees of freedom, {9 * len(A.indices)} nonzeros, asked for {ASKED:g}")
    compare(A, omega, rng)
    hard_cases(rng)


if __name__ == "__main__":
    main()
