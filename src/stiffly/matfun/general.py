"""phi functions of any square real J: exponentials for small dense J, Arnoldi otherwise.

Convention as in `arnoldi`: w(tau) = sum_k tau^k phi_k(tau J) v_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Action, Array
from ..errors import InputError, NotConverged
from .arnoldi import arnoldi_phi, out_of_products
from .augmented import Augmented, Scale, balance_of, checked, exponential
from .cost import LEAST, SMALL, WORK, entry_cost
from .tolerance import EPS, Overflows
from .untyped import LinearOperator, sp

Vectors = Sequence[Array | None]

DENSE_MOST = 1000  # up to here they are what is left once n products were not enough: seconds
_ARNOLDI = 3e6  # half nanoseconds of a vector in a basis of 96, with its share of the exponentials
_SAFETY = 10.0  # how much coarser, or finer, a second opinion is


def dense_phi(
    J: Array,
    taus: Sequence[float],
    vectors: Vectors,
    *,
    norm_scale: Array | None = None,
    balance: Array | None = None,
    shift: float = 0.0,
) -> list[Action]:
    """The same sums for a small (n, n) array, from exponentials of the augmented matrix.

    Good to rounding; the error reported is that of exp(tau J) when a normal J is rounded,
    eps |tau J|.  shift: as in `exponential`.
    """
    n = J.shape[0]
    times, data = checked(n, taus, vectors, 1.0)
    d = balance_of(J)[0] if balance is None else balance
    scale, system = Scale(d, norm_scale), Augmented(J.__matmul__, d, data, float(times[-1]))
    M, z = system.matrix(J), system.state(system.w0, 0.0)
    actions: list[Action] = []
    before, whole = 0.0, M
    for tau in times:
        with np.errstate(all="ignore"):
            half = whole if tau == 2.0 * before else exponential(0.5 * tau * M, shift)
            whole = half @ half
            w = (half @ (half @ z))[:n]
            conditioning = 1.0 + 4.0 * tau * np.abs(M).sum(axis=0).max()
            error = float(EPS * conditioning * (scale.norms(w) / scale.reference(w)).max())
        if not np.isfinite(error):
            raise Overflows(
                f"phi functions: exp({tau:.1e} J) overflows: take a smaller step or check J"
            )
        before = tau
        actions.append(Action(w * d, error, 0, f"dense: n = {n}"))
    return actions


def _blurred(b: Array | None, d: Array, share: float, rng: np.random.Generator) -> Array | None:
    """b with every entry off by a share of itself, and of what is typical when balanced."""
    if b is None:
        return None
    size = np.abs(b) + d * np.sqrt(np.mean(np.square(b / d)))
    return b + share * size * rng.choice([-1.0, 1.0], len(b))


def _rounded_twice(
    J: Array, taus: Sequence[float], vectors: Vectors, norm_scale: Array | None, d: Array | None
) -> list[Action]:
    """As `dense_phi`, with the error that rounding makes in truth, J normal or far from it: the
    difference to results with J, the vectors, and all that follows, rounded in another way."""
    d = balance_of(J)[0] if d is None else d
    options: dict[str, Any] = {"norm_scale": norm_scale, "balance": d}
    actions = dense_phi(J, taus, vectors, **options)
    rng, worst = np.random.default_rng(len(J)), np.zeros(len(actions))
    scale = Scale(np.ones(len(J)), norm_scale)
    for shift in (0.3, -0.3):
        other = J * (1.0 + EPS * rng.choice([-1.0, 1.0], J.shape))
        data = [_blurred(v, d, EPS, rng) for v in vectors]
        for i, moved in enumerate(dense_phi(other, taus, data, shift=shift, **options)):
            value = actions[i].value
            gap = scale.norms(moved.value - value) / scale.reference(value)
            worst[i] = max(worst[i], _SAFETY * float(gap.max()))
    return [replace(a, error=float(e)) for a, e in zip(actions, worst, strict=True)]


def general_phi_actions(
    J: Any,
    taus: Sequence[float],
    vectors: Vectors,
    tol: float,
    *,
    norm_scale: Array | None = None,
    balance: Array | None = None,
    window: int | None = None,
    max_products: int | None = None,
    rounding: float = 0.0,
    twice: bool = False,
) -> list[Action]:
    """w(tau) = sum_k tau^k phi_k(tau J) v_k at every tau: dense for small J, else Arnoldi; dense
    again up to DENSE_MOST where as many products as J has rows are not enough.

    J: (n, n) array, SciPy sparse matrix or LinearOperator; the rest as in `arnoldi_phi`.
    rounding: error of a dense result that is accepted though it exceeds tol.
    twice: hold an Arnoldi result against a second one, see `_Asked.hold_against_another`.
    """
    operator, n = _checked_operator(J)
    most = max_products
    if most is None:
        most = max(LEAST, int(WORK / (_ARNOLDI + entry_cost(operator))))
    failure: NotConverged | None = None
    limit = min(most, n) if n <= DENSE_MOST else most
    if n > SMALL:
        try:
            spent = 0
            if balance is None:
                balance, spent = balance_of(operator)
            asked = _Asked(operator, taus, vectors, tol, limit, norm_scale, balance, window)
            actions = asked.arnoldi(spent)
            if twice:
                asked.hold_against_another(actions)
            return actions
        except NotConverged as problem:
            if n > DENSE_MOST:
                raise
            failure = problem
    spent = n if isinstance(operator, LinearOperator) else 0
    if spent > most:
        raise failure or out_of_products(most)
    actions = _rounded_twice(_entries(operator), taus, vectors, norm_scale, balance)
    worst = max(a.error for a in actions)
    if worst > max(tol, rounding):
        raise _spoiled(worst, tol)
    why = "small" if failure is None else f"after {limit} products"
    return [replace(a, products=spent, method=f"{a.method}, {why}") for a in actions]


def _checked_operator(J: Any) -> tuple[Any, int]:
    sparse, matrix_free = sp.issparse(J), isinstance(J, LinearOperator)
    operator: Any = J if matrix_free else sp.csr_matrix(J) if sparse else np.asarray(J)
    shape, n = operator.shape, operator.shape[0] if operator.ndim else 0
    if shape != (n, n) or np.dtype(operator.dtype).kind == "c":
        raise InputError(f"phi functions: J must be square and real, got {operator.dtype} {shape}")
    if not matrix_free and not np.isfinite(operator.data if sparse else operator).all():
        raise InputError("phi functions: J holds NaN or infinite entries: check the Jacobian")
    return operator, n


def _entries(operator: Any) -> Array:
    """J as an array, product by product where nothing else is known."""
    if sp.issparse(operator):
        return operator.toarray()
    if not isinstance(operator, LinearOperator):
        return operator
    columns = [operator.matvec(e) for e in np.eye(operator.shape[0])]
    J = np.array(columns, dtype=np.float64).T
    if not np.isfinite(J).all():
        raise NotConverged("phi functions: J b is not finite: check J, or take a smaller step")
    return J


class _Asked(NamedTuple):
    """What is asked of Arnoldi's method."""

    operator: Any
    taus: Sequence[float]
    vectors: Vectors
    tol: float
    limit: int
    norm_scale: Array | None
    balance: Array
    window: int | None

    def arnoldi(self, spent: int = 0) -> list[Action]:
        """spent: products that the balance has cost."""
        J, n = self.operator, self.operator.shape[0]
        matrix_free = isinstance(J, LinearOperator)
        actions = arnoldi_phi(
            J.matvec if matrix_free else J.__matmul__,
            n,
            self.taus,
            self.vectors,
            tol=self.tol,
            norm_scale=self.norm_scale,
            balance=self.balance,
            window=self.window,
            max_products=self.limit,
        )
        why = "products only" if matrix_free else f"n = {n} > {SMALL}"
        return [Action(a.value, a.error, a.products + spent, f"{a.method}; {why}") for a in actions]

    def hold_against_another(self, actions: list[Action]) -> None:
        """The same to a tenth of tol, from vectors off by a tenth of tol, with coarser products.

        A basis knows only what its vectors lead to.  What grows faster than the result, and is in
        what is left out or in rounding, is missed by its error estimate; here it is set going on
        purpose.
        """
        d, tol, shape = self.balance, self.tol, self.operator.shape
        rng = np.random.default_rng(d.size)

        def product(b: Array) -> Array | None:
            return _blurred(self.operator @ b, d, _SAFETY * EPS, rng)

        J = LinearOperator(shape, matvec=product, dtype=np.float64)
        share = max(tol / _SAFETY, _SAFETY * EPS)
        again = [_blurred(v, d, share, rng) for v in self.vectors]
        others = self._replace(operator=J, vectors=again, tol=tol / _SAFETY).arnoldi()
        scale = Scale(np.ones(d.size), self.norm_scale)
        for action, other in zip(actions, others, strict=True):
            gap = scale.norms(other.value - action.value) / scale.reference(action.value)
            if not gap.max() <= tol:
                raise _spoiled(float(gap.max()), tol)


def _spoiled(error: float, tol: float) -> NotConverged:
    return NotConverged(
        f"phi functions: rounding of J is an error of {error:.1e}, not {tol:.1e}: loosen tol, take "
        "a smaller step or give norm_scale"
    )
