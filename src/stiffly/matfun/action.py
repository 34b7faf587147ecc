"""sum_k phi_k(hJ) v_k, to a tolerance: in half-size symmetric form whenever J allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import factorial, frexp, ldexp
from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import real_array, real_number
from ..backends.cpu import CPU
from ..contracts import Action, Array, Rayleigh
from ..errors import InputError
from .bounds import spectrum_sample
from .chooser import OTHER, evaluate, in_reach
from .cost import check_max_products, entries
from .general import general_phi_actions
from .operators import BaseOperator
from .scalar import K_MAX, PhiTerm, RayleighMap, StumpffMap, Term
from .skew import PhiRequest, skew
from .square_root import rooted
from .symmetric import as_symmetric
from .tolerance import (
    EPS,
    ROUNDING,
    check_tol,
    lost_to_rounding,
    relative_error,
    require_finite,
    rounding_errors,
)
from .untyped import LinearOperator, sp

RANGE = 1e-30, 1e30  # of |h|: times whose powers up to K_MAX are numbers
SKEW, ROOT = "skew", "root"  # ways beside the evaluators of chooser.py

Pair = tuple[Array | None, Array | None]  # (position part, velocity part), None for zero


class SecondOrderOperator:
    """J = [[0, I], [-A, -D]] for x'' + D x' + A x = 0, with A symmetric, D Rayleigh or None."""

    def __init__(self, A: Any, damping: Any = None, *, mass: Any = None) -> None:
        """A: array, SciPy sparse matrix, LinearOperator or operator; symmetric (checked).
        damping: Rayleigh or None."""
        if mass is not None and not all(hasattr(mass, m) for m in ("apply", "solve", "dots")):
            raise InputError(
                "mass must be a mass object: wrap it with stiffly.bodies.as_mass(m, n)"
            )
        if damping is not None and not isinstance(damping, Rayleigh):
            raise InputError(f"damping must be Rayleigh(alpha, beta) or None, got {damping!r}")
        self.A: BaseOperator = as_symmetric(A, mass)
        self.damping: Rayleigh | None = damping
        self.shape = (2 * self.A.size, 2 * self.A.size)

    def matvec(self, u: Array) -> Array:
        n = self.A.size
        x, v = u[:n], u[n:]
        a = -self.A.apply(x)
        if self.damping is not None:
            a -= self.damping.alpha * v + self.damping.beta * self.A.apply(v)
        return np.concatenate([v, a])


@lru_cache(maxsize=256)
def half_size_map(
    requests: tuple[PhiRequest, ...],
    present: tuple[tuple[bool, bool], ...],
    damping: Rayleigh | None,
) -> StumpffMap | RayleighMap:
    """The requests as scalar functions of A; present: which halves of each vector are nonzero."""
    column: dict[tuple[int, int], int] = {}
    for index, halves in enumerate(present):
        for half in (0, 1):
            if halves[half]:
                column[index, half] = len(column)
    entries: list[PhiTerm] = []
    row = 0
    for request in requests:
        for part in range(len(request.parts)):
            for k, factor, vector in request.terms:
                for source in (0, 1):
                    own = column.get((vector, source))
                    if own is not None:
                        entries.append(PhiTerm(row, own, k, request.tau, factor, part, source))
            row += 1
    if damping is not None:
        return RayleighMap(row, len(column), damping.alpha, damping.beta, tuple(entries))
    return StumpffMap(row, len(column), tuple(map(_stumpff_term, entries)))


def _stumpff_term(entry: PhiTerm) -> Term:
    """phi_k(tau J) = [[c_k, tau c_(k+1)], [-tau A c_(k+1), c_k]] at tau^2 A."""
    row, column, k, tau, factor = entry.row, entry.column, entry.k, entry.tau, entry.factor
    if entry.part == entry.source:
        return Term(row, column, k, tau, factor)
    if entry.part == 0:
        return Term(row, column, k + 1, tau, factor * tau)
    return Term(row, column, k + 1, tau, -factor * tau, power=1)


def phi_pairs(
    A: BaseOperator,
    damping: Rayleigh | None,
    requests: tuple[PhiRequest, ...],
    vectors: Sequence[Pair],
    *,
    tol: float,
    scale: Array | None = None,
    method: str = "auto",
    basis: int | None = None,
    max_products: int | None = None,
    strict: bool = False,
) -> Action:
    """Rows x_0, v_0, x_1, v_1, ... of the requests (v left out where parts = 'x').

    All requests share one basis per vector; scale (rows,) as in `matfun.tolerance`.
    strict: NotConverged where rounding of A spoils the tolerance, instead of saying so in `error`.
    """
    if method == SKEW:
        if damping is not None:
            raise InputError("skew Lanczos conserves energy and cannot damp: use method='auto'")
        return skew(A, requests, vectors, tol=tol, basis=basis)
    if method == ROOT:
        if damping is not None:
            raise InputError("method 'root' is for bodies without damping: use method='auto'")
        return rooted(A, requests, vectors, tol=tol)
    present = tuple((p is not None, q is not None) for p, q in vectors)
    columns = [half for pair in vectors for half in pair if half is not None]
    functions = half_size_map(requests, present, damping)
    action = evaluate(
        A, functions, columns, tol=tol, scale=scale, method=method, max_products=max_products
    )
    return _not_rounded_away(A, functions, columns, action, tol) if strict else action


