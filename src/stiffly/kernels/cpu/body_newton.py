"""Implicit steps of independent bodies: each its own Newton iteration, in the cache.

    r(d) = M d - alpha F(X, V),   X = p + d,   V = q + (beta/alpha) d,   J = M + alpha K + beta D

as in integrators/stage.py, of springs, weights, damping D = a M, and contact with surfaces that
have a formula.  F is the force at the end (theta = 1) or the mean force between x0 and X (theta =
1/2, see system/discrete_gradient.py), damping at the middle then.  A gradient is the mean gradient
between equal states, and its derivative twice that by the second state: one formula serves both.

J is kept by rows within its envelope and eliminated without pivoting.  A direction that climbs,
whether J is indefinite or a pivot has vanished, is refused.

LANES bodies of one structure are solved at a time, in one rhythm.  Their J has the tension of
each spring as the last update predicted it, T + (dT/dL) n.dx, in place of the one at x + dx:
tensions are unknowns of their own then, eliminated from every update, while the residual is that
of x.  A stiff spring that turns is stretched by an update far beyond what the step will leave, and
a tangent there tells more of this stretch than of the solution (bristles that swing: six
iterations instead of nine).

A body that is left over is solved by itself, as solvers/shifted_newton.py does, but without
Broyden's updates: a new factorisation is cheap here.  A mean step that fails even so is taken in
halves, quarters, ..., each of which conserves as well.  Where an iteration ends, and what rounding
explains, is as in solvers/iteration.py, with each body's own |r| and scale.

No arithmetic depends on other bodies but for the number of iterations of those in the same lanes,
and that on the layout alone: bits are the same whatever the number of threads.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numba import prange

from ..names import (
    BODY_CHANGE,
    BODY_COVERED,
    BODY_DISSIPATED,
    BODY_EVALUATIONS,
    BODY_FACTORIZATIONS,
    BODY_FAILED,
    BODY_HALVINGS,
    BODY_RESIDUAL,
    BODY_SOLVES,
    BODY_TANGENTS,
    LANES,
)
from .contact import distance, divided, mean_normal, mean_slope, normal
from .jit import both, strict
from .lanes import load, out_of_line, spread, store, where
from .small import difference, dot, length
from .springs import bent, mean_pull, mean_tension

# as in solvers/iteration.py, newton.py and shifted_newton.py
_EPS, _SLACK, _FAINT = 2.0**-52, 64.0, 1e-3
_REUSE, _ARMIJO, _HALVINGS = 0.2, 1e-4, 3
_GROWTH, _LEAST, _LARGEST = 4.0, 1.0, 1e12
_AGAIN = 0.1  # a factorisation costs as much as three evaluations and solves, which this stands for
_QUADRATIC = 1e-3  # cut to this, the residual is small enough for one more solve with the same J
_MOST = 12  # iterations of lanes: two thirds of them need six
_FEW = 2  # bodies left: then each by itself is faster
_THREADED = 64  # groups of bodies, about a millisecond
_ZERO, _ONE, _TWO, _THREE = (np.uint64(k) for k in range(4))
_NORM, _MOVED, _SLOPE, _EXPLAINED = (np.uint64(k) for k in range(4))  # rows of sums

FUSED = {"contract"}
_strict: Any = strict
inlined = partial(_strict, forceinline=True, fastmath=FUSED)
# Compiled once for lanes and once for numbers, and called by all that need them.
room = partial(
    _strict, forceinline=False, fastmath=FUSED, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


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
def _inner(a, b):
    total = spread(load(a, _ZERO), 0.0)
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


@room
def _tensions(x0, x1, dx, moves, twice, springs, T):
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
def _gaps(x, touches, gaps):
    """gaps (surfaces, n, lanes) = d - margin, where the stiffness is positive."""
    kinds, surfaces, margins, stiffness = touches
    for c in range(stiffness.shape[0]):
        for i in range(stiffness.shape[1]):
            for lane in range(stiffness.shape[2]):
                gaps[c, i, lane] = np.inf
                if stiffness[c, i, lane] > 0.0:
                    d = distance(kinds[c], surfaces[c], _point(x, i, lane))
                    gaps[c, i, lane] = d - margins[c]


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


@room
def _eliminate(A, pattern, inverse):
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


@room
def _direction(A, pattern, inverse, r, dx):
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
# body: x0, p, q, m, w (weights of gravity), springs, touches, damping a, and room for X, g and gaps
# weights: alpha, beta, theta


@room
def _place(d, body):
    """X = p + d, and its gaps."""
    out_of_line()
    p, x1 = body[1], body[8]
    for i in range(np.uint64(len(p))):
        store(x1, i, load(p, i) + load(d, i))
    _gaps(x1.reshape(-1, body[12]), body[6], body[11])


@room
def _evaluate(d, body, weights, r, sums):
    """r at d, |r| and |M d|; X and its gaps are left there."""
    out_of_line()
    x0, p, q, m, w, springs, touches, damping, x1, g, s0, s1, lanes = body
    alpha, beta, theta = weights
    size = np.uint64(len(p))
    _place(d, body)
    _clear(g)
    wide = x1.reshape(-1, lanes)
    if theta == 1.0:
        _add_pulls(x1, x1, springs, g)
        _add_touches(wide, wide, touches, s1, s1, g.reshape(-1, lanes))
    else:
        _add_pulls(x0, x1, springs, g)
        _add_touches(x0.reshape(-1, lanes), wide, touches, s0, s1, g.reshape(-1, lanes))
    norm = spread(load(p, _ZERO), 0.0)
    moved = norm
    drag, more = alpha * damping, 1.0 + theta * beta * damping
    for i in range(size):
        own = load(m, i) * (more * load(d, i) + drag * load(q, i))
        own = own + alpha * (load(w, i) + load(g, i))
        store(r, i, own)
        norm = norm + own * own
        change = load(m, i) * load(d, i)
        moved = moved + change * change
    store(sums, _NORM, math.sqrt(norm))
    store(sums, _MOVED, math.sqrt(moved))


@room
def _linearise(body, weights, tau, T, pattern, A, noise):
    """A = J + tau M at X, tau (1,); noise: what rounding X does to r."""
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
    shift = 1.0 + load(tau, _ZERO)
    for i in range(np.uint64(len(p))):
        own, row = base[i] + i, base[i]
        store(A, own, load(A, own) + theta * beta * damping * load(m, i))
        total, p_i = spread(shift, 0.0), i // _THREE
        for j in range(_THREE * np.uint64(first[p_i]), _THREE * np.uint64(last[p_i]) + _THREE):
            total = total + abs(load(A, row + j)) * abs(load(x1, j))
        store(noise, i, _EPS * total)
        store(A, own, load(A, own) + shift * load(m, i))


@room
def _beyond(r, noise, slack):
    """|r| as far as the noise does not explain it."""
    out_of_line()
    total = spread(load(r, _ZERO), 0.0)
    for i in range(np.uint64(len(r))):
        more = abs(load(r, i)) - slack * load(noise, i)
        more = where(more, more, spread(more, 0.0))
        total = total + more * more
    return math.sqrt(total)


# ------------------------------------------------------------------ lanes: whole steps


@inlined
def _judge(iteration, running, step, sums, before, covered, tolerance, good):
    """Which lanes go on, and whether all of those converge well."""
    left, quadratic = 0, iteration > 0
    for lane in range(len(good)):
        if running[0, lane] == 0.0:
            continue
        norm, goal = sums[_NORM, lane], tolerance * sums[_MOVED, lane]
        good[lane] = norm <= goal
        if iteration > 0:
            goal += tolerance * covered[lane]
            ends = step[0, lane] == 1.0 and norm > _REUSE * before[lane]
            good[lane] = norm <= goal or (ends and sums[_EXPLAINED, lane] <= goal)
        if good[lane] or not norm < np.inf:
            running[0, lane] = 0.0
        else:
            left += 1
            quadratic = quadratic and norm <= _QUADRATIC * before[lane]
        before[lane] = norm
    return left, quadratic


@inlined
def _begin_step(running, step, sums, tau, slopes, stale, counts):
    """Lanes that go down take a step; the others get a larger tau."""
    for lane in range(LANES):
        step[0, lane] = 0.0
        if running[0, lane] == 0.0:
            continue
        counts[lane, BODY_SOLVES] += 1
        counts[lane, BODY_TANGENTS] += 0 if stale else 1
        counts[lane, BODY_FACTORIZATIONS] += 0 if stale else 1
        slopes[lane] = sums[_SLOPE, lane]
        if slopes[lane] < 0.0:
            step[0, lane] = 1.0
            tau[0, lane] = tau[0, lane] / _GROWTH if tau[0, lane] > _LEAST else 0.0
        else:
            tau[0, lane] = max(_LEAST, _GROWTH * tau[0, lane])


@inlined
def _shorten(last, step, sums, before, moved, covered, slopes, tau, tolerance, counts):
    """Halves the steps that bring nothing; the last time they are not taken, and tau grows.

    How many there were.
    """
    halved = 0
    for lane in range(LANES):
        s, norm = step[0, lane], sums[_NORM, lane]
        if s == 0.0:
            continue
        counts[lane, BODY_EVALUATIONS] += 1
        goal = tolerance * (sums[_MOVED, lane] + covered[lane])
        rounding = s == 1.0 and sums[_EXPLAINED, lane] <= goal
        falls = norm <= (1.0 - _ARMIJO * s) * before[lane]
        if rounding or falls or sums[_SLOPE, lane] <= (_ARMIJO - 1.0) * slopes[lane]:
            continue
        halved += 1
        step[0, lane] = 0.0 if last else 0.5 * s
        if last:
            tau[0, lane] = max(_LEAST, _GROWTH * tau[0, lane])
    for lane in range(LANES):
        if step[0, lane] == 0.0:  # it stays where it is
            sums[_NORM, lane], sums[_MOVED, lane] = before[lane], moved[lane]
    return halved


@room
def _side_by_side(body, weights, pattern, d, tolerance, covered, running, good, counts):
    """Newton's iteration of all lanes from d to d; good (LANES,): those that are solved.

    running (1, LANES): 1 where there is a body, and afterwards where one was left on its way, its
    |r| below the first.  Returns sums, with |r| and |M d|.
    """
    out_of_line()
    x0, x1, springs = body[0], body[8], body[5]
    start, size = x1 if weights[2] == 1.0 else x0, len(d)
    A = np.empty((pattern[2][size - 1] + np.uint64(size), LANES))
    r, dx, noise, inverse = (
        *(np.empty((size, LANES)), np.zeros((size, LANES))),
        *(np.empty((size, LANES)), np.empty((size, LANES))),
    )
    trial, better = np.empty((size, LANES)), np.empty((size, LANES))
    T, actual = np.empty((len(springs[0]), LANES)), np.empty((len(springs[0]), LANES))
    sums, slopes, before, moved = (
        *(np.zeros((4, LANES)), np.zeros(LANES)),
        *(np.empty(LANES), np.empty(LANES)),
    )
    step, tau, stale = np.zeros((1, LANES)), np.zeros((1, LANES)), False
    _evaluate(d, body, weights, r, sums)
    began = sums[_NORM].copy()
    _tensions(start, x1, dx, False, 1.0, springs, T)
    for lane in range(LANES):
        counts[lane, BODY_EVALUATIONS] += 1
    for iteration in range(_MOST + 1):
        left, quadratic = _judge(iteration, running, step, sums, before, covered, tolerance, good)
        if left == 0 or iteration == _MOST or 0 < left <= _FEW < iteration:
            break
        moved[:] = sums[_MOVED]
        stale = quadratic and not stale
        _place(d, body)
        if not stale:
            _linearise(body, weights, tau, T, pattern, A, noise)
            _eliminate(A, pattern, inverse)
        _direction(A, pattern, inverse, r, dx)
        store(sums, _SLOPE, _inner(r, dx))
        _begin_step(running, step, sums, tau, slopes, stale, counts)
        _tensions(start, x1, dx, True, 2.0 * weights[2], springs, T)
        for halving in range(1 + _HALVINGS):
            on = load(step, _ZERO)
            for i in range(np.uint64(size)):
                way = where(on, on * load(dx, i), spread(on, 0.0))
                store(trial, i, load(d, i) + way)
            _evaluate(trial, body, weights, better, sums)
            store(sums, _EXPLAINED, _beyond(better, noise, _SLACK))
            store(sums, _SLOPE, _inner(better, dx))
            last = halving == _HALVINGS
            if not _shorten(
                last, step, sums, before, moved, covered, slopes, tau, tolerance, counts
            ):
                break
        on = load(step, _ZERO)
        for i in range(np.uint64(size)):
            store(d, i, where(on, load(trial, i), load(d, i)))
            store(r, i, where(on, load(better, i), load(r, i)))
        # predicted tensions are those of whole steps
        _tensions(start, x1, dx, False, 1.0, springs, actual)
        whole = on - 0.75
        for k in range(np.uint64(len(T))):
            store(T, k, where(whole, load(T, k), load(actual, k)))
    for lane in range(LANES):
        if not sums[_NORM, lane] < began[lane]:
            running[0, lane] = 0.0
    return sums


# ------------------------------------------------------------------ one body, with every safeguard

_FIRST, _STALE, _FRESH = 0, 1, 2  # how a trial was found: the guess, an old J, a new one


@inlined
def _descend(body, weights, pattern, room, d, r, tau, goal, counts):
    """A direction with J + tau M at d, tau grown until it goes down; its slope and that tau."""
    x0, x1, springs = body[0], body[8], body[5]
    A, dx, noise, inverse, T, shift = room
    _place(d, body)
    start = x1 if weights[2] == 1.0 else x0
    _tensions(start, x1, dx, False, 1.0, springs, T)
    slope = 0.0
    while tau <= _LARGEST:
        shift[0] = tau
        _linearise(body, weights, shift, T, pattern, A, noise)
        _eliminate(A, pattern, inverse)
        _direction(A, pattern, inverse, r, dx)
        counts[BODY_FACTORIZATIONS] += 1
        counts[BODY_SOLVES] += 1
        slope = _inner(r, dx)
        if slope < 0.0 or (tau > 0.0 and _beyond(r, noise, _SLACK) <= goal):
            break
        tau = max(_LEAST, _GROWTH * tau)
    return slope, tau


@room
def _alone(body, weights, pattern, d, tolerance, covered, most, counts):
    """Newton's iteration from d to d: whether it is solved, |r|, |M d|."""
    out_of_line()
    size = len(d)
    A = np.empty(pattern[2][size - 1] + np.uint64(size))
    r, dx, noise, inverse = np.empty(size), np.zeros(size), np.empty(size), np.empty(size)
    trial, better, sums = d.copy(), np.empty(size), np.zeros(4)
    room = (A, dx, noise, inverse, np.empty(len(body[5][0])), np.zeros(1))
    kind, s, tau, slope, norm, moved, goal, taken = _FIRST, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0
    known = exhausted = lost = False  # known: the factorisation serves once more
    while True:
        _evaluate(trial, body, weights, better, sums)
        counts[BODY_EVALUATIONS] += 1
        new = sums[_NORM]
        if kind == _FIRST:
            take = True
        elif kind == _STALE:
            exhausted = new > _AGAIN * norm and _beyond(better, noise, 1.0) <= goal
            known = new <= _AGAIN * norm
            take = known or exhausted or new < norm
        else:
            whole = s == 1.0 and new > _REUSE * norm
            exhausted = whole and _beyond(better, noise, _SLACK) <= goal
            falls = new <= (1.0 - _ARMIJO * s) * norm
            take = exhausted or falls or _inner(better, dx) <= (_ARMIJO - 1.0) * slope
            known = take and tau == 0.0 and new <= _REUSE * norm
        if take:
            for i in range(size):
                d[i], r[i] = trial[i], better[i]
            norm, moved = new, sums[_MOVED]
            goal = tolerance * (moved + covered)
            enough = tolerance * moved if kind == _FIRST else goal
            if exhausted or norm <= enough or taken == most or not norm < np.inf:
                break
            taken += 1
        elif kind == _FRESH and s > 0.5**_HALVINGS:
            s *= 0.5
            for i in range(size):
                trial[i] = d[i] + s * dx[i]
            continue
        if known:
            kind = _STALE
            _direction(A, pattern, inverse, r, dx)
            counts[BODY_SOLVES] += 1
        else:
            if take or kind == _STALE:
                tau = tau / _GROWTH if tau > _LEAST else 0.0
                counts[BODY_TANGENTS] += 1
            else:
                tau = max(_LEAST, _GROWTH * tau)
            kind = _FRESH
            slope, tau = _descend(body, weights, pattern, room, d, r, tau, goal, counts)
            here = body[8][:size]
            lost = tau == 0.0 and _inner(dx, dx) <= (_SLACK * _EPS) ** 2 * _inner(here, here)
            if not slope < 0.0:
                exhausted = _beyond(r, noise, _SLACK) <= goal
                break
        s = 1.0
        for i in range(size):
            trial[i] = d[i] + dx[i]
    scale = moved + covered
    faint = lost and norm <= _FAINT * scale
    return norm <= tolerance * scale or exhausted or faint, norm, moved


