"""The augmented linear system whose exponential gives sums of phi functions, and its exponential.

w(tau) = sum_k tau^k phi_k(tau J) v_k   solves   w' = J w + sum_(k>0) t^(k-1)/(k-1)! v_k
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial

import numpy as np

from ..backends.cpu import CPU
from ..backends.sums import norms
from ..contracts import Array
from ..errors import InputError

_EPS = float(np.finfo(float).eps)


class Augmented:
    """z = (w, q), q_i = eta (t/T)^i / i!:  w' = D^-1 J D w + B q,  q_i' = q_(i-1) / T."""

    def __init__(self, apply: Callable, d: Array, vectors: list[Array | None], T: float) -> None:
        n = d.size
        self.apply, self.d, self.n, self.p, self.T = apply, d, n, len(vectors) - 1, T
        self.products = 0
        columns = [np.zeros(n) if v is None else v / d for v in vectors]
        self.w0 = columns[0]
        B = np.array([b * T**k for k, b in enumerate(columns[1:])]).reshape(self.p, n)
        largest = T * max(norms(CPU, *B), default=0.0)
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


class Scale:
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
    A = A + shift * one
    count = halvings(A)
    X = taylor_minus_one(A / 2.0**count)
    while count and np.abs(X + one).sum(axis=0).max() > 0.5:
        X = 2.0 * X + X @ X
        count -= 1
    E = X + one
    for _ in range(count):
        E = E @ E
    return np.exp(-shift) * E


def checked(
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
