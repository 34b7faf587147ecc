"""phipm_simul_iom2, the routine behind the papers' exponential methods, to be compared with.

    u(tau) = sum_k tau^k phi_k(tau M) v_k, M = hJ, solves u' = M u + v_1 + t v_2 + ..., u(0) = v_0

and a substep of it needs ONE matrix function (Luan & Michels 2021, Eqs. 4.2 to 4.5; Eq. 4.4 has its
last sum misprinted, Michels, Luan & Tokman 2017, Eq. 19, has it right):

    u(t + s) = s^p phi_p(s M) w_p + sum_(j<p) s^j/j! w_j
    w_0 = u(t),   w_j = M w_(j-1) + sum_l t^l/l! v_(j+l)    (no product where w_(j-1) = 0)

phi_p(s M) w_p comes from a Krylov basis of m vectors that are orthogonalised against the last two
only.  s and m follow from the error estimate, whichever change is cheaper (Niesen & Wright 2012;
with incomplete orthogonalisation Gaudreault & Pudykiewicz 2016); substeps end at every tau asked
for (Luan, Pudykiewicz & Reynolds 2019).  What the papers print of it is followed; how s and m are
controlled they cite.

It promises nothing: its tolerance is absolute, and a vector shorter than it ends a basis.  On
[[0, I], [-A, 0]] with frequencies of 1e4, displaced, that is the first one, and the result is off
by a factor of a hundred (tests/test_phipm.py).  `phi_action` keeps its tolerance or says why not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, factorial, floor, log, log2
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..backends.cpu import CPU
from ..backends.sums import norms
from ..contracts import Action, Array
from ..errors import InputError, NotConverged
from .action import check_taus, check_vectors, check_window
from .arnoldi import out_of_products
from .augmented import exponential
from .cost import CALL, LEAST, WORK, check_max_products, entries, entry_cost

# as in the routine: share of the tolerance aimed at, excess that is accepted, longest basis
_AIM, _ACCEPTED, _LONGEST = 0.8, 1.4, 100


class _Flow:
    """u' = M u + v_1 + t v_2 + t^2/2 v_3 + ...; counts its products."""

    def __init__(self, apply: Callable[[Array], Array], vectors: list[Array | None], limit: int):
        size = next(v.size for v in vectors if v is not None)
        data = [np.zeros(size) if v is None else v for v in vectors]
        self.vectors = data if len(data) > 1 else [*data, np.zeros(size)]
        self.apply, self.p, self.limit, self.products = apply, len(self.vectors) - 1, limit, 0

    def product(self, b: Array) -> Array:
        if self.products == self.limit:
            raise out_of_products(self.limit)
        self.products += 1
        return self.apply(b)

    def derivatives(self, t: float, u: Array) -> list[Array]:
        """w_0 .. w_p."""
        w = [u]
        for j in range(1, self.p + 1):
            load = sum(t**i / factorial(i) * v for i, v in enumerate(self.vectors[j:]))
            w.append(self.product(w[-1]) + load if w[-1].any() else np.zeros_like(u) + load)
        return w


class _Basis:
    """M V = V H + h v_(m+1) e_m^T, each vector orthogonal to the `window` before it."""

    def __init__(self, flow: _Flow, window: int, start: Array) -> None:
        (self.beta,) = norms(CPU, start)
        self.flow, self.window, self.happy = flow, window, False
        self.V = [start / (self.beta or 1.0)]
        self.H = np.zeros((_LONGEST + 1, _LONGEST + 1))
        self.m = 0

    def grow(self, m: int, tol: float) -> None:
        while self.m < m and not self.happy:
            b = self.flow.product(self.V[-1])
            for i in range(max(0, self.m + 1 - self.window), self.m + 1):
                (self.H[i, self.m],) = CPU.dots([(self.V[i], b)])
                b = b - self.H[i, self.m] * self.V[i]
            (norm,) = norms(CPU, b)
            if not np.isfinite(norm):
                raise _not_finite()
            self.m += 1
            self.happy = norm < tol
            self.H[self.m, self.m - 1] = norm
            self.V.append(b / norm if norm > 0.0 else b)

    def powers(self, s: float) -> tuple[Array, Array, float]:
        """s^p phi_p(s H) e_1 and s^(p+1) phi_(p+1)(s H) e_1 (m,), and log2 |s H|."""
        m, p = self.m, self.flow.p
        big = np.zeros((m + p + 1, m + p + 1))
        big[:m, :m] = self.H[:m, :m]
        big[0, m] = 1.0
        big[m:, m:] = np.eye(p + 1, k=1)
        with np.errstate(all="ignore"):
            F = exponential(s * big)
        size = float(np.abs(s * big).sum(axis=0).max())
        return F[:m, m + p - 1], F[:m, m + p], max(log2(size), 0.0)

    @property
    def last(self) -> float:
        return float(self.H[self.m, self.m - 1])


class _Try(NamedTuple):
    """A substep s with m vectors, and its error per unit of time over what is allowed."""

    s: float
    m: int
    excess: float


