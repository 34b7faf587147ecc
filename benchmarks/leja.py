"""exp and phi_1 by interpolation at Leja points, and how that compares.

    python benchmarks/leja.py [--side 8]

The rival `expleja` of Luan & Michels (2018), written anew: exp(M) v for a real M whose eigenvalues
lie on the imaginary axis, by Newton's interpolation at conjugate Leja points of i [-c, c],

    p(M) v = d_0 v + sum_k (Re d_2k-1 + d_2k M) w_k,   w_1 = M v,   w_k+1 = (M^2 + y_k^2) w_k

with points 0, i y_1, -i y_1, i y_2, ... and real vectors throughout (Caliari, Kandolf, Ostermann,
Rainer, The Leja method revisited, 2016; conjugate pairs as in Tal-Ezer, 1989).  Divided differences
are the first column of exp of the bidiagonal matrix of the points (Opitz).  In so many substeps
that each has at most DEGREE products, until two pairs in a row add less than the tolerance.
phi_1 is read off the augmented matrix ((hJ, u), (0, 0)).

c is taken from phi_action's own bound of omega; positions are in units of 1/omega, as for phipm.
Products, the least processor time of three runs and relative errors: `expm_multiply` of SciPy has
no tolerance to be set, phipm_simul_iom2 an absolute one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import lattice_tangent, table
from scipy.linalg import expm
from scipy.sparse.linalg import expm_multiply

from stiffly.matfun import SecondOrderOperator, phi_action, phipm_simul_iom2
from stiffly.matfun.bounds import estimate

DEGREE = 100  # products of one substep at most
REACH = 60.0  # c of one substep at most: degrees up to c + 40 are enough for rounding level
GRID = 20_001  # points among which Leja points are looked for
ASKED = 1e-6


class Interpolated(NamedTuple):
    value: np.ndarray
    products: int


@cache
def leja_pairs(count: int) -> np.ndarray:
    """y_1, y_2, ... > 0: 0 and +-i y_k are Leja points of i [-2, 2], whose capacity is 1."""
    y = np.linspace(0.0, 2.0, GRID)
    with np.errstate(divide="ignore"):
        size = np.log(y)  # of the product of distances to all points so far
        found = []
        for _ in range(count):
            found.append(y[np.argmax(size)])
            size = size + np.log(np.abs(y**2 - found[-1] ** 2))
    return np.array(found)


@cache
def differences(scale: float, count: int) -> np.ndarray:
    """d_0, d_1, ...: of exp(scale xi) at 0 and `count` pairs."""
    y = leja_pairs(count)
    points = np.concatenate([[0.0], np.stack([1j * y, -1j * y], axis=1).ravel()])
    return expm(scale * (np.diag(points) + np.eye(points.size, k=-1)))[:, 0]


def exp_leja(M: Any, v: np.ndarray, radius: float, tolerance: float) -> Interpolated:
    """exp(M) v; radius: all eigenvalues of M lie in i [-radius, radius]; tolerance: relative."""
    substeps = max(1, ceil(radius / REACH))
    scale = 0.5 * radius / substeps  # M / substeps = scale xi, xi in i [-2, 2]
    d, y = differences(scale, DEGREE // 2), leja_pairs(DEGREE // 2)
    products = 0
    for _ in range(substeps):
        w = (M @ v) / (substeps * scale)
        p, small, products = d[0].real * v, 0, products + 1
        for k in range(len(y)):
            ahead = (M @ w) / (substeps * scale)
            added = d[2 * k + 1].real * w + d[2 * k + 2].real * ahead
            p, products = p + added, products + 1
            small = small + 1 if np.linalg.norm(added) <= tolerance * np.linalg.norm(p) else 0
            if small == 2:
                break
            w = (M @ ahead) / (substeps * scale) + y[k] ** 2 * w
            products += 1
        else:
            raise ArithmeticError(f"no {tolerance:.0e} with {DEGREE} products: a wider interval?")
        v = p
    return Interpolated(v, products)


def phi_leja(J: Any, h: float, u: np.ndarray, omega: float, tolerance: float) -> Interpolated:
    """phi_1(hJ) u: exp of the augmented matrix on its last unit vector."""
    n = u.size
    big = sp.bmat([[h * J, sp.csr_matrix(u[:, None])], [None, sp.csr_matrix((1, 1))]]).tocsr()
    start = np.zeros(n + 1)
    start[-1] = 1.0
    found = exp_leja(big, start, h * omega, tolerance)
    return Interpolated(found.value[:n], found.products)


def measured(call: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the least processor time of three [ms]."""
    seconds, value = [], None
    for _ in range(3):
        began = time.process_time()
        value = call()
        seconds.append(time.process_time() - began)
    return value, 1e3 * min(seconds)


def error(value: np.ndarray, exact: np.ndarray) -> float:
    halves = zip(np.split(value, 2), np.split(exact, 2), strict=True)
    return max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in halves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=8, help="particles along an edge")
    A = lattice_tangent(parser.parse_args().side)
    K, n = A.tosparse().tocsr(), A.size
    omega = float(np.sqrt(estimate(A, 60)[0].high))
    # positions in units of 1/omega
    J = sp.bmat([[None, omega * sp.identity(n)], [-K / omega, None]], format="csr")
    u = np.random.default_rng(3).standard_normal(2 * n)
    units = np.repeat([omega, 1.0], n)
    print(f"{2 * n} rows, {J.nnz} entries, omega_max {omega:.2f}/s, asked for {ASKED:g}")
    rows = []
    for phase in (10, 50, 200):
        h, given = phase / omega, u / units
        exact = units * phi_action(SecondOrderOperator(K), h, [None, given], 1e-9).value
        smallest = min(np.linalg.norm(half) for half in np.split(exact, 2))
        big = sp.bmat([[h * J, sp.csr_matrix(u[:, None])], [None, sp.csr_matrix((1, 1))]]).tocsr()
        last = np.eye(1, 2 * n + 1, 2 * n).ravel()
        calls = {
            "phi_action": lambda h=h, w=given: phi_action(
                SecondOrderOperator(K), h, [None, w], ASKED
            ),
            "Leja": lambda h=h: phi_leja(J, h, u, omega, ASKED),
            "phipm_simul_iom2": lambda h=h, s=smallest: phipm_simul_iom2(
                J, h, [None, u], ASKED * s
            ),
            "expm_multiply": lambda M=big, e=last: expm_multiply(M, e, traceA=0.0)[: 2 * n],
        }
        for name, call in calls.items():
            found, ms = measured(call)
            value = np.asarray(getattr(found, "value", found))
            value = value * units if name == "phi_action" else value
            products = getattr(found, "products", "")
            rows.append((phase, name, products, f"{ms:.1f}", f"{error(value, exact):.0e}"))
    print(table(("h omega_max", "", "products", "ms", "error"), rows))


if __name__ == "__main__":
    main()
