"""Implicit steps of independent bodies: each its own Newton iteration, in the cache (the equation
is in body_equation.py).

LANES bodies of one structure are solved at a time, in one rhythm.  Their J has the tension of
each spring as the last update predicted it, T + (dT/dL) n.dx, in place of the one at x + dx:
tensions are unknowns of their own then, eliminated from every update, while the residual is that
of x.  A stiff spring that turns is stretched by an update far beyond what the step will leave, and
a tangent there tells more of this stretch than of the solution (bristles that swing: six
iterations instead of nine).  They begin with none: a spring that vibrates faster than steps follow
is pulled and pressed by turns, and the mean of a step has little of the tension it begins with.

A body that is left over is solved by itself, as solvers/shifted_newton.py does, but without
Broyden's updates: a new factorisation is cheap here.  A mean step that fails even so is taken in
halves, quarters, ..., each of which conserves as well.  Where an iteration ends, and what rounding
explains, is as in solvers/iteration.py, with each body's own |r| and scale.

What a body shares with those in the same lanes is when J is made anew and when all stop; which
these are depends on the layout alone.  Bits are the same whatever the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

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
from .body_equation import (
    EPS,
    FUSED,
    MOVED,
    NORM,
    ZEROTH,
    beyond,
    direction,
    eliminate,
    evaluate,
    gaps,
    inlined,
    inner,
    linearise,
    outlined_with_space,
    place,
    tensions,
)
from .jit import strict
from .lanes import load, out_of_line, spread, store, where
from .threads import arrive, team_size, together

# as in solvers/iteration.py, newton.py and shifted_newton.py
_SLACK, _FAINT = 64.0, 1e-3
_REUSE, _ARMIJO, _HALVINGS = 0.2, 1e-4, 3
_GROWTH, _LEAST, _LARGEST = 4.0, 1.0, 1e12
_AGAIN = 0.1  # a factorisation costs as much as three evaluations and solves, which this stands for
_QUADRATIC = 1e-3  # cut to this, the residual is small enough for one more solve with the same J
_MOST = 12  # iterations of lanes: two thirds of them need six
_FEW = 2  # bodies left: then each by itself is faster
_THREADED = 64  # groups of bodies, or bodies alone: about a millisecond
_SLOPE, _EXPLAINED = np.uint64(2), np.uint64(3)  # rows of sums, after NORM and MOVED


# ------------------------------------------------------------------ lanes: whole steps


@inlined
def _judge(iteration, running, step, sums, before, covered, tolerance, good):
    """Which lanes go on, and whether all of those converge well."""
    left, quadratic = 0, iteration > 0
    for lane in range(len(good)):
        if running[0, lane] == 0.0:
            continue
        norm, goal = sums[NORM, lane], tolerance * sums[MOVED, lane]
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
    """Lanes that go down take a step; the others get a larger tau: how many there are."""
    climbing = 0
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
            climbing += 1
    return climbing


@inlined
def _shorten(last, step, sums, before, moved, covered, slopes, tau, tolerance, counts):
    """Halves the steps that bring nothing; the last time they are not taken, and tau grows.

    How many there were.
    """
    halved = 0
    for lane in range(LANES):
        s, norm = step[0, lane], sums[NORM, lane]
        if s == 0.0:
            continue
        counts[lane, BODY_EVALUATIONS] += 1
        goal = tolerance * (sums[MOVED, lane] + covered[lane])
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
            sums[NORM, lane], sums[MOVED, lane] = before[lane], moved[lane]
    return halved


@outlined_with_space
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
    T, actual = np.zeros((len(springs[0]), LANES)), np.empty((len(springs[0]), LANES))
    sums, slopes, before, moved = (
        *(np.zeros((4, LANES)), np.zeros(LANES)),
        *(np.empty(LANES), np.empty(LANES)),
    )
    step, tau, stale = np.zeros((1, LANES)), np.zeros((1, LANES)), False
    evaluate(d, body, weights, r, sums)
    began = np.empty(LANES)
    for lane in range(LANES):
        began[lane] = sums[NORM, lane]
        counts[lane, BODY_EVALUATIONS] += 1
    for iteration in range(_MOST + 1):
        left, quadratic = _judge(iteration, running, step, sums, before, covered, tolerance, good)
        if left == 0 or iteration == _MOST or 0 < left <= _FEW < iteration:
            break
        for lane in range(LANES):
            moved[lane] = sums[MOVED, lane]
        stale = quadratic and not stale
        if not stale:
            linearise(body, weights, tau, T, pattern, A, noise, iteration == 0)
            eliminate(A, pattern, inverse)
        direction(A, pattern, inverse, r, dx)
        store(sums, _SLOPE, inner(r, dx))
        climbing = _begin_step(running, step, sums, tau, slopes, stale, counts)
        tensions(start, x1, dx, True, 2.0 * weights[2], springs, T)
        for halving in range(1 + _HALVINGS):
            on = load(step, ZEROTH)
            for i in range(np.uint64(size)):
                way = where(on, on * load(dx, i), spread(on, 0.0))
                store(trial, i, load(d, i) + way)
            evaluate(trial, body, weights, better, sums)
            store(sums, _EXPLAINED, beyond(better, noise, _SLACK))
            store(sums, _SLOPE, inner(better, dx))
            last = halving == _HALVINGS
            halved = _shorten(
                last, step, sums, before, moved, covered, slopes, tau, tolerance, counts
            )
            if halved == 0:
                break
        on = load(step, ZEROTH)
        for i in range(np.uint64(size)):
            store(d, i, where(on, load(trial, i), load(d, i)))
            store(r, i, where(on, load(better, i), load(r, i)))
        if climbing == 0 and halving == 0:
            continue  # predicted tensions are those of whole steps
        if halved > 0:  # X is where a step was tried that is not taken
            place(d, body)
        tensions(start, x1, dx, False, 1.0, springs, actual)
        whole = on - 0.75
        for k in range(np.uint64(len(T))):
            store(T, k, where(whole, load(T, k), load(actual, k)))
    for lane in range(LANES):
        if not sums[NORM, lane] < began[lane]:
            running[0, lane] = 0.0
    return sums


# ------------------------------------------------------------------ one body, with every safeguard

_FIRST, _STALE, _FRESH = 0, 1, 2  # how a trial was found: the guess, an old J, a new one


@inlined
def _descend(body, weights, pattern, space, d, r, tau, goal, counts):
    """A direction with J + tau M at d, tau grown until it goes down; its slope and that tau."""
    x0, x1, springs = body[0], body[8], body[5]
    A, dx, noise, inverse, T, shift = space
    place(d, body)
    start = x1 if weights[2] == 1.0 else x0
    tensions(start, x1, dx, False, 1.0, springs, T)
    slope = 0.0
    while tau <= _LARGEST:
        shift[0] = tau
        linearise(body, weights, shift, T, pattern, A, noise, True)
        eliminate(A, pattern, inverse)
        direction(A, pattern, inverse, r, dx)
        counts[BODY_FACTORIZATIONS] += 1
        counts[BODY_SOLVES] += 1
        slope = inner(r, dx)
        if slope < 0.0 or (tau > 0.0 and beyond(r, noise, _SLACK) <= goal):
            break
        tau = max(_LEAST, _GROWTH * tau)
    return slope, tau


@outlined_with_space
def _alone(body, weights, pattern, d, tolerance, covered, most, counts):
    """Newton's iteration from d to d: whether it is solved, |r|, |M d|."""
    out_of_line()
    size = len(d)
    A = np.empty(pattern[2][size - 1] + np.uint64(size))
    r, dx, noise, inverse = np.empty(size), np.zeros(size), np.empty(size), np.empty(size)
    trial, better, sums = d.copy(), np.empty(size), np.zeros(4)
    space = (A, dx, noise, inverse, np.empty(len(body[5][0])), np.zeros(1))
    kind, s, tau, slope, norm, moved, goal, taken = _FIRST, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0
    known = exhausted = lost = False  # known: the factorisation serves once more
    while True:
        evaluate(trial, body, weights, better, sums)
        counts[BODY_EVALUATIONS] += 1
        new = sums[NORM]
        if kind == _FIRST:
            take = True
        elif kind == _STALE:
            exhausted = new > _AGAIN * norm and beyond(better, noise, 1.0) <= goal
            known = new <= _AGAIN * norm
            take = known or exhausted or new < norm
        else:
            whole = s == 1.0 and new > _REUSE * norm
            exhausted = whole and beyond(better, noise, _SLACK) <= goal
            falls = new <= (1.0 - _ARMIJO * s) * norm
            take = exhausted or falls or inner(better, dx) <= (_ARMIJO - 1.0) * slope
            known = take and tau == 0.0 and new <= _REUSE * norm
        if take:
            for i in range(size):
                d[i], r[i] = trial[i], better[i]
            norm, moved = new, sums[MOVED]
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
            direction(A, pattern, inverse, r, dx)
            counts[BODY_SOLVES] += 1
        else:
            if take or kind == _STALE:
                tau = tau / _GROWTH if tau > _LEAST else 0.0
                counts[BODY_TANGENTS] += 1
            else:
                tau = max(_LEAST, _GROWTH * tau)
            kind = _FRESH
            slope, tau = _descend(body, weights, pattern, space, d, r, tau, goal, counts)
            here = body[8][:size]
            lost = tau == 0.0 and inner(dx, dx) <= (_SLACK * EPS) ** 2 * inner(here, here)
            if not slope < 0.0:
                exhausted = beyond(r, noise, _SLACK) <= goal
                break
        s = 1.0
        for i in range(size):
            trial[i] = d[i] + dx[i]
    scale = moved + covered
    faint = lost and norm <= _FAINT * scale
    return norm <= tolerance * scale or exhausted or faint, norm, moved


