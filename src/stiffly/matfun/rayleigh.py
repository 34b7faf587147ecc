"""phi functions of a Rayleigh-damped second-order system: still functions of one symmetric A.

D = alpha M + beta K commutes with A, so phi_k(tau J) acts on each eigenvector of A through the
2x2 block R = [[0, 1], [-lam, -(alpha + beta lam)]].  With its eigenvalues z1, z2 (times tau)

    phi_k(tau R) = phi_k(z1) I + phi_k[z1, z2] (tau R - z1 I),

where the divided difference phi_k[z1, z2] turns into a Taylor series around the mean when the
two roots meet (critical damping); phi_k' = phi_k - k phi_(k+1) gives its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from ..contracts import Array
from .phi import phi_any

_SERIES = 6  # terms of the divided difference for |z1 - z2| <= 1: next one below 1e-14


def _phi0_or(k: int, z: Array) -> Array:
    return np.exp(z) if k == 0 else phi_any(k, z)


def _derivatives(k: int, z: Array, count: int) -> list[Array]:
    """phi_k, phi_k', ..., phi_k^(count) at z."""
    table = {j: _phi0_or(j, z) for j in range(k, k + count + 1)}
    rows = [table[k]]
    current = table
    for order in range(1, count + 1):
        # the derivative of the whole row of functions, one column shorter each time
        current = {j: current[j] - j * current[j + 1] for j in range(k, k + count + 1 - order)}
        rows.append(current[k])
    return rows


def divided_difference(k: int, z1: Array, z2: Array) -> Array:
    """(phi_k(z1) - phi_k(z2)) / (z1 - z2), also where z1 = z2."""
    delta = z1 - z2
    close = np.abs(delta) <= 1.0
    value = np.empty_like(z1)
    far = ~close
    if far.any():
        value[far] = (_phi0_or(k, z1[far]) - _phi0_or(k, z2[far])) / delta[far]
    if close.any():
        rows = _derivatives(k, 0.5 * (z1[close] + z2[close]), 2 * _SERIES - 1)
        half = (0.5 * delta[close]) ** 2
        value[close] = sum(rows[2 * j + 1] * half**j / factorial(2 * j + 1) for j in range(_SERIES))
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
class RayleighMap:
    """A SpectralMap whose entries are those of phi_k(tau R(lam))."""

    n_out: int
    n_in: int
    alpha: float
    beta: float
    terms: tuple[PhiTerm, ...]

    def __call__(self, lam: Array) -> Array:
        out = np.zeros((self.n_out, self.n_in, lam.size))
        blocks: dict[tuple[int, float], tuple[tuple[Array, Array], tuple[Array, Array]]] = {}
        for term in self.terms:
            key = (term.k, term.tau)
            if key not in blocks:
                blocks[key] = self._block(term.k, term.tau, lam)
            out[term.row, term.column] += term.factor * blocks[key][term.part][term.source]
        return out

    def _block(self, k: int, tau: float, lam: Array):
        gamma = self.alpha + self.beta * lam
        root = np.sqrt((0.25 * gamma**2 - lam).astype(np.complex128))
        fast = -0.5 * gamma - np.where(gamma >= 0.0, root, -root)
        # the slow root from the product of the roots: no cancellation when gamma^2 >> lam
        safe = np.where(np.abs(fast) > 0.0, fast, 1.0)
        slow = np.where(np.abs(fast) > 0.0, lam / safe, 0.0)
        z1, z2 = tau * slow, tau * fast
        d = divided_difference(k, z1, z2)
        first = _phi0_or(k, z1)
        return (
            ((first - z1 * d).real, (tau * d).real),
            ((-tau * lam * d).real, (first + z2 * d).real),
        )
