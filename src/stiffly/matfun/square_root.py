"""Omega = sqrt(A) of a positive definite A, and phi functions through it, as the papers have them.

Michels, Luan & Tokman 2017, Sec. 3.6.1, and Luan & Michels 2021, Sec. 4.1, change variables to
(Omega x, v), in which J = [[0, Omega], [-Omega, 0]] is skew-symmetric, and find Omega by

    Omega_0 = A,    Omega_(k+1) = (Omega_k + Omega_k^-1 A)/2,    Omega_k^-1 by Cholesky's factors.

In exact arithmetic that converges quadratically from anywhere.  With rounding it does not stay: an
error that does not commute with A grows by (sqrt(cond A) - 1)/2 from step to step (Higham 2008,
Sec. 6.4), so beyond a condition number of about 1e4 it turns away before it has arrived.  The form
of Denman & Beavers (1976), the same numbers with Omega_k^-1 A carried along, does stay.

Nothing else here needs a root of a matrix: this is for comparison (benchmarks/square_root.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import real_array
from ..backends.cpu import CPU
from ..backends.sums import norms
from ..contracts import Action, Array
from ..errors import InputError, NotConverged, unknown_name
from .general import DENSE_MOST, dense_phi
from .operators import BaseOperator
from .skew import PhiRequest
from .tolerance import require_finite
from .untyped import linalg

_MOST = 60  # iterations: halving alone brings |A| = 1e16 to its root in 27


class SquareRoot(NamedTuple):
    """value (n, n); residual |value^2 - A| / |A| (Frobenius); iterations it took; method."""

    value: Array
    residual: float
    iterations: int
    method: str


def _newton(A: Array) -> Iterator[Array]:
    """As printed."""
    omega = A.copy()
    while True:
        yield omega
        factor = linalg.cho_factor(0.5 * (omega + omega.T), check_finite=False)
        omega = 0.5 * (omega + linalg.cho_solve(factor, A, check_finite=False))


def _denman_beavers(A: Array) -> Iterator[Array]:
    """y -> sqrt(A), z -> its inverse."""
    y, z = A.copy(), np.eye(len(A))
    while True:
        yield y
        inverses = linalg.inv(z, check_finite=False), linalg.inv(y, check_finite=False)
        y, z = 0.5 * (y + inverses[0]), 0.5 * (z + inverses[1])


ITERATIONS: dict[str, Callable[[Array], Iterator[Array]]] = {
    "newton": _newton,
    "denman-beavers": _denman_beavers,
}
EIGENVECTORS = "eigenvectors"  # what the papers call the Schur decomposition: A is symmetric


def square_root(matrix: Any, method: str = "newton") -> SquareRoot:
    """The best iterate of the papers' Newton iteration, of its stable twin 'denman-beavers', or the
    root by 'eigenvectors', with the residual that tells how good it is.

    matrix (n, n): symmetric, positive definite.
    """
    A = real_array("the matrix", matrix)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.all(np.isfinite(A)):
        raise InputError(f"a square root needs a square array without NaN, got shape {A.shape}")
    if np.abs(A - A.T).max(initial=0.0) > 1e-12 * np.abs(A).max(initial=0.0):
        raise InputError("a square root needs a symmetric array: symmetrise it")
    if method not in ITERATIONS and method != EIGENVECTORS:
        raise unknown_name("root", method, [*ITERATIONS, EIGENVECTORS])
    lam, Q = linalg.eigh(A)
    if not lam.min(initial=np.inf) > 0.0:
        raise InputError(
            f"a square root needs positive eigenvalues, the least is {lam[0]:.1e}: hold the body, "
            "or use a method that needs no root"
        )
    if method == EIGENVECTORS:
        root = (Q * np.sqrt(lam)) @ Q.T
        return SquareRoot(root, _residual(root, A), 0, method)
    return _best(A, method)


def _residual(root: Array, A: Array) -> float:
    with np.errstate(all="ignore"):
        off, size = norms(CPU, (root @ root - A).ravel(), A.ravel())
    return off / size if np.isfinite(off) else np.inf


def _best(A: Array, method: str) -> SquareRoot:
    """The iterate with the least residual: those of an iteration that turns away grow again."""
    best = SquareRoot(A, np.inf, 0, method)
    iterates = ITERATIONS[method](A)
    for count in range(_MOST):
        try:
            root = next(iterates)
        except np.linalg.LinAlgError:  # no longer positive definite: it has turned away
            break
        residual = _residual(root, A)
        if residual < best.residual or count == 1:  # from there on they fall to the root
            best = SquareRoot(root, residual, count, method)
        elif residual > 10.0 * best.residual or count > best.iterations + 3:
            break
    return best


def rooted(
    A: BaseOperator,
    requests: Sequence[PhiRequest],
    vectors: Sequence[tuple[Array | None, Array | None]],
    *,
    tol: float,
) -> Action:
    """Rows as those of `phi_pairs`, by exponentials of the skew-symmetric J of the papers.

    The root is kept with A.  NotConverged where its residual exceeds tol.
    """
    root, weight = _root_of(A), A.lumped
    assert weight is not None  # else there is no root
    if root.residual > tol:
        raise NotConverged(
            f"the papers' iteration for sqrt(A) stops at a residual of {root.residual:.1e}, not "
            f"{tol:.1e}: A is too badly conditioned for it, use method='dense' or 'auto'"
        )
    omega, unit = root.value, np.sqrt(weight)
    factor = linalg.lu_factor(omega)
    zero = np.zeros_like(omega)
    J = np.block([[zero, omega], [-omega, zero]])
    inner = [_inner(omega, unit, pair) for pair in vectors]
    rows: list[Array] = []
    for request in requests:
        y, v = np.split(_combined(J, request, inner), 2)
        rows += [linalg.lu_solve(factor, y) / unit, v / unit][: len(request.parts)]
    require_finite(*rows)
    method = f"exponentials through sqrt(A), {root.iterations} Newton steps, residual "
    return Action(np.array(rows), root.residual, 0, f"{method}{root.residual:.0e}")


def _root_of(A: BaseOperator) -> SquareRoot:
    if "root" not in A.cache:
        if A.lumped is None or 2 * A.size > DENSE_MOST:
            raise InputError(
                f"method 'root' is for lumped masses and at most {DENSE_MOST // 2} coordinates, "
                f"this body has {A.size}: use method='dense' or 'auto'"
            )
        unit = np.sqrt(A.lumped)
        S = A.todense() / unit / unit[:, None]
        A.cache["root"] = square_root(0.5 * (S + S.T))
    return A.cache["root"]


def _inner(omega: Array, unit: Array, pair: tuple[Array | None, Array | None]) -> Array:
    """(Omega x, v) in coordinates where the mass is one."""
    p, q = (np.zeros_like(unit) if half is None else unit * half for half in pair)
    return np.concatenate([omega @ p, q])


def _combined(J: Array, request: PhiRequest, inner: list[Array]) -> Array:
    """sum of factor phi_k(tau J) vector; the evaluator multiplies v_k by tau^k."""
    tau = request.tau
    data = [np.zeros(len(J)) for _ in range(1 + max(k for k, _, _ in request.terms))]
    for k, weight, index in request.terms:
        data[k] += weight * inner[index] / (abs(tau) ** k if tau else factorial(k))
    if not tau:
        return np.sum(data, axis=0)
    even = np.ones(len(J))
    signed = J if tau > 0.0 else -J
    return dense_phi(signed, [abs(tau)], data, balance=even)[0].value
