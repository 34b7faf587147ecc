"""Independent bodies, one task each: small symmetric eigenproblems and functions of them, in cache.

A body's arithmetic never depends on the other bodies, so the bits are the same whatever the number
of threads.

A body's rows are members[start[b]:start[b + 1]]; each row has d coordinates (blocks are d x d), so
body b owns entries d start[b] .. d start[b + 1] of lam, and size^2 entries of Q from first[b] on:
its eigenvectors, one per row, in coordinates scaled by the square roots of the masses.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from .eigen import SUMS, eigenbasis
from .indices import unsigned
from .jit import both, njit
from .spectral import stumpff_terms

_PARALLEL_EIGEN = 1e6  # sum of size^3 from which threads pay: about a millisecond
_PARALLEL_APPLY = 4e5  # sum of size^2, likewise


@njit
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


@njit(fastmath=SUMS)
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


@njit
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
