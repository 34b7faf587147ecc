"""Vectors as tuples of three numbers and 3x3 matrices of nine, row by row: they live in registers,
not in memory.  Arguments that are only read may be rows of arrays as well.

Vectors are put into their caller as code (inline="always"), with the caller's fastmath flags.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import inlined, njit

ZERO = (0.0, 0.0, 0.0)
NONE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


# ------------------------------------------------------------------ vectors


@njit(inline="always")
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(inline="always")
def length(a):
    return math.sqrt(dot(a, a))


@njit(inline="always")
def difference(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(inline="always")
def sum_of(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(inline="always")
def plus(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@njit(inline="always")
def mixed(s, a, t, b):
    """s a + t b."""
    return s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]


@njit(inline="always")
def vector_product(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(inline="always")
def add_to(row, s, a):
    """row += s a, of an array."""
    row[0] += s * a[0]
    row[1] += s * a[1]
    row[2] += s * a[2]


def columns(x):
    """(3, N): neighbouring points next to each other in memory, as the vector unit wants them."""
    return np.ascontiguousarray(x.T)


# ------------------------------------------------------------------ symmetric matrices
# as 00, 11, 22, 01, 02, 12


@njit(inline="always")
def bar(across, extra, d):
    """across I + extra d d^T."""
    return (
        *(across + extra * d[0] * d[0], across + extra * d[1] * d[1], across + extra * d[2] * d[2]),
        *(extra * d[0] * d[1], extra * d[0] * d[2], extra * d[1] * d[2]),
    )


@njit(inline="always")
def add_symmetric(block, s, S):
    """block (9,) += s S."""
    block[0] += s * S[0]
    block[4] += s * S[1]
    block[8] += s * S[2]
    block[1] += s * S[3]
    block[3] += s * S[3]
    block[2] += s * S[4]
    block[6] += s * S[4]
    block[5] += s * S[5]
    block[7] += s * S[5]


# ------------------------------------------------------------------ matrices


@inlined
def load(a):
    """From nine consecutive entries of an array."""
    return a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]


@inlined
def row(a, i):
    """Row i of a matrix, or the i-th three numbers of an array."""
    return a[3 * i], a[3 * i + 1], a[3 * i + 2]


@inlined
def outer(a, b):
    """a b^T of two vectors."""
    return (
        *(a[0] * b[0], a[0] * b[1], a[0] * b[2]),
        *(a[1] * b[0], a[1] * b[1], a[1] * b[2]),
        *(a[2] * b[0], a[2] * b[1], a[2] * b[2]),
    )


@inlined
def diagonal(u):
    return u[0], 0.0, 0.0, 0.0, u[1], 0.0, 0.0, 0.0, u[2]


@inlined
def add(a, b):
    return (
        *(a[0] + b[0], a[1] + b[1], a[2] + b[2]),
        *(a[3] + b[3], a[4] + b[4], a[5] + b[5]),
        *(a[6] + b[6], a[7] + b[7], a[8] + b[8]),
    )


@inlined
def scaled(s, a):
    return (
        *(s * a[0], s * a[1], s * a[2]),
        *(s * a[3], s * a[4], s * a[5]),
        *(s * a[6], s * a[7], s * a[8]),
    )


@inlined
def combine(s, a, t, b):
    """s a + t b."""
    return add(scaled(s, a), scaled(t, b))


@inlined
def turned(a):
    """The transpose."""
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@inlined
def times(a, v):
    """a v, v of three numbers."""
    return (
        a[0] * v[0] + a[1] * v[1] + a[2] * v[2],
        a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
        a[6] * v[0] + a[7] * v[1] + a[8] * v[2],
    )


@inlined
def product(a, b):
    p = times(turned(b), (a[0], a[1], a[2]))  # the rows of a b are those of a, times b
    q = times(turned(b), (a[3], a[4], a[5]))
    r = times(turned(b), (a[6], a[7], a[8]))
    return p[0], p[1], p[2], q[0], q[1], q[2], r[0], r[1], r[2]


@inlined
def scaled_columns(a, s):
    """a diag(s)."""
    return (
        *(a[0] * s[0], a[1] * s[1], a[2] * s[2]),
        *(a[3] * s[0], a[4] * s[1], a[5] * s[2]),
        *(a[6] * s[0], a[7] * s[1], a[8] * s[2]),
    )


@inlined
def inner(a, b):
    """a : b."""
    return (
        (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
        + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
        + (a[6] * b[6] + a[7] * b[7] + a[8] * b[8])
    )


@inlined
def cofactor(a):
    return (
        *(a[4] * a[8] - a[5] * a[7], a[5] * a[6] - a[3] * a[8], a[3] * a[7] - a[4] * a[6]),
        *(a[7] * a[2] - a[8] * a[1], a[8] * a[0] - a[6] * a[2], a[6] * a[1] - a[7] * a[0]),
        *(a[1] * a[5] - a[2] * a[4], a[2] * a[3] - a[0] * a[5], a[0] * a[4] - a[1] * a[3]),
    )


@inlined
def cross(a, b):
    """cof(a + b) - cof(a) - cof(b): the derivative of cof at a along b, and the other way round."""
    return combine(1.0, cofactor(add(a, b)), -1.0, add(cofactor(a), cofactor(b)))


@inlined
def determinant(a, cof):
    """From the first row and its cofactors."""
    return a[0] * cof[0] + a[1] * cof[1] + a[2] * cof[2]