def _not_rounded_away(
    A: BaseOperator, functions: Any, columns: list[Array], action: Action, tol: float
) -> Action:
    """The action with what rounding costs in its error, if that is within the tolerance."""
    norms = A.norms(*action.value, *columns)
    require_finite(norms)
    outputs, inputs = np.split(norms, [functions.n_out])
    errors, sums = rounding_errors(functions, spectrum_sample(A), inputs)
    allowed = tol * outputs + ROUNDING * sums
    error = relative_error(errors, allowed, tol)
    # a product is known to eps sqrt(entries of a row) |A|, and a recurrence of m of them to m^2
    # times as much (|U_m| <= m + 1 at the ends of the spectrum): mostly far less, so where that
    # is too much another evaluator is heard
    degree, row = action.products / len(columns), entries(A) / A.size
    if error <= tol < relative_error(2.0 * EPS * degree**2 * np.sqrt(row) * sums, allowed, tol):
        first = action.method.partition(",")[0]
        other = "dense" if in_reach(A) else OTHER.get(first, "chebyshev")
        again = evaluate(A, functions, columns, tol=tol, method=other)
        error = relative_error(A.norms(*(again.value - action.value)), allowed, tol)
    if not error <= tol:
        raise lost_to_rounding(error)
    return replace(action, error=max(error, min(action.error, tol)))


def _split(vector: Array | None, n: int) -> Pair:
    if vector is None:
        return None, None
    p, q = vector[:n], vector[n:]
    return (p if p.any() else None), (q if q.any() else None)


def check_vectors(vectors: Any, size: int) -> list[Array | None]:
    listed = any(issubclass(vectors.__class__, kind) for kind in (Sequence, np.ndarray))
    if isinstance(vectors, (str, bytes)) or not listed:
        raise InputError(
            f"vectors must be a list [v_0, v_1, ...], got {type(vectors).__name__}: "
            "for one vector v, give [v]"
        )
    if not 1 <= len(vectors) <= K_MAX:
        raise InputError(f"between 1 and {K_MAX} vectors v_0..v_p are needed, got {len(vectors)}")
    checked: list[Array | None] = []
    for k, v in enumerate(vectors):
        if v is None:
            checked.append(None)
            continue
        v = real_array(f"vector v_{k}", v)
        if v.shape != (size,):
            raise InputError(f"vector v_{k} has shape {v.shape}, J acts on ({size},)")
        if not np.all(np.isfinite(v)):
            raise InputError(f"vector v_{k} holds NaN or infinite entries: check the state")
        checked.append(v if v.any() else None)
    return checked


def check_taus(taus: Any) -> tuple[Array, Array]:
    """The times in order, each once, and where each that was asked for stands among them."""
    times = real_array("taus", taus)
    if times.ndim != 1 or not times.size or not np.all((times > 0.0) & np.isfinite(times)):
        raise InputError(
            f"taus must be a list of positive times, in parts of h, got {taus!r}: "
            "for instance taus=[1/3, 3/4, 1]"
        )
    return np.unique(times, return_inverse=True)


def check_window(window: Any) -> None:
    if not isinstance(window, Integral) or window < 1:
        raise InputError(f"window must be a positive number of vectors, got {window!r}: try 2")


