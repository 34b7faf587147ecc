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
from math import factorial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from stiffly.contracts import Action, Array
from stiffly.errors import InputError, NotConverged

DENSE_SIZE = 60  # up to here exponentials of the whole matrix cost less than a Krylov basis
MAX_BASIS = 96  # 97^3 < 10^6: above that OpenBLAS wakes threads for each small product
_EPS = float(np.finfo(float).eps)
_SAFETY = 0.5  # share of the tolerance one pass plans to spend
_OVERLAP = 0.9  # |<v_new, v_early>| at which an incomplete basis counts as collapsed
_BASIS_MEMORY = 50_000_000  # numbers in a basis (400 MB)


def balance_of(J: Any) -> tuple[Array, int]:
    """(d, products): d > 0 evens out rows and columns of D^-1 J D, at that many products of J.

    Osborne's iteration on all coordinates at once (hence the damped exponent): with the entries
    of J where there are any, with random vectors where only products are known (Chen & Demmel
    2000).  Powers of four: scaling is exact, and noisy estimates of one number mostly agree.
    """
    n, products = J.shape[0], 0
    d = np.ones(n)
    if isinstance(J, LinearOperator):
        probes = np.random.default_rng(20).standard_normal((2, 3, n))
        products = _balance_by_products(J, probes, d)
    else:
        size = abs(J)
        size = size - (sp.diags(size.diagonal()) if sp.issparse(J) else np.diag(size.diagonal()))
        transposed = size.T.tocsr() if sp.issparse(J) else size.T
        for _ in range(12):
            if _even_out(d, (size @ d) / d, (transposed @ (1.0 / d)) * d, 0.25):
                break
    return np.exp2(2.0 * np.rint(0.5 * np.log2(d))), products


def _balance_by_products(J: LinearOperator, probes: Array, d: Array) -> int:
    """Without J^T only rows can be evened out; kept only where that makes J clearly smaller."""
    count, norms, two_sided = 0, [], True
    for batch in probes:
        rows = _rms([J.matvec(d * z) / d for z in batch])
        norms.append(float(np.linalg.norm(rows)))
        count += len(batch)
        try:
            columns = _rms([J.rmatvec(z / d) * d for z in batch]) if two_sided else None
        except (NotImplementedError, TypeError, AttributeError):
            two_sided, columns = False, None
        if columns is not None:
            count += len(batch)
            _even_out(d, rows, columns, 0.25)
        elif len(norms) < len(probes) and rows.any():
            middle = np.exp(np.log(rows[rows > 0.0]).mean())
            _even_out(d, rows, np.full_like(rows, middle), 0.5)
    if not two_sided and not norms[-1] < 0.5 * norms[0]:
        d[:] = 1.0
    return count


def _rms(vectors: list[Array]) -> Array:
    return np.sqrt(np.mean(np.square(vectors), axis=0))


def _even_out(d: Array, rows: Array, columns: Array, power: float) -> bool:
    """Move d one step; True where that hardly changed it."""
    alive = (rows > 0.0) & (columns > 0.0)
    ratio = rows[alive] / columns[alive]
    d[alive] *= ratio**power
    return bool(np.all((ratio > 0.5) & (ratio < 2.0)))


class _Augmented:
    """z = (w, q), q_i = eta (t/T)^i / i!:  w' = D^-1 J D w + B q,  q_i' = q_(i-1) / T."""

    def __init__(self, apply: Callable, d: Array, vectors: list[Array | None], T: float) -> None:
        n = d.size
        self.apply, self.d, self.n, self.p, self.T = apply, d, n, len(vectors) - 1, T
        self.products = 0
        columns = [np.zeros(n) if v is None else v / d for v in vectors]
        self.w0 = columns[0]
        B = np.array([b * T**k for k, b in enumerate(columns[1:])]).reshape(self.p, n)
        largest = T * float(np.linalg.norm(B, axis=1).max(initial=0.0))
        self.eta = 2.0 ** np.ceil(np.log2(largest)) if largest > 0.0 else 1.0
        self.B = B / self.eta

    def state(self, w: Array, t: float) -> Array:
        q = [self.eta * (t / self.T) ** i / factorial(i) for i in range(self.p)]
        return np.concatenate([w, q])

    def product(self, z: Array) -> Array:
        n, out = self.n, np.zeros_like(z)
        if z[:n].any():  # a zero vector costs no product (Luan et al. 2019)
            self.products += 1
            out[:n] = self.apply(self.d * z[:n]) / self.d
        if self.p:
            out[:n] += z[n:] @ self.B
            out[n + 1 :] = z[n:-1] / self.T
        return out

    def matrix(self, J: Array) -> Array:
        n, p = self.n, self.p
        M = np.zeros((n + p, n + p))
        M[:n, :n] = J * self.d / self.d[:, None]
        M[:n, n:] = self.B.T
        M[n + 1 :, n:-1] = np.eye(max(p - 1, 0)) / self.T
        return M


