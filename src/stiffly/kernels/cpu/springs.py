"""Springs: energy, gradient, 3x3 tangent blocks and products, one particle per task.

With e = |d| - l, the linear law is E = k/2 e^2 and the cubic one E = k (e^2/2 + e^4/(4 l^2)).
Every spring appears twice, once in the row of each end (a half-spring), so each particle gathers
its own sum: no races, and the same bits whatever the number of threads.  Index arrays are
unsigned (see blocks.py).  A spring of length zero has no direction: it pulls nowhere, and is as
stiff in every direction as it is along itself.  `cubic` does not change inside a loop, so the
linear law does not pay for it.  Multiply-adds are not fused here:
it gains nothing, and the serial and the threaded loop would fuse different ones.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from ..names import CONVEX, NO_SLOT, SECANT, TANGENT
from .jit import both, njit
from .threads import PARALLEL_ROWS

_CHUNK = 256  # springs summed in order before the chunks are: keeps rounding off the ledger
# energies of fewer springs are summed before a second thread has woken up
_THREADED = 16 * PARALLEL_ROWS
_ROUNDING = 1.0 + 1e-12  # a spring that sits at its limit does not yield again


@njit(inline="always")
def _length(x, e):
    a = x[e[0]]
    b = x[e[1]]
    return math.sqrt((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 + (b[2] - a[2]) ** 2)


@njit(inline="always")
def _spring_energy(length, stiffness, rest, cubic):
    stretch = length - rest
    energy = 0.5 * stiffness * stretch * stretch
    if cubic:
        strain = stretch / rest
        energy *= 1.0 + 0.5 * strain * strain
    return energy


@njit(inline="always")
def _across(square, stiffness, rest, cubic):
    """Force divided by length, which is the stiffness across the spring; < 0 if compressed."""
    length = math.sqrt(square)
    ratio = 0.0 if square == 0.0 else rest / length
    across = stiffness * (1.0 - ratio)
    if cubic:
        strain = length / rest - 1.0
        across *= 1.0 + strain * strain
    return across


@njit(inline="always")
def _tangent(square, stiffness, rest, cubic):
    """a, b of the tangent a I + b d d^T."""
    length = math.sqrt(square)
    ratio = 0.0 if square == 0.0 else rest / length
    across = stiffness * (1.0 - ratio)
    extra = 0.0 if square == 0.0 else stiffness * ratio / square  # (along - across) / |d|^2
    if cubic:
        strain = length / rest - 1.0
        more = 1.0 + strain * strain
        along = 1.0 + 3.0 * strain * strain  # times the stiffness
        across = stiffness * along if square == 0.0 else across * more
        extra = 0.0 if square == 0.0 else stiffness * (along - more * (1.0 - ratio)) / square
    return across, extra


@both()
def _energy(x, edges, stiffness, rest, cubic, chunks):
    for c in prange(chunks.size):
        total = 0.0
        first = np.uint64(c) * np.uint64(_CHUNK)
        for s in range(first, min(first + np.uint64(_CHUNK), np.uint64(len(edges)))):
            total += _spring_energy(_length(x, edges[s]), stiffness[s], rest[s], cubic)
        chunks[c] = total


def spring_energy(x, edges, stiffness, rest, cubic=False):
    """Energy [J]. x (N, 3) [m], edges (m, 2), stiffness (m,) [N/m], rest (m,) [m]."""
    chunks = np.empty(-(-len(edges) // _CHUNK))
    _energy[len(edges) >= _THREADED](x, edges, stiffness, rest, cubic, chunks)
    return float(chunks.sum())


@njit
def _yield(x, edges, stiffness, rest, limit, cubic, chunks):
    m = np.uint64(len(edges))
    for c in range(chunks.size):
        total = 0.0
        first = np.uint64(c) * np.uint64(_CHUNK)
        for s in range(first, min(first + np.uint64(_CHUNK), m)):
            length = _length(x, edges[s])
            strain = length / rest[s] - 1.0
            if abs(strain) > _ROUNDING * limit[s] and length > 0.0:
                new = length / (1.0 + math.copysign(limit[s], strain))
                total += _spring_energy(length, stiffness[s], rest[s], cubic)
                total -= _spring_energy(length, stiffness[s], new, cubic)
                rest[s] = new
        chunks[c] = total


def spring_yield(x, edges, stiffness, rest, limit, cubic=False):
    """Where |L/l - 1| > limit (m,), in place: the rest length l at which it equals the limit.

    Returns the elastic energy [J] that is lost.  A spring of length zero is left as it is.
    """
    chunks = np.empty(-(-len(edges) // _CHUNK))
    _yield(x, edges, stiffness, rest, limit, cubic, chunks)
    return float(chunks.sum())


@njit(inline="always")
def add_row(row, g):
    row[0] += g[0]
    row[1] += g[1]
    row[2] += g[2]


@both()
def _gradient(x, start, neighbour, stiffness, rest, cubic, out):
    for k in prange(x.shape[0]):
        i = np.uint64(k)
        r = x[i]
        g0, g1, g2 = 0.0, 0.0, 0.0
        for p in range(start[i], start[i + np.uint64(1)]):
            q = x[neighbour[p]]
            d0, d1, d2 = r[0] - q[0], r[1] - q[1], r[2] - q[2]
            scale = _across(d0 * d0 + d1 * d1 + d2 * d2, stiffness[p], rest[p], cubic)
            g0 += scale * d0
            g1 += scale * d1
            g2 += scale * d2
        add_row(out[i], (g0, g1, g2))


def spring_gradient(x, start, neighbour, stiffness, rest, out, cubic=False):
    """Adds dE/dx [N] to out (N, 3).

    start (N + 1,), neighbour (2m,): half-springs of each particle; stiffness, rest (2m,) theirs.
    """
    _gradient[len(x) >= PARALLEL_ROWS](x, start, neighbour, stiffness, rest, cubic, out)


@both()
def _product(x, start, neighbour, stiffness, rest, cubic, b, out):
    for k in prange(x.shape[0]):
        i = np.uint64(k)
        r, u = x[i], b[i]
        g0, g1, g2 = 0.0, 0.0, 0.0
        for p in range(start[i], start[i + np.uint64(1)]):
            q, w = x[neighbour[p]], b[neighbour[p]]
            d0, d1, d2 = r[0] - q[0], r[1] - q[1], r[2] - q[2]
            w0, w1, w2 = u[0] - w[0], u[1] - w[1], u[2] - w[2]
            square = d0 * d0 + d1 * d1 + d2 * d2
            across, extra = _tangent(square, stiffness[p], rest[p], cubic)
            extra *= d0 * w0 + d1 * w1 + d2 * w2
            g0 += across * w0 + extra * d0
            g1 += across * w1 + extra * d1
            g2 += across * w2 + extra * d2
        add_row(out[i], (g0, g1, g2))


def spring_product(x, start, neighbour, stiffness, rest, b, out, cubic=False):
    """Adds (d2E/dx2) b [N] to out, b and out (N, 3): nothing is assembled."""
    _product[len(x) >= PARALLEL_ROWS](x, start, neighbour, stiffness, rest, cubic, b, out)


@njit(inline="always")
def _add_block(block, b00, b11, b22, b01, b02, b12):
    block[0] += b00
    block[4] += b11
    block[8] += b22
    block[1] += b01
    block[3] += b01
    block[2] += b02
    block[6] += b02
    block[5] += b12
    block[7] += b12


@njit(inline="always")
def _row_blocks(i, x, start, neighbour, stiffness, rest, law, diagonal, slot, blocks):
    """Writes particle i's block row; returns its share of the negative stiffness."""
    cubic, form = law
    r = x[i]
    own = blocks[diagonal[i]]
    press = 0.0
    for p in range(start[i], start[i + np.uint64(1)]):
        q = x[neighbour[p]]
        d0 = r[0] - q[0]
        d1 = r[1] - q[1]
        d2 = r[2] - q[2]
        square = d0 * d0 + d1 * d1 + d2 * d2
        across, extra = _tangent(square, stiffness[p], rest[p], cubic)
        if form == SECANT:
            extra = 0.0
        elif form == CONVEX and across < 0.0:
            extra += across / square
            across = 0.0
        b00 = across + extra * d0 * d0
        b11 = across + extra * d1 * d1
        b22 = across + extra * d2 * d2
        b01 = extra * d0 * d1
        b02 = extra * d0 * d2
        b12 = extra * d1 * d2
        _add_block(own, b00, b11, b22, b01, b02, b12)
        if slot[p] == NO_SLOT:
            press += 0.5 * max(0.0, -across)
        else:
            press += max(0.0, -across)
            _add_block(blocks[slot[p]], -b00, -b11, -b22, -b01, -b02, -b12)
    return press


@both()
def _blocks(x, start, neighbour, stiffness, rest, law, diagonal, slot, blocks, pressed):
    for i in prange(x.shape[0]):
        if diagonal[i] != NO_SLOT:
            pressed[i] += _row_blocks(
                np.uint64(i), x, start, neighbour, stiffness, rest, law, diagonal, slot, blocks
            )


def spring_blocks(
    x, start, neighbour, stiffness, rest, diagonal, slot, blocks, pressed, cubic=False, form=TANGENT
):
    """Adds the tangent d2E/dx2 [N/m] to blocks (nnz, 3, 3), and to pressed (N,) the sum of
    -f/L > 0 over each particle's compressed springs (half of it where the other end is fixed).

    diagonal (N,): slot of each particle's own block, slot (2m,): slot of each half-spring's
    coupling block; NO_SLOT for fixed particles.
    form: SECANT has (f/L) I for every spring, CONVEX no stiffness across where f < 0.
    """
    half = (start, neighbour, stiffness, rest)
    _blocks[len(x) >= PARALLEL_ROWS](
        x, *half, (cubic, form), diagonal, slot, blocks.reshape(-1, 9), pressed
    )