@dataclass
class _Control:
    """Substep and basis of the next try: the cheaper of a shorter step and a longer basis."""

    s: float
    m: int
    order: float = 1.0
    rate: float = 2.0
    before: _Try | None = None  # the try that was rejected just now
    guessed: bool = True  # order and rate are defaults

    def update(self, now: _Try, happy: bool, remaining: float, price: Any, hard: float) -> None:
        """price(m): of a substep; hard: log2 of |s H|, which makes exponentials dear."""
        self._estimate(now)
        s, m = now.s, now.m
        if not happy:
            ratio = max(now.excess / _AIM, 1e-300)
            shorter = now.s * ratio ** (-1.0 / self.order)
            longer = max(1, ceil(now.m + log(ratio) / log(self.rate)))
            steps, changed = ceil(remaining / now.s), ceil(min(remaining / shorter, 1e15))
            full = now.m == _LONGEST and now.excess > _ACCEPTED
            if full or price(now.m, hard) * changed < price(longer, hard) * steps:
                s = shorter
            else:
                m = longer
        self.s = max(now.s / 5.0, min(2.0 * now.s, s))
        self.m = max(1, min(_LONGEST, max(floor(0.75 * now.m), min(m, ceil(now.m * 4.0 / 3.0)))))
        self.before = now if now.excess > _ACCEPTED else None

    def _estimate(self, now: _Try) -> None:
        """Order in s and rate of convergence in m, from two tries of one substep."""
        before, first = self.before, self.guessed or self.before is None
        comparable = before is not None and now.excess > 0.0 and before.excess > 0.0
        self.guessed = True
        if comparable and before is not None and now.m == before.m and now.s != before.s:
            self.order = max(1.0, log(now.excess / before.excess) / log(now.s / before.s))
            self.guessed = False
        elif first:
            self.order = now.m / 4.0
        if comparable and before is not None and now.m != before.m and now.s == before.s:
            growth = (now.excess / before.excess) ** (1.0 / (before.m - now.m))
            self.rate, self.guessed = max(1.1, growth), False
        elif first:
            self.rate = 2.0


class _March:
    def __init__(self, flow: _Flow, window: int, tol: float, control: _Control, price: Any):
        self.flow, self.window, self.tol = flow, window, tol
        self.control, self.price = control, price
        self.t, self.u, self.error = 0.0, flow.vectors[0], 0.0
        self.substeps, self.rejected, self.longest = 0, 0, 0

    def to(self, end: float) -> Array:
        """u(end), by substeps that end there."""
        while self.t < end:
            w = self.flow.derivatives(self.t, self.u)
            basis = _Basis(self.flow, self.window, w[-1])
            s, values, error = self._substep(basis, end)
            known: Array = np.sum([s**j / factorial(j) * p for j, p in enumerate(w[:-1])], axis=0)
            self.u = known + values @ np.array(basis.V[: values.size]) if basis.beta else known
            self.error += error
            self.substeps += 1
            self.longest = max(self.longest, basis.m)
            self.t = end if s >= end - self.t else self.t + s
        return self.u

    def _substep(self, basis: _Basis, end: float) -> tuple[float, Array, float]:
        """Length, coefficients in the basis (with the first term of what it misses), error."""
        control, remaining = self.control, end - self.t
        if basis.beta == 0.0:
            return remaining, np.zeros(0), 0.0
        while True:
            basis.grow(control.m, self.tol)
            s = remaining if basis.happy else min(control.s, remaining)
            value, correction, hard = basis.powers(s)
            missed = basis.beta * basis.last * correction[-1]
            if not np.isfinite(missed):
                raise _not_finite()
            excess = 0.0 if basis.happy else end * abs(float(missed)) / (s * self.tol)
            tried = _Try(s, basis.m, excess)
            control.update(tried, basis.happy, remaining, self.price, hard)
            if excess <= _ACCEPTED:
                return s, np.append(basis.beta * value, missed), abs(float(missed))
            self.rejected += 1


def _not_finite() -> NotConverged:
    return NotConverged(
        "phi functions: phipm_simul_iom2 left the floating-point numbers: take a smaller step, or "
        "phi_action, which balances J"
    )


def phipm_simul_iom2(
    J: Any,
    h: float,
    vectors: Sequence[Any],
    tol: float = 1e-6,
    *,
    taus: Sequence[float] | None = None,
    window: int = 2,
    basis: int = 10,
    max_products: int | None = None,
) -> Action:
    """The sums of `phi_action` (same J, h, vectors, taus), by the routine that the papers use.

    tol: absolute, of what its estimate believes of all substeps together.  window: vectors that a
    new one is orthogonalised against.  basis: vectors to begin with.  Use `phi_action` for results:
    this one is here to be compared with, and may be wrong (see the head of its file).
    """
    if not isinstance(tol, Real) or not isinstance(h, Real) or not np.isfinite(h) or not tol > 0.0:
        raise InputError(f"h must be finite and tol positive, got h = {h!r}, tol = {tol!r}")
    if len(getattr(J, "shape", ())) != 2 or J.shape[0] != J.shape[1]:
        raise InputError("J must be a square array, sparse matrix or operator")
    if not 1 <= basis <= _LONGEST:
        raise InputError(f"basis must be 1 to {_LONGEST} vectors to begin with, got {basis}")
    check_window(window)
    check_max_products(max_products)
    times, places = check_taus([1.0] if taus is None else taus)
    size = int(J.shape[0])
    checked = check_vectors(vectors, size)
    if all(v is None for v in checked):
        value = np.zeros((times.size, size))
        return Action(value[0 if taus is None else places], 0.0, 0, "all vectors are zero")
    product = J.matvec if hasattr(J, "matvec") else J.__matmul__
    limit = max_products or max(LEAST, int(WORK / (CALL + entry_cost(J))))
    flow = _Flow(lambda b: h * product(b), checked, limit)
    count = entries(J)

    def price(m: int, hard: float) -> float:
        p = flow.p + 1
        return (m + p) * (count + 3 * size) + (5.0 + hard) * (m + p - 1) ** 3

    march = _March(flow, window, float(tol), _Control(float(times[0]), basis), price)
    rows = np.array([march.to(float(tau)) for tau in times])
    method = (
        f"phipm_simul_iom2: {march.substeps} substep(s), {march.rejected} rejected, basis of "
        f"{march.longest}, window of {window}"
    )
    return Action(rows[0 if taus is None else places], march.error, flow.products, method)
