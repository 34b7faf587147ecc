"""Many explicit steps of a body of particles in one call: forces, kicks, drifts, what happens
between the steps, and the ledger, without a way back to Python.

The particles are divided into groups, each with rows of its own: those it moves, those that
supports lead, those that only lend their positions (held ones, and ones that another group moves),
and a last row at which springs pull that only fill a register.  Groups that share no spring go
through all steps one after the other, each in the first-level cache; those that do meet after every
drift, and a spring between two of them is computed by both.  Tets take much longer: one group has
each of them, and after another meeting the others collect what it does to their particles.  Of a
body that is cut between ranks, positions of what others move come after every drift.  How
particles are grouped and in which order they collect does not depend on threads: the bits are the
same for any number of them.

What a body does not have comes as None (`_called`), and numba leaves out what stands behind
`if part is None: return`: compiling everything for every body took more than twice as long.

Rows are quads (x, y, z, 0).  A method is kicks k_0 .. k_s and drifts d_1 .. d_s,

    v += k_0 h a;   then for each i:  x += d_i h v,  a = a(t_i, x, v + k_i h a),  v += k_i h a

with the last acceleration carried into the next step.  Tables hold what depends on time: entry 0 is
the start of the call, then each step has one for its middle and one for each drift.
"""

from __future__ import annotations

import math
from collections import namedtuple
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ..names import ADDED, DEEPEST, DISSIPATED, PLANE, SPHERE, TOUCHING
from .callback import call, callable_as
from .contact import distance, normal
from .grouped_tets import add_tet_forces, addresses
from .jit import strict as counted
from .quads import (
    any_above,
    at_least,
    cross,
    fill,
    load,
    root,
    row,
    spread0,
    spread1,
    spread2,
    spread3,
    store,
    sums,
    total,
)
from .springs import spring_law
from .threads import arrive, await_all, team_size, together

_TINY = 1e-300  # the square of a length that is taken for zero: such a spring pulls nowhere
_ROUNDING = 1.0 + 1e-12  # as in springs.py
_BEYOND = 1.0 + 1e-6  # times a reach: surely out of it
FLAGS = "powers", "tied"
ZERO, ONE, TWO, THREE, FOUR = (np.uint64(k) for k in range(5))

# No arrays are made or freed here, so nothing has to count who uses them: with the many arrays of a
# body, counting took longer than the steps of a hair.
called: Any = partial(counted, _nrt=False, no_cfunc_wrapper=True)  # pyright: ignore[reportCallIssue]
strict: Any = partial(called, no_cpython_wrapper=True)  # by other loops
# Code that goes into its callers as it was written: compiled by itself first, it would be optimised
# once more for each caller.
inlined: Any = partial(strict, forceinline=True)

# quads of every row: positions, velocities, accelerations, forces, velocities as predicted, where
# the step began, and forces of tets.  A group's are those from `at` on; row i there is row
# i + shift of the body.  worn: whether a spring of the row is beyond its limit; None where none has
# one.
Rows = namedtuple("Rows", "x v a f ahead x0 v0 solid worn")
QUADS = len(Rows._fields) - 1
# of a group: its number, the first of its quads, what takes these to rows of the body, the end of
# those that it moves, of those that supports lead, of all
Group = namedtuple("Group", "g at shift own led end")


@inlined
def _group(g, groups, connected):
    """Quads of its own for each group, or the same for all where each is done before the next."""
    first = np.uint64(groups.first[g])
    at = first if connected else np.uint64(0)
    own = at + np.uint64(groups.own[g])
    end = at + np.uint64(groups.first[g + 1]) - first
    return Group(g, at, first - at, own, own + np.uint64(groups.led[g]), end)


@inlined
def _rows(q, worn):
    return Rows(q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], worn)


@inlined
def _marks(worn, mine):
    if worn is None:
        return None
    return worn[mine]


# ------------------------------------------------------------------ elastic forces


@inlined
def _spring_scale(square, stiffness, rest, cubic):
    """Force over length of four springs."""
    L = root(at_least(square, fill(_TINY)))
    scale = stiffness - stiffness * rest / L
    if cubic:
        strain = L / rest - fill(1.0)
        scale = scale * (fill(1.0) + strain * strain)
    return scale


@inlined
def _beyond(square, stiffness, rest, limit):
    """Whether one of four springs is strained too far; those that only fill a register are not."""
    most, least = rest * (fill(1.0) + limit), rest * at_least(fill(1.0) - limit, fill(0.0))
    over = at_least(square - most * most, least * least - square)
    return any_above(stiffness * over, fill(0.0))


@strict
def _spring_forces(low, high, at, shift, springs, cubic, x, f, worn):
    """Adds the forces of the springs of quads low .. high; marks rows where one is beyond its
    limit, so that nobody has to read all of them once more for that."""
    if springs is None:
        return
    start, other, marks = springs.start, springs.other, len(springs.limit) > 0
    for i in range(low, high):
        p, end = np.uint64(start[i + shift]), np.uint64(start[i + shift + ONE])
        if p == end:
            continue
        here, force = load(x, i), load(f, i)
        while p < end:
            a, b = at + np.uint64(other[p]), at + np.uint64(other[p + ONE])
            c, d = at + np.uint64(other[p + TWO]), at + np.uint64(other[p + THREE])
            da, db = here - load(x, a), here - load(x, b)
            dc, dd = here - load(x, c), here - load(x, d)
            square = sums(da * da, db * db, dc * dc, dd * dd)
            stiffness, rest = load(springs.stiffness, p), load(springs.rest, p)
            if worn is not None and marks:
                limit = fill(springs.common)
                if springs.common < 0.0:
                    limit = load(springs.limit, p)
                if _beyond(square, stiffness, rest, limit):
                    worn[i] = 1
            scale = _spring_scale(square, stiffness, rest, cubic)
            pull = spread0(scale) * da
            force = force - pull
            store(f, a, load(f, a) + pull)
            pull = spread1(scale) * db
            force = force - pull
            store(f, b, load(f, b) + pull)
            pull = spread2(scale) * dc
            force = force - pull
            store(f, c, load(f, c) + pull)
            pull = spread3(scale) * dd
            force = force - pull
            store(f, d, load(f, d) + pull)
            p += FOUR
        store(f, i, force)


