"""Derivatives of the mean stress of mean_stretch.py by the second state.

Nine directions dF = e_b g_l^T for each element, b a coordinate and l a vertex; the block of
vertices k, l has the column dP g_k.  With dU1 from the signed polar decomposition (dU and the spin
R^T dR are quotients by sigma_i + sigma_j, as in materials/material.py), Um T + T Um = 2 Q gives

    Um dT + dT Um = 2 dQ - (T dUm + dUm T),   dUm = dU1/2   (dT = -T dUm T where T = Um^-1)

and Fm T has the derivative dF T/2 + Fm dT.  Everything is exact, also where a pole is cut off, save
for sums sigma_i + sigma_j below SMALLEST_SUM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..materials.material import SMALLEST_SUM, Mean
from .for_material import Slot, for_material
from .jit import inlined, strict
from .mean_stretch import (
    LARGEST,
    LIMIT,
    basis,
    cut,
    element,
    factors,
    in_basis,
    mean_parts,
    stretch,
    stretched_stress,
)
from .small import add, combine, diagonal, inner, outer, product, row, scaled, times, turned

factor_slopes = Slot("mean.factor_slopes")
invariant_rate, bounded_rate = Slot("mean.invariant_rate"), Slot("mean.bounded_rate")


@inlined
def unit(b):
    return (1.0 if b == 0 else 0.0, 1.0 if b == 1 else 0.0, 1.0 if b == 2 else 0.0)


@inlined
def _pair_rates(p, q, si, sj):
    """Spin w_ij = (A_ij - A_ji)/(s_i + s_j), and dU_ij, from A_ij = p and A_ji = q."""
    spin = (p - q) / max(si + sj, SMALLEST_SUM)
    return spin, 0.5 * (p - spin * sj + q + spin * si)


@inlined
def _polar_rates(A, s):
    """V^T (R^T dR) V and V^T dU V, from A = U^T dF V and the signed singular values s."""
    w01, d01 = _pair_rates(A[1], A[3], s[0], s[1])
    w02, d02 = _pair_rates(A[2], A[6], s[0], s[2])
    w12, d12 = _pair_rates(A[5], A[7], s[1], s[2])
    spin = (0.0, w01, w02, -w01, 0.0, w12, -w02, -w12, 0.0)
    return spin, (A[0], d01, d02, d01, A[4], d12, d02, d12, A[8])


@strict
def _cut_rate(Z, r, w, square, conserving, base, dsquare):
    """Derivative of base + w Z, from those of the two gradients and of the square."""
    if not r < LARGEST:
        return base
    dZ = combine(1.0, conserving, -1.0, base)
    dr = 2.0 * inner(Z, dZ) / (LIMIT * LIMIT * square) - r * dsquare / square
    return add(base, combine(w, dZ, 2.0 * (1.0 / r - 1.0) / (r * r) * dr, Z))


@inlined
def store_column(dP, g, column, K):
    """dP g_k of vertices 1, 2, 3 into a column of K (9, 9)."""
    for k in range(3):
        f = times(dP, row(g, k))
        for a in range(3):
            K[3 * k + a, column] = f[a]


@for_material()
def stretched_columns(mu, lam, before, after, middle, e, g, K):
    """dP along the nine directions of one element."""
    B, u = basis(middle, e)
    first, second = element(e, before), element(e, after)
    _, A1, sigma1, V1 = second
    t, T, Fm, Z, base, r, w, square, c = mean_parts(first, second, B, u)
    G = cut(base, w, Z)
    a, b = factors(mu, lam, first[0], second[0], first[2], sigma1)
    a_slope, b_slope = factor_slopes(mu, lam, first, second)
    W, FB = product(turned(B), V1), product(Fm, B)
    weight = combine(2.0, diagonal(u), 1.0, in_basis(B, stretch(V1, sigma1)))
    for vertex in range(3):
        v = row(g, vertex)
        for axis in range(3):
            dF = outer(unit(axis), v)
            spin, rate = _polar_rates(outer(row(A1, axis), times(turned(V1), v)), sigma1)
            N = product(W, product(scaled(0.5, rate), turned(W)))  # dUm, basis B
            change = product(FB, invariant_rate(t, N, weight, B, u))
            dG = combine(0.5, product(dF, T), 1.0, change)
            if w != 1.0:
                dR = product(A1, product(spin, turned(V1)))
                rate, dsquare = bounded_rate(first, second, c, dF, dR)
                dG = _cut_rate(Z, r, w, square, dG, rate, dsquare)
            dP = combine(inner(a_slope, dF), Fm, inner(b_slope, dF), G)
            store_column(add(dP, combine(0.5 * a, dF, b, dG)), g, 3 * vertex + axis, K)


@dataclass(frozen=True, eq=False, kw_only=True)
class Stretched(Mean):
    """a Fm + b dI/dF; matrices are tuples (small.py), a state is F, U, sigma, V of one element.

    basis(middle, e): B, u with Um = B diag(u) B^T (B = 1 where it is not needed).
    factors(mu, lam, F0, F1, sigma0, sigma1): a, b, quotients of differences of the energy.
    factor_slopes(mu, lam, before, after): matrices whose products with dF1 are their derivatives.
    invariant(U0, U1, B, u): T in the basis B, and as it is.
    invariant_rate(t, N, weight, B, u): dT, from the basis B; N = dUm, weight = 2 Um + U1 in it.
    bounded(F0, F1, R0, R1): the bounded gradient, the square of its size, and a number c for
    bounded_rate(before, after, c, dF, dR): the derivatives of the gradient and of the square.
    """

    stress: Any = stretched_stress
    columns: Any = stretched_columns
    basis: Callable[..., Any]
    factors: Callable[..., Any]
    factor_slopes: Callable[..., Any]
    invariant: Callable[..., Any]
    invariant_rate: Callable[..., Any]
    bounded: Callable[..., Any]
    bounded_rate: Callable[..., Any]
