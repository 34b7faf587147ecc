"""stvk, Saint Venant-Kirchhoff: mu |E|^2 + lam/2 (tr E)^2, E = (F^T F - 1)/2.

It gives way under compression and lets elements turn inside out.  Quadratic in C = F^T F: the mean
stress is Fm S, S the stress at (C0 + C1)/2 (Simo, Tarnow 1992), without a pole.
"""

from __future__ import annotations

from ..cpu.jit import inlined
from ..cpu.mean_stretch import store_column, unit
from ..cpu.small import IDENTITY, add, combine, load, outer, product, row, turned
from .material import Material, Mean


def energy(mu, lam, a, b, c):
    # small strains do not cancel: everything is written in sigma - 1
    p, q, r = a - 1.0, b - 1.0, c - 1.0
    p2, q2, r2 = p * (2.0 + p), q * (2.0 + q), r * (2.0 + r)  # sigma^2 - 1
    trace = p2 + q2 + r2
    return 0.25 * mu * (p2 * p2 + q2 * q2 + r2 * r2) + 0.125 * lam * trace * trace


def stress(mu, lam, a, b, c):
    square = a * a + b * b + c * c
    trace = 0.5 * lam * (square - 3.0)
    return (
        a * (mu * (a * a - 1.0) + trace),
        b * (mu * (b * b - 1.0) + trace),
        c * (mu * (c * c - 1.0) + trace),
    )


def tangent(mu, lam, a, b, c):
    trace = 0.5 * lam * (a * a + b * b + c * c - 3.0) - mu
    aa, bb, cc = mu * a * a, mu * b * b, mu * c * c
    ab, ac, bc = mu * a * b, mu * a * c, mu * b * c
    return (
        3.0 * aa + trace + lam * a * a,
        3.0 * bb + trace + lam * b * b,
        3.0 * cc + trace + lam * c * c,
        *(lam * a * b, lam * a * c, lam * b * c),
        *(aa + bb + ab + trace, aa + cc + ac + trace, bb + cc + bc + trace),
        *(aa + bb - ab + trace, aa + cc - ac + trace, bb + cc - bc + trace),
    )


def piola(mu, lam, F):
    C = product(turned(F), F)
    trace = 0.5 * lam * (C[0] + C[4] + C[8] - 3.0)
    return product(F, combine(mu, C, trace - mu, IDENTITY)), 0.0


# ------------------------------------------------------------------ mean stress


@inlined(cache=False)
def _middle_stress(mu, lam, F0, F1):
    """S at the mean of both strains."""
    C = add(product(turned(F0), F0), product(turned(F1), F1))
    trace = 0.25 * (C[0] + C[4] + C[8]) - 1.5
    return combine(0.5 * mu, C, lam * trace - mu, IDENTITY)


def _mean_stress(mu, lam, before, after, middle, e):
    F0, F1 = load(before[0][e]), load(after[0][e])
    S = _middle_stress(mu, lam, F0, F1)
    return product(combine(0.5, F0, 0.5, F1), S)


def _mean_columns(mu, lam, before, after, middle, e, g, K):
    F0, F1 = load(before[0][e]), load(after[0][e])
    S = _middle_stress(mu, lam, F0, F1)
    Fm = combine(0.5, F0, 0.5, F1)
    for vertex in range(3):
        v = row(g, vertex)
        for axis in range(3):
            dE = outer(row(F1, axis), v)
            dtrace = dE[0] + dE[4] + dE[8]
            dS = combine(0.5 * mu, add(dE, turned(dE)), 0.5 * lam * dtrace, IDENTITY)
            dP = combine(0.5, product(outer(unit(axis), v), S), 1.0, product(Fm, dS))
            store_column(dP, g, 3 * vertex + axis, K)


MATERIAL = Material(
    name="stvk",
    energy=energy,
    stress=stress,
    tangent=tangent,
    piola=piola,
    mean=Mean(stress=_mean_stress, columns=_mean_columns, decomposed=False),
)