@outlined_with_space
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
        gaps(x0.reshape(-1, 1), touches, s0)
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


@outlined_with_space
def _fetched(source, rows, fixed):
    """(3 k, LANES): the rows (k, LANES) of source (N, 3), those of what is free, then of what is
    fixed."""
    out_of_line()
    out, free = np.empty((3 * (len(rows) + len(fixed)), LANES)), len(rows)
    for i in range(free + len(fixed)):
        for lane in range(LANES):
            row = rows[i, lane] if i < free else fixed[i - free, lane]
            for a in range(3):
                out[3 * i + a, lane] = source[row, a]
    return out


@inlined
def _structure(group, layout):
    """Rows (k, LANES) of a group's particles and of those that hold them, its pattern, the ends of
    its springs."""
    structure, _, member_at, members, held_at, held = layout[:6]
    row_at, first, last, base, spring_at, ends = layout[6:]
    shape = structure[group]
    rows = members[member_at[group] : member_at[group + 1]]
    fixed = held[held_at[group] : held_at[group + 1]]
    low, high = row_at[shape], row_at[shape + 1]
    pattern = first[low:high], last[low:high], base[3 * low : 3 * high]
    return rows, fixed, pattern, ends[spring_at[shape] : spring_at[shape + 1]]


@strict(fastmath=FUSED)
def _in_lanes(
    _thread, _threads, counter, order, layout, springs, touches, motion, numbers, d, X, V,
    report, counts, left,
):  # fmt: skip
    """Groups, whoever is free taking the next; left (groups, LANES): the bodies that are not
    solved, whose d is where they were left."""
    bodies = layout[1]
    pull_at, stiffness, rest, cubic = springs
    kinds, surfaces, margins, hard = touches
    before, after, origin, velocity, stride, mass, weight = motion
    alpha, beta, theta, h, damping, tolerance, _, _ = numbers
    while True:
        task = arrive(counter)
        if task >= order.size:
            break
        group = order[task]
        rows, fixed, pattern, pairs = _structure(group, layout)
        low, high = pull_at[group], pull_at[group + 1]
        pull, lengths = stiffness[low:high], rest[low:high]
        n, size = len(rows), 3 * len(rows)
        none = fixed[:0]
        x0, x1 = _fetched(before, rows, fixed), _fetched(after, rows, fixed)
        p, q = _fetched(origin, rows, none), _fetched(velocity, rows, none)
        w, go = _fetched(weight, rows, none), _fetched(d, rows, none)
        way = _fetched(stride, rows, none)
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
        s0, s1 = np.empty(stiff.shape), np.empty(stiff.shape)
        around = (kinds, surfaces, margins, stiff)
        gaps(x0, around, s0)
        pulls = (pairs, pull, lengths, cubic)
        body = (x0, p, q, m, w, pulls, around, damping, x1, np.empty(x0.shape), s0, s1, LANES)
        weights = (alpha, beta, theta)
        sums = _side_by_side(body, weights, pattern, go, tolerance, covered, running, good, effort)
        for lane in range(LANES):
            b = bodies[group, lane]
            if b < 0:
                continue
            for k in range(counts.shape[1]):
                counts[b, k] += effort[lane, k]
            left[group, lane] = not good[lane]
            if good[lane]:
                report[b, BODY_RESIDUAL] = sums[NORM, lane]
                report[b, BODY_CHANGE], report[b, BODY_COVERED] = sums[MOVED, lane], covered[lane]
                for i in range(size):
                    v = q[i, lane] + beta / alpha * go[i, lane]
                    middle = (1.0 - theta) * q[i, lane] + theta * v
                    report[b, BODY_DISSIPATED] += h * damping * m[i, lane] * middle * middle
                    X[rows[i // 3, lane], i % 3] = p[i, lane] + go[i, lane]
                    V[rows[i // 3, lane], i % 3] = v
            if good[lane] or running[0, lane] != 0.0:  # others went astray: from the guess again
                for i in range(size):
                    d[rows[i // 3, lane], i % 3] = go[i, lane]


@inlined
def _fetched_alone(source, rows, fixed, lane):
    """The same of one lane, (3 k,)."""
    out, free = np.empty(3 * (len(rows) + len(fixed))), len(rows)
    for i in range(free + len(fixed)):
        row = rows[i, lane] if i < free else fixed[i - free, lane]
        for a in range(3):
            out[3 * i + a] = source[row, a]
    return out


@strict(fastmath=FUSED)
def _one_by_one(
    _thread, _threads, counter, layout, springs, touches, motion, numbers, d, X, V, report, counts,
    left,
):  # fmt: skip
    """Bodies that lanes leave over; left (k, 2): groups and lanes."""
    bodies = layout[1]
    pull_at, stiffness, rest, cubic = springs
    kinds, surfaces, margins, hard = touches
    before, after, origin, velocity, stride, mass, weight = motion
    while True:
        task = arrive(counter)
        if task >= len(left):
            break
        group, lane = left[task]
        rows, fixed, pattern, pairs = _structure(group, layout)
        none, n = fixed[:0], len(rows)
        low, high = pull_at[group], pull_at[group + 1]
        x0, x1 = _fetched_alone(before, rows, fixed, lane), _fetched_alone(after, rows, fixed, lane)
        p, q = _fetched_alone(origin, rows, none, lane), _fetched_alone(velocity, rows, none, lane)
        w, go = _fetched_alone(weight, rows, none, lane), _fetched_alone(d, rows, none, lane)
        m, stiff, square = np.empty(3 * n), np.empty((kinds.size, n, 1)), 0.0
        for i in range(n):
            for a in range(3):
                m[3 * i + a] = mass[rows[i, lane]]
                square += (m[3 * i + a] * stride[rows[i, lane], a]) ** 2
            for c in range(kinds.size):
                stiff[c, i, 0] = hard[c, rows[i, lane]]
        pulls = (pairs, stiffness[low:high, lane].copy(), rest[low:high, lane].copy(), cubic)
        around, room = (kinds, surfaces, margins, stiff), np.empty((2, kinds.size, n, 1))
        body = (
            *(x0, p, q, m, w, pulls, around, numbers[4], x1, np.empty(len(x0)), room[0], room[1]),
            1,
        )
        b, covered = bodies[group, lane], math.sqrt(square)
        _in_pieces(b, body, pattern, go, covered, numbers, report, counts)
        for i in range(3 * n):
            row, a = rows[i // 3, lane], i % 3
            d[row, a], X[row, a], V[row, a] = go[i], x0[i], q[i]


def body_newton(order, layout, springs, touches, motion, numbers, d, X, V, report, counts):
    """Solves r(d) = 0 for every body, from d to d (n, 3); writes X and V (n, 3) at the end.

    order (groups,): in which groups of bodies are taken, by whichever thread is free.
    layout: structure (groups,), the structure of each group; bodies (groups, LANES), -1 where a
        lane is empty; member_at, members (.., LANES): rows of the particles of each group, lane by
        lane, in the order of their structure; held_at, held: rows of those that hold them;
        of each structure row_at (structures + 1,), first, last (particles,): the envelope, base
        (coordinates,): see eliminate, spring_at, ends (springs, 2): particles of the structure,
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
    shared, bodies = (layout, springs, touches, motion, numbers, d, X, V, report, counts), layout[1]
    left = bodies >= 0
    several = order[bodies[order, 1] >= 0]  # one body alone has no company
    if several.size:
        size = team_size(several.size) if several.size >= _THREADED else 1
        together(_in_lanes, size, several, *shared, left)
    alone = np.argwhere(left)
    if alone.size:
        size = team_size(len(alone)) if len(alone) >= _THREADED else 1
        together(_one_by_one, size, *shared, alone)