@inlined
def _all_spring_forces(low, high, at, shift, body, x, f, worn):
    _spring_forces(low, high, at, shift, body.linear, False, x, f, worn)
    _spring_forces(low, high, at, shift, body.cubic, True, x, f, worn)


@strict
def _face_forces(g, at, faces, x, f):
    """Springs from the corners of tets to the opposite faces: see face_springs.py."""
    if faces is None:
        return
    corners, part, more = faces.corners, fill(1.0 / 3.0), fill(4.0 / 3.0)
    for t in range(np.uint64(faces.start[g]), np.uint64(faces.start[g + 1])):
        a, b = at + np.uint64(corners[t, 0]), at + np.uint64(corners[t, 1])
        c, d = at + np.uint64(corners[t, 2]), at + np.uint64(corners[t, 3])
        xa, xb, xc, xd = load(x, a), load(x, b), load(x, c), load(x, d)
        low, high = xa + xb, xc + xd
        da, db = xa - part * (xb + high), xb - part * (xa + high)
        dc, dd = xc - part * (low + xd), xd - part * (low + xc)
        square = sums(da * da, db * db, dc * dc, dd * dd)
        scale = _spring_scale(square, fill(faces.stiffness[t]), load(faces.rest, t), False)
        da, db = spread0(scale) * da, spread1(scale) * db
        dc, dd = spread2(scale) * dc, spread3(scale) * dd
        mean = part * ((da + db) + (dc + dd))
        store(f, a, load(f, a) + (mean - more * da))
        store(f, b, load(f, b) + (mean - more * db))
        store(f, c, load(f, c) + (mean - more * dc))
        store(f, d, load(f, d) + (mean - more * dd))


@inlined
def _tet_forces(own, tets, led, x, f):
    """Adds the forces of a group's tets, or only of those with a corner that supports lead."""
    if tets is None:
        return
    end = tets.led if led else tets.end
    for m in range(len(tets.materials)):
        constants = (tets.corners, tets.shape, tets.moduli)
        low, high = tets.start[m, own.g], end[m, own.g]
        if high > low:
            add_tet_forces(tets.materials[m], low, high, np.int64(own.at), *constants, x, f)


@inlined
def _collect(own, tets, f):
    """Adds to the forces on a group's particles what other groups' tets do to them."""
    for i in range(own.at, own.own):
        force = load(f, i)
        for p in range(tets.lent[i], tets.lent[i + ONE]):
            force = force + load(f, np.uint64(tets.place[p]))
        store(f, i, force)


# ------------------------------------------------------------------ contact


@inlined
def _point(x, i):
    return x[i, 0], x[i, 1], x[i, 2]


@inlined
def _far(kind, q, x, i, end, margin):
    """Surely no contact, of four rows at once from i on, before the end: without a root."""
    if kind == PLANE or (kind == SPHERE and q[4] < 0.0):
        return False
    last, centre, reach = end - ONE, row(q[0], q[1], q[2]), q[3] + margin
    da, db = load(x, i) - centre, load(x, min(i + ONE, last)) - centre
    dc, dd = load(x, min(i + TWO, last)) - centre, load(x, min(i + THREE, last)) - centre
    square = sums(da * da, db * db, dc * dc, dd * dd)
    return not any_above(fill(_BEYOND * reach * reach), square)


@inlined
def _contact_forces(own, touches, surfaces, place, x, f):
    """Adds the penalty forces of all shapes, which stand at their places numbered `place`."""
    if touches is None:
        return
    for c in range(len(touches.kind)):
        kind, margin, q = touches.kind[c], touches.margin[c], surfaces[c, place]
        for four in range(own.at, own.own, FOUR):
            if _far(kind, q, x, four, own.own, margin):
                continue
            for i in range(four, min(four + FOUR, own.own)):
                k, p = touches.stiffness[c, i + own.shift], _point(x, i)
                if k == 0.0:
                    continue
                s = distance(kind, q, p) - margin
                if s < 0.0:
                    n = normal(kind, q, p)
                    store(f, i, load(f, i) - fill(k * s) * row(n[0], n[1], n[2]))


# ------------------------------------------------------------------ ties


@inlined
def _tied_to(ties, leads, p, place):
    """The point of a tie, at its place numbered `place`."""
    m = ties.motion[p]
    if m < 0 or place == 0:
        return load(ties.here, p)
    q, h = leads[m, place], ties.home[p]
    return row(
        q[0] * h[0] + q[1] * h[1] + q[2] * h[2] + q[9],
        q[3] * h[0] + q[4] * h[1] + q[5] * h[2] + q[10],
        q[6] * h[0] + q[7] * h[1] + q[8] * h[2] + q[11],
    )


