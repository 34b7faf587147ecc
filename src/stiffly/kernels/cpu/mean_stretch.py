"""Mean stress of an element between two deformations: its work is the change of energy, exactly.

With F0, F1, Fm = (F0 + F1)/2, D = F1 - F0 and C = F^T F, any P = Fm T with T symmetric has no
torque (P Fm^T is symmetric) and does the work P : D = T : (C1 - C0)/2, since that is the symmetric
part of Fm^T D.

Here W = (function of |F|^2) + f(I), with an invariant I (tr U, det U) of the signed polar stretch,
F = R U, U^2 = C.  With Um = (U0 + U1)/2 one has C1 - C0 = Um dU + dU Um, dU = U1 - U0, so

    Um T + T Um = 2 Q,   Q : dU = I1 - I0    gives   Fm T : D = I1 - I0

The rest are quotients of differences, of |F|^2, log(|F|^2 + 1) and f.  What differs from material
to material are the slots below (see `Stretched`, and the files in kernels/materials).

Poles.  u_i + u_j vanishes only where an element turns inside out, or back, within the step (or
stays flat), and no torque-free gradient need exist then: C1 = C0 while W differs, at worst.  There
is always a gradient that does the right work and stays bounded, but turns the element a little, and
where the two differ by more than LIMIT (relative to the gradient's own size, squares r > 1) the
difference counts 2/r - 1/r^2 times, smoothly down to nothing at the pole.  So energy is exact
always, angular momentum unless an element turns inside out.  LIMIT: of 20,000 random pairs with
stretches of 0.3 to 2 and any rotation between them none reaches it; with stretches down to 0.02 one
in 10,000 does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..materials.material import SMALLEST_SUM, Mean
from .for_material import Slot, for_material
from .jit import inlined, strict
from .small import (
    IDENTITY,
    add,
    combine,
    diagonal,
    inner,
    load,
    outer,
    product,
    row,
    scaled,
    scaled_columns,
    times,
    turned,
)

LIMIT = 2.0
LARGEST = 1e20  # beyond this r there is nothing left to count, and rounding would be all of it
_SERIES = 0.1  # below this y, atanh(y)/y is summed: quotients of differences would cancel

basis, factors = Slot("mean.basis"), Slot("mean.factors")
invariant, bounded = Slot("mean.invariant"), Slot("mean.bounded")
factor_slopes = Slot("mean.factor_slopes")
invariant_rate, bounded_rate = Slot("mean.invariant_rate"), Slot("mean.bounded_rate")


@inlined
def stretch(V, sigma):
    """U = V diag(sigma) V^T."""
    return product(scaled_columns(V, sigma), turned(V))


@inlined
def in_basis(B, A):
    """B^T A B."""
    return product(turned(B), product(A, B))


@inlined
def lyapunov(H, u):
    """X with X diag(u) + diag(u) X = H, H symmetric."""
    a, b, c = H[1] / (u[0] + u[1]), H[2] / (u[0] + u[2]), H[5] / (u[1] + u[2])
    return (
        *(0.5 * H[0] / u[0], a, b),
        *(a, 0.5 * H[4] / u[1], c),
        *(b, c, 0.5 * H[8] / u[2]),
    )


@inlined
def log_quotient(a, b):
    """(log b - log a)/(b - a) = 2 f(y)/(a + b), f = atanh(y)/y, y = (b - a)/(b + a); d/db."""
    total = a + b
    y = (b - a) / total
    if abs(y) < _SERIES:
        z = y * y
        f, df, power = 0.0, 0.0, 1.0  # power = y^(2k)
        for k in range(10):
            f += power / (2.0 * k + 1.0)
            df += (2.0 * k + 2.0) * power / (2.0 * k + 3.0)
            power *= z
        df *= y
    else:
        f = 0.5 * math.log((1.0 + y) / (1.0 - y)) / y
        df = (1.0 / (1.0 - y * y) - f) / y
    return 2.0 * f / total, 4.0 * a * df / (total * total * total) - 2.0 * f / (total * total)


@inlined
def share(Z, square):
    """r = |Z|^2 / (LIMIT^2 square), and the part of Z that counts."""
    r = inner(Z, Z) / (LIMIT * LIMIT * square)
    if not r < LARGEST:  # NaN at the pole itself
        return r, 0.0
    return r, (2.0 - 1.0 / r) / r if r > 1.0 else 1.0


@for_material()
def mean_parts(before, after, B, u):
    """T in the basis B and as it is, Fm, both gradients' difference Z and the bounded one; r, w,
    square and c as `share` and `bounded` have them.  before, after = F, U, sigma, V."""
    F0, A0, sigma0, V0 = before
    F1, A1, sigma1, V1 = after
    t, T = invariant(stretch(V0, sigma0), stretch(V1, sigma1), B, u)
    Fm = combine(0.5, F0, 0.5, F1)
    R0, R1 = product(A0, turned(V0)), product(A1, turned(V1))
    base, square, c = bounded(F0, F1, R0, R1)
    Z = combine(1.0, product(Fm, T), -1.0, base)
    r, w = share(Z, square)
    return t, T, Fm, Z, base, r, w, square, c


@inlined
def cut(base, w, Z):
    """base + w Z; Z is infinite or no number where w = 0."""
    return base if w == 0.0 else combine(1.0, base, w, Z)


@inlined
def element(e, state):
    """F, U, sigma, V of element e."""
    F, A, sigma, V = state
    return load(F[e]), load(A[e]), row(sigma[e], 0), load(V[e])


@for_material()
def stretched_stress(mu, lam, before, after, middle, e):
    B, u = basis(middle, e)
    first, second = element(e, before), element(e, after)
    _, T, Fm, Z, base, _, w, _, _ = mean_parts(first, second, B, u)
    a, b = factors(mu, lam, first[0], second[0], first[2], second[2])
    if w == 1.0:  # a + b T is small where the strain is, while a Fm and b Fm T are not
        return product(Fm, combine(a, IDENTITY, b, T))
    return combine(a, Fm, b, cut(base, w, Z))


# ------------------------------------------------------------------ derivatives by the second state
# Nine directions dF = e_b g_l^T for each element, b a coordinate and l a vertex; the block of
# vertices k, l has the column dP g_k.  With dU1 from the signed polar decomposition (dU and the
# spin R^T dR are quotients by sigma_i + sigma_j, as in materials/material.py), Um T + T Um = 2 Q
# gives
#
#     Um dT + dT Um = 2 dQ - (T dUm + dUm T),   dUm = dU1/2   (dT = -T dUm T where T = Um^-1)
#
# and Fm T has the derivative dF T/2 + Fm dT.  Everything is exact, also where a pole is cut off,
# save for sums sigma_i + sigma_j below SMALLEST_SUM.


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
