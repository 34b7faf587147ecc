"""phi functions of any square real J: exponentials for small dense J, Arnoldi otherwise.

Convention as in `arnoldi`: w(tau) = sum_k tau^k phi_k(tau J) v_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ..contracts import Action, Array
from ..errors import InputError, NotConverged
from .arnoldi import arnoldi_phi
from .augmented import Augmented, Scale, checked, exponential
from .balance import balance_of

DENSE_SIZE = 60  # up to here exponentials of the whole matrix cost less than a Krylov basis
_EPS = float(np.finfo(float).eps)


def dense_phi(
    J: Array,
    taus: Sequence[float],
    vectors: Sequence[Array | None],
    *,
    norm_scale: Array | None = None,
    balance: Array | None = None,
) -> list[Action]:
    """The same sums for a small (n, n) array, from exponentials of the augmented matrix.

    Good to rounding; the error reported is that of exp(tau J) when J is rounded: eps |tau J|.
    """
    n = J.shape[0]
    times, data = checked(n, taus, vectors, 1.0)
    d = balance_of(J)[0] if balance is None else balance
    scale, system = Scale(d, norm_scale), Augmented(J.__matmul__, d, data, float(times[-1]))
    M, z = system.matrix(J), system.state(system.w0, 0.0)
    before, whole, actions = 0.0, M, []
    for tau in times:
        with np.errstate(all="ignore"):
            half = whole if tau == 2.0 * before else exponential(0.5 * tau * M)
            whole = half @ half
            w = (half @ (half @ z))[:n]
            conditioning = 1.0 + 4.0 * tau * np.abs(M).sum(axis=0).max()
            error = float(_EPS * conditioning * (scale.norms(w) / scale.reference(w)).max())
        if not np.isfinite(error):
            raise NotConverged(
                f"phi functions: exp({tau:.1e} J) overflows: take a smaller step or check J"
            )
        before = tau
        actions.append(Action(w * d, error, 0, f"dense: n = {n} <= {DENSE_SIZE}"))
    return actions


def general_phi_actions(
    J: Any,
    taus: Sequence[float],
    vectors: Sequence[Array | None],
    tol: float,
    *,
    norm_scale: Array | None = None,
    balance: Array | None = None,
    window: int | None = None,
) -> list[Action]:
    """w(tau) = sum_k tau^k phi_k(tau J) v_k at every tau: dense for small arrays, else Arnoldi.

    J: (n, n) array, SciPy sparse matrix or LinearOperator; the rest as in `arnoldi_phi`.
    """
    sparse, matrix_free = sp.issparse(J), isinstance(J, LinearOperator)
    operator: Any = J if matrix_free else sp.csr_matrix(J) if sparse else np.asarray(J)
    shape, n = operator.shape, operator.shape[0] if operator.ndim else 0
    if shape != (n, n) or np.dtype(operator.dtype).kind == "c":
        raise InputError(f"phi functions: J must be square and real, got {operator.dtype} {shape}")
    if not matrix_free and not np.isfinite(operator.data if sparse else operator).all():
        raise InputError("phi functions: J holds NaN or infinite entries: check the Jacobian")
    options: dict[str, Any] = {"norm_scale": norm_scale, "balance": balance}
    if n <= DENSE_SIZE and not matrix_free:
        small = operator.toarray() if sparse else operator
        actions = dense_phi(small, taus, vectors, **options)
        worst = max(a.error for a in actions)
        if worst > tol:
            raise NotConverged(f"phi functions: rounding {worst:.1e} exceeds {tol:.1e}: loosen tol")
        return actions
    spent = 0
    if balance is None:
        options["balance"], spent = balance_of(operator)
    apply = operator.matvec if matrix_free else operator.__matmul__
    actions = arnoldi_phi(apply, n, taus, vectors, tol=tol, window=window, **options)
    why = "products only" if matrix_free else f"n = {n} > {DENSE_SIZE}"
    return [Action(a.value, a.error, a.products + spent, f"{a.method}; {why}") for a in actions]