def phi_action(
    J: Any,
    h: float,
    vectors: Sequence[Any],
    tol: float = 1e-6,
    *,
    taus: Sequence[float] | None = None,
    window: int | None = None,
    method: str = "auto",
    basis: int | None = None,
    max_products: int | None = None,
) -> Action:
    """sum_k phi_k(hJ) v_k for vectors [v_0, ..., v_p] (None stands for zero).

    taus: the same at several times of one flow, from one basis: `value` has a row

        u(tau) = sum_k tau^k phi_k(tau hJ) v_k,    u' = hJ u + v_1 + t v_2 + t^2/2 v_3 + ...

    for each of them, in the order given, every row to `tol`; u(1) is the sum above, and stages
    c phi_1(c hJ) v of exponential methods are u(c) of [None, v].

    J: a `SecondOrderOperator` (half-size symmetric form, position and velocity halves each to
    `tol` of their own norm, that of the mass, down to rounding of what is summed up: see
    matfun/tolerance.py), or any square array, SciPy sparse matrix or LinearOperator (the whole to
    `tol` of its norm).  NotConverged says why where this cannot be had: rounding of J itself, an
    overflow, or too many products.
    window: of a general J beyond 64 rows, orthogonalise a basis against its last so many vectors
    (incomplete orthogonalisation; 2 in the papers) instead of all, as long as that goes well: the
    promise is the same, `method` says where all were needed.  Second-order operators have
    recurrences of two vectors by themselves.
    method: auto, dense, batched, lanczos, chebyshev, skew, root (second order) or auto (general J);
    skew measures its error in the energy norm; root goes through sqrt(A) as the papers do, and its
    error is the residual of that.
    basis: with method='skew', use that many basis vectors (a fixed budget).
    max_products: of A or J with one vector; as many as take about ten seconds unless given.
    """
    h, tol = real_number("h", h), real_number("tol", tol, "try 1e-6")
    if not np.isfinite(h):
        raise InputError(f"h must be a finite number, got {h}: give the length of the step")
    check_tol(tol)
    operator: Any = J
    if isinstance(J, (list, tuple)):
        operator = real_array("J", J)
    if len(getattr(operator, "shape", ())) != 2:
        raise InputError(
            f"J must be a square array, sparse matrix or operator, got {type(operator).__name__}: "
            "wrap the symmetric A of a second-order system in SecondOrderOperator(A)"
        )
    named: Any = method
    if not isinstance(named, str):
        raise InputError(f"method must be a name, not {type(named).__name__}: leave it out")
    if basis is not None and (method != SKEW or basis < 1):
        raise InputError("basis= is a positive number of vectors and goes with method='skew'")
    check_max_products(max_products)
    times, places = check_taus([1.0] if taus is None else taus)
    CPU.announce()
    size = int(operator.shape[0])
    checked = check_vectors(vectors, size)
    if isinstance(operator, SecondOrderOperator):
        if window is not None:
            raise InputError(
                "window= is for a general J: a SecondOrderOperator has recurrences of two vectors, "
                "leave it out"
            )
        options: Any = {"method": method, "basis": basis, "max_products": max_products}
        action = _half_size(operator, h * times, times, checked, tol, options)
    else:
        if method != "auto":
            raise InputError(
                f"method {method} needs a SecondOrderOperator: wrap the symmetric A, or use auto"
            )
        if window is not None:
            check_window(window)
        action = _general(operator, h, times, checked, tol, max_products, window)
    return replace(action, value=action.value[0 if taus is None else places])


def _half_size(
    J: SecondOrderOperator,
    steps: Array,
    times: Array,
    vectors: list[Array | None],
    tol: float,
    options: Any,
) -> Action:
    """Rows u(tau), from one basis for all; steps: tau h."""
    present = [k for k, v in enumerate(vectors) if v is not None]
    if not present:
        return Action(np.zeros((times.size, J.shape[0])), 0.0, 0, "all vectors are zero")
    requests = tuple(
        PhiRequest(float(step), tuple((k, float(tau) ** k, k) for k in present))
        for step, tau in zip(steps, times, strict=True)
    )
    pairs = [_split(v, J.A.size) for v in vectors]
    action = phi_pairs(J.A, J.damping, requests, pairs, tol=tol, strict=True, **options)
    return replace(action, value=np.reshape(action.value, (times.size, J.shape[0])))


def _stored(J: Any) -> Array:
    return J.data if sp.issparse(J) else J


def _general(
    J: Any,
    h: float,
    times: Array,
    vectors: list[Array | None],
    tol: float,
    max_products: int | None,
    window: int | None,
) -> Action:
    """Rows u(tau).  The evaluator sums s^k phi_k(s J) v_k at s = tau |h|, so v_k is divided by
    |h|^k."""
    if h == 0.0:
        powers = [times[:, None] ** k / factorial(k) for k in range(len(vectors))]
        total = sum(p * v for p, v in zip(powers, vectors, strict=True) if v is not None)
        return Action(np.zeros((times.size, J.shape[0])) + total, 0.0, 0, "h = 0")
    size = abs(h)
    signed = J if h > 0.0 else -J
    if not RANGE[0] < size < RANGE[1]:  # its powers are no numbers: a power of two goes into J
        power = ldexp(1.0, frexp(size)[1] - 1)  # not above it, so that it is a number
        with np.errstate(over="ignore", under="ignore"):
            signed, size = signed * power, size / power
        if not isinstance(J, LinearOperator) and not np.isfinite(_stored(signed)).all():
            raise InputError(f"h J overflows at h = {h:g}: take a smaller h")
    scaled = [None if v is None else v / size**k for k, v in enumerate(vectors)]
    options: Any = {"max_products": max_products, "twice": True, "window": window}
    actions = general_phi_actions(signed, list(size * times), scaled, tol, **options)
    error = max(action.error for action in actions)
    return replace(actions[-1], value=np.array([a.value for a in actions]), error=error)
