"""The stages of a step at once or one by one: products with J and processor time.

    python benchmarks/simultaneous.py [--side 8]

c phi_1(c hJ) u at c = 1/3, 3/4, 1, the stages of pexprb43 and its Euler part, on a lattice of
springs: damped by every particle's own drag, so that J = [[0, I], [-A, -D]] needs Arnoldi's method,
and undamped, in the half-size form.  phi_action at 1e-6 with taus=, with all of a basis
orthogonalised or a window of 2, beside phipm_simul_iom2 as the papers use it, on J as it is and on
J with its position half in units of 1/omega.  Errors are relative, the larger of those of positions
and velocities; phipm's absolute tolerance is 1e-6 times the shorter of the two halves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import lattice_tangent, table

from stiffly.errors import NotConverged
from stiffly.matfun import SecondOrderOperator, phi_action, phipm_simul_iom2
from stiffly.matfun.bounds import estimate

TAUS = [1 / 3, 3 / 4, 1.0]
ASKED = 1e-6


def measured(call: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the least processor time of three [ms]."""
    seconds, value = [], None
    for _ in range(3):
        began = time.process_time()
        value = call()
        seconds.append(time.process_time() - began)
    return value, 1e3 * min(seconds)


def one_by_one(evaluate: Any, J: Any, h: float, u: Any, tol: float, **options: Any) -> Any:
    return [evaluate(J, tau * h, [None, tau * u], tol, **options) for tau in TAUS]


def error(rows: Any, exact: Any) -> float:
    halves = [np.split(np.asarray(r), 2, axis=1) for r in (rows, exact)]
    return max(
        float((np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)).max())
        for a, b in zip(*halves, strict=True)
    )


def compare(name: str, evaluate: Any, J: Any, h: float, u: Any, tol: float, exact: Any, **options):
    """A row of the table; exact: in the units of J."""
    together = partial(evaluate, J, h, [None, u], tol, taus=TAUS, **options)
    try:
        action, at_once = measured(together)
        actions, alone = measured(partial(one_by_one, evaluate, J, h, u, tol, **options))
    except NotConverged as failure:
        return name, str(failure)[:60], "", "", "", "", "", ""
    products = sum(a.products for a in actions)
    return (
        name,
        action.products,
        products,
        f"{products / action.products:.1f}x",
        f"{at_once:.0f}",
        f"{alone:.0f}",
        f"{alone / at_once:.1f}x",
        f"{error(action.value, exact):.0e}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=8, help="particles along an edge")
    A = lattice_tangent(parser.parse_args().side)
    K, n = A.tosparse().tocsr(), A.size
    omega = float(np.sqrt(estimate(A, 60)[0].high))
    rng = np.random.default_rng(3)
    drag = sp.diags(0.02 * omega * rng.uniform(0.0, 1.0, n))
    J = sp.bmat([[None, sp.identity(n)], [-K, -drag]], format="csr")
    units = np.repeat([omega, 1.0], n)
    even = sp.csr_matrix(sp.diags(units) @ J @ sp.diags(1.0 / units))
    u = np.concatenate([rng.standard_normal(n), omega * rng.standard_normal(n)])
    header = ("", "products", "one by one", "", "ms", "one by one", "", "error")
    print(f"{2 * n} rows, {J.nnz} entries, omega_max {omega:.0f}/s, tol {ASKED:g}")
    for phase in (10, 50, 200):
        h = phase / omega
        exact = phi_action(J, h, [None, u], 1e-10, taus=TAUS).value
        halves = np.linalg.norm(exact.reshape(len(TAUS), 2, n), axis=2)
        small, balanced = halves.min(), np.linalg.norm(exact * units, axis=1).min()
        rows = [
            compare("phi_action", phi_action, J, h, u, ASKED, exact),
            compare("phi_action, window=2", phi_action, J, h, u, ASKED, exact, window=2),
            compare("phipm_simul_iom2", phipm_simul_iom2, J, h, u, ASKED * small, exact),
            compare(
                "phipm_simul_iom2, balanced",
                *(phipm_simul_iom2, even, h, units * u, ASKED * balanced, exact * units),
            ),
        ]
        undamped = SecondOrderOperator(K)
        exact = phi_action(undamped, h, [None, u], 1e-10, taus=TAUS).value
        rows.append(compare("undamped, half size", phi_action, undamped, h, u, ASKED, exact))
        print(f"\nh omega_max = {phase}")
        print(table(header, rows))


if __name__ == "__main__":
    main()