class _Scale:
    """In which norms, and against what, an error counts.

    Default: relative to w, in the balanced AND in the plain 2-norm, so that positions cannot
    hide behind velocities nor the other way round.  With norm_scale s: root mean square of e / s.
    """

    def __init__(self, d: Array, norm_scale: Array | None) -> None:
        self.relative = norm_scale is None
        if norm_scale is not None:
            self.weights = (d / norm_scale / np.sqrt(d.size))[None]
        else:
            self.weights = np.stack([np.ones(d.size), d][: 1 if np.ptp(d) == 0.0 else 2])

    def norms(self, w: Array) -> Array:
        return np.sqrt(np.square(self.weights * w).sum(axis=1))

    def reference(self, w: Array) -> Array:
        return np.maximum(self.norms(w), 1e-300) if self.relative else np.ones(1)


def _halvings(A: Array) -> int:
    """Halvings that bring |A|_1 below 1/2, where the Taylor sum of degree 16 is exact."""
    norm = float(np.abs(A).sum(axis=0).max())
    return max(0, int(np.ceil(np.log2(norm))) + 1) if 0.5 < norm < np.inf else 0


def _taylor(A: Array) -> Array:
    """exp(A) - 1 for |A|_1 <= 1/2 in six products (Paterson & Stockmeyer 1973).

    Products alone, because scipy.linalg.expm factorises: on a busy machine the threads behind
    that took 16 ms for a 10 x 10 matrix that costs 0.02 ms on an idle one.
    """
    A2 = A @ A
    A3, A4, one = A2 @ A, A2 @ A2, np.eye(len(A))
    total = A4 / factorial(16)
    for k in (12, 8, 4, 0):
        block = A / factorial(k + 1) + A2 / factorial(k + 2) + A3 / factorial(k + 3)
        total = block + (one / factorial(k) if k else 0.0) + (total @ A4 if k < 12 else total)
    return total


def _exponential(A: Array) -> Array:
    """Doubling exp - 1, not squaring exp: slow modes beside stiff ones keep their digits."""
    halvings = _halvings(A)
    X = _taylor(A / 2.0**halvings)
    for _ in range(halvings):
        X = 2.0 * X + X @ X
    return X + np.eye(len(A))


