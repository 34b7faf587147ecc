"""f(A) b by a Chebyshev series: no inner products, three vectors of memory per column.

On [low, high] the series of cos(tau sqrt(lam)) has Bessel coefficients J_2k(tau omega_max): the
degree is tau omega_max / 2 plus a few, whatever the vector.  The truncation error is bounded by
the tail of the coefficients times |T_k b| / |b|, which is at most 1 when the spectrum lies inside
the interval; the measured value replaces the 1, so that wrong bounds show up and are mended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Action, Array, Bounds, SpectralMap
from ..errors import NotConverged
from . import bounds as spectral_bounds
from . import cost
from .operators import BaseOperator
from .tolerance import (
    EPS,
    ROUNDING,
    TOL_MIN,
    allowed_error,
    conditioning,
    lost_to_rounding,
    relative_error,
    require_finite,
)
from .untyped import dct

_KEPT = 2**14  # terms of the longest series that is worth its memory until the next step
_GROWTH_LIMIT = 1e4  # |T_k b| / |b| beyond which the interval is widened and the sum restarted


@dataclass(frozen=True, slots=True)
class _Series:
    """Coefficients c (degree + 1, n_out, n_in); sup (n_out, n_in): largest |f| on the part of the
    interval where A is not negative; noise: rounding of one coefficient relative to the largest."""

    c: Array
    sup: Array
    noise: float


def _series(functions: SpectralMap, low: float, high: float, most: int) -> _Series:
    """Coefficients that reach the rounding level of the function values; `most` at most."""
    count = 64
    while True:
        # (1 + cos t)/2 = cos^2(t/2): nodes next to `low` keep their digits, c_k is steep there
        nodes = low + (high - low) * np.cos(0.5 * np.pi * (np.arange(count) + 0.5) / count) ** 2
        values = functions(nodes)
        require_finite(values)
        c = dct(values, type=2, axis=-1)
        c /= count
        c[..., 0] *= 0.5
        size = np.abs(c)
        largest = size.max(axis=-1)
        # a phase of count/4 radians is known to eps * count/4 only
        noise = EPS * max(8.0, count / 8)
        tail = size[..., -count // 8 :].max(axis=-1)
        if np.all(tail <= noise * largest):
            break
        if count - count // 8 > most:
            raise _too_long(most, low, high)
        count *= 2
    significant = (size > noise * largest[..., None]).any(axis=(0, 1))
    degree = int(np.flatnonzero(significant).max(initial=0))
    sup = np.abs(values[..., nodes >= 0.0]).max(axis=-1, initial=0.0)
    return _Series(np.ascontiguousarray(np.moveaxis(c[..., : degree + 1], -1, 0)), sup, noise)


_cached_series = lru_cache(maxsize=64)(_series)


def _too_long(most: int, low: float, high: float) -> NotConverged:
    return NotConverged(
        f"a Chebyshev series on the spectrum [{low:.3g}, {high:.3g}] has more than the {most} "
        "terms that a step may cost: take a smaller step or raise max_products"
    )


def series(functions: SpectralMap, low: float, high: float, most: int) -> _Series:
    """As `_series`; maps that are data (hashable) are kept for the next step."""
    phase = getattr(functions, "longest", 0.0) * sqrt(max(high, 0.0))
    try:
        hash(functions)
    except TypeError:
        return _series(functions, low, high, most)
    return (_cached_series if phase < 2 * _KEPT else _series)(functions, low, high, most)


@dataclass(frozen=True)
class _Columns:
    """The part of a SpectralMap that concerns columns start .. start + n_in - 1; hashable where the
    whole is."""

    functions: SpectralMap
    start: int
    n_in: int

    @property
    def n_out(self) -> int:
        return self.functions.n_out

    @property
    def longest(self) -> float:
        return getattr(self.functions, "longest", 0.0)

    def __call__(self, lam: Array) -> Array:
        return self.functions(lam)[:, self.start : self.start + self.n_in]


class _Recurrence:
    """T_k(A') B for growing k, summed into `out` (n, n_out) with the given coefficients.

    B is lost: of millions of coordinates, every copy counts.  All vectors lie where the loops run.
    """

    def __init__(self, A: BaseOperator, c: Array, B: Array, interval: Bounds) -> None:
        self.A, self.c, self.degree = A, c, 0
        half = max(0.5 * (interval.high - interval.low), 1e-300)
        self.s, self.t = 2.0 / half, -(interval.high + interval.low) / half
        self.z, self.out = A.kernels.recurrence_start(B, c[0])
        self.x = B

    def advance(self, degree: int) -> None:
        if self.degree == 0 < degree:  # T_1 = A' T_0 is half a step of 2 A' T_k - T_(k-1)
            self._steps(0.5, 1)
        if self.degree < degree:
            self._steps(1.0, degree)

    def _steps(self, share: float, degree: int) -> None:
        c = self.c[self.degree + 1 : degree + 1]
        step = share * self.s, share * self.t
        self.x, self.z = self.A.chebyshev(*step, self.x, self.z, c, self.out)
        self.degree = degree

    def sizes(self, norms: Array) -> tuple[float, Array]:
        """Largest |T_k b| / |b| of the columns b, at this degree and the one before, and the norms
        of what is summed up so far."""
        x, z, out = self.A.dots([(a, a) for a in (self.x, self.z, self.out)])
        growth = np.sqrt(np.maximum(x, z)) / np.where(norms > 0.0, norms, 1.0)
        return float(growth.max()), np.sqrt(out)


class _Sum(NamedTuple):
    """out (n, n_out), where the loops run; known (2, n_out): its errors, and sums of norms that may
    cancel in it; norms (n_out,); the relative error, the degree, how far |T_k b| outgrew |b|."""

    out: Array
    known: Array
    norms: Array
    error: float
    degree: int
    growth: float


def _attempt(
    A: BaseOperator,
    functions: SpectralMap,
    B: Array,
    norms: Array,
    interval: Bounds,
    tol: float,
    scale: Array | None,
    most: int,
) -> _Sum:
    """One summation on one interval, of degree `most` at most; B (n, n_in), where the loops run, is
    lost."""
    terms = series(functions, interval.low, interval.high, most)
    c = terms.c
    weighted = np.abs(c) @ norms  # (degree + 1, n_out)
    tails = np.zeros_like(weighted)
    tails[:-1] = np.cumsum(weighted[:0:-1], axis=0)[::-1]
    sums = terms.sup @ norms
    noise = terms.noise * weighted.max(axis=0)  # large where f grows on a negative spectrum
    guess = weighted.max(axis=0)  # size of a typical output
    require_finite(guess)
    allowed = allowed_error(tol, guess, sums, scale)
    recurrence = _Recurrence(A, c, B, interval)
    while True:
        # the smallest degree whose tail is good enough for every output
        degree = max(int(np.argmax(np.all(tails <= allowed, axis=1))), recurrence.degree)
        if degree > most:
            raise _too_long(most, interval.low, interval.high)
        recurrence.advance(degree)
        growth, true_norms = recurrence.sizes(norms)
        # outside the interval T_k still grows after the last term kept: twice, to be safe
        growth = 1.0 if growth <= 1.0 + 1e-6 else 2.0 * growth
        if not np.isfinite(growth) or growth > _GROWTH_LIMIT:
            known = np.stack([sums, sums])
            return _Sum(recurrence.out, known, true_norms, np.inf, recurrence.degree, np.inf)
        require_finite(true_norms)
        allowed = allowed_error(tol, true_norms, sums, scale) / growth
        errors = tails[recurrence.degree] + noise
        if np.all(tails[recurrence.degree] <= allowed) or recurrence.degree == len(c) - 1:
            error = relative_error(errors, allowed + ROUNDING * sums, tol)
            known = np.stack([growth * errors, sums])
            return _Sum(recurrence.out, known, true_norms, error, recurrence.degree, growth)


def chebyshev(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    """Every output to the tolerance, two columns per pass over the matrix."""
    interval, products = spectral_bounds.spectrum(A)
    limit = cost.most_products(A, max_products)
    value, known, norms, top = None, np.zeros((2, functions.n_out)), None, 0
    for start in range(0, len(columns), 2):
        own = columns[start : start + 2]
        pair = A.kernels.recurrence_columns(own)
        part = _Columns(functions, start, len(own))
        sizes = np.sqrt(A.dot(pair, pair))
        require_finite(sizes)
        if not sizes.any():
            continue
        done = _Sum(pair, known, sizes, np.inf, 0, np.inf)
        for _ in range(3):
            most = max(0, limit - products) // len(columns)
            done = _attempt(A, part, pair, sizes, interval, tol, scale, most)
            products += done.degree * len(own)
            if done.error <= tol or done.growth <= 1.0:  # a wider interval would not help
                break
            interval, more = spectral_bounds.widen(A)
            products += more
            pair = A.kernels.recurrence_columns(own)
        if not done.error <= tol:
            error = done.error
            raise lost_to_rounding(error) if done.growth <= 1.0 else _missed(error, tol, interval)
        del pair  # of millions of coordinates, every array counts
        value = A.kernels.recurrence_rows(done.out, value)
        known, top = known + done.known, max(top, done.degree)
        norms = done.norms if len(columns) <= 2 else None
        del done
    if value is None:
        value = np.zeros((functions.n_out, A.size))
    if norms is None:  # of several sums together
        norms = np.sqrt(A.dot(value.T, value.T))
    require_finite(norms)
    errors, sums = known
    error = relative_error(errors, allowed_error(tol, norms, sums, scale) + ROUNDING * sums, tol)
    if error > tol:  # the sums over pairs of columns cancel: each has to be better
        tighter = 0.5 * tol * tol / error
        if tighter < TOL_MIN:
            raise lost_to_rounding(error)
        options: Any = {"scale": scale, "max_products": limit - products}
        again = chebyshev(A, functions, columns, tol=tighter, **options)
        return replace(again, products=products + again.products)
    error = max(error, conditioning(functions, max(interval.high, -interval.low)))
    method = f"chebyshev, degree {top} on [{interval.low:.3g}, {interval.high:.3g}]"
    return Action(value, error, products, method)


def _missed(error: float, tol: float, interval: Bounds) -> NotConverged:
    return NotConverged(
        f"Chebyshev series missed its tolerance ({error:.1e} > {tol:.1e}) on the spectrum "
        f"[{interval.low:.3g}, {interval.high:.3g}]: try a smaller step or method='lanczos'"
    )
