"""Stumpff functions c_k(s) = sum_j (-s)^j / (2j + k)!, to 1e-14 relative for k <= 6 and any s.

c_0 = cos sqrt(s), c_1 = sinc sqrt(s), c_2 = (1 - cos sqrt(s))/s, c_(k+2) = (1/k! - c_k)/s, and
their hyperbolic twins for s < 0.  With them every phi function of a second-order system is a
function of ONE symmetric matrix of half the size:

    phi_k(tau J) (p, q) = ( c_k p + tau c_(k+1) q,  -tau A c_(k+1) p + c_k q ),   c at tau^2 A.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..backends.cpu import CPU
from ..contracts import Array
from ..errors import InputError

K_MAX = 6


def stumpff(k: int, s: Array | float) -> Array:
    """c_k(s), elementwise; k = 0..6. Overflows to inf only where the true value does."""
    if not 0 <= k <= K_MAX or int(k) != k:
        raise InputError(f"stumpff is defined here for k = 0..{K_MAX}, got {k}")
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


@dataclass(frozen=True)
class StumpffMap:
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

    @cached_property
    def longest(self) -> float:
        """Largest |tau|."""
        return max((abs(t.tau) for t in self.terms), default=0.0)

    def __call__(self, lam: Array) -> Array:
        out = np.zeros((self.n_out, self.n_in, lam.size))
        CPU.kernels.stumpff_terms(lam, *self.arrays, out)
        return out