@inlined
def _ties_of(own, ties):
    """The first of a group's ties, and the end."""
    first = own.at + own.shift
    return np.uint64(ties.start[first]), np.uint64(ties.start[first + own.own - own.at])


@inlined
def _tie_forces(own, ties, leads, place, x, f):
    if ties is None:
        return
    low, high = _ties_of(own, ties)
    for p in range(low, high):
        i = np.uint64(ties.row[p]) - own.shift
        d = load(x, i) - _tied_to(ties, leads, p, place)
        store(f, i, load(f, i) - fill(ties.stiffness[p]) * d)


@inlined
def _draw(own, n, ties, leads, inverse, rows, books):
    """Points go on from where they stood during step n, and so do accelerations."""
    if ties is None:
        return
    low, high = _ties_of(own, ties)
    for p in range(low, high):
        if ties.motion[p] >= 0:
            k, i = ties.stiffness[p], np.uint64(ties.row[p]) - own.shift
            p0, p1 = _tied_to(ties, leads, p, n), _tied_to(ties, leads, p, n + 1)
            d0, d1 = load(rows.x, i) - p0, load(rows.x, i) - p1
            books[own.g, ADDED] += 0.5 * k * (total(d1 * d1) - total(d0 * d0))
            push = fill(k * inverse[i + own.shift]) * (p1 - p0)
            store(rows.a, i, load(rows.a, i) + push)


# ------------------------------------------------------------------ loads


@inlined
def _area(x, a, b, c):
    here = load(x, a)
    return fill(0.5) * cross(load(x, b) - here, load(x, c) - here)


@inlined
def _against(wind, v, a, b, c):
    """Wind less the mean velocity of three corners."""
    return wind - fill(1.0 / 3.0) * (load(v, a) + load(v, b) + load(v, c))


@inlined
def _push(f, a, b, c, push):
    third = fill(1.0 / 3.0) * push
    store(f, a, load(f, a) + third)
    store(f, b, load(f, b) + third)
    store(f, c, load(f, c) + third)


@strict
def _wind_forces(g, at, triangles, winds, entry, x, v, f, acts):
    """What air on triangles adds and takes [W] (see drag.py), four at a time; where it `acts`, its
    forces are added to f: with a pressure c on an area s they are c s, and c s.w is added."""
    if triangles is None:
        return 0.0, 0.0
    added, taken = fill(0.0), fill(0.0)
    corners, which, entries = triangles.corners, triangles.wind, np.uint64(winds.shape[1])
    for t in range(np.uint64(triangles.start[g]), np.uint64(triangles.start[g + 1]), FOUR):
        q, r, s = t + ONE, t + TWO, t + THREE
        a0, b0, c0 = _corners(at, corners, t)
        a1, b1, c1 = _corners(at, corners, q)
        a2, b2, c2 = _corners(at, corners, r)
        a3, b3, c3 = _corners(at, corners, s)
        w0 = load(winds, np.uint64(which[t]) * entries + np.uint64(entry))
        w1 = load(winds, np.uint64(which[q]) * entries + np.uint64(entry))
        w2 = load(winds, np.uint64(which[r]) * entries + np.uint64(entry))
        w3 = load(winds, np.uint64(which[s]) * entries + np.uint64(entry))
        u0, u1 = _against(w0, v, a0, b0, c0), _against(w1, v, a1, b1, c1)
        u2, u3 = _against(w2, v, a2, b2, c2), _against(w3, v, a3, b3, c3)
        s0, s1 = _area(x, a0, b0, c0), _area(x, a1, b1, c1)
        s2, s3 = _area(x, a2, b2, c2), _area(x, a3, b3, c3)
        square = at_least(sums(s0 * s0, s1 * s1, s2 * s2, s3 * s3), fill(_TINY))
        p = sums(u0 * s0, u1 * s1, u2 * s2, u3 * s3)
        size = at_least(p, fill(0.0) - p)
        scale = load(triangles.pressure, t) * size * p / square
        added = added + scale * sums(w0 * s0, w1 * s1, w2 * s2, w3 * s3)
        taken = taken + scale * p
        if acts:
            _push(f, a0, b0, c0, spread0(scale) * s0)
            _push(f, a1, b1, c1, spread1(scale) * s1)
            _push(f, a2, b2, c2, spread2(scale) * s2)
            _push(f, a3, b3, c3, spread3(scale) * s3)
    return total(added), total(taken)


@inlined
def _corners(at, corners, t):
    a, b = at + np.uint64(corners[t, 0]), at + np.uint64(corners[t, 1])
    return a, b, at + np.uint64(corners[t, 2])


@strict
def _dashpot_forces(g, at, dashpots, x, v, f):
    if dashpots is None:
        return 0.0
    taken = fill(0.0)
    for e in range(dashpots.start[g], dashpots.start[g + 1]):
        a, b = at + np.uint64(dashpots.corners[e, 0]), at + np.uint64(dashpots.corners[e, 1])
        d, w = load(x, a) - load(x, b), load(v, a) - load(v, b)
        square = total(d * d)
        if square == 0.0:
            continue
        pull = fill(dashpots.coefficient[e] * total(d * w) / square) * d
        taken = taken + pull * w
        store(f, a, load(f, a) - pull)
        store(f, b, load(f, b) + pull)
    return total(taken)


