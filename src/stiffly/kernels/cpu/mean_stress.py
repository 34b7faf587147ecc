"""Mean stress of an element between two deformations: its work is the change of energy, exactly.

With F0, F1, Fm = (F0 + F1)/2, D = F1 - F0 and C = F^T F, any P = Fm T with T symmetric has no
torque (P Fm^T is symmetric) and does the work P : D = T : (C1 - C0)/2, since that is the symmetric
part of Fm^T D.

stvk, quadratic in C: T is the stress S at (C0 + C1)/2 (Simo, Tarnow 1992).
corotated, neo-hookean: W = (function of |F|^2) + f(I), with I = tr U or det U of the signed polar
stretch, F = R U, U^2 = C.  With Um = (U0 + U1)/2 one has C1 - C0 = Um dU + dU Um, dU = U1 - U0, so

    Um T + T Um = 2 Q,   Q : dU = I1 - I0    gives   Fm T : D = I1 - I0

For tr U, Q = 1 and T = Um^-1: Fm Um^-1 is to a solid what (d0 + d1)/(L0 + L1) is to a spring.  For
det U, Q is the average of cof U on the way from U0 to U1, for which Simpson's rule is exact, and
T_ij = 2 Q_ij / (u_i + u_j) in the eigenbasis of Um.  The rest are quotients of differences, of
|F|^2, log(|F|^2 + 1) and f.

Poles.  u_i + u_j vanishes only where an element turns inside out, or back, within the step (or
stays flat), and no torque-free gradient need exist then: C1 = C0 while W differs, at worst.  There
is always a gradient that does the right work but turns the element a little,

    tr U:   (R0 + R1)/2 + c D, with c (Gonzalez 1996) such that the work is right
    det U:  cof Fm + cof(D)/12, the average of cof F

and where the two differ by more than LIMIT (relative to the gradient's own size, squares r > 1) the
difference counts 2/r - 1/r^2 times, smoothly down to nothing at the pole.  So energy is exact
always, angular momentum unless an element turns inside out.  LIMIT: of 20,000 random pairs with
stretches of 0.3 to 2 and any rotation between them none reaches it; with stretches down to 0.02 one
in 10,000 does.
"""

from __future__ import annotations

import math

from .jit import njit
from .materials import COROTATED, STVK
from .small import (
    IDENTITY,
    add,
    cofactor,
    combine,
    determinant,
    diagonal,
    inner,
    load,
    product,
    row,
    scaled,
    scaled_columns,
    times,
    turned,
)

LIMIT = 2.0
LARGEST = 1e20  # beyond this r there is nothing left to count, and rounding would be all of it
ROUNDING = 64 * 2.0**-52
_SERIES = 0.1  # below this y, atanh(y)/y is summed: quotients of differences would cancel

_options = {"cache": True, "error_model": "numpy"}


@njit(**_options, forceinline=True)
def stretch(V, sigma):
    """U = V diag(sigma) V^T."""
    return product(scaled_columns(V, sigma), turned(V))


@njit(**_options, forceinline=True)
def in_basis(B, A):
    """B^T A B."""
    return product(turned(B), product(A, B))


@njit(**_options, forceinline=True)
def lyapunov(H, u):
    """X with X diag(u) + diag(u) X = H, H symmetric."""
    a, b, c = H[1] / (u[0] + u[1]), H[2] / (u[0] + u[2]), H[5] / (u[1] + u[2])
    return (
        *(0.5 * H[0] / u[0], a, b),
        *(a, 0.5 * H[4] / u[1], c),
        *(b, c, 0.5 * H[8] / u[2]),
    )


@njit(**_options, forceinline=True)
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


@njit(**_options)
def mean_invariant(material, U0, U1, B, u):
    """T in the basis B: Um^-1 for I = tr U (corotated; B = 1), and in the eigenbasis of Um for
    det U (neo-hookean)."""
    if material == COROTATED:
        Um = combine(0.5, U0, 0.5, U1)
        cof = cofactor(Um)
        return scaled(1.0 / determinant(Um, cof), cof)
    ends = add(cofactor(in_basis(B, U0)), cofactor(in_basis(B, U1)))
    return lyapunov(combine(4.0 / 3.0, cofactor(diagonal(u)), 1.0 / 3.0, ends), u)


@njit(**_options)
def bounded_gradient(material, F0, F1, R0, R1):
    """The gradient that may turn the element, the square of its size, and c (see above)."""
    D = combine(1.0, F1, -1.0, F0)
    if material == COROTATED:
        both = add(F0, F1)
        gap = 0.5 * inner(combine(1.0, R1, -1.0, R0), both)
        # the rounding of gap, divided by a small |D|, would be a stress of its own
        c = gap / inner(D, D) if abs(gap) > ROUNDING * math.sqrt(inner(both, both)) else 0.0
        return combine(1.0, combine(0.5, R0, 0.5, R1), c, D), 3.0, c
    a, b = cofactor(F0), cofactor(F1)
    middle = cofactor(combine(0.5, F0, 0.5, F1))
    size = 0.5 * (inner(a, a) + inner(b, b))
    return combine(1.0, middle, 1.0 / 12.0, cofactor(D)), size, 0.0


