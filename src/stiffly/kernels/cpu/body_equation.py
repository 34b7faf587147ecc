"""The equation of an implicit step of one body, or of LANES bodies of one structure side by side:

    r(d) = M d - alpha F(X, V),   X = p + d,   V = q + (beta/alpha) d,   J = M + alpha K + beta D

as in integrators/stage.py, of springs, weights, damping D = a M, and contact with surfaces that
have a formula.  F is the force at the end (theta = 1) or the mean force between x0 and X (theta =
1/2, see system/discrete_gradient.py), damping at the middle then.  A gradient is the mean gradient
between equal states, and its derivative twice that by the second state: one formula serves both.

J is kept by rows within its envelope and eliminated without pivoting.  A direction that climbs,
whether J is indefinite or a pivot has vanished, is refused.

body: x0, p, q, m, w (weights of gravity), springs (ends, stiffness, rest, cubic), touches (kinds,
surfaces, margins, stiffness), damping a, and space for X, g and the gaps before and after; how
many lanes.  weights: alpha, beta, theta.  pattern: first, last, base, see eliminate.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .contact import distance, divided, mean_normal, mean_slope, normal
from .jit import strict
from .lanes import load, out_of_line, spread, store, where
from .small import difference, dot, length
from .springs import bent, mean_pull, mean_tension

EPS = 2.0**-52
ZEROTH, _ONE, _TWO, _THREE = (np.uint64(k) for k in range(4))
NORM, MOVED = np.uint64(0), np.uint64(1)  # rows of sums

FUSED = {"contract"}
# called by kernels only: what Python or C would call them by takes a third of their compiling
_strict: Any = strict
_within = partial(_strict, fastmath=FUSED, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined = partial(_within, forceinline=True)
# Compiled once for lanes and once for numbers, and called by all that need them.
outlined_with_space = partial(_within, forceinline=False)
# What makes no arrays does not count who holds them, either: it took a fifteenth of a step.
outlined = partial(outlined_with_space, _nrt=False)


@inlined
def _at(x, i):
    k = _THREE * i
    return load(x, k), load(x, k + _ONE), load(x, k + _TWO)


@inlined
def _add(x, k, a, b, c):
    """To three entries in a row."""
    store(x, k, load(x, k) + a)
    store(x, k + _ONE, load(x, k + _ONE) + b)
    store(x, k + _TWO, load(x, k + _TWO) + c)


@inlined
def _clear(a):
    for i in range(np.uint64(len(a))):
        store(a, i, spread(load(a, i), 0.0))


@inlined
def inner(a, b):
    total = spread(load(a, ZEROTH), 0.0)
    for i in range(np.uint64(len(a))):
        total = total + load(a, i) * load(b, i)
    return total


# ------------------------------------------------------------------ springs


@inlined
def _spring(x0, x1, ends, s):
    """Its ends i, j, and the vectors along it, before and after."""
    i, j = np.uint64(ends[s, 0]), np.uint64(ends[s, 1])
    return i, j, difference(_at(x0, i), _at(x0, j)), difference(_at(x1, i), _at(x1, j))


@inlined
def _add_pulls(x0, x1, springs, g):
    ends, stiffness, rest, cubic = springs
    for s in range(np.uint64(len(ends))):
        i, j, a, b = _spring(x0, x1, ends, s)
        f = mean_pull(a, b, load(stiffness, s), load(rest, s), cubic)
        _add(g, _THREE * i, f[0], f[1], f[2])
        _add(g, _THREE * j, 0.0 - f[0], 0.0 - f[1], 0.0 - f[2])


@outlined
def tensions(x0, x1, dx, moves, twice, springs, T):
    """T at x1, or at x1 + dx to first order; twice: 2 where x0 goes along."""
    out_of_line()
    ends, stiffness, rest, cubic = springs
    n = np.uint64(len(dx) // 3)
    for s in range(np.uint64(len(ends))):
        i, j, a, b = _spring(x0, x1, ends, s)
        L1 = length(b)
        own, slope = mean_tension(length(a), L1, load(stiffness, s), load(rest, s), cubic)
        if moves:
            way = _at(dx, i)
            if j < n:
                way = difference(way, _at(dx, j))
            own = own + twice * slope * dot(b, way) / where(L1, L1, spread(L1, 1.0))
        store(T, s, own)


@inlined
def _add_block(A, base, i, j, B):
    r, c = _THREE * i, _THREE * j
    _add(A, base[r] + c, B[0], B[1], B[2])
    _add(A, base[r + _ONE] + c, B[3], B[4], B[5])
    _add(A, base[r + _TWO] + c, B[6], B[7], B[8])


@inlined
def _less_block(A, base, i, j, B):
    r, c = _THREE * i, _THREE * j
    _add(A, base[r] + c, 0.0 - B[0], 0.0 - B[1], 0.0 - B[2])
    _add(A, base[r + _ONE] + c, 0.0 - B[3], 0.0 - B[4], 0.0 - B[5])
    _add(A, base[r + _TWO] + c, 0.0 - B[6], 0.0 - B[7], 0.0 - B[8])


@inlined
def _add_bars(x0, x1, n, weight, springs, T, base, A):
    """Adds weight dg/dx1, with the tensions T; n: particles that are free."""
    ends, stiffness, rest, cubic = springs
    for s in range(np.uint64(len(ends))):
        i, j, a, b = _spring(x0, x1, ends, s)
        L0, L1 = length(a), length(b)
        _, slope = mean_tension(L0, L1, load(stiffness, s), load(rest, s), cubic)
        scale, extra = bent(L0, L1, load(T, s), slope)
        t, c = weight * scale, weight * extra
        m = c * (a[0] + b[0]), c * (a[1] + b[1]), c * (a[2] + b[2])
        B = (
            *(t + m[0] * b[0], m[0] * b[1], m[0] * b[2]),
            *(m[1] * b[0], t + m[1] * b[1], m[1] * b[2]),
            *(m[2] * b[0], m[2] * b[1], t + m[2] * b[2]),
        )
        _add_block(A, base, i, i, B)
        if j < n:
            _add_block(A, base, j, j, B)
            _less_block(A, base, i, j, B)
            _less_block(A, base, j, i, B)


# ------------------------------------------------------------------ contact: few touch at a time
# Arrays are (entries, lanes) here, also where there is one body only.


@inlined
def _point(x, i, lane):
    return x[3 * i, lane], x[3 * i + 1, lane], x[3 * i + 2, lane]


@inlined
def gaps(x, touches, out):
    """out (surfaces, n, lanes) = d - margin, infinite where nothing can touch."""
    kinds, surfaces, margins, stiffness = touches
    for c in range(stiffness.shape[0]):
        for i in range(stiffness.shape[1]):
            for lane in range(stiffness.shape[2]):
                out[c, i, lane] = np.inf
                if stiffness[c, i, lane] > 0.0:
                    d = distance(kinds[c], surfaces[c], _point(x, i, lane))
                    out[c, i, lane] = d - margins[c]


@inlined
def _add_touches(x0, x1, touches, s0, s1, g):
    kinds, surfaces, _, stiffness = touches
    for c in range(stiffness.shape[0]):
        for i in range(stiffness.shape[1]):
            for lane in range(stiffness.shape[2]):
                if s0[c, i, lane] < 0.0 or s1[c, i, lane] < 0.0:
                    f, _ = divided(s0[c, i, lane], s1[c, i, lane], stiffness[c, i, lane])
                    p0, p1 = _point(x0, i, lane), _point(x1, i, lane)
                    m = mean_normal(kinds[c], surfaces[c], p0, p1)
                    for a in range(3):
                        g[3 * i + a, lane] += f * m[a]


@inlined
def _add_touch_blocks(x0, x1, weight, touches, s0, s1, base, A):
    kinds, surfaces, _, stiffness = touches
    for c in range(stiffness.shape[0]):
        for i in range(stiffness.shape[1]):
            for lane in range(stiffness.shape[2]):
                if s0[c, i, lane] < 0.0 or s1[c, i, lane] < 0.0:
                    f, rate = divided(s0[c, i, lane], s1[c, i, lane], stiffness[c, i, lane])
                    p0, p1, q = _point(x0, i, lane), _point(x1, i, lane), surfaces[c]
                    m, S = mean_normal(kinds[c], q, p0, p1), mean_slope(kinds[c], q, p0, p1)
                    n1 = normal(kinds[c], q, p1)
                    for a in range(3):
                        row = base[3 * i + a] + np.uint64(3 * i)
                        for b in range(3):
                            own = rate * m[a] * n1[b] + f * S[3 * a + b]
                            A[row + np.uint64(b), lane] += weight * own


# ------------------------------------------------------------------ elimination


@inlined
def _multipliers(A, row, c, above, inverse):
    """Of a row, for the three pivots from column c on; they stay in its place."""
    f0 = load(A, row + c) * inverse[0]
    f1 = (load(A, row + c + _ONE) - f0 * above[0]) * inverse[1]
    f2 = (load(A, row + c + _TWO) - f0 * above[1] - f1 * above[2]) * inverse[2]
    store(A, row + c, f0)
    store(A, row + c + _ONE, f1)
    store(A, row + c + _TWO, f2)
    return f0, f1, f2


@inlined
def _less(A, k, f, a):
    store(A, k, load(A, k) - f[0] * a[0] - f[1] * a[1] - f[2] * a[2])


@outlined
def eliminate(A, pattern, inverse):
    """A = L U in place, three rows and three pivots at a time; inverse: of the pivots.

    Row i of A is A[base[i] + j] for the columns j of the particles first[i] .. last[i].
    """
    out_of_line()
    first, last, base = pattern
    for p in range(np.uint64(len(first))):
        i = _THREE * p
        r0, r1, r2 = base[i], base[i + _ONE], base[i + _TWO]
        for k in range(np.uint64(first[p]), p):
            c = _THREE * k
            b0, b1, b2 = base[c], base[c + _ONE], base[c + _TWO]
            above = load(A, b0 + c + _ONE), load(A, b0 + c + _TWO), load(A, b1 + c + _TWO)
            pivots = _at(inverse, k)
            f0 = _multipliers(A, r0, c, above, pivots)
            f1 = _multipliers(A, r1, c, above, pivots)
            f2 = _multipliers(A, r2, c, above, pivots)
            for j in range(c + _THREE, _THREE * np.uint64(last[k]) + _THREE):
                a = load(A, b0 + j), load(A, b1 + j), load(A, b2 + j)
                _less(A, r0 + j, f0, a)
                _less(A, r1 + j, f1, a)
                _less(A, r2 + j, f2, a)
        for i in range(_THREE * p, _THREE * p + _THREE):
            for k in range(_THREE * p, i):
                f = load(A, base[i] + k) * load(inverse, k)
                store(A, base[i] + k, f)
                for j in range(k + _ONE, _THREE * np.uint64(last[p]) + _THREE):
                    store(A, base[i] + j, load(A, base[i] + j) - f * load(A, base[k] + j))
            store(inverse, i, 1.0 / load(A, base[i] + i))


@outlined
def direction(A, pattern, inverse, r, dx):
    """dx = -(L U)^-1 r."""
    out_of_line()
    first, last, base = pattern
    size = np.uint64(len(r))
    for i in range(size):
        s, row = 0.0 - load(r, i), base[i]
        for j in range(_THREE * np.uint64(first[i // _THREE]), i):
            s = s - load(A, row + j) * load(dx, j)
        store(dx, i, s)
    for done in range(size):
        i = size - _ONE - done
        s, row = load(dx, i), base[i]
        for j in range(i + _ONE, _THREE * np.uint64(last[i // _THREE]) + _THREE):
            s = s - load(A, row + j) * load(dx, j)
        store(dx, i, s * load(inverse, i))


# ------------------------------------------------------------------ the equation


@outlined
def place(d, body):
    """X = p + d, and its gaps."""
    out_of_line()
    p, x1 = body[1], body[8]
    for i in range(np.uint64(len(p))):
        store(x1, i, load(p, i) + load(d, i))
    gaps(x1.reshape(-1, body[12]), body[6], body[11])


@outlined
def evaluate(d, body, weights, r, sums):
    """r at d, |r| and |M d|; X and its gaps are left there."""
    out_of_line()
    x0, p, q, m, w, springs, touches, damping, x1, g, s0, s1, lanes = body
    alpha, beta, theta = weights
    size = np.uint64(len(p))
    place(d, body)
    _clear(g)
    wide = x1.reshape(-1, lanes)
    if theta == 1.0:
        _add_pulls(x1, x1, springs, g)
        _add_touches(wide, wide, touches, s1, s1, g.reshape(-1, lanes))
    else:
        _add_pulls(x0, x1, springs, g)
        _add_touches(x0.reshape(-1, lanes), wide, touches, s0, s1, g.reshape(-1, lanes))
    norm = spread(load(p, ZEROTH), 0.0)
    moved = norm
    drag, more = alpha * damping, 1.0 + theta * beta * damping
    for i in range(size):
        own = load(m, i) * (more * load(d, i) + drag * load(q, i))
        own = own + alpha * (load(w, i) + load(g, i))
        store(r, i, own)
        norm = norm + own * own
        change = load(m, i) * load(d, i)
        moved = moved + change * change
    store(sums, NORM, math.sqrt(norm))
    store(sums, MOVED, math.sqrt(moved))


@outlined
def linearise(body, weights, tau, T, pattern, A, noise, noisy):
    """A = J + tau M at X, tau (1,); noise: what rounding X does to r, where noisy."""
    out_of_line()
    x0, p, _, m, _, springs, touches, damping, x1, _, s0, s1, lanes = body
    first, last, base = pattern
    alpha, beta, theta = weights
    _clear(A)
    n, weight, wide = np.uint64(len(first)), 2.0 * theta * alpha, x1.reshape(-1, lanes)
    if theta == 1.0:
        _add_bars(x1, x1, n, weight, springs, T, base, A)
        _add_touch_blocks(wide, wide, weight, touches, s1, s1, base, A.reshape(-1, lanes))
    else:
        _add_bars(x0, x1, n, weight, springs, T, base, A)
        before = x0.reshape(-1, lanes)
        _add_touch_blocks(before, wide, weight, touches, s0, s1, base, A.reshape(-1, lanes))
    shift = 1.0 + load(tau, ZEROTH)
    for i in range(np.uint64(len(p))):
        own, row = base[i] + i, base[i]
        store(A, own, load(A, own) + theta * beta * damping * load(m, i))
        if noisy:
            total, p_i = spread(shift, 0.0), i // _THREE
            for j in range(_THREE * np.uint64(first[p_i]), _THREE * np.uint64(last[p_i]) + _THREE):
                total = total + abs(load(A, row + j)) * abs(load(x1, j))
            store(noise, i, EPS * total)
        store(A, own, load(A, own) + shift * load(m, i))


@outlined
def beyond(r, noise, slack):
    """|r| as far as the noise does not explain it."""
    out_of_line()
    total = spread(load(r, ZEROTH), 0.0)
    for i in range(np.uint64(len(r))):
        more = abs(load(r, i)) - slack * load(noise, i)
        more = where(more, more, spread(more, 0.0))
        total = total + more * more
    return math.sqrt(total)