@inlined
def _drag(own, drags, winds, entry, v, f, added, taken):
    """Of rows; what it adds and takes [W] besides, as quads."""
    if drags is None:
        return added, taken
    for d in range(len(drags.power)):
        w = winds[drags.wind[d], entry]
        wind = row(w[0], w[1], w[2])
        for i in range(own.at, own.led):
            u = wind - load(v, i)
            scale = drags.coefficient[d, i + own.shift]
            if drags.power[d] == 2:
                scale *= math.sqrt(total(u * u))
            push = fill(scale) * u
            added = added + push * wind
            taken = taken + push * u
            store(f, i, load(f, i) + push)
    return added, taken


@inlined
def _forcing(own, weights, forces, entry, v, f, added):
    """Forces that vary with time; what they add [W] besides, as a quad."""
    if weights is None:
        return added
    for d in range(len(weights)):
        w = forces[d, entry]
        force = row(w[0], w[1], w[2])
        for i in range(own.at, own.led):
            push = fill(weights[d, i + own.shift]) * force
            added = added + push * load(v, i)
            store(f, i, load(f, i) + push)
    return added


@inlined
def _loads(own, body, tables, entry, x, v, f, acts):
    """What all of them add and take [W]; acts: somebody wants to know the forces, too."""
    zero = fill(0.0)
    gained, lost = _drag(own, body.drags, tables.winds, entry, v, f, zero, zero)
    gained = _forcing(own, body.weights, tables.forces, entry, v, f, gained)
    added, taken = total(gained), total(lost)
    blown, braked = _wind_forces(own.g, own.at, body.triangles, tables.winds, entry, x, v, f, acts)
    added += blown
    taken += braked
    taken += _dashpot_forces(own.g, own.at, body.dashpots, x, v, f)
    return added, taken


# ------------------------------------------------------------------ one group


@inlined
def _clear(own, f):
    for i in range(own.at, own.end):
        store(f, i, fill(0.0))


@inlined
def _begin(own, tets, solid, f):
    """Forces, of tets so far."""
    if tets is None:
        _clear(own, f)
        return
    for i in range(own.at, own.end):
        store(f, i, load(solid, i))


@inlined
def _unmark(own, worn):
    if worn is None:
        return
    for i in range(own.at, own.end):
        worn[i] = 0


@inlined
def _run(own, body):
    """Which of the fields and dampings is the group's."""
    return np.uint64(own.g) if len(body.alpha) > 1 else ZERO


@inlined
def _accelerate(own, body, tables, entry, place, kick, rows):
    """a = force / mass + field - alpha v, with v as predicted; v += kick a."""
    x, f = rows.x, rows.f
    _begin(own, body.tets, rows.solid, f)
    _unmark(own, rows.worn)
    _all_spring_forces(own.at, own.end, own.at, own.shift, body, x, f, rows.worn)
    _face_forces(own.g, own.at, body.faces, x, f)
    _contact_forces(own, body.touches, tables.surfaces, place, x, f)
    _tie_forces(own, tables.ties, tables.leads, place, x, f)
    _loads(own, body, tables, entry, x, rows.ahead, f, True)
    run, inverse = _run(own, body), body.groups.inverse
    field, alpha = load(body.field, run), fill(body.alpha[run])
    for i in range(own.at, own.own):
        a = fill(inverse[i + own.shift]) * load(f, i) + field
        if body.powers is not None:
            a = a - alpha * load(rows.ahead, i)
        store(rows.a, i, a)
        store(rows.v, i, load(rows.v, i) + fill(kick) * a)


@inlined
def _lead(own, groups, supports, entry, x, v):
    """Particles on supports go where those are."""
    if supports is None:
        return
    for i in range(own.own, own.led):
        m, h = groups.support[i + own.shift], groups.home[i + own.shift]
        for k in range(3):
            j, way, speed = 3 * k, supports[m, entry, 9 + k], supports[m, entry, 21 + k]
            for q in range(3):
                way += supports[m, entry, j + q] * h[q]
                speed += supports[m, entry, 12 + j + q] * h[q]
            x[i, k], v[i, k] = way, speed


@inlined
def _lifting(own, supports, body, x, v, rows, known):
    """What supports add [W]; known: what led particles feel is in rows.f, else of that only loads
    are."""
    if supports is None or own.led == own.own:
        return 0.0
    f, work = rows.f, fill(0.0)
    if not known:
        _all_spring_forces(own.own, own.led, own.at, own.shift, body, x, f, None)
        _face_forces(own.g, own.at, body.faces, x, f)
        _tet_forces(own, body.tets, True, x, f)
    for i in range(own.own, own.led):
        work = work - load(f, i) * load(v, i)
    return total(work)


@inlined
def _power(own, body, tables, entry, x, v, rows, known):
    """What loads, damping and supports add and take [W] in the state x, v; known: what led
    particles feel there is in rows.f."""
    if not known:
        for i in range(own.own, own.led):
            store(rows.f, i, fill(0.0))
    added, taken = _loads(own, body, tables, entry, x, v, rows.f, own.led > own.own)
    added += _lifting(own, tables.supports, body, x, v, rows, known)
    alpha = body.alpha[_run(own, body)]
    if alpha > 0.0:
        heat = fill(0.0)
        for i in range(own.at, own.own):
            u = load(v, i)
            heat = heat + fill(body.groups.mass[i + own.shift]) * (u * u)
        taken += alpha * total(heat)
    return added, taken


@inlined
def _braked(body):
    """Whether forces beside damping know velocities."""
    parts = body.drags is not None, body.triangles is not None, body.dashpots is not None
    return parts[0] or parts[1] or parts[2]


