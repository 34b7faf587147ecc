"""Chebyshev's recurrence T_(k+1) = (s A + t) T_k - T_(k-1), summed up on its way: many terms in one
compiled loop, for matrices of 3x3 blocks, of bars, of numbers, and K' (x) I_3.

A pass reads the matrix once and both columns; rows are dealt to threads in chunks, which are
compiled by themselves, so that bits are the same with threads and without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from .bars import bar_row1, bar_row2
from .blocks import NO_WEIGHT, block_row1, block_row2, unsigned
from .csr import ALIKE, csr_row1, csr_row2, csr_row3, csr_row6
from .jit import CHUNK, Both, chunks, copied, njit

TERMS = 16  # of a call with threads: how many may be late before that is noticed


@njit(fastmath={"contract"}, inline="always")
def _next1(y, s, t, r, w, c, o):
    """One column: y = A x of a row's coordinates; r = x and w = z there, o what is summed up."""
    for a in range(len(y)):
        value = s * y[a] + t * r[a] - w[a]
        w[a] = value
        for j in range(o.shape[1]):
            o[a, j] += c[j, 0] * value


@njit(fastmath={"contract"}, inline="always")
def _next2(y, s, t, r, w, c, o):
    """Two columns, side by side."""
    for a in range(len(y) // 2):
        first = s * y[2 * a] + t * r[2 * a] - w[2 * a]
        second = s * y[2 * a + 1] + t * r[2 * a + 1] - w[2 * a + 1]
        w[2 * a] = first
        w[2 * a + 1] = second
        for j in range(o.shape[1]):
            o[a, j] += c[j, 0] * first + c[j, 1] * second


def _product(i, indptr, indices, data, x): ...  # stands for block_row1, ...
def _next(y, s, t, r, w, c, o): ...  # for _next1, _next2
def _term(task, indptr, indices, data, s, t, x, z, c, out): ...  # for what _chunk compiles to


def _chunk(task, indptr, indices, data, s, t, x, z, c, out):
    for i in range(task * CHUNK, min((task + 1) * CHUNK, x.shape[0])):
        y = _product(np.uint64(i), indptr, indices, data, x)
        _next(y, s, t, x[i], z[i], c, out[i])


def _terms(indptr, indices, data, s, t, x, z, coefficients, out):
    for k in range(coefficients.shape[0]):
        c = coefficients[k]
        if k & 1:
            for task in prange(chunks(x.shape[0])):
                _term(task, indptr, indices, data, s, t, z, x, c, out)
        else:
            for task in prange(chunks(x.shape[0])):
                _term(task, indptr, indices, data, s, t, x, z, c, out)


def _recurrence(row: Any, following: Any) -> Both:
    name = row.__name__
    chunk = copied(_chunk, name, {"_product": row, "_next": following})
    term = njit(fastmath={"contract"})(chunk)
    return Both({}, copied(_terms, name, {"_term": term}))


_BLOCKS = {1: _recurrence(block_row1, _next1), 2: _recurrence(block_row2, _next2)}
_BARS = {1: _recurrence(bar_row1, _next1), 2: _recurrence(bar_row2, _next2)}
_CSR = {1: _recurrence(csr_row1, _next1), 2: _recurrence(csr_row2, _next2)}
_ALIKE = {1: _recurrence(csr_row3, _next1), 2: _recurrence(csr_row6, _next2)}


def _run(kernels, indptr, indices, data, s, t, x, z, coefficients, out):
    n, p = indptr.size - 1, x.shape[1]
    rows = [a.reshape(n, -1) for a in (x, z)]
    total = out.reshape(n, rows[0].shape[1] // p, -1)
    for k in range(0, len(coefficients), TERMS):
        c = coefficients[k : k + TERMS]
        kernels[p].watched(n, len(c), indptr, indices, data, s, t, *rows, c, total)
        if len(c) & 1:
            rows.reverse()
            x, z = z, x
    return x, z


def block_chebyshev(indptr, indices, blocks, s, t, x, z, coefficients, out, weight=NO_WEIGHT):
    """z <- s A x + t x - z, out[:, j] += sum_c coefficients[k, j, c] z[:, c], then x and z in turn,
    for every k; in place.  Returns the last two terms, the newer one first.

    x, z: (3N, p) with p = 1 or 2; out: (3N, n_out); coefficients: (m, n_out, p); weight (N,):
    what rows of A are multiplied by, if given.
    """
    matrix = *unsigned(indptr, indices), (blocks.reshape(-1, 9), weight)
    return _run(_BLOCKS, *matrix, s, t, x, z, coefficients, out)


def bar_chebyshev(indptr, indices, bars, own, s, t, x, z, coefficients, out, weight=NO_WEIGHT):
    """As block_chebyshev."""
    matrix = *unsigned(indptr, indices), (bars, own, weight)
    return _run(_BARS, *matrix, s, t, x, z, coefficients, out)


def csr_chebyshev(indptr, indices, data, s, t, x, z, coefficients, out):
    """As block_chebyshev, for a CSR matrix, x (n, p); or for K' (x) I_3, where x has 3n rows."""
    alike = len(x) == ALIKE * (indptr.size - 1)
    matrix = *unsigned(indptr, indices), data
    return _run(_ALIKE if alike else _CSR, *matrix, s, t, x, z, coefficients, out)


def recurrence_columns(vectors):
    """x (n, p), of p vectors (n,)."""
    return np.stack(vectors, axis=1)


def recurrence_start(x, c):
    """z (n, p) = 0, and out (n, n_out) = x c^T, c (n_out, p)."""
    return np.zeros_like(x), x @ c.T


def recurrence_rows(out, rows=None):
    """out (n, n_out) as rows (n_out, n) of the host, or added to those."""
    return out.T.copy() if rows is None else np.add(rows, out.T, out=rows)
