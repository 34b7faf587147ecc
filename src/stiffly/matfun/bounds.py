"""Where the spectrum lies: a few Lanczos steps on a random vector, kept with the operator."""

from __future__ import annotations

from math import isfinite, nan
from typing import Any, Protocol

import numpy as np

from ..contracts import Array, Backend, Bounds
from .operators import BaseOperator
from .untyped import linalg

_SEED = 20140101  # fixed: the same run gives the same numbers


class SelfAdjoint(Protocol):
    """What Lanczos steps ask of an operator: products, and the `dot` in which it is symmetric."""

    @property
    def backend(self) -> Backend: ...
    @property
    def size(self) -> int: ...
    def apply(self, b: Array) -> Array: ...
    def dot(self, a: Array, b: Array) -> Any: ...


def estimate(A: BaseOperator, steps: int = 12) -> tuple[Bounds, int]:
    """Bounds from `steps` Lanczos steps, and the products used.

    The upper end is the largest Ritz value plus its residual (Zhou, Saad, Tiago, Chelikowsky
    2006).  The lower end is the smallest Ritz value when that is negative, else zero: elastic
    tangents are positive semidefinite unless something is compressed.  Both ends are estimates;
    the Chebyshev evaluator notices when they are wrong.
    """
    theta, residual = ritz_values(A, steps)
    high = float(theta[-1] + residual)
    # a margin proportional to the negative end only: functions grow exponentially below zero
    low = 1.1 * float(theta[0]) if theta[0] < -1e-12 * abs(high) else 0.0
    return Bounds(low, max(high, 0.0), False), len(theta)


def ritz_values(A: SelfAdjoint, steps: int) -> tuple[Array, float]:
    """Of at most `steps` Lanczos steps, ascending, and the residual of the largest: an eigenvalue
    lies no further from it.  None is above the largest eigenvalue, nor below the smallest."""
    alphas, betas = _lanczos(A, steps)
    theta, S = linalg.eigh_tridiagonal(np.array(alphas), np.array(betas[:-1]))
    return theta, float(betas[-1] * abs(S[-1, -1]))


def largest_ritz_value(A: SelfAdjoint, steps: int, start: Array | None = None) -> float:
    """The last of them alone, which takes less; NaN where products are not finite.  start (n,): of
    its Krylov space, in place of a random one."""
    alphas, betas = _lanczos(A, steps, start)
    if not isfinite(sum(alphas) + sum(betas)):
        return nan
    return float(np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas[:-1], -1))[-1])


def _lanczos(
    A: SelfAdjoint, steps: int, start: Array | None = None
) -> tuple[list[float], list[float]]:
    """The tridiagonal matrix of at most `steps` Lanczos steps on a random vector: what is on its
    diagonal and beside it, and one more, by which it would go on."""
    v = A.backend.random(_SEED, A.size) if start is None else start
    v = v / np.sqrt(A.dot(v, v))
    previous = np.zeros_like(v)
    alphas: list[float] = []
    betas: list[float] = [0.0]
    for _ in range(min(steps, A.backend.count(A.size))):
        previous *= betas[-1]
        w = A.apply(v) - previous
        alphas.append(float(A.dot(w, v)))
        w -= np.multiply(alphas[-1], v, out=previous)
        beta = float(np.sqrt(A.dot(w, w)))
        betas.append(beta)
        if beta <= 1e-14 * (abs(alphas[0]) + 1e-300):
            break
        w /= beta
        previous, v = v, w
    return alphas, betas[1:]


def spectrum(A: BaseOperator) -> tuple[Bounds, int]:
    """The operator's own proven bounds tightened by an estimate; products used for it now."""
    if "bounds" in A.cache:
        return A.cache["bounds"], 0
    proven = A.bounds()
    if proven is not None and proven.low >= 0.0 and proven.high == 0.0:
        return proven, 0
    if proven is not None and getattr(A, "tight_bounds", False):
        # the proven lower end is pessimistic (functions grow like exp(tau sqrt(-low))), and a
        # mildly negative spectrum does no harm to a series on [0, high]: start there
        found, products = Bounds(max(proven.low, 0.0), proven.high, proven.low >= 0.0), 0
    else:
        found, products = estimate(A)
        if proven is not None:
            low, high = max(found.low, proven.low), min(found.high, proven.high)
            found = Bounds(low, high, False)
    A.cache["bounds"] = found
    return found, products


def widen(A: BaseOperator) -> tuple[Bounds, int]:
    """After an interval proved too narrow: many more Lanczos steps and a margin."""
    found, products = estimate(A, steps=60)
    old = A.cache.get("bounds", found)
    high = max(1.02 * found.high, old.high)
    low = min(1.1 * found.low, old.low)
    proven = A.bounds()
    if proven is not None:
        low, high = max(low, proven.low), min(high, proven.high)
    A.cache["bounds"] = Bounds(low, high, False)
    return A.cache["bounds"], products


def spectrum_sample(A: BaseOperator) -> Array:
    """The eigenvalues where an eigenbasis is there, else where they may lie: the ends, zero, and
    numbers in between over 18 decades."""
    if "_eigenbasis" in A.__dict__:
        return A.eigenbasis()[0]
    low, high, _ = spectrum(A)[0]
    between = high * np.logspace(-18.0, 0.0, 181)
    return np.concatenate([[low, max(low, 0.0)], between[between >= low]])
