"""Derivatives of the mean stress by the second state, as 3x3 blocks: not symmetric.

Nine directions dF = e_b g_l^T for each element, b a coordinate and l a vertex; the block of
vertices k, l has the column dP g_k.  With dU1 from the signed polar decomposition (dU and the spin
R^T dR are quotients by sigma_i + sigma_j, as in materials.py), Um T + T Um = 2 Q gives

    Um dT + dT Um = 2 dQ - (T dUm + dUm T),   dUm = dU1/2   (dT = -T dUm T where T = Um^-1)

and Fm T has the derivative dF T/2 + Fm dT.  Everything is exact, also where a pole is cut off (see
mean_stress.py), save for sums sigma_i + sigma_j below SMALLEST_SUM.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..constants import MEAN_CHUNK
from .jit import njit
from .materials import COROTATED, SMALLEST_SUM, STVK
from .mean_stress import (
    LARGEST,
    LIMIT,
    basis,
    cut,
    element,
    factors,
    in_basis,
    log_quotient,
    lyapunov,
    mean_parts,
    stretch,
    stvk_material_stress,
)
from .mean_tets import mean_basis
from .small import (
    IDENTITY,
    add,
    cofactor,
    combine,
    cross,
    diagonal,
    inner,
    load,
    outer,
    product,
    row,
    scaled,
    times,
    turned,
)
from .threads import PARALLEL_ROWS

__all__ = ["tet_mean_blocks"]

_options = {"cache": True, "error_model": "numpy"}
_parallel = {**_options, "parallel": True}


@njit(**_options, forceinline=True)
def _unit(b):
    return (1.0 if b == 0 else 0.0, 1.0 if b == 1 else 0.0, 1.0 if b == 2 else 0.0)


@njit(**_options, forceinline=True)
def _pair_rates(p, q, si, sj):
    """Spin w_ij = (A_ij - A_ji)/(s_i + s_j), and dU_ij, from A_ij = p and A_ji = q."""
    spin = (p - q) / max(si + sj, SMALLEST_SUM)
    return spin, 0.5 * (p - spin * sj + q + spin * si)


@njit(**_options, forceinline=True)
def _polar_rates(A, s):
    """V^T (R^T dR) V and V^T dU V, from A = U^T dF V and the signed singular values s."""
    w01, d01 = _pair_rates(A[1], A[3], s[0], s[1])
    w02, d02 = _pair_rates(A[2], A[6], s[0], s[2])
    w12, d12 = _pair_rates(A[5], A[7], s[1], s[2])
    spin = (0.0, w01, w02, -w01, 0.0, w12, -w02, -w12, 0.0)
    return spin, (A[0], d01, d02, d01, A[4], d12, d02, d12, A[8])


@njit(**_options)
def _bounded_rate(material, before, after, c, dF, dR):
    """Derivatives of mean_stress.bounded_gradient: the gradient, and the square of its size."""
    F0, F1 = before[0], after[0]
    D = combine(1.0, F1, -1.0, F0)
    if material == COROTATED:
        R0, R1 = product(before[1], turned(before[3])), product(after[1], turned(after[3]))
        dgap = 0.5 * (inner(combine(1.0, R1, -1.0, R0), dF) + inner(dR, add(F0, F1)))
        dc = 0.0 if c == 0.0 else (dgap - 2.0 * c * inner(D, dF)) / inner(D, D)
        return combine(1.0, combine(0.5, dR, dc, D), c, dF), 0.0
    Fm = combine(0.5, F0, 0.5, F1)
    rate = combine(0.5, cross(Fm, dF), 1.0 / 12.0, cross(D, dF))
    return rate, inner(cofactor(F1), cross(F1, dF))


@njit(**_options)
def _cut_rate(Z, r, w, square, conserving, base, dsquare):
    """Derivative of base + w Z, from those of the two gradients and of the square."""
    if not r < LARGEST:
        return base
    dZ = combine(1.0, conserving, -1.0, base)
    dr = 2.0 * inner(Z, dZ) / (LIMIT * LIMIT * square) - r * dsquare / square
    return add(base, combine(w, dZ, 2.0 * (1.0 / r - 1.0) / (r * r) * dr, Z))


@njit(**_options, forceinline=True)
def _factor_slopes(material, mu, lam, before, after):
    """Matrices whose products with dF are the derivatives of mean_stress.factors."""
    F0, F1 = before[0], after[0]
    if material == COROTATED:
        R = product(after[1], turned(after[3]))
        return scaled(0.0, R), scaled(0.5 * lam, R)
    _, slope = log_quotient(1.0 + inner(F0, F0), 1.0 + inner(F1, F1))
    return scaled(-2.0 * mu * slope, F1), scaled(0.5 * lam, cofactor(F1))


@njit(**_options)
def _stretched_columns(material, mu, lam, before, after, B, u, g, K):
    """Corotated and neo-hookean: dP along the nine directions of one element."""
    _, A1, sigma1, V1 = after
    t, T, Fm, Z, base, r, w, square, c = mean_parts(material, before, after, B, u)
    G = cut(base, w, Z)
    a, b = factors(material, mu, lam, before[0], after[0], before[2], sigma1)
    a_slope, b_slope = _factor_slopes(material, mu, lam, before, after)
    W, FB = product(turned(B), V1), product(Fm, B)
    weight = combine(2.0, diagonal(u), 1.0, in_basis(B, stretch(V1, sigma1)))
    for vertex in range(3):
        v = row(g, vertex)
        for axis in range(3):
            dF = outer(_unit(axis), v)
            spin, rate = _polar_rates(outer(row(A1, axis), times(turned(V1), v)), sigma1)
            N = product(W, product(scaled(0.5, rate), turned(W)))  # dUm, basis B
            tN = product(t, N)
            if material == COROTATED:  # of an inverse: -T dUm T
                change = product(FB, product(tN, scaled(-1.0, t)))
            else:  # 2 dQ = (2 dcof(U1) + 8 dcof(Um))/6, and dU1 = 2 dUm
                H = combine(2.0 / 3.0, cross(weight, N), -1.0, add(tN, turned(tN)))
                change = product(FB, product(lyapunov(H, u), turned(B)))
            dG = combine(0.5, product(dF, T), 1.0, change)
            if w != 1.0:
                dR = product(A1, product(spin, turned(V1)))
                rate, dsquare = _bounded_rate(material, before, after, c, dF, dR)
                dG = _cut_rate(Z, r, w, square, dG, rate, dsquare)
            dP = combine(inner(a_slope, dF), Fm, inner(b_slope, dF), G)
            _store_column(add(dP, combine(0.5 * a, dF, b, dG)), g, 3 * vertex + axis, K)


@njit(**_options)
def _stvk_columns(mu, lam, F0, F1, g, K):
    S = stvk_material_stress(mu, lam, F0, F1)
    Fm = combine(0.5, F0, 0.5, F1)
    for vertex in range(3):
        v = row(g, vertex)
        for axis in range(3):
            f = row(F1, axis)
            dE = outer(f, v)
            trace = dE[0] + dE[4] + dE[8]
            dS = combine(0.5 * mu, add(dE, turned(dE)), 0.5 * lam * trace, IDENTITY)
            dP = combine(0.5, product(outer(_unit(axis), v), S), 1.0, product(Fm, dS))
            _store_column(dP, g, 3 * vertex + axis, K)


@njit(**_options, forceinline=True)
def _store_column(dP, g, column, K):
    """dP g_k of vertices 1, 2, 3 into a column of K (9, 9)."""
    for k in range(3):
        f = times(dP, row(g, k))
        for a in range(3):
            K[3 * k + a, column] = f[a]


@njit(**_options)
def _element_blocks(e, before, after, middle, shape, moduli, material, K, out):
    """All sixteen blocks (144,), block 4 k + l; rows and columns sum to zero."""
    mu, lam = moduli[e, 0], moduli[e, 1]
    if material == STVK:
        _stvk_columns(mu, lam, load(before[0][e]), load(after[0][e]), shape[e], K)
    else:
        B, u = basis(e, middle, material)
        first, second = element(e, before), element(e, after)
        _stretched_columns(material, mu, lam, first, second, B, u, shape[e], K)
    for a in range(3):
        for b in range(3):
            corner = 0.0
            for k in range(3):
                in_row, in_column = 0.0, 0.0
                for n in range(3):
                    value = K[3 * k + a, 3 * n + b]
                    out[9 * (4 * (k + 1) + n + 1) + 3 * a + b] = value
                    in_row += value
                    in_column += K[3 * n + a, 3 * k + b]
                out[9 * 4 * (k + 1) + 3 * a + b] = -in_row
                out[9 * (k + 1) + 3 * a + b] = -in_column
                corner += in_row
            out[3 * a + b] = corner


@njit(**_options)
def _fill_serial(first, count, before, after, middle, shape, moduli, material, elements):
    K = np.empty((9, 9))
    for n in range(count):
        _element_blocks(first + n, before, after, middle, shape, moduli, material, K, elements[n])


@njit(**_parallel)
def _fill_parallel(first, count, before, after, middle, shape, moduli, material, elements):
    for n in prange(count):
        K = np.empty((9, 9))
        _element_blocks(first + n, before, after, middle, shape, moduli, material, K, elements[n])


@njit(**_options)
def _sum(begin, end, first, slot, start, source, elements, blocks):
    for p in range(begin, end):
        block = blocks[slot[p]]
        for q in range(start[p], start[p + 1]):
            e = elements[source[q] - first]
            for k in range(9):
                block[k] += e[k]


def tet_mean_blocks(
    before, after, tets, shape, moduli, material, chunks, slot, start, source, blocks
):
    """Adds dg/dx1 [N/m] of tet_mean_gradient to blocks (nnz, 3, 3).

    slot[p] takes the blocks source[start[p]:start[p + 1]] of the elements, block 16 e + 4 k + l
    being that of vertices k, l of element e.  Chunk c of MEAN_CHUNK elements has the slots
    p = chunks[c] to chunks[c + 1].
    """
    elements = np.empty((min(len(tets), MEAN_CHUNK), 144))
    fill = _fill_serial if len(tets) < PARALLEL_ROWS else _fill_parallel
    middle = mean_basis(before, after, material)
    flat = blocks.reshape(-1, 9)
    for chunk in range(len(chunks) - 1):
        first = chunk * MEAN_CHUNK
        count = min(MEAN_CHUNK, len(tets) - first)
        fill(first, count, before, after, middle, shape, moduli, material, elements)
        own = chunks[chunk], chunks[chunk + 1], np.uint32(16 * first)
        _sum(*own, slot, start, source, elements.reshape(-1, 9), flat)
