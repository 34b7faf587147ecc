"""neo-hookean: m/2 (I - 3) - m/2 log((I + 1)/4) - 3 m/4 (J - 1) + l/2 (J - 1)^2.

The stable energy of Smith, de Goes and Kim (2018), I = sum sigma_i^2, with its constant alpha
written out; m = 4/3 mu and l = lam + 5/6 mu make it agree with linear elasticity.

Its mean stress takes det U: Q is the average of cof U on the way from U0 to U1, for which
Simpson's rule is exact, and T_ij = 2 Q_ij / (u_i + u_j) in the eigenbasis of Um.  The bounded
gradient is the average of cof F, cof Fm + cof(D)/12.
"""

from __future__ import annotations

import math

from ..cpu.mean_stretch import Stretched, in_basis, log_quotient, lyapunov
from ..cpu.small import (
    add,
    cofactor,
    combine,
    cross,
    determinant,
    diagonal,
    inner,
    load,
    product,
    row,
    scaled,
    turned,
)
from .material import Material


def energy(mu, lam, a, b, c):
    # small strains do not cancel: everything is written in sigma - 1
    p, q, r = a - 1.0, b - 1.0, c - 1.0
    p2, q2, r2 = p * (2.0 + p), q * (2.0 + q), r * (2.0 + r)  # sigma^2 - 1
    trace = p2 + q2 + r2
    growth = p + q + r + p * q + p * r + q * r + p * q * r  # J - 1
    shear = 0.5 * (trace - math.log1p(0.25 * trace)) - 0.75 * growth
    return mu * shear + 0.5 * lam * growth * growth


def stress(mu, lam, a, b, c):
    square = a * a + b * b + c * c
    shear = mu * square / (square + 1.0)
    bulk = lam * (a * b * c - 1.0) - 0.75 * mu
    return shear * a + bulk * b * c, shear * b + bulk * a * c, shear * c + bulk * a * b


def tangent(mu, lam, a, b, c):
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
        *(shear - bulk * c, shear - bulk * b, shear - bulk * a),
        *(shear + bulk * c, shear + bulk * b, shear + bulk * a),
    )


def piola(mu, lam, F):
    square, cof = inner(F, F), cofactor(F)
    bulk = lam * (determinant(F, cof) - 1.0) - 0.75 * mu
    return combine(mu * square / (square + 1.0), F, bulk, cof), 0.0


# ------------------------------------------------------------------ mean stress


def _basis(middle, e):
    return load(middle[0][e]), row(middle[1][e], 0)


def _factors(mu, lam, F0, F1, sigma0, sigma1):
    quotient, _ = log_quotient(1.0 + inner(F0, F0), 1.0 + inner(F1, F1))
    J = 0.5 * (determinant(F0, cofactor(F0)) + determinant(F1, cofactor(F1)))
    return mu * (1.0 - quotient), lam * (J - 1.0) - 0.75 * mu


def _factor_slopes(mu, lam, before, after):
    F0, F1 = before[0], after[0]
    _, slope = log_quotient(1.0 + inner(F0, F0), 1.0 + inner(F1, F1))
    return scaled(-2.0 * mu * slope, F1), scaled(0.5 * lam, cofactor(F1))


def _invariant(U0, U1, B, u):
    ends = add(cofactor(in_basis(B, U0)), cofactor(in_basis(B, U1)))
    t = lyapunov(combine(4.0 / 3.0, cofactor(diagonal(u)), 1.0 / 3.0, ends), u)
    return t, product(B, product(t, turned(B)))


def _invariant_rate(t, N, weight, B, u):
    tN = product(t, N)  # 2 dQ = (2 dcof(U1) + 8 dcof(Um))/6, and dU1 = 2 dUm
    H = combine(2.0 / 3.0, cross(weight, N), -1.0, add(tN, turned(tN)))
    return product(lyapunov(H, u), turned(B))


def _bounded(F0, F1, R0, R1):
    D = combine(1.0, F1, -1.0, F0)
    a, b = cofactor(F0), cofactor(F1)
    middle = cofactor(combine(0.5, F0, 0.5, F1))
    size = 0.5 * (inner(a, a) + inner(b, b))
    return combine(1.0, middle, 1.0 / 12.0, cofactor(D)), size, 0.0


def _bounded_rate(before, after, c, dF, dR):
    F0, F1 = before[0], after[0]
    D, Fm = combine(1.0, F1, -1.0, F0), combine(0.5, F0, 0.5, F1)
    rate = combine(0.5, cross(Fm, dF), 1.0 / 12.0, cross(D, dF))
    return rate, inner(cofactor(F1), cross(F1, dF))


MATERIAL = Material(
    name="neo-hookean",
    energy=energy,
    stress=stress,
    tangent=tangent,
    piola=piola,
    mean=Stretched(
        turned=True,
        basis=_basis,
        factors=_factors,
        factor_slopes=_factor_slopes,
        invariant=_invariant,
        invariant_rate=_invariant_rate,
        bounded=_bounded,
        bounded_rate=_bounded_rate,
    ),
    moduli=lambda mu, lam: (4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu),
    lame=lambda m, k: (0.75 * m, k - 0.625 * m),
)
