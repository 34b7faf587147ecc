"""Springs E = k/2 (|d| - l)^2: energy, gradient and 3x3 tangent blocks, one particle per task.

Every spring appears twice, once in the row of each end (a half-spring), so each particle gathers
its own sum: no races, and the same bits whatever the number of threads.  Index arrays are
unsigned (see blocks.py).  A spring of length zero has no direction: it pulls nowhere, and its
tangent is k I.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from .threads import PARALLEL_ROWS

__all__ = ["NO_SLOT", "spring_blocks", "spring_energy", "spring_gradient"]

NO_SLOT = np.uint32(0xFFFFFFFF)  # in a slot array: this block is not stored (a fixed end)

_CHUNK = 256  # springs summed in order before the chunks are: keeps rounding off the ledger


@njit(cache=True, inline="always")
def _chunk_energy(c, x, edges, stiffness, rest):
    total = 0.0
    first = np.uint64(c) * np.uint64(_CHUNK)
    for s in range(first, min(first + np.uint64(_CHUNK), np.uint64(len(edges)))):
        e = edges[s]
        a = x[e[0]]
        b = x[e[1]]
        stretch = math.sqrt((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 + (b[2] - a[2]) ** 2) - rest[s]
        total += 0.5 * stiffness[s] * stretch * stretch
    return total


@njit(cache=True)
def _energy(x, edges, stiffness, rest, chunks):
    for c in range(chunks.size):
        chunks[c] = _chunk_energy(c, x, edges, stiffness, rest)


def spring_energy(x, edges, stiffness, rest):
    """Energy [J]. x (N, 3) [m], edges (m, 2), stiffness (m,) [N/m], rest (m,) [m].

    Serial: at 2 ns a spring threads do not pay.
    """
    chunks = np.empty(-(-len(edges) // _CHUNK))
    _energy(x, edges, stiffness, rest, chunks)
    return float(chunks.sum())


@njit(cache=True, inline="always", fastmath={"contract"})
def _row_gradient(i, x, start, neighbour, stiffness, rest):
    r = x[i]
    g0 = 0.0
    g1 = 0.0
    g2 = 0.0
    for p in range(start[i], start[i + np.uint64(1)]):
        q = x[neighbour[p]]
        d0 = r[0] - q[0]
        d1 = r[1] - q[1]
        d2 = r[2] - q[2]
        square = d0 * d0 + d1 * d1 + d2 * d2
        ratio = 0.0 if square == 0.0 else rest[p] / math.sqrt(square)
        scale = stiffness[p] * (1.0 - ratio)
        g0 += scale * d0
        g1 += scale * d1
        g2 += scale * d2
    return g0, g1, g2


@njit(cache=True, fastmath={"contract"})
def _gradient_serial(x, start, neighbour, stiffness, rest, out):
    for i in range(x.shape[0]):
        g = _row_gradient(np.uint64(i), x, start, neighbour, stiffness, rest)
        out[i, 0] += g[0]
        out[i, 1] += g[1]
        out[i, 2] += g[2]


@njit(cache=True, parallel=True, fastmath={"contract"})
def _gradient_parallel(x, start, neighbour, stiffness, rest, out):
    for i in prange(x.shape[0]):
        g = _row_gradient(np.uint64(i), x, start, neighbour, stiffness, rest)
        out[i, 0] += g[0]
        out[i, 1] += g[1]
        out[i, 2] += g[2]


def spring_gradient(x, start, neighbour, stiffness, rest, out):
    """Adds dE/dx [N] to out (N, 3).

    start (N + 1,), neighbour (2m,): half-springs of each particle; stiffness, rest (2m,) theirs.
    """
    gradient = _gradient_serial if len(x) < PARALLEL_ROWS else _gradient_parallel
    gradient(x, start, neighbour, stiffness, rest, out)


@njit(cache=True, inline="always")
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


@njit(cache=True, inline="always", fastmath={"contract"})
def _row_blocks(i, x, start, neighbour, stiffness, rest, diagonal, slot, blocks):
    """Writes particle i's block row; returns its share of the negative stiffness."""
    r = x[i]
    own = blocks[diagonal[i]]
    press = 0.0
    for p in range(start[i], start[i + np.uint64(1)]):
        q = x[neighbour[p]]
        d0 = r[0] - q[0]
        d1 = r[1] - q[1]
        d2 = r[2] - q[2]
        square = d0 * d0 + d1 * d1 + d2 * d2
        ratio = 0.0 if square == 0.0 else rest[p] / math.sqrt(square)
        across = stiffness[p] * (1.0 - ratio)  # stiffness across the spring, < 0 if compressed
        along = 0.0 if square == 0.0 else stiffness[p] * ratio / square
        b00 = across + along * d0 * d0
        b11 = across + along * d1 * d1
        b22 = across + along * d2 * d2
        b01 = along * d0 * d1
        b02 = along * d0 * d2
        b12 = along * d1 * d2
        _add_block(own, b00, b11, b22, b01, b02, b12)
        if slot[p] == NO_SLOT:
            press += 0.5 * max(0.0, -across)
        else:
            press += max(0.0, -across)
            _add_block(blocks[slot[p]], -b00, -b11, -b22, -b01, -b02, -b12)
    return press


@njit(cache=True, fastmath={"contract"})
def _blocks_serial(x, start, neighbour, stiffness, rest, diagonal, slot, blocks, pressed):
    for i in range(x.shape[0]):
        if diagonal[i] != NO_SLOT:
            pressed[i] += _row_blocks(
                np.uint64(i), x, start, neighbour, stiffness, rest, diagonal, slot, blocks
            )


@njit(cache=True, parallel=True, fastmath={"contract"})
def _blocks_parallel(x, start, neighbour, stiffness, rest, diagonal, slot, blocks, pressed):
    for i in prange(x.shape[0]):
        if diagonal[i] != NO_SLOT:
            pressed[i] += _row_blocks(
                np.uint64(i), x, start, neighbour, stiffness, rest, diagonal, slot, blocks
            )


def spring_blocks(x, start, neighbour, stiffness, rest, diagonal, slot, blocks, pressed):
    """Adds the tangent d2E/dx2 [N/m] to blocks (nnz, 3, 3), and to pressed (N,) the sum of
    w = k (l/L - 1) over each particle's compressed springs (w/2 where the other end is fixed).

    diagonal (N,): slot of each particle's own block, slot (2m,): slot of each half-spring's
    coupling block; NO_SLOT for fixed particles.
    """
    add = _blocks_serial if len(x) < PARALLEL_ROWS else _blocks_parallel
    flat = blocks.reshape(-1, 9)
    add(x, start, neighbour, stiffness, rest, diagonal, slot, flat, pressed)
