"""The augmented linear system whose exponential gives sums of phi functions, its exponential, and
the diagonal balancing D^-1 J D that goes before.

w(tau) = sum_k tau^k phi_k(tau J) v_k   solves   w' = J w + sum_(k>0) t^(k-1)/(k-1)! v_k

On [[0, I], [-A, 0]] a raw Krylov basis mixes numbers that differ by omega^2 and loses its digits
without a sign of it: hence the balance, from the entries of J or from a few products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np

from ..backends.cpu import CPU
from ..backends.sums import norms
from ..contracts import Array
from ..errors import InputError
from .spread import HERE, Here
from .untyped import LinearOperator, sp


class Augmented:
    """z = (w, q), q_i = eta (t/T)^i / i!:  w' = D^-1 J D w + B q,  q_i' = q_(i-1) / T."""

    def __init__(
        self,
        apply: Callable[[Array], Array],
        d: Array,
        vectors: list[Array | None],
        T: float,
        over: Here = HERE,
    ) -> None:
        n = d.size
        self.over = over
        self.apply, self.d, self.n, self.p, self.T = apply, d, n, len(vectors) - 1, T
        self.products = 0
        columns = [np.zeros(n) if v is None else v / d for v in vectors]
        self.w0 = columns[0]
        B = np.array([b * T**k for k, b in enumerate(columns[1:])]).reshape(self.p, n)
        largest = T * max((over.norm(b, n) for b in B), default=0.0)
        self.eta = 2.0 ** np.ceil(np.log2(largest)) if largest > 0.0 else 1.0
        self.B = B / self.eta

    def state(self, w: Array, t: float) -> Array:
        q = [self.eta * (t / self.T) ** i / factorial(i) for i in range(self.p)]
        return np.concatenate([w, q])

    def product(self, z: Array) -> Array:
        n, out = self.n, np.zeros_like(z)
        if not self.over.every(not z[:n].any()):  # zero costs no product (Luan et al. 2019)
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


class Scale:
    """In which norms, and against what, an error counts.

    Default: relative to w, in the balanced AND in the plain 2-norm, so that positions cannot
    hide behind velocities nor the other way round.  With norm_scale s: root mean square of e / s.
    """

    def __init__(self, d: Array, norm_scale: Array | None, over: Here = HERE) -> None:
        self.over = over
        self.relative = norm_scale is None
        if norm_scale is not None:
            self.weights = (d / norm_scale / np.sqrt(d.size))[None]
        else:
            self.weights = np.stack([np.ones(d.size), d][: 1 if np.ptp(d) == 0.0 else 2])

    def norms(self, w: Array) -> Array:
        """Small ones are brought near 1, by a power of two, while they are squared: squares of what
        has decayed below 1e-154 are zero, and an error that cannot be seen would pass for none.
        Large ones may overflow: a result that does is refused."""
        terms = self.weights * w
        most = self.over.largest(np.abs(terms).max(axis=1, initial=0.0))
        exponent = np.minimum(np.frexp(most)[1], 0)
        squares = self.over.sums(np.square(np.ldexp(terms, -exponent[:, None])).sum(axis=1))
        return np.ldexp(np.sqrt(squares), exponent)

    def reference(self, w: Array) -> Array:
        return np.maximum(self.norms(w), 1e-300) if self.relative else np.ones(1)


def halvings(A: Array) -> int:
    """Halvings that bring |A|_1 below 1/2, where the Taylor sum of degree 16 is exact."""
    norm = float(np.abs(A).sum(axis=0).max())
    return max(0, int(np.ceil(np.log2(norm))) + 1) if 0.5 < norm < np.inf else 0


def taylor_minus_one(A: Array) -> Array:
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


def exponential(A: Array, shift: float = 0.0) -> Array:
    """Doubling exp - 1, not squaring exp: slow modes beside stiff ones keep their digits.  Once
    nothing slow is left, squaring: exp - 1 says little about what has decayed.

    shift: exp(-shift) exp(A + shift), the same number rounded in other places.
    """
    one = np.eye(len(A))
    moved = A + shift * one
    count = halvings(moved)
    less_one = taylor_minus_one(np.ldexp(moved, -count))  # 2^count may be no number
    while count and np.abs(less_one + one).sum(axis=0).max() > 0.5:
        less_one = 2.0 * less_one + less_one @ less_one
        count -= 1
    power = less_one + one
    for _ in range(count):
        power = power @ power
    return np.exp(-shift) * power


def checked(
    n: int,
    taus: Sequence[float],
    vectors: Sequence[Array | None],
    tol: float,
    over: Here = HERE,
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
        nothing = v is None or over.every(not np.any(v))
        data.append(None if nothing else np.asarray(v, dtype=np.float64))
    while len(data) > 1 and data[-1] is None:
        data.pop()
    return times, data or [None]


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


def _balance_by_products(J: Any, probes: Array, d: Array) -> int:
    """Without J^T only rows can be evened out; kept only where that makes J clearly smaller."""
    count, two_sided = 0, True
    sizes: list[float] = []
    for batch in probes:
        rows = _rms([J.matvec(d * z) / d for z in batch])
        sizes += norms(CPU, rows)
        count += len(batch)
        try:
            columns = _rms([J.rmatvec(z / d) * d for z in batch]) if two_sided else None
        except (NotImplementedError, TypeError, AttributeError):
            two_sided, columns = False, None
        if columns is not None:
            count += len(batch)
            _even_out(d, rows, columns, 0.25)
        elif len(sizes) < len(probes) and rows.any():
            middle = np.exp(np.log(rows[rows > 0.0]).mean())
            _even_out(d, rows, np.full_like(rows, middle), 0.5)
    if not two_sided and not sizes[-1] < 0.5 * sizes[0]:
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