@inlined
def _middle(own, h, rows):
    """x0, v0 go to the middle of the cubic through both ends of the step."""
    for i in range(own.at, own.own):
        x0, v0, x1, v1 = load(rows.x0, i), load(rows.v0, i), load(rows.x, i), load(rows.v, i)
        store(rows.x0, i, fill(0.5) * (x0 + x1) + fill(0.125 * h) * (v0 - v1))
        store(rows.v0, i, fill(1.5 / h) * (x1 - x0) - fill(0.25) * (v0 + v1))


@inlined
def _book(own, powers, entries, body, tables, h, rows, power, books):
    """The work of a step by Simpson's rule (accounting.py); entries of the tables: its end, its
    start, its middle.  At its end the forces are still those by which it was accelerated.

    power[g]: added and dissipated [W] as the last step ended, and whether that still holds."""
    if powers is None:
        return
    g, added, taken, end = own.g, 0.0, 0.0, (0.0, 0.0)
    springs_only = not _braked(body) and body.weights is None and body.tets is None
    for which in range(3):
        when, x, v, weight = entries[which], rows.x0, rows.v0, 1.0
        if which == 0:
            x, v = rows.x, rows.v
        if which == 2:  # the middle takes the place of the start
            weight = 4.0
            _middle(own, h, rows)
            _lead(own, body.groups, tables.supports, when, x, v)
        if which == 1 and power[g, 2] != 0.0:
            now = (power[g, 0], power[g, 1])
        else:
            known = which == 0 and springs_only
            now = _power(own, body, tables, when, x, v, rows, known)
        added += h / 6.0 * weight * now[0]
        taken += h / 6.0 * weight * now[1]
        if which == 0:
            end = now
    power[g, 0], power[g, 1] = end
    power[g, 2] = 1.0
    books[g, ADDED] += added
    books[g, DISSIPATED] += taken


# ------------------------------------------------------------------ between two steps


@inlined
def _slow(kind, q, n, p, most, alpha, mass, i, rows, book):
    """Takes at most `most` [m/s] of the sliding of one particle, and books it.  The next step opens
    with the damping of what is left."""
    y0, y1, y2 = p[0] - q[7], p[1] - q[8], p[2] - q[9]
    motion = row(
        q[10] + q[14] * y2 - q[15] * y1,
        q[11] + q[15] * y0 - q[13] * y2,
        q[12] + q[13] * y1 - q[14] * y0,
    )
    n4, old = row(n[0], n[1], n[2]), load(rows.v, i)
    relative = old - motion
    along = relative - fill(total(relative * n4)) * n4
    speed = math.sqrt(total(along * along))
    if speed == 0.0:
        return False
    change = fill(-min(1.0, most / speed)) * along
    store(rows.v, i, old + change)
    store(rows.ahead, i, load(rows.ahead, i) + change)
    store(rows.a, i, load(rows.a, i) - fill(alpha) * change)
    work = mass * total(change * motion)
    book[ADDED] += work
    book[DISSIPATED] += work - 0.5 * mass * total(change * (old + old + change))
    return True


@inlined
def _touch_one(c, i, q, to, own, body, h, rows, books):
    """Friction of one particle against the shape c, which then goes on from q; whether anything was
    felt."""
    groups, touches, felt, g = body.groups, body.touches, False, own.g
    kind, margin, friction = touches.kind[c], touches.margin[c], touches.friction[c]
    k, p, moving = touches.stiffness[c, i + own.shift], _point(rows.x, i), touches.moving[c]
    if k == 0.0:
        return False
    d, inverse = distance(kind, q, p), groups.inverse[i + own.shift]
    s0 = min(0.0, d - margin)
    s1 = min(0.0, distance(kind, to, p) - margin) if moving else s0
    books[g, DEEPEST] = max(books[g, DEEPEST], -d)
    if s0 == 0.0 and s1 == 0.0:
        return False
    m = normal(kind, q, p)
    if s0 < 0.0:
        books[g, TOUCHING] += 1.0
        if friction > 0.0:
            most, mass = -friction * h * k * s0 * inverse, groups.mass[i + own.shift]
            alpha = body.alpha[_run(own, body)]
            felt = _slow(kind, q, m, p, most, alpha, mass, i, rows, books[g])
    if moving:
        felt = True
        books[g, ADDED] += 0.5 * k * (s1 * s1 - s0 * s0)
        w = normal(kind, to, p)
        push = row(s0 * m[0] - s1 * w[0], s0 * m[1] - s1 * w[1], s0 * m[2] - s1 * w[2])
        store(rows.a, i, load(rows.a, i) + fill(k * inverse) * push)
    return felt


@inlined
def _touch(own, n, touches, body, surfaces, h, rows, books):
    """Friction against shapes as they stood during step n, then they go on to their next places;
    whether anything was felt."""
    if touches is None:
        return False
    felt = False
    for c in range(len(touches.kind)):
        kind, margin, q, to = touches.kind[c], touches.margin[c], surfaces[c, n], surfaces[c, n + 1]
        for four in range(own.at, own.own, FOUR):
            away = _far(kind, q, rows.x, four, own.own, margin)
            if away and _far(kind, to, rows.x, four, own.own, margin):
                continue
            for i in range(four, min(four + FOUR, own.own)):
                if _touch_one(c, i, q, to, own, body, h, rows, books):
                    felt = True
    return felt


