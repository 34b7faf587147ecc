"""Springs: energy, gradient, 3x3 tangent blocks and products, discrete gradients.

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
from .jit import PARALLEL_ROWS, both, njit
from .lanes import spread, where
from .small import ZERO, add_symmetric, add_to, bar, difference, dot, length, mixed, plus, sum_of

_CHUNK = 256  # springs summed in order before the chunks are: keeps rounding off the ledger
# energies of fewer springs are summed before a second thread has woken up
_THREADED = 16 * PARALLEL_ROWS
_ROUNDING = 1.0 + 1e-12  # a spring that sits at its limit does not yield again


# ------------------------------------------------------------------ energy


@njit(inline="always")
def spring_law(L, stiffness, rest, cubic):
    """Energy at length L."""
    stretch = L - rest
    energy = 0.5 * stiffness * stretch * stretch
    if cubic:
        strain = stretch / rest
        energy *= 1.0 + 0.5 * strain * strain
    return energy


@both()
def _energy(x, edges, stiffness, rest, cubic, chunks):
    for c in prange(chunks.size):
        total = 0.0
        first = np.uint64(c) * np.uint64(_CHUNK)
        for s in range(first, min(first + np.uint64(_CHUNK), np.uint64(len(edges)))):
            L = length(difference(x[edges[s, 1]], x[edges[s, 0]]))
            total += spring_law(L, stiffness[s], rest[s], cubic)
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
            L = length(difference(x[edges[s, 1]], x[edges[s, 0]]))
            strain = L / rest[s] - 1.0
            if abs(strain) > _ROUNDING * limit[s] and L > 0.0:
                new = L / (1.0 + math.copysign(limit[s], strain))
                total += spring_law(L, stiffness[s], rest[s], cubic)
                total -= spring_law(L, stiffness[s], new, cubic)
                rest[s] = new
        chunks[c] = total


def spring_yield(x, edges, stiffness, rest, limit, cubic=False):
    """Where |L/l - 1| > limit (m,), in place: the rest length l at which it equals the limit.

    Returns the elastic energy [J] that is lost.  A spring of length zero is left as it is.
    """
    chunks = np.empty(-(-len(edges) // _CHUNK))
    _yield(x, edges, stiffness, rest, limit, cubic, chunks)
    return float(chunks.sum())


# ------------------------------------------------------------------ gradient, product, blocks


@njit(inline="always")
def across(square, stiffness, rest, cubic):
    """Force divided by length, which is the stiffness across the spring; < 0 if compressed."""
    L = math.sqrt(square)
    ratio = 0.0 if square == 0.0 else rest / L
    scale = stiffness * (1.0 - ratio)
    if cubic:
        strain = L / rest - 1.0
        scale *= 1.0 + strain * strain
    return scale


@njit(inline="always")
def _tangent(square, stiffness, rest, cubic):
    """a, b of the tangent a I + b d d^T."""
    L = math.sqrt(square)
    ratio = 0.0 if square == 0.0 else rest / L
    scale = stiffness * (1.0 - ratio)
    extra = 0.0 if square == 0.0 else stiffness * ratio / square  # (along - across) / |d|^2
    if cubic:
        strain = L / rest - 1.0
        more = 1.0 + strain * strain
        along = 1.0 + 3.0 * strain * strain  # times the stiffness
        scale = stiffness * along if square == 0.0 else scale * more
        extra = 0.0 if square == 0.0 else stiffness * (along - more * (1.0 - ratio)) / square
    return scale, extra


@both()
def _gradient(x, start, neighbour, spring, stiffness, rest, cubic, out):
    for k in prange(x.shape[0]):
        i, g = np.uint64(k), ZERO
        for p in range(start[i], start[i + np.uint64(1)]):
            d = difference(x[i], x[neighbour[p]])
            g = plus(g, across(dot(d, d), stiffness[spring[p]], rest[spring[p]], cubic), d)
        add_to(out[i], 1.0, g)


def spring_gradient(x, start, neighbour, spring, stiffness, rest, out, cubic=False):
    """Adds dE/dx [N] to out (N, 3).

    start (N + 1,), neighbour (2m,), spring (2m,): half-springs of each particle, and which springs
    they are halves of; stiffness, rest (m,) of these.
    """
    _gradient.watched(len(x), 1, x, start, neighbour, spring, stiffness, rest, cubic, out)


@both()
def _product(x, start, neighbour, spring, stiffness, rest, cubic, b, out):
    for k in prange(x.shape[0]):
        i, g = np.uint64(k), ZERO
        for p in range(start[i], start[i + np.uint64(1)]):
            d, w = difference(x[i], x[neighbour[p]]), difference(b[i], b[neighbour[p]])
            scale, extra = _tangent(dot(d, d), stiffness[spring[p]], rest[spring[p]], cubic)
            g = sum_of(g, mixed(scale, w, extra * dot(d, w), d))
        add_to(out[i], 1.0, g)


def spring_product(x, start, neighbour, spring, stiffness, rest, b, out, cubic=False):
    """Adds (d2E/dx2) b [N] to out, b and out (N, 3): nothing is assembled."""
    _product[len(x) >= PARALLEL_ROWS](x, start, neighbour, spring, stiffness, rest, cubic, b, out)


@njit(inline="always")
def _row_blocks(i, x, start, neighbour, spring, stiffness, rest, law, diagonal, slot, blocks):
    """Writes particle i's block row; returns its share of the negative stiffness."""
    cubic, form = law
    own = blocks[diagonal[i]]
    press = 0.0
    for p in range(start[i], start[i + np.uint64(1)]):
        d = difference(x[i], x[neighbour[p]])
        square = dot(d, d)
        scale, extra = _tangent(square, stiffness[spring[p]], rest[spring[p]], cubic)
        if form == SECANT:
            extra = 0.0
        elif form == CONVEX and scale < 0.0:
            extra += scale / square
            scale = 0.0
        B = bar(scale, extra, d)
        add_symmetric(own, 1.0, B)
        if slot[p] == NO_SLOT:
            press += 0.5 * max(0.0, -scale)
        else:
            press += max(0.0, -scale)
            add_symmetric(blocks[slot[p]], -1.0, B)
    return press


