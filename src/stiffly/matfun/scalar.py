"""The scalar functions that matrix functions are made of, k <= 6, to 1e-14 relative.

phi_k(z) = sum_j z^j / (j + k)!, real or complex: phi_0 = exp, phi_1 = expm1(z)/z,
phi_(k+1) = (phi_k - 1/k!)/z; Taylor where that would cancel.

Stumpff functions c_k(s) = sum_j (-s)^j / (2j + k)!, any real s: c_0 = cos sqrt(s),
c_1 = sinc sqrt(s), c_2 = (1 - cos sqrt(s))/s, c_(k+2) = (1/k! - c_k)/s, and their hyperbolic twins
for s < 0.  With them every phi function of a second-order system is a function of ONE symmetric
matrix of half the size:

    phi_k(tau J) (p, q) = ( c_k p + tau c_(k+1) q,  -tau A c_(k+1) p + c_k q ),   c at tau^2 A.

With Rayleigh damping there still is one: D = alpha M + beta K commutes with A, so phi_k(tau J) acts
on each eigenvector of A through the 2x2 block R = [[0, 1], [-lam, -(alpha + beta lam)]].  With its
eigenvalues z1, z2 (times tau)

    phi_k(tau R) = phi_k(z1) I + phi_k[z1, z2] (tau R - z1 I),

where the divided difference phi_k[z1, z2] turns into a Taylor series around the mean when the
two roots meet (critical damping); phi_k' = phi_k - k phi_(k+1) gives its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import factorial
from typing import Any

import numpy as np

from ..backends.cpu import CPU
from ..contracts import Array
from ..errors import InputError

K_MAX = 6
_TAYLOR_TERMS = 40
_CHUNK = 2**14
_SERIES = 6  # terms of the divided difference for |z1 - z2| <= 1: next one below 1e-14


@cache
def _inverse(j: int) -> float:
    """1/j!"""
    return 1.0 / factorial(j)


def _taylor(k: int, z: Any) -> Any:
    value = np.zeros_like(z)
    for j in range(_TAYLOR_TERMS + k, k - 1, -1):
        value = value * z + _inverse(j)
    return value


def phi_table(top: int, z: Any) -> Any:
    """phi_0 .. phi_top of a flat float or complex array, (top + 1, m): one series, two recurrences.

    Taylor for |z| <= max(3, top): its terms then fall at once, so little cancels.  Downwards,
    phi_j = z phi_(j+1) + 1/j! keeps its digits for |z| <= max(3, j); above, the upward recurrence
    multiplies errors by (j + 1)!/|z|^j, which is harmless there.
    """
    size = np.abs(z)
    table = np.empty((top + 1, z.size), dtype=z.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        safe = np.where(size <= 1.0, 1.0, z)
        table[0] = np.exp(z)
        for j in range(1, top + 1):
            table[j] = (
                np.expm1(safe) / safe if j == 1 else ((table[j - 1] - _inverse(j - 1)) / safe)
            )
    low = np.where(size <= max(3, top), z, 0.0)
    current = _taylor(top, low)
    for j in range(top, 0, -1):
        table[j] = np.where(size <= max(3, j), current, table[j])
        current = low * current + _inverse(j - 1)
    return table


def _check(name: str, k: int) -> None:
    if not 0 <= k <= K_MAX or int(k) != k:
        raise InputError(f"{name} is defined here for k = 0..{K_MAX}, got {k}")


def phi(k: int, z: Any) -> Any:
    """phi_k(z), elementwise, for real or complex z; k = 0..6."""
    _check("phi", k)
    z = np.asarray(z)
    z = z.astype(np.complex128 if np.iscomplexobj(z) else np.float64)
    if k == 0:
        return np.exp(z)
    return phi_table(int(k), z.ravel())[-1].reshape(z.shape)


def stumpff(k: int, s: Array | float) -> Array:
    """c_k(s), elementwise; k = 0..6. Overflows to inf only where the true value does."""
    _check("stumpff", k)
    s = np.asarray(s, dtype=np.float64)
    return CPU.kernels.stumpff_values(int(k), s.ravel()).reshape(s.shape)


@dataclass(frozen=True, slots=True)
class Term:
    """factor * lam^power * c_k(tau^2 lam), from input column `column` into output `row`."""

    row: int
    column: int
    k: int
    tau: float
    factor: float = 1.0
    power: int = 0


class _Terms:
    """What both kinds of SpectralMap share."""

    terms: tuple[Any, ...]

    @cached_property
    def longest(self) -> float:
        """Largest |tau|."""
        return max((abs(term.tau) for term in self.terms), default=0.0)


@dataclass(frozen=True)
class StumpffMap(_Terms):
    """A SpectralMap written as a list of Stumpff terms: data, so that it can be cached."""

    n_out: int
    n_in: int
    terms: tuple[Term, ...]

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        def array(name: str, dtype: Any = np.int64) -> Array:
            return np.array([getattr(term, name) for term in self.terms], dtype=dtype)

        where = array("row"), array("column"), array("k")
        return *where, array("tau", np.float64), array("power"), array("factor", np.float64)

    def __call__(self, lam: Array) -> Array:
        out = np.zeros((self.n_out, self.n_in, lam.size))
        CPU.kernels.stumpff_terms(lam, *self.arrays, out)
        return out


def _derivatives(table: Array, count: int) -> list[Array]:
    """phi_k, phi_k', ..., phi_k^(count) for every k = 0 .. len(table) - 1 - count, from the table
    of phi_0, phi_1, ...: each derivative of the whole table is one row shorter."""
    size = len(table) - count
    rows = [table[:size]]
    current = table
    for _ in range(count):
        j = np.arange(len(current) - 1)[:, None]
        current = current[:-1] - j * current[1:]
        rows.append(current[:size])
    return rows


def divided_differences(top: int, z1: Array, z2: Array, first: Array, second: Array) -> Array:
    """(phi_k(z1) - phi_k(z2)) / (z1 - z2) for k = 0 .. top, also where z1 = z2.

    first, second: phi_k(z1), phi_k(z2), (top + 1, m).
    """
    delta = z1 - z2
    close = np.abs(delta) <= 1.0
    value = np.empty_like(first)
    far = ~close
    if far.any():
        value[:, far] = (first[:, far] - second[:, far]) / delta[far]
    if close.any():
        order = 2 * _SERIES - 1
        rows = _derivatives(phi_table(top + order, 0.5 * (z1[close] + z2[close])), order)
        half = (0.5 * delta[close]) ** 2
        value[:, close] = sum(
            rows[2 * j + 1] * half**j / factorial(2 * j + 1) for j in range(_SERIES)
        )
    return value


@dataclass(frozen=True, slots=True)
class PhiTerm:
    """factor * entry (part, source) of phi_k(tau R): part, source are 0 for x and 1 for v."""

    row: int
    column: int
    k: int
    tau: float
    factor: float
    part: int
    source: int


@dataclass(frozen=True)
class RayleighMap(_Terms):
    """A SpectralMap whose entries are those of phi_k(tau R(lam))."""

    n_out: int
    n_in: int
    alpha: float
    beta: float
    terms: tuple[PhiTerm, ...]

    def __call__(self, lam: Array) -> Array:
        if lam.size > _CHUNK:  # a long Chebyshev series: tables of all its nodes would fill memory
            parts = np.split(lam, range(_CHUNK, lam.size, _CHUNK))
            return np.concatenate([self(part) for part in parts], axis=2)
        out = np.zeros((self.n_out, self.n_in, lam.size))
        for tau in {term.tau for term in self.terms}:
            own = [term for term in self.terms if term.tau == tau]
            blocks = self._blocks(max(term.k for term in own), tau, lam)
            for term in own:
                out[term.row, term.column] += term.factor * blocks[term.part][term.source][term.k]
        return out

    def _blocks(self, top: int, tau: float, lam: Array) -> Any:
        """The four entries of phi_k(tau R) for k = 0 .. top, each (top + 1, m)."""
        gamma = self.alpha + self.beta * lam
        root = np.sqrt((0.25 * gamma**2 - lam).astype(np.complex128))
        fast = -0.5 * gamma - np.where(gamma >= 0.0, root, -root)
        # the slow root from the product of the roots: no cancellation when gamma^2 >> lam
        safe = np.where(np.abs(fast) > 0.0, fast, 1.0)
        slow = np.where(np.abs(fast) > 0.0, lam / safe, 0.0)
        z1, z2 = tau * slow, tau * fast
        first, second = phi_table(top, z1), phi_table(top, z2)
        d = divided_differences(top, z1, z2, first, second)
        # the last is phi_k(z1) + z2 d, where both terms would cancel for |z2| >> |z1|
        return (
            ((first - z1 * d).real, (tau * d).real),
            ((-tau * lam * d).real, (second + z1 * d).real),
        )
