"""Actions of phi functions for any square real J, symmetric or not.

Convention of this file, for every time tau asked for (powers of tau OUTSIDE the vectors):

    w(tau) = sum_k tau^k phi_k(tau J) v_k,

the solution of w' = J w + sum_(k>0) t^(k-1)/(k-1)! v_k, w(0) = v_0.  All times come from one pass
of Arnoldi time-stepping on the augmented system [[J, B], [0, N]] (Niesen & Wright 2012;
Gaudreault, Rainwater & Tokman 2018); times inside a substep are read off its basis.

Two things keep it honest:
- J is balanced first, D^-1 J D with a diagonal D: on [[0, I], [-A, 0]] a raw Krylov basis mixes
  numbers that differ by omega^2 and loses its digits without a sign of it;
- the error estimate integrates the residual norm h_(m+1,m) |e_m^T exp(s H_m) e_1|.  It follows
  from the Arnoldi relation alone, so it also holds where the basis is not orthogonal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..contracts import Action, Array
from ..errors import NotConverged
from .augmented import Augmented, Scale, balance_of, checked, halvings, taylor_minus_one
from .spread import HERE, Here
from .tolerance import EPS
from .untyped import LinearOperator

MAX_BASIS = 96  # 97^3 < 10^6: above that OpenBLAS wakes threads for each small product
_SAFETY = 0.5  # share of the tolerance one pass plans to spend
_OVERLAP = 0.9  # |<v_new, v_early>| at which an incomplete basis counts as collapsed
_SUBSTEP = 30  # products that cost as much as the exponentials of one substep
_BASIS_MEMORY = 50_000_000  # numbers in a basis (400 MB)
_MOST = 20_000  # products


class _Basis:
    """The Arnoldi relation A V_m = V_(m+1) H of one substep, V row by row."""

    def __init__(self, system: Augmented, window: int | None) -> None:
        length, over = system.n + system.p, system.over
        self.rows = int(over.sums(np.array([system.n]))[0]) + system.p  # of all ranks
        most = int(over.largest(np.array([length]))[0])
        self.size = min(MAX_BASIS, self.rows, max(20, _BASIS_MEMORY // most))
        self.system, self.window = system, window
        self.V = np.empty((self.size + 1, length))
        self.H = np.zeros((self.size + 1, self.size + 1))

    def begin(self, z: Array) -> None:
        self.beta = self._norm(z)
        self.V[0] = z / (self.beta or 1.0)  # a state that has decayed to zero stays there
        self.H[:] = 0.0
        self.m, self.exact, self.collapsed = 0, False, False

    def _norm(self, z: Array) -> float:
        return self.system.over.norm(z, self.system.n)

    def _project(self, V: Array, z: Array) -> Array:
        return self.system.over.project(V, z, self.system.n)

    def extend(self) -> None:
        m, V = self.m, self.V
        u = self.system.product(V[m])
        before = self._norm(u)
        if not np.isfinite(before):
            raise NotConverged("phi functions: J b is not finite: check J, or take a smaller step")
        first = 0 if self.window is None else max(0, m + 1 - self.window)
        for _ in range(2):  # classical Gram-Schmidt, twice is enough
            c = self._project(V[first : m + 1], u)
            u -= c @ V[first : m + 1]
            self.H[first : m + 1, m] += c
        norm = self._norm(u)
        self.m = m + 1
        self.exact = norm <= 10.0 * EPS * before or (first == 0 and m + 1 == self.rows)
        self.H[m + 1, m] = 0.0 if self.exact else norm
        V[m + 1] = 0.0 if self.exact else u / norm
        if first > 0:
            overlaps = self._project(V[: min(first, 4)], V[m + 1])
            self.collapsed |= bool(np.abs(overlaps).max() > _OVERLAP)

    def coefficients(self, tau: float) -> tuple[Array, float, float]:
        """(y, error, rounding): w(tau) = V_(m+1)^T y and bounds on what it misses.

        The row of h_(m+1,m) stays in the exponent: that adds the first term of the error to the
        result (the corrected scheme), while the estimate remains that of the plain one.
        """
        m = self.m
        H = self.H[: m + 1, : m + 1].copy()
        H[:, m] = 0.0
        spread = tau * np.abs(H).max()
        octaves = max(3, halvings(tau * H))
        step = tau / 2.0**octaves
        powers = [taylor_minus_one(step * H) + np.eye(m + 1)]
        y: Any = self.beta * powers[0][:, 0]
        residual, largest, pace = step * abs(y[m - 1]), self.beta, 1.0
        length = np.sqrt(y @ y)
        with np.errstate(all="ignore"):
            # octave k runs from 2^k to 2^(k+1) steps: no early transient slips between samples
            for k in range(octaves):
                pieces = min(4, 2**k)
                for _ in range(pieces):
                    before, y = length, powers[max(0, k - 2)] @ y
                    residual += step * 2.0**k / pieces * abs(y[m - 1])
                    length = np.sqrt(y @ y)
                    pace = float(length / before)
                largest = max(largest, float(length))
                if k < octaves - 3:
                    powers.append(powers[-1] @ powers[-1])
            most, mean = _growth(powers, max(1.0, pace))
            error = residual * H[m, m - 1] * most
            rounding = EPS * largest * (2.0 + spread * mean)
        finite = np.isfinite(error + rounding)
        return y, float(error if finite else np.inf), float(rounding if finite else np.inf)

    def value(self, y: Array) -> Array:
        return y @ self.V[: self.m + 1, : self.system.n]


def _growth(powers: Sequence[Array], pace: float) -> tuple[float, float]:
    """How far exp(sJ), seen through exp(sH) at s = 2^k steps .. tau/8, outgrows the solution.

    What is lost at one time travels on under it.  (a bound, the mean over time for random
    rounding); pace: growth of the solution itself over the last tau/8.
    """
    times = 2.0 ** np.arange(1 - len(powers), 1)  # in units of tau/8
    excess = np.array([np.vdot(P, P) ** 0.5 for P in powers]) / pace**times
    shares = np.diff([*times, 8.0], prepend=0.0) / 8.0
    mean = shares @ np.array([1.0, *(excess / len(powers[0]) ** 0.5)])
    return max(1.0, float(excess.max())), float(mean)


class _March:
    """One march from 0 to the last tau that plans to spend `share` of the reference as error."""

    def __init__(self, basis: _Basis, scale: Scale, taus: Array, share: float, limit: int) -> None:
        self.basis, self.system, self.scale = basis, basis.system, scale
        self.taus, self.share, self.limit = taus, share, limit
        self.values: list[Array] = []
        self.errors: list[float] = []
        self.substeps = self.largest_basis = 0
        self._run()

    def _run(self) -> None:
        t, w, carried = 0.0, self.system.w0, np.zeros(len(self.scale.weights))
        while len(self.values) < len(self.taus):
            self.basis.begin(self.system.state(w, t))
            tau = self._grow(w, self.taus[-1] - t)
            self.substeps += 1
            if tau <= EPS * t:
                raise NotConverged(
                    f"phi functions: no progress at {t:.1e} of {self.taus[-1]:.1e}, the result "
                    "overflows: take a smaller step or check J"
                )
            self.largest_basis = max(self.largest_basis, self.basis.m)
            for inside in self.taus[len(self.values) :]:
                if inside - t > tau:
                    break
                value, error = self._evaluate(w, carried, inside - t)
                self.values.append(value * self.system.d)
                self.errors.append(float((error / self.scale.reference(value)).max()))
            if len(self.values) < len(self.taus):
                w, carried = self._evaluate(w, carried, tau)
                t += tau

    def _evaluate(self, w: Array, carried: Array, s: float) -> tuple[Array, Array]:
        """w after the time s, and its error: the one carried in is taken to grow as w does."""
        y, error, rounding = self.basis.coefficients(s)
        new = self.basis.value(y)
        before, after = self.scale.norms(w), self.scale.norms(new)
        growth = np.maximum(1.0, after / np.where(before > 0.0, before, np.inf))
        return new, carried * growth + (error + rounding) * self._direction()

    def _direction(self) -> Array:
        """Norm of the error's direction: it leaves along v_(m+1) and then turns with J."""
        last = self.basis.V[max(0, self.basis.m - 1) : self.basis.m + 1, : self.system.n]
        return np.max([self.scale.norms(v) for v in last], axis=0)

    def _grow(self, w: Array, remaining: float) -> float:
        """Grow the basis until it spans all that remains, or is full: then shorten the substep."""
        # phi_p reaches w after p products only: until then there is nothing to see in the basis
        basis, first, before = self.basis, max(4, self.system.p + 2), None
        check = first
        while True:
            if self.system.products + _SUBSTEP * self.substeps >= self.limit:
                raise out_of_products(self.limit)
            basis.extend()
            m, full = basis.m, basis.exact or basis.m == basis.size
            if m < check and not full and not basis.collapsed:
                continue
            excess = np.inf if basis.collapsed else self._excess(w, remaining)
            if basis.collapsed:  # incomplete orthogonalisation has failed: start the substep over
                basis.window, check, before = None, first, None
                basis.begin(basis.beta * basis.V[0])
                continue
            if excess <= 1.0:
                return remaining
            if full:
                return self._shorten(w, remaining)
            check = m + _next_check(m, excess, before)
            before = (m, excess)

    def _excess(self, w: Array, tau: float) -> float:
        """Error of a substep tau over what it is allowed; marks a basis that lost its digits."""
        y, error, rounding = self.basis.coefficients(tau)
        if not np.isfinite(error):
            return np.inf
        reference = np.maximum(self.scale.reference(w), self.scale.reference(self.basis.value(y)))
        allowed = max(self.share * tau / self.taus[-1], 4.0 * EPS) * reference
        direction = self._direction()
        if self.basis.window is not None and np.any(rounding * direction > allowed):
            self.basis.collapsed = True
        return float((error * direction / allowed).max())

    def _shorten(self, w: Array, bad: float) -> float:
        good, tau = 0.0, 0.5 * bad
        for _ in range(80):
            if self._excess(w, tau) <= 1.0:
                good = tau
            else:
                bad = tau
            if bad < 1.15 * good:
                return good
            tau = float(np.sqrt(good * bad)) if good else 0.5 * bad
        raise NotConverged(
            f"phi functions: no substep down to {tau:.1e} meets the tolerance, or the result is "
            "not finite: check J and the vectors, loosen tol or take a smaller step"
        )

    def actions(self, products: int, asked: int | None) -> list[Action]:
        """asked: the window the caller wanted."""
        kept = self.basis.window
        how = "full orthogonalisation" if kept is None else f"window of {kept}"
        why = f" (window of {asked} lost orthogonality)" if asked is not kept else ""
        text = f"arnoldi: {self.substeps} substep(s), basis of {self.largest_basis}, {how}{why}"
        pairs = zip(self.values, self.errors, strict=True)
        return [Action(w, error, products, text) for w, error in pairs]