@strict
def _yield_one(i, p, at, shift, springs, cubic, inverse, x, a):
    """One spring at its limit: its rest length follows, and accelerations; energy lost [J]."""
    j = at + np.uint64(springs.other[p])
    d = load(x, i) - load(x, j)
    L, k, rest = math.sqrt(total(d * d)), springs.stiffness[p], springs.rest[p]
    strain = L / rest - 1.0
    if not abs(strain) > _ROUNDING * springs.limit[p] or L == 0.0:
        return 0.0
    new = L / (1.0 + math.copysign(springs.limit[p], strain))
    springs.rest[p] = new
    before, after = k * (1.0 - rest / L), k * (1.0 - new / L)
    if cubic:
        before *= 1.0 + (L / rest - 1.0) ** 2
        after *= 1.0 + (L / new - 1.0) ** 2
    pull = fill(after - before) * d
    store(a, i, load(a, i) - fill(inverse[i + shift]) * pull)
    store(a, j, load(a, j) + fill(inverse[j + shift]) * pull)
    return springs.share[p] * (spring_law(L, k, rest, cubic) - spring_law(L, k, new, cubic))


@strict
def _yields(at, end, shift, springs, cubic, inverse, x, a, worn):
    """Springs strained beyond their limit, in the rows that are marked: the energy lost [J]."""
    if springs is None or worn is None:
        return 0.0
    lost = 0.0
    for i in range(at, end):
        if worn[i] == 0:
            continue
        for p in range(
            np.uint64(springs.start[i + shift]), np.uint64(springs.start[i + shift + ONE])
        ):
            lost += _yield_one(i, p, at, shift, springs, cubic, inverse, x, a)
    return lost


@inlined
def _settle(own, n, body, tables, h, rows, books):
    """What happens between two steps; whether it changed velocities or forces."""
    books[own.g, TOUCHING] = 0.0
    changed = _touch(own, n, body.touches, body, tables.surfaces, h, rows, books)
    _draw(own, n, tables.ties, tables.leads, body.groups.inverse, rows, books)
    frame, moved = (own.at, own.end, own.shift), (body.groups.inverse, rows.x, rows.a, rows.worn)
    lost = _yields(*frame, body.linear, False, *moved) + _yields(*frame, body.cubic, True, *moved)
    books[own.g, DISSIPATED] += lost
    return changed or lost > 0.0


# ------------------------------------------------------------------ steps


@inlined
def _remember(own, rows):
    """Where the step began."""
    for i in range(own.at, own.end):
        store(rows.x0, i, load(rows.x, i))
        store(rows.v0, i, load(rows.v, i))


@inlined
def _drift(own, body, tables, entry, before, drift, after, rows, shown):
    """v += before a, x += drift v, shown to others; and the velocity that the kick `after` will
    lead to, as far as one knows."""
    for i in range(own.at, own.own):
        a = load(rows.a, i)
        v = load(rows.v, i) + fill(before) * a
        x = load(rows.x, i) + fill(drift) * v
        store(rows.v, i, v)
        store(rows.x, i, x)
        if body.powers is not None:  # else forces do not know velocities
            store(rows.ahead, i, v + fill(after) * a)
        if len(shown) > 0:
            store(shown, i, x)
    _lead(own, body.groups, tables.supports, entry, rows.x, rows.v)
    for i in range(own.own, own.led):
        store(rows.ahead, i, load(rows.v, i))


@inlined
def _borrow(own, groups, shown, x):
    """Positions of particles that other groups move."""
    for i in range(own.led, own.end - ONE):
        source = groups.source[i + own.shift]
        if source >= 0:
            store(x, i, load(shown, np.uint64(source)))


@inlined
def _meet(threads, counter, meetings):
    """Waits for all threads; how often they have met."""
    arrive(counter)
    await_all(counter, (meetings + 1) * threads)
    return meetings + 1


@inlined
def _look_round(low, high, threads, counter, meetings, body, shown, rows):
    """What groups have to know of each other before they look at their forces, and forces of tets;
    how often threads have met."""
    groups, connected = body.groups, len(shown) > 0
    if connected:
        meetings = _meet(threads, counter, meetings)
        for g in range(low, high):
            _borrow(_group(g, groups, connected), groups, shown, rows.x)
    if body.halo != 0:
        if low == 0:  # one thread speaks for all
            call(body.halo)
        if connected:
            meetings = _meet(threads, counter, meetings)
    return _solid(low, high, threads, counter, meetings, body.tets, groups, connected, rows)


@inlined
def _solid(low, high, threads, counter, meetings, tets, groups, connected, rows):
    """Forces of tets; how often threads have met."""
    if tets is None:
        return meetings
    for g in range(low, high):
        own = _group(g, groups, connected)
        _clear(own, rows.solid)
        _tet_forces(own, tets, False, rows.x, rows.solid)
    if connected:
        meetings = _meet(threads, counter, meetings)
        for g in range(low, high):
            _collect(_group(g, groups, connected), tets, rows.solid)
    return meetings


@inlined
def _gather(own, groups, arrays, rows):
    """A group's quads from the system's arrays."""
    x, v, a, _ = arrays
    for i in range(own.at, own.end):
        place, zero = groups.place[i + own.shift], fill(0.0)
        store(rows.x, i, row(x[place, 0], x[place, 1], x[place, 2]))
        store(rows.v, i, row(v[place, 0], v[place, 1], v[place, 2]))
        store(rows.a, i, zero)
        if i + ONE == own.end:
            store(rows.x, i, zero)
            store(rows.v, i, zero)
        if i < own.own:
            store(rows.a, i, row(a[place, 0], a[place, 1], a[place, 2]))
        store(rows.ahead, i, load(rows.v, i))