@both()
def _blocks(x, start, neighbour, spring, stiffness, rest, law, diagonal, slot, blocks, pressed):
    for i in prange(x.shape[0]):
        if diagonal[i] != NO_SLOT:
            pressed[i] += _row_blocks(
                np.uint64(i),
                x,
                start,
                neighbour,
                spring,
                stiffness,
                rest,
                law,
                diagonal,
                slot,
                blocks,
            )


def spring_blocks(
    x,
    start,
    neighbour,
    spring,
    stiffness,
    rest,
    diagonal,
    slot,
    blocks,
    pressed,
    cubic=False,
    form=TANGENT,
):
    """Adds the tangent d2E/dx2 [N/m] to blocks (nnz, 3, 3), and to pressed (N,) the sum of
    -f/L > 0 over each particle's compressed springs (half of it where the other end is fixed).

    diagonal (N,): slot of each particle's own block, slot (2m,): slot of each half-spring's
    coupling block; NO_SLOT for fixed particles.
    form: SECANT has (f/L) I for every spring, CONVEX no stiffness across where f < 0.
    """
    half = (start, neighbour, spring, stiffness, rest)
    _blocks[len(x) >= PARALLEL_ROWS](
        x, *half, (cubic, form), diagonal, slot, blocks.reshape(-1, 9), pressed
    )


@njit(inline="always")
def _row_bars(i, x, start, neighbour, spring, stiffness, rest, cubic, slot, bars, own):
    """Writes particle i's row; returns its share of the negative stiffness."""
    press = 0.0
    total = own[i]
    for p in range(start[i], start[i + np.uint64(1)]):
        d = difference(x[i], x[neighbour[p]])
        k = spring[p]
        scale, extra = _tangent(dot(d, d), stiffness[k], rest[k], cubic)
        B = bar(scale, extra, d)
        for a in range(6):
            total[a] += B[a]
        if slot[p] == NO_SLOT:
            press += 0.5 * max(0.0, -scale)
        else:
            press += max(0.0, -scale)
            root = math.sqrt(extra)  # a spring is stiffer along itself than across
            e = bars[slot[p]]
            e[0], e[1], e[2], e[3] = scale, root * d[0], root * d[1], root * d[2]
    return press


@both()
def _bars(x, start, neighbour, spring, stiffness, rest, cubic, slot, bars, own, pressed):
    for i in prange(own.shape[0]):
        pressed[i] += _row_bars(
            np.uint64(i), x, start, neighbour, spring, stiffness, rest, cubic, slot, bars, own
        )


def spring_bars(
    x, start, neighbour, spring, stiffness, rest, slot, bars, own, pressed, cubic=False
):
    """The tangent as bars.py has it: writes to bars (nnz, 4), adds to own (n, 6) of the first n
    particles, which are the free ones, and to pressed (N,) as spring_blocks does."""
    half = (start, neighbour, spring, stiffness, rest)
    _bars.watched(len(x), 1, x, *half, cubic, slot, bars, own, pressed)


# ------------------------------------------------------------------ discrete gradients
# Exact in energy, free of net force and torque.  For two states with d0, d1 the vectors along a
# spring and L0, L1 their lengths,
#
#     g = [phi(L1) - phi(L0)] / (L1 - L0)  (d0 + d1) / (L0 + L1)
#
# obeys g . (d1 - d0) = phi(L1) - phi(L0) exactly, since (d0 + d1).(d1 - d0) = L1^2 - L0^2 (Simo,
# Tarnow 1992; LaBudde, Greenspan 1974 for central forces).  The quotient is a polynomial in
# e = L - l, so equal lengths need no care:
#
#     linear   k (e0 + e1)/2
#     cubic    k (e0 + e1)/2 (1 + (e0^2 + e1^2)/(2 l^2))
#
# A spring of length zero in both states pulls nowhere.  Functions of one spring serve lanes of
# springs as well (see lanes.py).