def out_of_products(limit: int) -> NotConverged:
    return NotConverged(
        f"phi functions: {limit} products of J did not reach the last time: take a smaller step, "
        "loosen tol or raise max_products"
    )


def _next_check(m: int, excess: float, before: tuple[int, float] | None) -> int:
    """Vectors to add before looking again: a check costs m^3, so extrapolate where it converges."""
    furthest = max(3, m // 4)
    if before is None or not excess < before[1] < np.inf:
        return furthest
    rate = np.log(before[1] / excess) / (m - before[0])
    return int(min(max(0.6 * np.log(excess) / rate, 2.0), furthest))


def arnoldi_phi(
    apply: Callable[[Array], Array],
    n: int,
    taus: Sequence[float],
    vectors: Sequence[Array | None],
    *,
    tol: float,
    norm_scale: Array | None = None,
    balance: Array | None = None,
    window: int | None = None,
    max_products: int | None = None,
    over: Here = HERE,
) -> list[Action]:
    """w(tau) = sum_k tau^k phi_k(tau J) v_k at every tau (positive, increasing), from one pass.

    apply: b (n,) -> J b.  vectors: v_0 .. v_p, each (n,) or None for zero.
    tol: bound on the error relative to w(tau) in the 2-norm, plain and balanced; with norm_scale
    (n,) > 0: on the root mean square of error / norm_scale.  Met, or NotConverged is raised.
    balance: d of `balance_of`, from a few products when None.  window: orthogonalise against this
    many vectors only, against all where that fails.  Actions carry the products of the whole pass.
    over: where the rows are; ranks give `balance`, and n, vectors and d are of their own rows.
    """
    times, data = checked(n, taus, vectors, tol, over)
    if all(v is None for v in data):
        return [Action(np.zeros(n), 0.0, 0, "zero: every vector is zero") for _ in times]
    spent = 0
    if balance is None:
        balance, spent = balance_of(LinearOperator((n, n), matvec=apply, dtype=np.float64))
    system = Augmented(apply, balance, data, float(times[-1]), over)
    basis, scale = _Basis(system, window), Scale(balance, norm_scale, over)
    share, worst = _SAFETY * tol, np.inf
    for _ in range(3):
        march = _March(basis, scale, times, share, max_products or _MOST)
        worst = max(march.errors)
        if worst <= tol:
            return march.actions(spent + system.products, window)
        share *= _SAFETY * tol / worst  # the result is smaller than its history: ask for more
    raise NotConverged(
        f"phi functions: error {worst:.1e}, not {tol:.1e}, after {system.products} products, at "
        "the rounding of the data: loosen tol, take a smaller step or give norm_scale"
    )