@inlined
def _scatter(own, groups, rows, arrays):
    """Back again: those that the group moves."""
    x, v, a, ahead = arrays
    for i in range(own.at, own.own):
        place = groups.place[i + own.shift]
        for k in range(3):
            x[place, k] = rows.x[i, k]
            v[place, k] = rows.v[i, k]
            a[place, k] = rows.a[i, k]
            ahead[place, k] = rows.ahead[i, k]


@called
def _steps(
    thread, threads, counter, count, body, tables, scheme, h, arrays, power, books, every, shown
):
    """Hands of groups: all that this thread has at once where groups are connected, else one after
    the other, dealt out by turns since those in contact take longer.

    Positions are shown in one of two arrays by turns: whoever is ahead writes into the one that
    nobody reads any more.  (Where tets make them meet twice it is always the same, long read.)"""
    (kicks, drifts), groups, meetings = scheme, body.groups, np.int64(0)
    stages, count_of, connected = len(drifts), len(groups.own), len(shown[0]) > 0
    braked = _braked(body)
    mine = 0 if connected else thread
    rows = _rows(every[0][mine], _marks(every[1], mine))
    hands = 1 if connected else (count_of - thread + threads - 1) // threads
    for hand in range(hands):
        low = count_of * thread // threads if connected else thread + hand * threads
        high = count_of * (thread + 1) // threads if connected else low + 1
        for g in range(low, high):
            _gather(_group(g, groups, connected), groups, arrays, rows)
        for n in range(count):
            entry = 1 + n * (stages + 1)
            for s in range(stages):
                entry += 1
                before, kick = kicks[0] * h if s == 0 else 0.0, kicks[s + 1] * h
                now = shown[meetings % 2]
                for g in range(low, high):
                    own = _group(g, groups, connected)
                    if s == 0 and body.powers is not None:
                        _remember(own, rows)
                    _drift(own, body, tables, entry, before, drifts[s] * h, kick, rows, now)
                meetings = _look_round(low, high, threads, counter, meetings, body, now, rows)
                for g in range(low, high):
                    own = _group(g, groups, connected)
                    turn, again = 0, True
                    while again:
                        again = False
                        _accelerate(own, body, tables, entry, n + turn, kick, rows)
                        if turn == 0 and s + 1 == stages:
                            entries = (entry, entry - stages - 1, entry - stages)
                            _book(own, body.powers, entries, body, tables, h, rows, power, books)
                            if _settle(own, n, body, tables, h, rows, books):
                                power[g, 2] = 0.0
                                again = braked  # loads brake other velocities now
                        turn, kick = 1, kick if not again else 0.0
                    kick = kicks[s + 1] * h
        for g in range(low, high):
            _scatter(_group(g, groups, connected), groups, rows, arrays)


# ------------------------------------------------------------------ stages
# of a Nyström method: x_i = x + c_i h v + h^2 sum Abar_ij a_j, v_i = v + h sum A_ij a_j


@inlined
def _stage(own, i, c, h, Abar, A, powers, rows, stages, shown):
    """Where stage i looks at the forces."""
    for r in range(own.at, own.own):
        way, faster = fill(0.0), fill(0.0)
        for j in range(i):
            a = load(stages[j], r)
            way = way + fill(Abar[i, j]) * a
            if powers:
                faster = faster + fill(A[i, j]) * a
        v = load(rows.v, r)
        x = load(rows.x0, r) + fill(c[i] * h) * v + fill(h * h) * way
        store(rows.x, r, x)
        store(rows.ahead, r, v + fill(h) * faster)
        if len(shown) > 0:
            store(shown, r, x)


@inlined
def _gather_stages(own, groups, first, arrays, rows, stages):
    x, v, a = arrays
    for i in range(own.at, own.end):
        place, last = groups.place[i + own.shift], i + ONE == own.end
        store(rows.x, i, row(x[place, 0], x[place, 1], x[place, 2]))
        store(rows.v, i, row(v[place, 0], v[place, 1], v[place, 2]))
        if last:
            store(rows.x, i, fill(0.0))
            store(rows.v, i, fill(0.0))
        store(rows.x0, i, load(rows.x, i))
        store(rows.ahead, i, load(rows.v, i))
        if i < own.own:
            for j in range(first):
                store(stages[j], i, row(a[j, place, 0], a[j, place, 1], a[j, place, 2]))


@inlined
def _end(own, rows, stages):
    """The step has ended: the next one begins with its last acceleration."""
    for i in range(own.at, own.end):
        store(rows.x0, i, load(rows.x, i))
        store(stages[0], i, load(rows.a, i))


