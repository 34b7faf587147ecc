"""corotated: mu sum (sigma_i - 1)^2 + lam/2 (sum sigma_i - 3)^2.

Its mean stress takes I = tr U, so that Q = 1 and T = Um^-1: Fm Um^-1 is to a solid what
(d0 + d1)/(L0 + L1) is to a spring.  The gradient that stays bounded where U is singular is
(R0 + R1)/2 + c D, with c (Gonzalez 1996) such that the work is right.

The rotation has a formula, too.  The sum s of the signed singular values is the largest root of
(s^2 - I)^2 - 8 J s - 4 |cof F|^2, with I = |F|^2 and J = det F, and R is its derivative by F:

    R = ((s^2 + I) F + 2 s cof F - 2 F F^T F) / (s (s^2 - I) - 2 J)
"""

from __future__ import annotations

import math

from ..cpu.mean_stretch import Stretched
from ..cpu.small import (
    IDENTITY,
    add,
    cofactor,
    combine,
    determinant,
    inner,
    product,
    scaled,
    turned,
)
from .material import SMALLEST_SUM, Material

ROUNDING = 64 * 2.0**-52
STEPS = 6  # of Newton's method for s: enough for tets that are not nearly turned inside out


def energy(mu, lam, a, b, c):
    p, q, r = a - 1.0, b - 1.0, c - 1.0
    trace = p + q + r
    return mu * (p * p + q * q + r * r) + 0.5 * lam * trace * trace


def stress(mu, lam, a, b, c):
    trace = lam * ((a - 1.0) + (b - 1.0) + (c - 1.0))
    return (
        2.0 * mu * (a - 1.0) + trace,
        2.0 * mu * (b - 1.0) + trace,
        2.0 * mu * (c - 1.0) + trace,
    )


def tangent(mu, lam, a, b, c):
    own, two = 2.0 * mu + lam, 2.0 * mu
    trace = 2.0 * lam * (a + b + c - 3.0) - 4.0 * mu
    ab = two + trace / max(a + b, SMALLEST_SUM)
    ac = two + trace / max(a + c, SMALLEST_SUM)
    bc = two + trace / max(b + c, SMALLEST_SUM)
    return own, own, own, lam, lam, lam, two, two, two, ab, ac, bc


def piola(mu, lam, F):
    square, cof = inner(F, F), cofactor(F)
    J, area = determinant(F, cof), inner(cof, cof)
    s = math.sqrt(3.0 * square)  # not below the root, which Newton's steps then approach from above
    change = 0.0
    for _ in range(STEPS):
        q = s * s - square
        change = (q * q - 8.0 * J * s - 4.0 * area) / (4.0 * s * q - 8.0 * J)
        s -= change
    scale = 1.0 / (s * (s * s - square) - 2.0 * J)
    rest = combine(2.0 * s * scale, cof, -2.0 * scale, product(F, product(turned(F), F)))
    R = combine((s * s + square) * scale, F, 1.0, rest)
    return combine(2.0 * mu, F, lam * (s - 3.0) - 2.0 * mu, R), (change / s) * (change / s)


# ------------------------------------------------------------------ mean stress


def _basis(middle, e):
    return IDENTITY, (1.0, 1.0, 1.0)


def _factors(mu, lam, F0, F1, sigma0, sigma1):
    first = (sigma0[0] - 1.0) + (sigma0[1] - 1.0) + (sigma0[2] - 1.0)
    second = (sigma1[0] - 1.0) + (sigma1[1] - 1.0) + (sigma1[2] - 1.0)
    return 2.0 * mu, 0.5 * lam * (first + second) - 2.0 * mu


def _factor_slopes(mu, lam, before, after):
    R = product(after[1], turned(after[3]))
    return scaled(0.0, R), scaled(0.5 * lam, R)


def _invariant(U0, U1, B, u):
    Um = combine(0.5, U0, 0.5, U1)
    cof = cofactor(Um)
    T = scaled(1.0 / determinant(Um, cof), cof)
    return T, T


def _invariant_rate(t, N, weight, B, u):
    return product(product(t, N), scaled(-1.0, t))  # of an inverse: -T dUm T


def _bounded(F0, F1, R0, R1):
    D, both = combine(1.0, F1, -1.0, F0), add(F0, F1)
    gap = 0.5 * inner(combine(1.0, R1, -1.0, R0), both)
    # the rounding of gap, divided by a small |D|, would be a stress of its own
    c = gap / inner(D, D) if abs(gap) > ROUNDING * math.sqrt(inner(both, both)) else 0.0
    return combine(1.0, combine(0.5, R0, 0.5, R1), c, D), 3.0, c


def _bounded_rate(before, after, c, dF, dR):
    F0, F1 = before[0], after[0]
    D = combine(1.0, F1, -1.0, F0)
    R0, R1 = product(before[1], turned(before[3])), product(after[1], turned(after[3]))
    dgap = 0.5 * (inner(combine(1.0, R1, -1.0, R0), dF) + inner(dR, add(F0, F1)))
    dc = 0.0 if c == 0.0 else (dgap - 2.0 * c * inner(D, dF)) / inner(D, D)
    return combine(1.0, combine(0.5, dR, dc, D), c, dF), 0.0


MATERIAL = Material(
    name="corotated",
    energy=energy,
    stress=stress,
    tangent=tangent,
    piola=piola,
    mean=Stretched(
        basis=_basis,
        factors=_factors,
        factor_slopes=_factor_slopes,
        invariant=_invariant,
        invariant_rate=_invariant_rate,
        bounded=_bounded,
        bounded_rate=_bounded_rate,
    ),
)