@room
def _in_pieces(b, body, pattern, d, covered, numbers, report, counts):
    """One body through a step, or through pieces of it: x0, q end where it does; d of the last."""
    out_of_line()
    x0, p, q, m, touches, s0 = body[0], body[1], body[2], body[3], body[6], body[10]
    alpha, beta, theta, h, damping, tolerance, most, deepest = numbers
    level, at, whole = 0, 0, 1 << deepest
    while at < whole:
        share = 1.0 / (1 << level)
        if level > 0 or at > 0:  # a piece of a mean step begins at rest where it stands
            square = 0.0
            for i in range(len(p)):
                stride = share * h * q[i]
                p[i], d[i] = x0[i] + stride, -stride
                square += (m[i] * stride) ** 2
            covered = math.sqrt(square)
        _gaps(x0.reshape(-1, 1), touches, s0)
        weights = (share * share * alpha, share * beta, theta)
        good, norm, moved = _alone(body, weights, pattern, d, tolerance, covered, most, counts[b])
        report[b, BODY_RESIDUAL], report[b, BODY_CHANGE] = norm, moved
        report[b, BODY_COVERED] = covered
        if not good and level == deepest:
            counts[b, BODY_FAILED] = 1
            return
        if not good:
            level += 1
            counts[b, BODY_HALVINGS] += 1
            continue
        for i in range(len(p)):
            v = q[i] + beta / (share * alpha) * d[i]
            middle = (1.0 - theta) * q[i] + theta * v
            report[b, BODY_DISSIPATED] += share * h * damping * m[i] * middle * middle
            x0[i], q[i] = p[i] + d[i], v
        at += whole >> level
        if level > 0 and at % (whole >> (level - 1)) == 0:
            level -= 1


