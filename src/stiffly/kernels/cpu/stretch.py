"""Many explicit steps of a body of particles in one call: forces, kicks, drifts, what happens
between the steps, and the ledger, without a way back to Python.

The particles are divided into groups, each with rows of its own: those it moves, those that
supports lead, those that only lend their positions (held ones, and ones that another group moves),
and a last row at which springs pull that only fill a register.  Groups that share no spring go
through all steps one after the other, each in the first-level cache; those that do meet after every
drift, and a spring between two of them is computed by both.  How particles are grouped does not
depend on threads, and nothing is summed across groups before the end: the bits are the same for any
number of threads.

Rows are quads (x, y, z, 0).  A method is kicks k_0 .. k_s and drifts d_1 .. d_s,

    v += k_0 h a;   then for each i:  x += d_i h v,  a = a(t_i, x, v + k_i h a),  v += k_i h a

with the last acceleration carried into the next step.  Tables hold what depends on time: entry 0 is
the start of the call, then each step has one for its middle and one for each drift.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from ..names import ADDED, DEEPEST, DISSIPATED, PLANE, SPHERE, TOUCHING
from .contact import distance, normal
from .jit import inlined, strict
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
FOUR = np.uint64(4)

# quads of every row: positions, velocities, accelerations, forces, velocities as predicted, and
# where the step began
Rows = namedtuple("Rows", "x v a f ahead x0 v0")


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


@strict
def _spring_forces(low, high, base, springs, cubic, x, f):
    """Adds the forces of the springs of rows low .. high."""
    start, other = springs.start, springs.other
    for i in range(low, high):
        p, end = np.uint64(start[i]), np.uint64(start[i + np.uint64(1)])
        if p == end:
            continue
        own = np.uint64(i - base)
        here, force = load(x, own), load(f, own)
        while p < end:
            a, b = np.uint64(other[p]), np.uint64(other[p + np.uint64(1)])
            c, d = np.uint64(other[p + np.uint64(2)]), np.uint64(other[p + np.uint64(3)])
            da, db = here - load(x, a), here - load(x, b)
            dc, dd = here - load(x, c), here - load(x, d)
            square = sums(da * da, db * db, dc * dc, dd * dd)
            scale = _spring_scale(square, load(springs.stiffness, p), load(springs.rest, p), cubic)
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
        store(f, own, force)


@strict
def _face_forces(g, faces, x, f):
    """Springs from the corners of tets to the opposite faces: see face_springs.py."""
    corners, part = faces.corners, fill(1.0 / 3.0)
    for e in range(faces.start[g], faces.start[g + 1]):
        t = np.uint64(e)
        a, b = np.uint64(corners[t, 0]), np.uint64(corners[t, 1])
        c, d = np.uint64(corners[t, 2]), np.uint64(corners[t, 3])
        xa, xb, xc, xd = load(x, a), load(x, b), load(x, c), load(x, d)
        low, high = xa + xb, xc + xd
        da, db = xa - part * (xb + high), xb - part * (xa + high)
        dc, dd = xc - part * (low + xd), xd - part * (low + xc)
        square = sums(da * da, db * db, dc * dc, dd * dd)
        stiffness = fill(faces.stiffness[t])
        scale = _spring_scale(square, stiffness, load(faces.rest, t), False)
        da, db = spread0(scale) * da, spread1(scale) * db
        dc, dd = spread2(scale) * dc, spread3(scale) * dd
        mean = part * ((da + db) + (dc + dd))
        more = fill(4.0 / 3.0)
        store(f, a, load(f, a) + (mean - more * da))
        store(f, b, load(f, b) + (mean - more * db))
        store(f, c, load(f, c) + (mean - more * dc))
        store(f, d, load(f, d) + (mean - more * dd))


# ------------------------------------------------------------------ contact


@inlined
def _point(x, r):
    return x[r, 0], x[r, 1], x[r, 2]


@inlined
def _far(kind, q, p, margin):
    """Surely no contact: without a root."""
    if kind == PLANE:
        return False
    if kind == SPHERE and q[4] < 0.0:
        return False
    y0, y1, y2 = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    reach = q[3] + margin
    return y0 * y0 + y1 * y1 + y2 * y2 > 1.000001 * reach * reach


@strict
def _contact_forces(low, own, touches, surfaces, place, x, f):
    """Adds the penalty forces of all shapes, which stand at their places numbered `place`."""
    for c in range(len(touches.kind)):
        kind, margin, q = touches.kind[c], touches.margin[c], surfaces[c, place]
        for r in range(np.uint64(own)):
            k = touches.stiffness[c, low + r]
            p = _point(x, r)
            if k == 0.0 or _far(kind, q, p, margin):
                continue
            s = distance(kind, q, p) - margin
            if s < 0.0:
                n = normal(kind, q, p)
                store(f, r, load(f, r) - fill(k * s) * row(n[0], n[1], n[2]))


# ------------------------------------------------------------------ loads


@strict
def _wind_forces(g, triangles, winds, entry, x, v, f):
    """Adds the forces of air on triangles (see drag.py); what it adds and takes [W]."""
    added, taken = 0.0, 0.0
    for e in range(triangles.start[g], triangles.start[g + 1]):
        t = np.uint64(e)
        a, b = np.uint64(triangles.corners[t, 0]), np.uint64(triangles.corners[t, 1])
        c = np.uint64(triangles.corners[t, 2])
        w = winds[triangles.wind[t], entry]
        xa = load(x, a)
        area = fill(0.5) * cross(load(x, b) - xa, load(x, c) - xa)
        wind = row(w[0], w[1], w[2])
        u = wind - fill(1.0 / 3.0) * (load(v, a) + load(v, b) + load(v, c))
        square, p = total(area * area), total(u * area)
        if square == 0.0:
            continue
        push = fill(triangles.pressure[t] * abs(p) * p / square) * area
        added += total(push * wind)
        taken += total(push * u)
        push = fill(1.0 / 3.0) * push
        store(f, a, load(f, a) + push)
        store(f, b, load(f, b) + push)
        store(f, c, load(f, c) + push)
    return added, taken


@strict
def _dashpot_forces(g, dashpots, x, v, f):
    taken = 0.0
    for e in range(dashpots.start[g], dashpots.start[g + 1]):
        a, b = np.uint64(dashpots.corners[e, 0]), np.uint64(dashpots.corners[e, 1])
        d, w = load(x, a) - load(x, b), load(v, a) - load(v, b)
        square = total(d * d)
        if square == 0.0:
            continue
        pull = fill(dashpots.coefficient[e] * total(d * w) / square) * d
        taken += total(pull * w)
        store(f, a, load(f, a) - pull)
        store(f, b, load(f, b) + pull)
    return taken


@strict
def _row_loads(base, count, drags, weights, tables, entry, v, f):
    """Drag and forcing, row by row; what they add and take [W]."""
    added, taken = 0.0, 0.0
    for d in range(len(drags.power)):
        w = tables.winds[drags.wind[d], entry]
        wind = row(w[0], w[1], w[2])
        for r in range(np.uint64(count)):
            u = wind - load(v, r)
            scale = drags.coefficient[d, base + r]
            if drags.power[d] == 2:
                scale *= math.sqrt(total(u * u))
            push = fill(scale) * u
            added += total(push * wind)
            taken += total(push * u)
            store(f, r, load(f, r) + push)
    for d in range(len(weights)):
        w = tables.forces[d, entry]
        force = row(w[0], w[1], w[2])
        for r in range(np.uint64(count)):
            push = fill(weights[d, base + r]) * force
            added += total(push * load(v, r))
            store(f, r, load(f, r) + push)
    return added, taken


# ------------------------------------------------------------------ one group


@inlined
def _clear(f):
    for r in range(np.uint64(len(f))):
        store(f, r, fill(0.0))


@strict
def _loads(g, body, tables, entry, x, v, f):
    base, end = body.groups.first[g], body.groups.first[g + 1]
    count = end - base - 1
    added, taken = _row_loads(base, count, body.drags, body.weights, tables, entry, v, f)
    more, lost = _wind_forces(g, body.triangles, tables.winds, entry, x, v, f)
    lost += _dashpot_forces(g, body.dashpots, x, v, f)
    return added + more, taken + lost


@strict
def _accelerate(g, body, tables, entry, place, kick, rows):
    """a = force / mass + field - alpha v, with v as predicted; v += kick a."""
    groups, x, f = body.groups, rows.x, rows.f
    base, end, own = groups.first[g], groups.first[g + 1], groups.own[g]
    _clear(f)
    _spring_forces(base, end, base, body.linear, False, x, f)
    _spring_forces(base, end, base, body.cubic, True, x, f)
    _face_forces(g, body.faces, x, f)
    _contact_forces(base, own, body.touches, tables.surfaces, place, x, f)
    _loads(g, body, tables, entry, x, rows.ahead, f)
    field, alpha = load(body.field, np.uint64(0)), fill(body.alpha)
    for r in range(np.uint64(own)):
        a = fill(groups.inverse[base + r]) * load(f, r) + field
        if body.powers:
            a = a - alpha * load(rows.ahead, r)
        store(rows.a, r, a)
        store(rows.v, r, load(rows.v, r) + fill(kick) * a)


@inlined
def _lead(g, groups, supports, entry, x, v):
    """Particles on supports go where those are."""
    base, own = groups.first[g], groups.own[g]
    for r in range(np.uint64(own), np.uint64(own + groups.led[g])):
        m, h = supports[groups.support[base + r], entry], groups.home[base + r]
        for k in range(3):
            i, j = 3 * k, 12 + 3 * k
            x[r, k] = m[i] * h[0] + m[i + 1] * h[1] + m[i + 2] * h[2] + m[9 + k]
            v[r, k] = m[j] * h[0] + m[j + 1] * h[1] + m[j + 2] * h[2] + m[21 + k]


@strict
def _power(g, body, tables, entry, x, v, f):
    """What loads, damping and supports add and take [W] in the state x, v."""
    groups = body.groups
    base, own, led = groups.first[g], groups.own[g], groups.led[g]
    _clear(f)
    added, taken = _loads(g, body, tables, entry, x, v, f)
    if led > 0:
        _spring_forces(base + own, base + own + led, base, body.linear, False, x, f)
        _spring_forces(base + own, base + own + led, base, body.cubic, True, x, f)
        for r in range(np.uint64(own), np.uint64(own + led)):
            added -= total(load(f, r) * load(v, r))
    if body.alpha > 0.0:
        moving = 0.0
        for r in range(np.uint64(own)):
            u = load(v, r)
            moving += groups.mass[base + r] * total(u * u)
        taken += body.alpha * moving
    return added, taken


@inlined
def _middle(own, h, rows):
    """x0, v0 go to the middle of the cubic through both ends of the step."""
    for r in range(np.uint64(own)):
        x0, v0, x1, v1 = load(rows.x0, r), load(rows.v0, r), load(rows.x, r), load(rows.v, r)
        store(rows.x0, r, fill(0.5) * (x0 + x1) + fill(0.125 * h) * (v0 - v1))
        store(rows.v0, r, fill(1.5 / h) * (x1 - x0) - fill(0.25) * (v0 + v1))


@strict
def _touch(g, n, body, surfaces, h, rows, books):
    """Friction against shapes as they stood during the step; whether anything was rubbed."""
    groups, touches, rubbed = body.groups, body.touches, False
    base, own = groups.first[g], groups.own[g]
    for c in range(len(touches.kind)):
        kind, margin, q = touches.kind[c], touches.margin[c], surfaces[c, n]
        for r in range(np.uint64(own)):
            k, p = touches.stiffness[c, base + r], _point(rows.x, r)
            if k == 0.0 or _far(kind, q, p, margin):
                continue
            d = distance(kind, q, p)
            books[g, DEEPEST] = max(books[g, DEEPEST], -d)
            if d < margin:
                books[g, TOUCHING] += 1.0
                if touches.friction[c] > 0.0:
                    most = touches.friction[c] * h * k * (margin - d) * groups.inverse[base + r]
                    if _slow(kind, q, p, most, body, base, r, rows, books[g]):
                        rubbed = True
    return rubbed


@inlined
def _slow(kind, q, p, most, body, base, r, rows, book):
    """Takes at most `most` [m/s] of the sliding of one particle, and books it.  The next step opens
    with the damping of what is left."""
    n = normal(kind, q, p)
    y0, y1, y2 = p[0] - q[7], p[1] - q[8], p[2] - q[9]
    motion = row(
        q[10] + q[14] * y2 - q[15] * y1,
        q[11] + q[15] * y0 - q[13] * y2,
        q[12] + q[13] * y1 - q[14] * y0,
    )
    n4, old, mass = row(n[0], n[1], n[2]), load(rows.v, r), body.groups.mass[base + r]
    relative = old - motion
    along = relative - fill(total(relative * n4)) * n4
    speed = math.sqrt(total(along * along))
    if speed == 0.0:
        return False
    change = fill(-min(1.0, most / speed)) * along
    store(rows.v, r, old + change)
    store(rows.ahead, r, load(rows.ahead, r) + change)
    store(rows.a, r, load(rows.a, r) - fill(body.alpha) * change)
    work = mass * total(change * motion)
    book[ADDED] += work
    book[DISSIPATED] += work - 0.5 * mass * total(change * (old + old + change))
    return True


@strict
def _move_shapes(g, n, body, surfaces, rows, books):
    """Shapes go on to their places in the next step; whether anything feels it."""
    groups, touches, felt = body.groups, body.touches, False
    base, own = groups.first[g], groups.own[g]
    for c in range(len(touches.kind)):
        if not touches.moving[c]:
            continue
        kind, margin, old, new = (
            touches.kind[c],
            touches.margin[c],
            surfaces[c, n],
            surfaces[c, n + 1],
        )
        for r in range(np.uint64(own)):
            k, p = touches.stiffness[c, base + r], _point(rows.x, r)
            if k == 0.0 or (_far(kind, old, p, margin) and _far(kind, new, p, margin)):
                continue
            s0 = min(0.0, distance(kind, old, p) - margin)
            s1 = min(0.0, distance(kind, new, p) - margin)
            if s0 == 0.0 and s1 == 0.0:
                continue
            felt = True
            books[g, ADDED] += 0.5 * k * (s1 * s1 - s0 * s0)
            m, w = normal(kind, old, p), normal(kind, new, p)
            push = row(s0 * m[0] - s1 * w[0], s0 * m[1] - s1 * w[1], s0 * m[2] - s1 * w[2])
            store(rows.a, r, load(rows.a, r) + fill(k * groups.inverse[base + r]) * push)
    return felt


@strict
def _yield_one(i, p, base, springs, cubic, groups, rows):
    """One spring at its limit: its rest length follows, and accelerations; energy lost [J]."""
    r, j = np.uint64(i - base), np.uint64(springs.other[p])
    d = load(rows.x, r) - load(rows.x, j)
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
    store(rows.a, r, load(rows.a, r) - fill(groups.inverse[i]) * pull)
    store(rows.a, j, load(rows.a, j) + fill(groups.inverse[base + j]) * pull)
    return springs.share[p] * (spring_law(L, k, rest, cubic) - spring_law(L, k, new, cubic))


@strict
def _yields(g, springs, cubic, groups, rows, books):
    """Springs strained beyond their limit; whether any was."""
    base, end, lost = groups.first[g], groups.first[g + 1], 0.0
    x, one = rows.x, fill(1.0)
    for i in range(base, end):
        here = load(x, np.uint64(i - base))
        for q in range(springs.start[i], springs.start[i + 1], 4):
            p = np.uint64(q)
            da = here - load(x, np.uint64(springs.other[p]))
            db = here - load(x, np.uint64(springs.other[p + np.uint64(1)]))
            dc = here - load(x, np.uint64(springs.other[p + np.uint64(2)]))
            dd = here - load(x, np.uint64(springs.other[p + np.uint64(3)]))
            square = sums(da * da, db * db, dc * dc, dd * dd)
            limit, rest = load(springs.limit, p), load(springs.rest, p)
            most, least = rest * (one + limit), rest * at_least(one - limit, fill(0.0))
            if any_above(square, most * most) or any_above(least * least, square):
                for k in range(4):
                    lost += _yield_one(i, p + np.uint64(k), base, springs, cubic, groups, rows)
    books[g, DISSIPATED] += lost
    return lost > 0.0


@strict
def _settle(g, n, body, tables, h, rows, books):
    """What happens between two steps; whether it changed velocities or forces."""
    books[g, TOUCHING] = 0.0
    changed = _touch(g, n, body, tables.surfaces, h, rows, books)
    changed = _move_shapes(g, n, body, tables.surfaces, rows, books) or changed
    if len(body.linear.limit) > 0:
        changed = _yields(g, body.linear, False, body.groups, rows, books) or changed
    if len(body.cubic.limit) > 0:
        changed = _yields(g, body.cubic, True, body.groups, rows, books) or changed
    return changed


# ------------------------------------------------------------------ steps


@inlined
def _remember(rows):
    """Where the step began."""
    for r in range(np.uint64(len(rows.x))):
        store(rows.x0, r, load(rows.x, r))
        store(rows.v0, r, load(rows.v, r))


@strict
def _drift(g, body, tables, entry, before, drift, after, rows, shown):
    """v += before a, x += drift v, shown to others; and the velocity that the kick `after` will
    lead to, as far as one knows."""
    own, base = np.uint64(body.groups.own[g]), np.uint64(body.groups.first[g])
    for r in range(own):
        a = load(rows.a, r)
        v = load(rows.v, r) + fill(before) * a
        x = load(rows.x, r) + fill(drift) * v
        store(rows.v, r, v)
        store(rows.x, r, x)
        if body.powers:  # else forces do not know velocities
            store(rows.ahead, r, v + fill(after) * a)
        if len(shown) > 0:
            store(shown, base + r, x)
    _lead(g, body.groups, tables.supports, entry, rows.x, rows.v)
    for r in range(own, own + np.uint64(body.groups.led[g])):
        store(rows.ahead, r, load(rows.v, r))


@strict
def _book(g, entry, stages, body, tables, h, rows, power, books):
    """The work of a step that ends at table entry `entry`, by Simpson's rule (accounting.py).

    power[g]: added and dissipated [W] as the last step ended, and whether that still holds."""
    groups, added, taken = body.groups, 0.0, 0.0
    for which in range(3):
        if which == 0:  # the start
            at, x, v, weight = entry - stages - 1, rows.x0, rows.v0, 1.0
        elif which == 1:  # the end
            at, x, v, weight = entry, rows.x, rows.v, 1.0
        else:  # the middle, which takes the place of the start
            at, x, v, weight = entry - stages, rows.x0, rows.v0, 4.0
            _middle(groups.own[g], h, rows)
            _lead(g, groups, tables.supports, at, x, v)
        if which == 0 and power[g, 2] != 0.0:
            now = (power[g, 0], power[g, 1])
        else:
            now = _power(g, body, tables, at, x, v, rows.f)
        added += h / 6.0 * weight * now[0]
        taken += h / 6.0 * weight * now[1]
        if which == 1:
            power[g, 0], power[g, 1] = now
    power[g, 2] = 1.0
    books[g, ADDED] += added
    books[g, DISSIPATED] += taken


# ------------------------------------------------------------------ from arrays to rows and back


@inlined
def _gather(g, groups, arrays, rows):
    """A group's rows from the system's arrays."""
    x, v, a, _ = arrays
    base, own, last = groups.first[g], groups.own[g], len(rows.x) - 1
    for r in range(last + 1):
        q, place = np.uint64(r), groups.place[base + r]
        zero = fill(0.0)
        if r == last:
            store(rows.x, q, zero)
            store(rows.v, q, zero)
        else:
            store(rows.x, q, row(x[place, 0], x[place, 1], x[place, 2]))
            store(rows.v, q, row(v[place, 0], v[place, 1], v[place, 2]))
        store(rows.ahead, q, load(rows.v, q))
        store(rows.a, q, zero)
        if r < own:
            store(rows.a, q, row(a[place, 0], a[place, 1], a[place, 2]))


@inlined
def _scatter(g, groups, rows, arrays):
    """Back again: those that the group moves."""
    x, v, a, ahead = arrays
    base = groups.first[g]
    for r in range(groups.own[g]):
        place = groups.place[base + r]
        for k in range(3):
            x[place, k] = rows.x[r, k]
            v[place, k] = rows.v[r, k]
            a[place, k] = rows.a[r, k]
            ahead[place, k] = rows.ahead[r, k]


@inlined
def _borrow(g, groups, shown, x):
    """Positions of particles that other groups move."""
    base = groups.first[g]
    for r in range(np.uint64(groups.own[g] + groups.led[g]), np.uint64(len(x) - 1)):
        source = groups.source[base + r]
        if source >= 0:
            store(x, r, load(shown, np.uint64(source)))


@inlined
def _rows_of(g, groups, connected, every):
    """A place of its own for each group, or one for all where each is done before the next."""
    size = groups.first[g + 1] - groups.first[g]
    low = groups.first[g] if connected else 0
    high = low + size
    return Rows(
        every[0, low:high],
        every[1, low:high],
        every[2, low:high],
        every[3, low:high],
        every[4, low:high],
        every[5, low:high],
        every[6, low:high],
    )


# ------------------------------------------------------------------ the loop


@strict
def _steps(
    thread, threads, counter, count, body, tables, scheme, h, arrays, power, books, every, shown
):
    """Hands of groups: all that this thread has at once where groups are connected, else one after
    the other, dealt out by turns since those in contact take longer.

    Positions are shown in one of two arrays by turns: whoever is ahead writes into the one that
    nobody reads any more."""
    (kicks, drifts), groups, meetings = scheme, body.groups, 0
    stages = len(drifts)
    loads = len(body.drags.power) + len(body.triangles.pressure) + len(body.dashpots.coefficient)
    braked = loads > 0
    total_groups, connected = len(groups.own), len(shown[0]) > 0
    own_low, own_high = total_groups * thread // threads, total_groups * (thread + 1) // threads
    mine = every if connected else np.empty((7, len(every[0]), 4))
    hands = 1 if connected else (total_groups - thread + threads - 1) // threads
    for hand in range(hands):
        low = own_low if connected else thread + hand * threads
        high = own_high if connected else low + 1
        for g in range(low, high):
            _gather(g, groups, arrays, _rows_of(g, groups, connected, mine))
        for n in range(count):
            entry = 1 + n * (stages + 1)
            for s in range(stages):
                entry += 1
                kick = kicks[s + 1] * h
                now = shown[meetings % 2]
                for g in range(low, high):
                    rows = _rows_of(g, groups, connected, mine)
                    if s == 0 and body.powers:
                        _remember(rows)
                    before = kicks[0] * h if s == 0 else 0.0
                    _drift(g, body, tables, entry, before, drifts[s] * h, kick, rows, now)
                if connected:
                    meetings += 1
                    arrive(counter)
                    await_all(counter, meetings * threads)
                for g in range(low, high):
                    rows = _rows_of(g, groups, connected, mine)
                    if connected:
                        _borrow(g, groups, now, rows.x)
                    again = True
                    turn = 0
                    while again:
                        now_kick = kick if turn == 0 else 0.0
                        _accelerate(g, body, tables, entry, n + turn, now_kick, rows)
                        again = False
                        if turn == 0 and s + 1 == stages:
                            if body.powers:
                                _book(g, entry, stages, body, tables, h, rows, power, books)
                            if _settle(g, n, body, tables, h, rows, books):
                                power[g, 2] = 0.0
                                again = braked  # loads brake other velocities now
                        turn = 1
        for g in range(low, high):
            _scatter(g, groups, _rows_of(g, groups, connected, mine), arrays)


def explicit_steps(body, tables, kicks, drifts, h, count, x, v, a, ahead, connected):
    """Takes `count` steps of h [s], x, v (N, 3) and a (n, 3) in place; writes ahead (n, 3).

    Returns books (groups, 4): energies added and dissipated [J], the deepest penetration [m], and
    contacts after the last step."""
    groups = body.groups
    total_groups = len(groups.own)
    books, power = np.zeros((total_groups, 4)), np.zeros((total_groups, 3))
    rows = groups.first[-1] if connected else np.diff(groups.first).max()
    every = np.empty((7, rows, 4))
    shown = np.empty((2, rows if connected else 0, 4))
    run = (count, body, tables, (kicks, drifts), h, (x, v, a, ahead), power, books, every, shown)
    together(_steps, team_size(total_groups), *run)
    return books
