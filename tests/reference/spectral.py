"""NumPy twins of kernels.cpu.spectral.

Stumpff functions c_k(s) = sum_j (-s)^j / (2j + k)!, to 1e-14 relative for k <= 6 and any s.

c_0 = cos sqrt(s), c_1 = sinc sqrt(s), c_2 = (1 - cos sqrt(s))/s, c_(k+2) = (1/k! - c_k)/s, and
their hyperbolic twins for s < 0.  What keeps the digits is said there.
"""

from __future__ import annotations

from math import factorial

import numpy as np

Array = np.ndarray

K_MAX = 6
_TAYLOR_LIMIT = 16.0
_GROWING = -6400.0
_TINY = 1e-290
_TAYLOR_TERMS = 22  # 16^22 / 47! < 1e-30: far below rounding for every k >= 3
_COEFFICIENTS = {
    k: np.array([(-1.0) ** j / factorial(2 * j + k) for j in range(_TAYLOR_TERMS)])
    for k in range(3, K_MAX + 1)
}
_SPLITTER = 134217729.0  # 2^27 + 1, Veltkamp's constant


def _root(a: Array) -> tuple[Array, Array]:
    """r + dr = sqrt(a) to twice the working precision (a > 0), r = fl(sqrt(a))."""
    mantissa, exponent = np.frexp(a)
    odd = exponent & 1
    m = np.where(odd, mantissa * 0.5, mantissa)  # even exponent: halve it exactly
    half = (exponent + odd) // 2
    r = np.sqrt(m)
    t = _SPLITTER * r  # Dekker's exact square: r*r = p + e
    hi = t - (t - r)
    lo = r - hi
    p = r * r
    e = ((hi * hi - p) + 2.0 * hi * lo) + lo * lo
    dr = ((m - p) - e) / (2.0 * r)
    return np.ldexp(r, half), np.ldexp(dr, half)


def _cos_like(s: Array) -> Array:
    r, dr = _root(np.abs(s))
    with np.errstate(over="ignore", invalid="ignore"):
        oscillating = np.cos(r) * np.cos(dr) - np.sin(r) * np.sin(dr)
        growing = np.cosh(np.where(s < 0, r, 0.0)) + dr * np.sinh(np.where(s < 0, r, 0.0))
    return np.where(s < 0, growing, oscillating)


def _sinc_like(s: Array) -> Array:
    r, dr = _root(np.abs(s))
    hyperbolic = np.where(s < 0, r, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        top = np.where(
            s < 0,
            np.sinh(hyperbolic) + dr * np.cosh(hyperbolic),
            np.sin(r) * np.cos(dr) + np.cos(r) * np.sin(dr),
        )
    return top / r * (1.0 - dr / r)


def _taylor(k: int, s: Array) -> Array:
    value = np.zeros_like(s)
    for coefficient in _COEFFICIENTS[k][::-1]:
        value = value * s + coefficient
    return value


def _closed(k: int, s: Array) -> Array:
    """Nonzero finite s, away from where the recurrence cancels (|s| > 16 when k >= 3)."""
    if k == 0:
        return _cos_like(s)
    if k == 1:
        return _sinc_like(s)
    if k == 2:
        return 0.5 * _sinc_like(0.25 * s) ** 2
    with np.errstate(over="ignore"):
        return (1.0 / factorial(k - 2) - _closed(k - 2, s)) / s


def _growing(k: int, s: Array) -> Array:
    """c_k(s) = exp(r) / (2 r^k), r = sqrt(-s), for s so negative that nothing else is left."""
    r, dr = _root(-s)
    with np.errstate(over="ignore"):
        half = np.exp(0.5 * r)  # split, so that it overflows only where the result does
        return 0.5 * half * (1.0 + dr - k * dr / r) / r**k * half


def stumpff_values(k: int, s: Array) -> Array:
    """c_k(s) for a flat array s."""
    small = np.abs(s) <= (_TAYLOR_LIMIT if k >= 3 else _TINY)
    value = np.empty_like(s)
    value[small] = _taylor(k, s[small]) if k >= 3 else 1.0 / factorial(k)
    growing = s < _GROWING
    value[growing] = _growing(k, s[growing])
    rest = ~small & ~growing
    if rest.any():
        value[rest] = _closed(k, s[rest])
    return value


def stumpff_terms(lam, rows, columns, ks, taus, powers, factors, out):
    """out[row, column, :] += factor * lam^power * c_k(tau^2 lam), term by term."""
    for row, column, k, tau, power, factor in zip(
        rows, columns, ks, taus, powers, factors, strict=True
    ):
        out[row, column] += factor * lam**power * stumpff_values(int(k), tau * tau * lam)


def spectral_apply(U, W, F, B):
    """sum_i U f_ji(lam) W b_i for every j: F (n_out, n_in, m), B (n_in, n) -> (n_out, n)."""
    return np.einsum("nm,jim,im->jn", U, F, B @ W.T)


def stumpff_apply(U, W, lam, rows, columns, ks, taus, powers, factors, n_out, B):
    """stumpff_terms and spectral_apply in one call."""
    F = np.zeros((n_out, B.shape[0], lam.size))
    stumpff_terms(lam, rows, columns, ks, taus, powers, factors, F)
    return spectral_apply(U, W, F, B)


def stumpff_eigh_apply(K, rows, columns, ks, taus, powers, factors, n_out, B):
    """The eigenbasis of a symmetric K as well: value, lam, U (NaN where K is not finite)."""
    if not np.all(np.isfinite(K)):
        n = K.shape[0]
        return np.full((n_out, n), np.nan), np.full(n, np.nan), np.full((n, n), np.nan)
    lam, U = np.linalg.eigh(K)
    return stumpff_apply(U, U.T, lam, rows, columns, ks, taus, powers, factors, n_out, B), lam, U
