"""phi_k(z) = sum_j z^j / (j + k)!, real or complex, to 1e-14 relative for k <= 6.

phi_0 = exp, phi_1 = expm1(z)/z, phi_(k+1) = (phi_k - 1/k!)/z; Taylor where that would cancel.
"""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import Any

import numpy as np

from ..errors import InputError

K_MAX = 6
_TAYLOR_TERMS = 40


@cache
def _inverse(j: int) -> float:
    """1/j!"""
    return 1.0 / factorial(j)


def _taylor(k: int, z: Any) -> Any:
    value = np.zeros_like(z)
    for j in range(_TAYLOR_TERMS + k, k - 1, -1):
        value = value * z + _inverse(j)
    return value


def phi_any(k: int, z: Any) -> Any:
    """phi_k of a flat float or complex array, any k >= 1.

    Taylor for |z| <= max(3, k): its terms then fall at once, so little cancels; above, the
    upward recurrence multiplies errors by (k + 1)!/|z|^k, which is harmless there.
    """
    value = np.empty_like(z)
    small = np.abs(z) <= max(3, k)
    value[small] = _taylor(k, z[small])
    big = z[~small]
    if big.size:
        with np.errstate(over="ignore"):
            current = np.expm1(big) / big
            for j in range(1, k):
                current = (current - _inverse(j)) / big
        value[~small] = current
    return value


def phi_table(top: int, z: Any) -> Any:
    """phi_0 .. phi_top of a flat complex array, (top + 1, m): one series and two recurrences.

    Downwards, phi_j = z phi_(j+1) + 1/j! keeps its digits for |z| <= max(3, j); upwards above.
    """
    size = np.abs(z)
    table = np.empty((top + 1, z.size), dtype=z.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        safe = np.where(size > 1.0, z, 1.0)
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


def phi(k: int, z: Any) -> Any:
    """phi_k(z), elementwise, for real or complex z; k = 0..6."""
    if not 0 <= k <= K_MAX or int(k) != k:
        raise InputError(f"phi is defined here for k = 0..{K_MAX}, got {k}")
    z = np.asarray(z)
    z = z.astype(np.complex128 if np.iscomplexobj(z) else np.float64)
    if k == 0:
        return np.exp(z)
    return phi_any(int(k), np.atleast_1d(z).ravel()).reshape(z.shape)
