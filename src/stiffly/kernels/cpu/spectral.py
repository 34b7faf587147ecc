"""Scalar Stumpff functions and the small dense spectral products, compiled.

Three things keep 14 digits (formulas: matfun/scalar.py):
- sqrt(s) is carried as r + dr with the rounding error dr recovered exactly (at s = 1e8 a plain
  sqrt would cost four digits of the cosine);
- c_2 = c_1(s/4)^2 / 2 keeps its double zeros exact;
- for k >= 3 a Taylor series replaces the recurrence where that would cancel (|s| <= 16).
No fastmath here: it would optimise the error terms away.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import njit

_K_MAX = 6
_TAYLOR_LIMIT = 16.0
_TAYLOR_TERMS = 22
_GROWING = -6400.0
_TINY = 1e-290
_SPLITTER = 134217729.0
_TAYLOR = np.array(
    [
        [(-1.0) ** j / math.factorial(2 * j + k) for j in range(_TAYLOR_TERMS)]
        for k in range(_K_MAX + 1)
    ]
)
_INVERSE_FACTORIAL = np.array([1.0 / math.factorial(k) for k in range(_K_MAX + 1)])


@njit
def _root(a):
    """r + dr = sqrt(a) to twice the working precision."""
    mantissa, exponent = math.frexp(a)
    if exponent & 1:
        mantissa *= 0.5
        exponent += 1
    r = math.sqrt(mantissa)
    t = _SPLITTER * r
    hi = t - (t - r)
    lo = r - hi
    p = r * r
    e = ((hi * hi - p) + 2.0 * hi * lo) + lo * lo
    dr = ((mantissa - p) - e) / (2.0 * r)
    half = exponent // 2
    return math.ldexp(r, half), math.ldexp(dr, half)


@njit
def _sinc_like(s):
    r, dr = _root(abs(s))
    if s < 0.0:
        top = math.sinh(r) + dr * math.cosh(r)
    else:
        top = math.sin(r) * math.cos(dr) + math.cos(r) * math.sin(dr)
    return top / r * (1.0 - dr / r)


@njit
def _second(s):
    half = _sinc_like(0.25 * s)
    return 0.5 * half * half


@njit
def _even(s):
    r, dr = _root(abs(s))
    if s < 0.0:
        return math.cosh(r) + dr * math.sinh(r)
    return math.cos(r) * math.cos(dr) - math.sin(r) * math.sin(dr)


@njit
def _growing(k, s):
    """c_k(s) = exp(r) / (2 r^k), r = sqrt(-s), for s so negative that nothing else is left."""
    r, dr = _root(-s)
    half = math.exp(0.5 * r)  # split, so that it overflows only where the result does
    return 0.5 * half * (1.0 + dr - k * dr / r) / r**k * half


@njit
def stumpff_value(k, s):
    if s < _GROWING:
        return _growing(k, s)
    if abs(s) < _TINY:
        return _INVERSE_FACTORIAL[k]
    if k == 0:
        return _even(s)
    if k == 1:
        return _sinc_like(s)
    if k == 2:
        return _second(s)
    if abs(s) <= _TAYLOR_LIMIT:
        value = 0.0
        for j in range(_TAYLOR_TERMS - 1, -1, -1):
            value = value * s + _TAYLOR[k, j]
        return value
    value = _sinc_like(s) if k & 1 else _second(s)
    for j in range(2 - (k & 1), k, 2):
        value = (_INVERSE_FACTORIAL[j] - value) / s
    return value


@njit
def stumpff_values(k, s):
    """c_k(s) for a flat array s."""
    out = np.empty_like(s)
    for i in range(s.size):
        out[i] = stumpff_value(k, s[i])
    return out


@njit
def stumpff_terms(lam, rows, columns, ks, taus, powers, factors, out):
    """out[row, column, :] += factor * lam^power * c_k(tau^2 lam), term by term."""
    values = np.empty((rows.size, lam.size))
    for term in range(rows.size):
        own = values[term]
        known = -1  # the same function often feeds both halves of the state
        for earlier in range(term):
            if ks[earlier] == ks[term] and taus[earlier] == taus[term]:
                known = earlier
                break
        if known >= 0:
            own[:] = values[known]
        else:
            square = taus[term] * taus[term]
            for i in range(lam.size):
                own[i] = stumpff_value(ks[term], square * lam[i])
        target = out[rows[term], columns[term]]
        for i in range(lam.size):
            value = factors[term] * own[i]
            for _ in range(powers[term]):
                value *= lam[i]
            target[i] += value


@njit
def spectral_apply(U, W, F, B):
    """sum_i U f_ji(lam) W b_i for every j: F (n_out, n_in, m), B (n_in, n) -> (n_out, n).

    For a handful of coordinates, where the overhead of NumPy calls exceeds the arithmetic.
    """
    m, n = W.shape
    n_out, n_in = F.shape[0], F.shape[1]
    out = np.zeros((n_out, n))
    c = np.empty(n_in)
    for k in range(m):
        for i in range(n_in):
            acc = 0.0
            for a in range(n):
                acc += W[k, a] * B[i, a]
            c[i] = acc
        for j in range(n_out):
            weight = 0.0
            for i in range(n_in):
                weight += F[j, i, k] * c[i]
            for a in range(n):
                out[j, a] += U[a, k] * weight
    return out


@njit
def stumpff_apply(U, W, lam, rows, columns, ks, taus, powers, factors, n_out, B):
    """sum_i U f_ji(lam) W b_i with the f of stumpff_terms: the hot path of small systems."""
    F = np.zeros((n_out, B.shape[0], lam.size))
    stumpff_terms(lam, rows, columns, ks, taus, powers, factors, F)
    return spectral_apply(U, W, F, B)


@njit
def stumpff_eigh_apply(K, rows, columns, ks, taus, powers, factors, n_out, B):
    """The eigenbasis of a symmetric K as well: value, lam, U (NaN where K is not finite)."""
    for i in range(K.shape[0]):
        for j in range(K.shape[1]):
            if not np.isfinite(K[i, j]):
                lam = np.full(K.shape[0], np.nan)
                return np.full((n_out, K.shape[0]), np.nan), lam, np.full(K.shape, np.nan)
    lam, U = np.linalg.eigh(K)
    U = np.ascontiguousarray(U)
    W = np.ascontiguousarray(U.T)
    return stumpff_apply(U, W, lam, rows, columns, ks, taus, powers, factors, n_out, B), lam, U
