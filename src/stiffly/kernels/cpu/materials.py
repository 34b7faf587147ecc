"""Isotropic materials as functions of the signed singular values a, b, c of F, compiled.

E(F) = psi(a, b, c) [J]: mu and lam are the material's moduli times the volume of the element.  With
F = U diag(a, b, c) V^T the first derivative is P = U diag(psi_i) V^T, and the second is diagonal in
blocks in that frame (Sifakis and Barbic 2012; Smith, de Goes and Kim 2019): the diagonal entries of
U^T dF V couple through psi_ij, and every pair of entries ij, ji has two modes,

    symmetric, dF_ij = dF_ji:        (psi_i - psi_j) / (sigma_i - sigma_j)
    antisymmetric, dF_ij = -dF_ji:   (psi_i + psi_j) / (sigma_i + sigma_j)   (a rotation)

Both quotients are written out, so that equal singular values need no care.
"""

from __future__ import annotations

import math

import numpy as np

from ..constants import COROTATED, STVK
from ..constants import NEO_HOOKEAN as NEO_HOOKEAN  # for the loops over tets
from .jit import njit

# The corotated energy has a kink where sigma_2 + sigma_3 = 0 (an element squeezed to a line or
# turned inside out: its best rotation is not unique), and the tangent grows towards it as
# 1/(sigma_2 + sigma_3).  The sum is not taken smaller than this; elsewhere the tangent is exact.
SMALLEST_SUM = 1e-6

_options = {"cache": True, "error_model": "numpy", "forceinline": True}


@njit(**_options)
def energy_density(material, mu, lam, a, b, c):
    """psi; zero at rest. Small strains do not cancel: everything is written in e = sigma - 1."""
    p, q, r = a - 1.0, b - 1.0, c - 1.0
    if material == COROTATED:
        trace = p + q + r
        return mu * (p * p + q * q + r * r) + 0.5 * lam * trace * trace
    p2, q2, r2 = p * (2.0 + p), q * (2.0 + q), r * (2.0 + r)  # sigma^2 - 1
    trace = p2 + q2 + r2
    if material == STVK:
        return 0.25 * mu * (p2 * p2 + q2 * q2 + r2 * r2) + 0.125 * lam * trace * trace
    growth = p + q + r + p * q + p * r + q * r + p * q * r  # J - 1
    shear = 0.5 * (trace - math.log1p(0.25 * trace)) - 0.75 * growth
    return mu * shear + 0.5 * lam * growth * growth


@njit(**_options)
def first_derivatives(material, mu, lam, a, b, c):
    """psi_1, psi_2, psi_3."""
    if material == COROTATED:
        trace = lam * ((a - 1.0) + (b - 1.0) + (c - 1.0))
        return (
            2.0 * mu * (a - 1.0) + trace,
            2.0 * mu * (b - 1.0) + trace,
            2.0 * mu * (c - 1.0) + trace,
        )
    square = a * a + b * b + c * c
    if material == STVK:
        trace = 0.5 * lam * (square - 3.0)
        return (
            a * (mu * (a * a - 1.0) + trace),
            b * (mu * (b * b - 1.0) + trace),
            c * (mu * (c * c - 1.0) + trace),
        )
    shear = mu * square / (square + 1.0)
    bulk = lam * (a * b * c - 1.0) - 0.75 * mu
    return shear * a + bulk * b * c, shear * b + bulk * a * c, shear * c + bulk * a * b


@njit(**_options)
def _corotated_second(mu, lam, a, b, c):
    own, two = 2.0 * mu + lam, 2.0 * mu
    trace = 2.0 * lam * (a + b + c - 3.0) - 4.0 * mu
    ab = two + trace / max(a + b, SMALLEST_SUM)
    ac = two + trace / max(a + c, SMALLEST_SUM)
    bc = two + trace / max(b + c, SMALLEST_SUM)
    return own, own, own, lam, lam, lam, two, two, two, ab, ac, bc


@njit(**_options)
def _stvk_second(mu, lam, a, b, c):
    trace = 0.5 * lam * (a * a + b * b + c * c - 3.0) - mu
    aa, bb, cc = mu * a * a, mu * b * b, mu * c * c
    ab, ac, bc = mu * a * b, mu * a * c, mu * b * c
    return (
        3.0 * aa + trace + lam * a * a,
        3.0 * bb + trace + lam * b * b,
        3.0 * cc + trace + lam * c * c,
        lam * a * b,
        lam * a * c,
        lam * b * c,
        aa + bb + ab + trace,
        aa + cc + ac + trace,
        bb + cc + bc + trace,
        aa + bb - ab + trace,
        aa + cc - ac + trace,
        bb + cc - bc + trace,
    )


@njit(**_options)
def _neo_hookean_second(mu, lam, a, b, c):
    square = a * a + b * b + c * c
    shear = mu * square / (square + 1.0)
    curve = 2.0 * mu / ((square + 1.0) * (square + 1.0))
    bulk = lam * (a * b * c - 1.0) - 0.75 * mu
    return (
        shear + curve * a * a + lam * (b * c) * (b * c),
        shear + curve * b * b + lam * (a * c) * (a * c),
        shear + curve * c * c + lam * (a * b) * (a * b),
        curve * a * b + lam * (b * c) * (a * c) + bulk * c,
        curve * a * c + lam * (b * c) * (a * b) + bulk * b,
        curve * b * c + lam * (a * c) * (a * b) + bulk * a,
        shear - bulk * c,
        shear - bulk * b,
        shear - bulk * a,
        shear + bulk * c,
        shear + bulk * b,
        shear + bulk * a,
    )


@njit(**_options)
def second_derivatives(material, mu, lam, a, b, c):
    """psi_11, psi_22, psi_33, psi_12, psi_13, psi_23; symmetric, antisymmetric of 12, 13, 23."""
    if material == COROTATED:
        return _corotated_second(mu, lam, a, b, c)
    if material == STVK:
        return _stvk_second(mu, lam, a, b, c)
    return _neo_hookean_second(mu, lam, a, b, c)


@njit(cache=True, error_model="numpy")
def clamp_negative(H):
    """Replaces the negative eigenvalues of the symmetric H (3, 3) by zero; untouched without any.

    Cyclic Jacobi (Golub and Van Loan 2013, 8.5.3).
    """
    A = H.copy()
    Q = np.eye(3)
    for _ in range(5):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            d = A[q, q] - A[p, p]
            g = 2.0 * A[p, q]
            if g == 0.0:
                continue
            t = math.copysign(1.0, d) * g / (abs(d) + math.hypot(d, g))
            cos = 1.0 / math.sqrt(1.0 + t * t)
            sin = cos * t
            for k in range(3):
                A[k, p], A[k, q] = cos * A[k, p] - sin * A[k, q], sin * A[k, p] + cos * A[k, q]
            for k in range(3):
                A[p, k], A[q, k] = cos * A[p, k] - sin * A[q, k], sin * A[p, k] + cos * A[q, k]
                Q[k, p], Q[k, q] = cos * Q[k, p] - sin * Q[k, q], sin * Q[k, p] + cos * Q[k, q]
    if min(A[0, 0], A[1, 1], A[2, 2]) >= 0.0:
        return
    H[:] = 0.0
    for m in range(3):
        value = max(A[m, m], 0.0)
        for i in range(3):
            for j in range(3):
                H[i, j] += value * Q[i, m] * Q[j, m]