class _Basis:
    """The Arnoldi relation A V_m = V_(m+1) H of one substep, V row by row."""

    def __init__(self, system: _Augmented, size: int, window: int | None) -> None:
        length = system.n + system.p
        self.size = min(size, length, max(20, _BASIS_MEMORY // length))
        self.system, self.window = system, window
        self.V = np.empty((self.size + 1, length))
        self.H = np.zeros((self.size + 1, self.size + 1))

    def begin(self, z: Array) -> None:
        self.beta = float(np.linalg.norm(z))
        self.V[0] = z / (self.beta or 1.0)  # a state that has decayed to zero stays there
        self.H[:] = 0.0
        self.m, self.exact, self.collapsed = 0, False, False

    def extend(self) -> None:
        m, V = self.m, self.V
        u = self.system.product(V[m])
        before = float(np.linalg.norm(u))
        if not np.isfinite(before):
            raise NotConverged("phi functions: J b is not finite: check J, or take a smaller step")
        first = 0 if self.window is None else max(0, m + 1 - self.window)
        for _ in range(2):  # classical Gram-Schmidt, twice is enough
            c = V[first : m + 1] @ u
            u -= c @ V[first : m + 1]
            self.H[first : m + 1, m] += c
        norm = float(np.linalg.norm(u))
        self.m = m + 1
        self.exact = norm <= 10.0 * _EPS * before or (first == 0 and m + 1 == V.shape[1])
        self.H[m + 1, m] = 0.0 if self.exact else norm
        V[m + 1] = 0.0 if self.exact else u / norm
        if first > 0:
            self.collapsed |= bool(np.abs(V[: min(first, 4)] @ V[m + 1]).max() > _OVERLAP)

    def coefficients(self, tau: float) -> tuple[Array, float, float]:
        """(y, error, rounding): w(tau) = V_(m+1)^T y and bounds on what it misses.

        The row of h_(m+1,m) stays in the exponent: that adds the first term of the error to the
        result (the corrected scheme), while the estimate remains that of the plain one.
        """
        m = self.m
        H = self.H[: m + 1, : m + 1].copy()
        H[:, m] = 0.0
        spread = tau * np.abs(H).max()
        octaves = max(3, _halvings(tau * H))
        step = tau / 2.0**octaves
        powers = [_taylor(step * H) + np.eye(m + 1)]
        y: Any = self.beta * powers[0][:, 0]
        residual, largest, pace = step * abs(y[m - 1]), self.beta, 1.0
        with np.errstate(all="ignore"):
            # octave k runs from 2^k to 2^(k+1) steps: no early transient slips between samples
            for k in range(octaves):
                pieces = min(4, 2**k)
                for _ in range(pieces):
                    before, y = y, powers[max(0, k - 2)] @ y
                    residual += step * 2.0**k / pieces * abs(y[m - 1])
                    pace = float(np.linalg.norm(y) / np.linalg.norm(before))
                largest = max(largest, float(np.linalg.norm(y)))
                if k < octaves - 3:
                    powers.append(powers[-1] @ powers[-1])
            most, mean = _growth(powers, max(1.0, pace))
            error = residual * H[m, m - 1] * most
            rounding = _EPS * largest * (2.0 + spread * mean)
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

    def __init__(self, basis: _Basis, scale: _Scale, taus: Array, share: float, limit: int) -> None:
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
        basis, check, before = self.basis, 4, None
        while True:
            if self.system.products >= self.limit:
                raise NotConverged(
                    f"phi functions: {self.limit} products of J did not reach the last time: take "
                    "a smaller step, loosen tol or raise max_products"
                )
            basis.extend()
            m, full = basis.m, basis.exact or basis.m == basis.size
            if m < check and not full and not basis.collapsed:
                continue
            excess = np.inf if basis.collapsed else self._excess(w, remaining)
            if basis.collapsed:  # incomplete orthogonalisation has failed: start the substep over
                basis.window, check, before = None, 4, None
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
        allowed = max(self.share * tau / self.taus[-1], 4.0 * _EPS) * reference
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
    max_basis: int = MAX_BASIS,
    window: int | None = None,
    max_products: int = 20_000,
) -> list[Action]:
    """w(tau) = sum_k tau^k phi_k(tau J) v_k at every tau (positive, increasing), from one pass.

    apply: b (n,) -> J b.  vectors: v_0 .. v_p, each (n,) or None for zero.
    tol: bound on the error relative to w(tau) in the 2-norm, plain and balanced; with norm_scale
    (n,) > 0: on the root mean square of error / norm_scale.  Met, or NotConverged is raised.
    balance: d of `balance_of`, from a few products when None.  window: orthogonalise against this
    many vectors only, against all where that fails.  Actions carry the products of the whole pass.
    """
    times, data = _checked(n, taus, vectors, tol)
    if all(v is None for v in data):
        return [Action(np.zeros(n), 0.0, 0, "zero: every vector is zero") for _ in times]
    balance, spent = balance_of(_operator(apply, n)) if balance is None else (balance, 0)
    system = _Augmented(apply, balance, data, float(times[-1]))
    basis, scale = _Basis(system, max_basis, window), _Scale(balance, norm_scale)
    share, worst = _SAFETY * tol, np.inf
    for _ in range(3):
        march = _March(basis, scale, times, share, max_products)
        worst = max(march.errors)
        if worst <= tol:
            return march.actions(spent + system.products, window)
        share *= _SAFETY * tol / worst  # the result is smaller than its history: ask for more
    raise NotConverged(
        f"phi functions: error {worst:.1e}, not {tol:.1e}, after {system.products} products, at "
        "the rounding of the data: loosen tol, take a smaller step or give norm_scale"
    )


def _operator(apply: Callable[[Array], Array], n: int) -> Any:
    return LinearOperator((n, n), matvec=apply, dtype=np.float64)  # pyright: ignore


def _checked(
    n: int, taus: Sequence[float], vectors: Sequence[Array | None], tol: float
) -> tuple[Array, list[Array | None]]:
    times = np.atleast_1d(np.asarray(taus, dtype=np.float64))
    steps = np.diff(times, prepend=0.0)
    if times.ndim != 1 or not times.size or not np.all((steps > 0.0) & np.isfinite(times)):
        raise InputError("phi functions: times must be positive, finite and increasing: sort them")
    if not tol > 0.0:
        raise InputError(f"phi functions: tol must be positive, got {tol}")
    data: list[Array | None] = []
    for k, v in enumerate(vectors):
        if v is not None and (
            np.iscomplexobj(v) or np.shape(v) != (n,) or not np.isfinite(v).all()
        ):
            raise InputError(f"phi functions: vector {k} must be real, finite and of shape ({n},)")
        data.append(np.asarray(v, dtype=np.float64) if v is not None and np.any(v) else None)
    while len(data) > 1 and data[-1] is None:
        data.pop()
    return times, data or [None]


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
    times, data = _checked(n, taus, vectors, 1.0)
    d = balance_of(J)[0] if balance is None else balance
    scale, system = _Scale(d, norm_scale), _Augmented(J.__matmul__, d, data, float(times[-1]))
    M, z = system.matrix(J), system.state(system.w0, 0.0)
    before, whole, actions = 0.0, M, []
    for tau in times:
        with np.errstate(all="ignore"):
            half = whole if tau == 2.0 * before else _exponential(0.5 * tau * M)
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
