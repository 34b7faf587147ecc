"""Independent bodies, one task each: small symmetric eigenproblems and functions of them, in cache.

A body's arithmetic never depends on the other bodies, so the bits are the same whatever the number
of threads.

A body's rows are members[start[b]:start[b + 1]]; each row has d coordinates (blocks are d x d), so
body b owns entries d start[b] .. d start[b + 1] of lam, and size^2 entries of Q from first[b] on:
its eigenvectors, one per row, in coordinates scaled by the square roots of the masses.

Eigenproblems: Householder tridiagonalisation and implicit QL (Golub & Van Loan 2013, Secs. 8.3.1
and 8.3.5), without calling LAPACK.  At 48 coordinates these loops are 2.3 times faster than its
dsyevd, equal at 130 and half as fast at 300; and there are no BLAS threads inside our own, so bits
do not depend on their number.  NaN must survive: no fastmath that assumes it away.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numba import prange

from .blocks import unsigned
from .jit import both, njit
from .spectral import stumpff_terms

_PARALLEL_EIGEN = 1e6  # sum of size^3 from which threads pay: about a millisecond
_PARALLEL_APPLY = 4e5  # sum of size^2, likewise
_EPS = float(np.finfo(float).eps)
_SWEEPS = 60  # per eigenvalue: two are typical
# Everything is inlined here, not where LLVM sees fit: that depends on which parts a process has
# compiled and which it has loaded, and a run resumed by another would differ in its last digits.
inlined = partial(njit, forceinline=True)
SUMS = {"reassoc", "contract", "nsz"}  # lets sums vectorise, keeps NaN and infinity


# ------------------------------------------------------------------ one symmetric matrix


@inlined(fastmath=SUMS)
def _tridiagonalise(a, d, e, beta):
    """a = Q T Q^T from its lower triangle: T in d (n,), e (n,); the reflectors I - beta[i] v v^T
    stay in the rows a[i, :i]."""
    n = a.shape[0]
    p = np.empty(n)
    for i in range(n - 1, 0, -1):
        v = a[i]
        last = v[i - 1]
        square = 0.0
        for j in range(i - 1):
            square += v[j] * v[j]
        beta[i] = 0.0
        e[i - 1] = last
        if square == 0.0:
            continue
        norm = math.sqrt(square + last * last)
        e[i - 1] = -norm if last > 0.0 else norm
        v[i - 1] = last - e[i - 1]
        beta[i] = -1.0 / (e[i - 1] * v[i - 1])
        # p = beta a v, then w = p - (beta/2) (p.v) v, and a <- a - v w^T - w v^T
        p[:i] = 0.0
        for j in range(i):
            row = a[j]
            total = 0.0
            for k in range(j):
                total += row[k] * v[k]
                p[k] += row[k] * v[j]
            p[j] += total + row[j] * v[j]
        overlap = 0.0
        for j in range(i):
            p[j] *= beta[i]
            overlap += p[j] * v[j]
        overlap *= 0.5 * beta[i]
        for j in range(i):
            p[j] -= overlap * v[j]
        for j in range(i):
            row = a[j]
            for k in range(j + 1):
                row[k] -= v[j] * p[k] + p[j] * v[k]
    for i in range(n):
        d[i] = a[i, i]
    e[n - 1] = 0.0


@inlined(fastmath=SUMS)
def _collect(a, beta, z):
    """z = Q^T, the product of the reflectors: its leading block grows row by row."""
    for i in range(a.shape[0]):
        v = a[i]
        if i and beta[i] != 0.0:
            for j in range(i):
                row = z[j]
                total = 0.0
                for k in range(i):
                    total += row[k] * v[k]
                total *= beta[i]
                for k in range(i):
                    row[k] -= total * v[k]
        for j in range(i):
            z[i, j] = 0.0
            z[j, i] = 0.0
        z[i, i] = 1.0


@inlined(fastmath={"contract"})
def _sweep(d, e, z, low, high):
    """One implicit QL sweep on rows low .. high, its rotations applied to rows of z."""
    g = (d[low + 1] - d[low]) / (2.0 * e[low])
    r = math.sqrt(g * g + 1.0)
    g = d[high] - d[low] + e[low] / (g + (r if g >= 0.0 else -r))
    s, c, p = 1.0, 1.0, 0.0
    for i in range(high - 1, low - 1, -1):
        f = s * e[i]
        b = c * e[i]
        r = math.sqrt(f * f + g * g)
        e[i + 1] = r
        if r == 0.0:  # the matrix fell apart here
            d[i + 1] -= p
            e[high] = 0.0
            return
        s = f / r
        c = g / r
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2.0 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        x = z[i]
        y = z[i + 1]
        for k in range(x.size):
            t = y[k]
            y[k] = s * x[k] + c * t
            x[k] = c * x[k] - s * t
    d[low] -= p
    e[low] = g
    e[high] = 0.0


@inlined
def _diagonalise_tridiagonal(d, e, z):
    """Eigenvalues into d; False when an eigenvalue does not settle."""
    n = d.size
    for low in range(n):
        for _ in range(_SWEEPS):
            high = low
            while high < n - 1 and abs(e[high]) > _EPS * (abs(d[high]) + abs(d[high + 1])):
                high += 1
            if high == low:
                break
            _sweep(d, e, z, low, high)
        else:
            return False
    return True


@inlined
def eigenbasis(a, top, lam, z):
    """Eigenvalues into lam (n,), in no order, eigenvectors into the rows of z (n, n); a is lost.

    top: the largest |entry| of a. lam is NaN where a is not finite.
    """
    if not math.isfinite(top):
        lam[:] = math.nan
        z[:] = math.nan
        return
    exponent = math.frexp(top)[1]
    a *= math.ldexp(1.0, -exponent)  # a power of two: exact, and squares cannot overflow
    e = np.empty(lam.size)
    beta = np.empty(lam.size)
    _tridiagonalise(a, lam, e, beta)
    _collect(a, beta, z)
    if not _diagonalise_tridiagonal(lam, e, z):
        lam[:] = math.nan
    lam *= math.ldexp(1.0, exponent)


# ------------------------------------------------------------------ many bodies


@inlined
def _assemble(indptr, indices, blocks, root, rows, place, a):
    """M^-1/2 K M^-1/2 of one body into a; returns its largest entry, infinity where it has NaN."""
    d = blocks.shape[1]
    a[:] = 0.0
    for i in range(rows.size):
        row = np.uint64(rows[i])
        for slot in range(indptr[row], indptr[row + np.uint64(1)]):
            column = np.uint64(indices[slot])
            j = place[column]
            for p in range(d):
                for q in range(d):
                    scale = root[row, p] * root[column, q]
                    a[d * i + p, d * j + q] += blocks[slot, p, q] / scale  # some come twice
    top = 0.0
    for value in a.flat:
        if not abs(value) <= top:
            top = abs(value) if math.isfinite(value) else math.inf
    return top


@both()
def _eigenbases(indptr, indices, blocks, root, start, members, place, first, lam, Q):
    d = blocks.shape[1]
    for b in prange(start.size - 1):
        low, high = start[b], start[b + 1]
        n = d * (high - low)
        a = np.empty((n, n))
        top = _assemble(indptr, indices, blocks, root, members[low:high], place, a)
        z = Q[first[b] : first[b] + n * n].reshape(n, n)
        eigenbasis(a, top, lam[d * low : d * high], z)


def body_eigenbases(indptr, indices, blocks, root, start, members, place, first, lam, Q):
    """Eigenvalues of M^-1 K into lam and eigenvectors of M^-1/2 K M^-1/2 into the rows of Q, body
    by body; lam is NaN for a body whose entries are not finite.

    blocks (nnz, d, d): K; root (n, d): square roots of the masses; place (n,): of a row within
    its body.
    """
    sizes = blocks.shape[1] * np.diff(start).astype(np.float64)
    find = _eigenbases[(sizes**3).sum() >= _PARALLEL_EIGEN]
    find(*unsigned(indptr, indices), blocks, root, start, members, place, first, lam, Q)


@inlined(fastmath=SUMS)
def _combine(z, F, scale, b, out):
    """out_j = sum_k z_k f_ji(k) (z_k . b_i), both ends scaled: b (n_in, n), out (n_out, n)."""
    c = np.empty(b.shape[0])
    for i in range(b.shape[0]):
        b[i] *= scale
    out[:] = 0.0
    for k in range(z.shape[0]):
        row = z[k]
        for i in range(b.shape[0]):
            own = b[i]
            total = 0.0
            for n in range(row.size):
                total += row[n] * own[n]
            c[i] = total
        for j in range(out.shape[0]):
            weight = 0.0
            for i in range(b.shape[0]):
                weight += F[j, i, k] * c[i]
            target = out[j]
            for n in range(row.size):
                target[n] += weight * row[n]
    for j in range(out.shape[0]):
        out[j] /= scale


@inlined
def _apply_to(body, F, root, start, members, first, Q, B, out):
    """One body: gather its part of B (n_in, n, d), combine, scatter into out (n_out, n, d)."""
    d = root.shape[1]
    rows = members[start[body] : start[body + 1]]
    n = d * rows.size
    scale = np.empty(n)
    b = np.empty((B.shape[0], n))
    value = np.empty((out.shape[0], n))
    for r in range(rows.size):
        scale[d * r : d * (r + 1)] = root[rows[r]]
        for i in range(B.shape[0]):
            b[i, d * r : d * (r + 1)] = B[i, rows[r]]
    z = Q[first[body] : first[body] + n * n].reshape(n, n)
    _combine(z, F, scale, b, value)
    for r in range(rows.size):
        for j in range(out.shape[0]):
            out[j, rows[r]] = value[j, d * r : d * (r + 1)]


@both()
def _apply(F, root, start, members, first, Q, B, out):
    d = root.shape[1]
    for b in prange(start.size - 1):
        own = F[:, :, d * start[b] : d * start[b + 1]]
        _apply_to(b, own, root, start, members, first, Q, B, out)


def body_apply(F, root, start, members, first, Q, B, out):
    """out_j = sum_i f_ji(A) b_i on the rows of every body, F (n_out, n_in, lam.size) = f_ji(lam).

    B (n_in, n, d), out (n_out, n, d): rows of no body are left alone.
    """
    _apply[Q.size >= _PARALLEL_APPLY](F, root, start, members, first, Q, B, out)


@both()
def _stumpff(terms, lam, root, start, members, first, Q, B, out):
    d = root.shape[1]
    rows, columns, ks, taus, powers, factors = terms
    for b in prange(start.size - 1):
        own = lam[d * start[b] : d * start[b + 1]]
        F = np.zeros((out.shape[0], B.shape[0], own.size))
        stumpff_terms(own, rows, columns, ks, taus, powers, factors, F)
        _apply_to(b, F, root, start, members, first, Q, B, out)


def body_stumpff_apply(terms, lam, root, start, members, first, Q, B, out):
    """As body_apply, with the functions of StumpffMap.arrays = (rows, columns, ks, taus, powers,
    factors): evaluated body by body, hence in threads too."""
    _stumpff[Q.size >= _PARALLEL_APPLY](terms, lam, root, start, members, first, Q, B, out)