@njit(inline="always")
def mean_tension(L0, L1, stiffness, rest, cubic):
    """T = [phi(L1) - phi(L0)] / (L1 - L0), and dT/dL1."""
    first, second = L0 - rest, L1 - rest
    both = 0.5 * stiffness * (first + second)
    slope = 0.5 * stiffness
    if cubic:
        inverse = 1.0 / (rest * rest)
        more = 1.0 + 0.5 * inverse * (first * first + second * second)
        slope = slope * more + both * second * inverse
        both = both * more
    return both, slope


@njit(inline="always")
def mean_pull(a, b, stiffness, rest, cubic):
    """g of a spring along a, then b."""
    L0, L1 = length(a), length(b)
    tension, _ = mean_tension(L0, L1, stiffness, rest, cubic)
    total = L0 + L1
    scale = tension / where(total, total, spread(total, 1.0))
    return scale * (a[0] + b[0]), scale * (a[1] + b[1]), scale * (a[2] + b[2])


@njit(inline="always")
def bent(L0, L1, tension, slope):
    """a, c of dg/dd1 = a I + c (d0 + d1) d1^T; at length zero the slope along the spring.

    slope: of the tension by L1.
    """
    total, none = L0 + L1, spread(L0, 0.0)
    scale = where(total, tension / where(total, total, spread(total, 1.0)), slope)
    product = total * L1
    ratio = (slope - scale) / where(product, product, spread(total, 1.0))
    return scale, where(product, ratio, none)


@njit(inline="always")
def mean_tangent(a, b, stiffness, rest, cubic):
    """a, c as in `bent`, of a spring along a, then b."""
    L0, L1 = length(a), length(b)
    tension, slope = mean_tension(L0, L1, stiffness, rest, cubic)
    return bent(L0, L1, tension, slope)


@njit
def _mean_gradient_serial(x0, x1, start, neighbour, spring, stiffness, rest, cubic, out):
    """Every spring once: a lone thread may write to both ends, and roots are what takes time."""
    for i in range(np.uint64(len(x0))):
        r, s, t = x0[i], x1[i], ZERO
        for p in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[p]
            if j > i:
                a, b = difference(r, x0[j]), difference(s, x1[j])
                g = mean_pull(a, b, stiffness[spring[p]], rest[spring[p]], cubic)
                t = sum_of(t, g)
                add_to(out[j], -1.0, g)
        add_to(out[i], 1.0, t)


@njit(parallel=True)
def _mean_gradient_parallel(x0, x1, start, neighbour, spring, stiffness, rest, cubic, out):
    for k in prange(len(x0)):
        i, t = np.uint64(k), ZERO
        for p in range(start[i], start[i + np.uint64(1)]):
            j = neighbour[p]
            a, b = difference(x0[i], x0[j]), difference(x1[i], x1[j])
            t = sum_of(t, mean_pull(a, b, stiffness[spring[p]], rest[spring[p]], cubic))
        add_to(out[i], 1.0, t)


def spring_mean_gradient(x0, x1, start, neighbour, spring, stiffness, rest, out, cubic=False):
    """Adds g [N] to out (N, 3), g.(x1 - x0) = E(x1) - E(x0); half-springs as in spring_gradient."""
    gradient = _mean_gradient_serial if len(x0) < PARALLEL_ROWS else _mean_gradient_parallel
    gradient(x0, x1, start, neighbour, spring, stiffness, rest, cubic, out)


@njit(inline="always")
def _row_mean_blocks(i, x0, x1, half, cubic, diagonal, slot, blocks):
    start, neighbour, spring, stiffness, rest = half
    own = blocks[diagonal[i]]
    for p in range(start[i], start[i + np.uint64(1)]):
        a, b = difference(x0[i], x0[neighbour[p]]), difference(x1[i], x1[neighbour[p]])
        scale, extra = mean_tangent(a, b, stiffness[spring[p]], rest[spring[p]], cubic)
        other = slot[p]
        for k in range(3):
            for j in range(3):
                value = extra * (a[k] + b[k]) * b[j]
                if k == j:
                    value += scale
                own[3 * k + j] += value
                if other != NO_SLOT:
                    blocks[other, 3 * k + j] -= value


@both()
def _mean_blocks(x0, x1, half, cubic, diagonal, slot, blocks):
    for i in prange(len(x0)):
        if diagonal[i] != NO_SLOT:
            _row_mean_blocks(np.uint64(i), x0, x1, half, cubic, diagonal, slot, blocks)


def spring_mean_blocks(
    x0, x1, start, neighbour, spring, stiffness, rest, diagonal, slot, blocks, cubic=False
):
    """Adds dg/dx1 [N/m] to blocks (nnz, 3, 3), not symmetric; slots as in spring_blocks."""
    half = (start, neighbour, spring, stiffness, rest)
    mean_blocks = _mean_blocks[len(x0) >= PARALLEL_ROWS]
    mean_blocks(x0, x1, half, cubic, diagonal, slot, blocks.reshape(-1, 9))