@njit(**_options, forceinline=True)
def share(Z, square):
    """r = |Z|^2 / (LIMIT^2 square), and the part of Z that counts."""
    r = inner(Z, Z) / (LIMIT * LIMIT * square)
    if not r < LARGEST:  # NaN at the pole itself
        return r, 0.0
    return r, (2.0 - 1.0 / r) / r if r > 1.0 else 1.0


@njit(**_options, forceinline=True)
def factors(material, mu, lam, F0, F1, sigma0, sigma1):
    """a and b of the stress a Fm + b dI/dF: quotients of differences of the energy."""
    if material == COROTATED:
        first = (sigma0[0] - 1.0) + (sigma0[1] - 1.0) + (sigma0[2] - 1.0)
        second = (sigma1[0] - 1.0) + (sigma1[1] - 1.0) + (sigma1[2] - 1.0)
        return 2.0 * mu, 0.5 * lam * (first + second) - 2.0 * mu
    quotient, _ = log_quotient(1.0 + inner(F0, F0), 1.0 + inner(F1, F1))
    J = 0.5 * (determinant(F0, cofactor(F0)) + determinant(F1, cofactor(F1)))
    return mu * (1.0 - quotient), lam * (J - 1.0) - 0.75 * mu


@njit(**_options, forceinline=True)
def stvk_material_stress(mu, lam, F0, F1):
    """S at the mean of both strains (C - 1)/2."""
    C = add(product(turned(F0), F0), product(turned(F1), F1))
    trace = 0.25 * (C[0] + C[4] + C[8]) - 1.5
    return combine(0.5 * mu, C, lam * trace - mu, IDENTITY)


@njit(**_options)
def mean_parts(material, before, after, B, u):
    """T in the basis B and as it is, Fm, both gradients' difference Z and the bounded one; r, w,
    square and c as `share` and `bounded_gradient` have them.  before, after = F, U, sigma, V."""
    F0, A0, sigma0, V0 = before
    F1, A1, sigma1, V1 = after
    t = mean_invariant(material, stretch(V0, sigma0), stretch(V1, sigma1), B, u)
    T = t if material == COROTATED else product(B, product(t, turned(B)))
    Fm = combine(0.5, F0, 0.5, F1)
    R0, R1 = product(A0, turned(V0)), product(A1, turned(V1))
    base, square, c = bounded_gradient(material, F0, F1, R0, R1)
    Z = combine(1.0, product(Fm, T), -1.0, base)
    r, w = share(Z, square)
    return t, T, Fm, Z, base, r, w, square, c


@njit(**_options, forceinline=True)
def cut(base, w, Z):
    """base + w Z; Z is infinite or no number where w = 0."""
    return base if w == 0.0 else combine(1.0, base, w, Z)


@njit(**_options)
def stretched_stress(material, mu, lam, before, after, B, u):
    """Of corotated and neo-hookean elements."""
    _, T, Fm, Z, base, _, w, _, _ = mean_parts(material, before, after, B, u)
    a, b = factors(material, mu, lam, before[0], after[0], before[2], after[2])
    if w == 1.0:  # a + b T is small where the strain is, while a Fm and b Fm T are not
        return product(Fm, combine(a, IDENTITY, b, T))
    return combine(a, Fm, b, cut(base, w, Z))


@njit(**_options, forceinline=True)
def element(e, state):
    """F, U, sigma, V of element e."""
    F, A, sigma, V = state
    return load(F[e]), load(A[e]), row(sigma[e], 0), load(V[e])


@njit(**_options, forceinline=True)
def basis(e, middle, material):
    """B and u of element e; the corotated law needs none."""
    if material == COROTATED:
        return IDENTITY, (1.0, 1.0, 1.0)
    return load(middle[0][e]), row(middle[1][e], 0)


@njit(**_options)
def mean_stress(e, before, after, middle, mu, lam, material):
    """P of element e; middle = (B, u) of all elements (see mean_tets.py)."""
    if material == STVK:
        F0, F1 = load(before[0][e]), load(after[0][e])
        S = stvk_material_stress(mu, lam, F0, F1)
        return product(combine(0.5, F0, 0.5, F1), S)
    B, u = basis(e, middle, material)
    return stretched_stress(material, mu, lam, element(e, before), element(e, after), B, u)


@njit(**_options, forceinline=True)
def vertex_forces(P, g, f):
    """P g_k for the vertices 1, 2, 3 into f (12,); vertex 0 balances them."""
    for a in range(3):
        f[a] = 0.0
    for k in range(3):
        v = times(P, row(g, k))
        for a in range(3):
            f[3 * (k + 1) + a] = v[a]
            f[a] -= v[a]
