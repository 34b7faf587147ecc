"""3x3 matrices as tuples of nine numbers, row by row: they live in registers, not in memory."""

from __future__ import annotations

from .jit import inlined

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


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
def combine(s, a, t, b):
    """s a + t b."""
    return (
        *(s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]),
        *(s * a[3] + t * b[3], s * a[4] + t * b[4], s * a[5] + t * b[5]),
        *(s * a[6] + t * b[6], s * a[7] + t * b[7], s * a[8] + t * b[8]),
    )


@inlined
def scaled(s, a):
    return (
        *(s * a[0], s * a[1], s * a[2]),
        *(s * a[3], s * a[4], s * a[5]),
        *(s * a[6], s * a[7], s * a[8]),
    )


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