# ------------------------------------------------------------------ many bodies


@room
def _fetched(source, rows):
    """(3 k, LANES): the rows (k, LANES) of source (N, 3)."""
    out_of_line()
    out = np.empty((3 * len(rows), LANES))
    for i in range(len(rows)):
        for lane in range(LANES):
            for a in range(3):
                out[3 * i + a, lane] = source[rows[i, lane], a]
    return out


@strict(fastmath=FUSED)
def _group(group, layout, springs, touches, motion, numbers, d, X, V, report, counts):
    structure, bodies, member_at, members, held_at, held = layout[:6]
    row_at, first, last, base, spring_at, ends = layout[6:]
    pull_at, stiffness, rest, cubic = springs
    kinds, surfaces, margins, hard = touches
    before, after, origin, velocity, stride, mass, weight = motion
    alpha, beta, theta, h, damping, tolerance, _, _ = numbers
    shape = structure[group]
    rows = members[member_at[group] : member_at[group + 1]]
    fixed = held[held_at[group] : held_at[group + 1]]
    low, high = row_at[shape], row_at[shape + 1]
    pattern = first[low:high], last[low:high], base[3 * low : 3 * high]
    pairs = ends[spring_at[shape] : spring_at[shape + 1]]
    low, high = pull_at[group], pull_at[group + 1]
    k, lengths = stiffness[low:high], rest[low:high]
    n, size = len(rows), 3 * len(rows)
    x0, x1 = np.empty((size + 3 * len(fixed), LANES)), np.empty((size + 3 * len(fixed), LANES))
    x0[:size], x0[size:] = _fetched(before, rows), _fetched(before, fixed)
    x1[size:] = _fetched(after, fixed)
    p, q, w = _fetched(origin, rows), _fetched(velocity, rows), _fetched(weight, rows)
    go, way = _fetched(d, rows), _fetched(stride, rows)
    m, stiff = np.empty((size, LANES)), np.empty((kinds.size, n, LANES))
    covered, running = np.zeros(LANES), np.zeros((1, LANES))
    for lane in range(LANES):
        running[0, lane] = 1.0 if bodies[group, lane] >= 0 else 0.0
        for i in range(n):
            for a in range(3):
                m[3 * i + a, lane] = mass[rows[i, lane]]
                covered[lane] += (m[3 * i + a, lane] * way[3 * i + a, lane]) ** 2
            for c in range(kinds.size):
                stiff[c, i, lane] = hard[c, rows[i, lane]]
        covered[lane] = math.sqrt(covered[lane])
    good, effort = np.zeros(LANES, dtype=np.bool_), np.zeros((LANES, counts.shape[1]), np.int64)
    if bodies[group, 1] >= 0:
        s0, s1 = np.empty(stiff.shape), np.empty(stiff.shape)
        around = (kinds, surfaces, margins, stiff)
        _gaps(x0, around, s0)
        together = (pairs, k, lengths, cubic)
        g = np.empty(x0.shape)
        body = (x0, p, q, m, w, together, around, damping, x1, g, s0, s1, LANES)
        weights = (alpha, beta, theta)
        sums = _side_by_side(body, weights, pattern, go, tolerance, covered, running, good, effort)
    for lane in range(LANES):
        b = bodies[group, lane]
        if b < 0:
            continue
        counts[b] += effort[lane]
        if good[lane]:
            report[b, BODY_RESIDUAL], report[b, BODY_CHANGE] = sums[_NORM, lane], sums[_MOVED, lane]
            report[b, BODY_COVERED] = covered[lane]
            for i in range(size):
                v = q[i, lane] + beta / alpha * go[i, lane]
                middle = (1.0 - theta) * q[i, lane] + theta * v
                report[b, BODY_DISSIPATED] += h * damping * m[i, lane] * middle * middle
                x0[i, lane], q[i, lane] = p[i, lane] + go[i, lane], v
        else:
            if running[0, lane] == 0.0:  # it went astray: from the guess once more
                for i in range(size):
                    go[i, lane] = d[rows[i // 3, lane], i % 3]
            alone = (pairs, k[:, lane].copy(), lengths[:, lane].copy(), cubic)
            around_one = (kinds, surfaces, margins, stiff[:, :, lane : lane + 1].copy())
            gaps = np.empty((2, kinds.size, n, 1))
            one, to, speed = x0[:, lane].copy(), x1[:, lane].copy(), q[:, lane].copy()
            single = (
                *(one, p[:, lane].copy(), speed, m[:, lane].copy(), w[:, lane].copy()),
                *(alone, around_one, damping, to, np.empty(len(one)), gaps[0], gaps[1], 1),
            )
            step = go[:, lane].copy()
            _in_pieces(b, single, pattern, step, covered[lane], numbers, report, counts)
            x0[:, lane], q[:, lane], go[:, lane] = one, speed, step
        for i in range(n):
            for a in range(3):
                row, j = rows[i, lane], 3 * i + a
                d[row, a], X[row, a], V[row, a] = go[j, lane], x0[j, lane], q[j, lane]


@both()
def _groups(order, layout, springs, touches, motion, numbers, d, X, V, report, counts):
    for k in prange(order.size):
        _group(order[k], layout, springs, touches, motion, numbers, d, X, V, report, counts)


def body_newton(order, layout, springs, touches, motion, numbers, d, X, V, report, counts):
    """Solves r(d) = 0 for every body, from d to d (n, 3); writes X and V (n, 3) at the end.

    order (groups,): in which groups of bodies are taken, dealt to threads in equal shares.
    layout: structure (groups,), the structure of each group; bodies (groups, LANES), -1 where a
        lane is empty; member_at, members (.., LANES): rows of the particles of each group, lane by
        lane, in the order of their structure; held_at, held: rows of those that hold them;
        of each structure row_at (structures + 1,), first, last (particles,): the envelope, base
        (coordinates,): see _eliminate, spring_at, ends (springs, 2): particles of the structure,
        those that hold it after its own.
    springs: pull_at (groups + 1,), stiffness, rest (.., LANES), cubic.
    touches: kinds (c,), surfaces (c, 7), margins (c,), stiffness (c, N), zero where none touches.
    motion: positions before and after (N, 3), those of held particles being all that counts of the
        second; p, q and h v (n, 3), v being the velocity that the step starts with; mass (n,);
        weight (N, 3) [N].
    numbers: alpha, beta, theta, h, damping [1/s], tolerance, most iterations of one body, and how
        often a step may be halved: a mean one, theta = 1/2, whose p = x0 + h q and h v = h q; 0
        else, and where something that is held moves.
    report (bodies, BODY_NUMBERS): |r|, |M d|, |M h v|, joules that damping took.
    counts (bodies, BODY_COUNTS), to be added to; BODY_FAILED is 1 where a body was not solved, and
        its d, X and V mean nothing then.
    """
    loop = _groups[order.size >= _THREADED]
    loop(order, layout, springs, touches, motion, numbers, d, X, V, report, counts)