@called
def _all_stages(
    thread, threads, counter, count, body, tables, table, h, arrays, books, every, stages, shown
):
    """Accelerations of the stages first .. last, `count` times, each time from where the last stage
    was; hands of groups as in `_steps`.  Without books nothing moves: one step is looked at.

    Tables have an entry for each of these stages and for the middle, step by step."""
    (c, Abar, A, first, last), groups, meetings = table, body.groups, np.int64(0)
    count_of, connected, moves = len(groups.own), len(shown[0]) > 0, len(books) > 0
    braked = _braked(body)
    mine = 0 if connected else thread
    rows, own_stages = _rows(every[0][mine], _marks(every[1], mine)), stages[mine]
    hands = 1 if connected else (count_of - thread + threads - 1) // threads
    power, a = books[:, 4:], arrays[2]
    for hand in range(hands):
        low = count_of * thread // threads if connected else thread + hand * threads
        high = count_of * (thread + 1) // threads if connected else low + 1
        for g in range(low, high):
            own = _group(g, groups, connected)
            _gather_stages(own, groups, first, arrays, rows, own_stages)
        for n in range(count):
            start = n * (last + 2)
            for i in range(first, last + 1):
                now, entry = shown[meetings % 2], start + i
                for g in range(low, high):
                    own = _group(g, groups, connected)
                    ahead = body.powers is not None or i == last
                    _stage(own, i, c, h, Abar, A, ahead, rows, own_stages, now)
                    _lead(own, groups, tables.supports, entry, rows.x, rows.ahead)
                meetings = _look_round(low, high, threads, counter, meetings, body, now, rows)
                for g in range(low, high):
                    own = _group(g, groups, connected)
                    turn, again = 0, True
                    while again:
                        again = False
                        _accelerate(own, body, tables, entry, n + turn, 0.0, rows)
                        if turn == 0 and moves and i == last:
                            for r in range(own.at, own.end):
                                store(rows.v0, r, load(rows.v, r))
                                store(rows.v, r, load(rows.ahead, r))
                            entries = (entry, start, entry + 1)
                            _book(own, body.powers, entries, body, tables, h, rows, power, books)
                            if _settle(own, n, body, tables, h, rows, books):
                                power[g, 2] = 0.0
                                again = braked
                        turn = 1
                    if moves and i == last:
                        _end(own, rows, own_stages)
                    for r in range(own.at, own.own):
                        store(own_stages[i], r, load(rows.a, r))
                        if not moves:
                            place = groups.place[r + own.shift]
                            for k in range(3):
                                a[i, place, k] = rows.a[r, k]
        if moves:
            for g in range(low, high):
                own = _group(g, groups, connected)
                _scatter(own, groups, rows, (arrays[0], arrays[1], a[0], a[1]))


def explicit_stages(body, tables, c, Abar, A, h, first, last, x, v, a, connected):
    """Writes a (m, n, 3) of the stages first .. last of a step of h [s] from x, v (N, 3), those
    before being there; c (m,), Abar and A (m, m)."""
    table = (c, Abar, A, first, last)
    _run_stages(1, body, tables, table, h, (x, v, a), np.empty((0, 7)), connected)


def nystrom_steps(body, tables, c, Abar, A, h, end, count, x, v, a, ahead, connected):
    """Takes `count` steps of h [s]; the rest as `explicit_steps`."""
    books, both = np.zeros((len(body.groups.own), 7)), np.stack([a, a])
    table = (c, Abar, A, 1, end)
    _run_stages(count, body, tables, table, h, (x, v, both), books, connected)
    a[:], ahead[:] = both
    return books[:, :4].copy()


def _run_stages(count, body, tables, table, h, arrays, books, connected):
    size, every, shown = _room(body, connected)
    stages = np.empty((len(every[0]), len(table[0]), *every[0].shape[2:]))
    with _called(body, every) as body:
        here = _tables(body, tables)
        run = (count, body, here, table, h, arrays, books, every, stages, shown)
        together(_all_stages, size, *run)


def _room(body, connected):
    """Threads, quads for their groups and marks of what is worn, and where connected ones show
    their positions."""
    groups, yields = body.groups, len(body.linear.limit) + len(body.cubic.limit) > 0
    rows, size = int(groups.first[-1]), team_size(len(groups.own))
    if len(groups.own) > 1 and not connected:
        rows = int(np.diff(groups.first).max())
    each = 1 if connected else size
    worn = np.zeros((each, rows), dtype=np.uint8) if yields else None
    quads = np.empty((each, QUADS, rows, 4))
    return size, (quads, worn), np.empty((2, rows if connected else 0, 4))


@contextmanager
def _called(body, every):
    """The body as loops are compiled for it: what there is of it; its materials, and what speaks to
    other ranks, as what they call."""
    there = {
        "linear": body.linear.other,
        "cubic": body.cubic.other,
        "faces": body.faces.stiffness,
        "tets": body.tets.materials,
        "triangles": body.triangles.pressure,
        "dashpots": body.dashpots.coefficient,
        "drags": body.drags.power,
        "weights": body.weights,
        "touches": body.touches.kind,
    }
    tets = body.tets._replace(materials=addresses(body.tets.materials))
    body = body._replace(tets=tets, **{n: True if getattr(body, n) else None for n in FLAGS})
    body = body._replace(**{name: None for name, some in there.items() if not len(some)})
    positions = every[0][0][0]
    with callable_as(None if body.halo is None else partial(body.halo, positions)) as halo:
        yield body._replace(halo=halo)


def _tables(body, tables):
    if not len(tables.supports):
        tables = tables._replace(supports=None)
    return tables if body.tied else tables._replace(ties=None, leads=None)


def explicit_steps(body, tables, kicks, drifts, h, count, x, v, a, ahead, connected):
    """Takes `count` steps of h [s], x, v (N, 3) and a (n, 3) in place; writes ahead (n, 3).

    Returns books (groups, 4): energies added and dissipated [J], the deepest penetration [m], and
    contacts after the last step."""
    count_of = len(body.groups.own)
    books, power = np.zeros((count_of, 4)), np.zeros((count_of, 3))
    size, every, shown = _room(body, connected)
    arrays, scheme = (x, v, a, ahead), (kicks, drifts)
    with _called(body, every) as body:
        here = _tables(body, tables)
        run = (count, body, here, scheme, h, arrays, power, books, every, shown)
        together(_steps, size, *run)
    return books
