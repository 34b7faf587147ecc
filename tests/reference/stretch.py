"""NumPy twin of kernels.cpu.stretch: one group after the other, everything evaluated anew."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import ADDED, DEEPEST, DISSIPATED, TOUCHING

from .springs import spring_energy, spring_yield
from .surfaces import surface
from .tets import tet_gradient
from .wind import wind_forces


class _Group:
    """Rows of one group in plain arrays (m, 3), the row for nothing included."""

    def __init__(self, g, body, tables):
        self.g, self.body, self.tables, groups = g, body, tables, body.groups
        low, high = groups.first[g], groups.first[g + 1]
        self.rows = slice(low, high)
        self.own, self.led = groups.own[g], slice(groups.own[g], groups.own[g] + groups.led[g])
        self.place, self.mass = groups.place[low:high], groups.mass[low:high, None]
        self.inverse, self.source = groups.inverse[low:high, None], groups.source[low:high]
        run = g if len(body.alpha) > 1 else 0
        self.field, self.alpha = body.field[run, :3], body.alpha[run]

    def elements(self, some):
        return slice(some.start[self.g], some.start[self.g + 1])

    def springs(self, some):
        """Slots and edges (q, 2) of springs that pull."""
        start = some.start[self.rows.start : self.rows.stop + 1]
        near = np.repeat(np.arange(len(start) - 1), np.diff(start.astype(np.int64)))
        slots = np.arange(start[0], start[-1])
        edges = np.stack([near, some.other[slots]], axis=1).astype(np.int64)
        real = some.stiffness[slots] > 0.0
        return slots[real], edges[real]

    def lead(self, entry, x, v):
        for r in range(self.led.start, self.led.stop):
            at = self.rows.start + r
            m = self.tables.supports[self.body.groups.support[at], entry]
            home = self.body.groups.home[at]
            x[r] = m[:9].reshape(3, 3) @ home + m[9:12]
            v[r] = m[12:21].reshape(3, 3) @ home + m[21:]

    def elastic(self, x):
        f = np.zeros_like(x)
        for some, cubic in ((self.body.linear, False), (self.body.cubic, True)):
            slots, edges = self.springs(some)
            d = x[edges[:, 0]] - x[edges[:, 1]]
            L, rest = np.linalg.norm(d, axis=1), some.rest[slots]
            pull = some.stiffness[slots] * (L - rest)
            pull = pull * (1.0 + (L / rest - 1.0) ** 2) if cubic else pull
            pull = np.divide(pull, L, out=np.zeros_like(L), where=L > 0.0)[:, None] * d
            np.subtract.at(f, edges[:, 0], pull)
            np.add.at(f, edges[:, 1], pull)
        return f

    def faces(self, x):
        f, faces = np.zeros_like(x), self.body.faces
        for e in range(*self.elements(faces).indices(len(faces.stiffness))):
            corners = faces.corners[e]
            for s in range(4):
                weights = np.full(4, -1.0 / 3.0)
                weights[s] = 1.0
                d = weights @ x[corners]
                L = np.linalg.norm(d)
                scale = faces.stiffness[e] * (1.0 - faces.rest[e, s] / L)
                np.subtract.at(f, corners, scale * weights[:, None] * d)
        return f

    def tets(self, x):
        """Of those that this group has."""
        gradient, tets = np.zeros_like(x), self.body.tets
        for material, start, end in zip(tets.materials, tets.start, tets.end, strict=True):
            own = slice(start[self.g], end[self.g])
            elements = tets.corners[own], tets.shape[own], tets.moduli[own]
            tet_gradient(x, *elements, material, None, None, gradient)
        return -gradient

    def contacts(self, x, step):
        """Each as shape, row, stiffness, depth s < 0 below the margin, distance, normal."""
        touches = self.body.touches
        for c in range(len(touches.kind)):
            q = self.tables.surfaces[c, step]
            for r in range(self.own):
                k = touches.stiffness[c, self.rows.start + r]
                d, n, _ = surface(touches.kind[c], q[:7], x[r])
                if k > 0.0 and d < touches.margin[c]:
                    yield c, r, k, d - touches.margin[c], d, n

    def ties(self, step):
        """Each as row, stiffness, point during a step and during the next one."""
        ties, leads = self.tables.ties, self.tables.leads
        for p in np.flatnonzero((ties.row >= self.rows.start) & (ties.row < self.rows.stop)):
            points = [ties.here[p, :3]] * 2
            for k in range(2):
                if ties.motion[p] >= 0 and step + k > 0:
                    m = leads[ties.motion[p], min(step + k, leads.shape[1] - 1)]
                    points[k] = m[:9].reshape(3, 3) @ ties.home[p, :3] + m[9:]
            yield ties.row[p] - self.rows.start, ties.stiffness[p], *points

    def loads(self, entry, x, v):
        """Forces (m, 3), and what they add and take [W]."""
        f, added, taken, body = np.zeros_like(x), 0.0, 0.0, self.body
        for coefficient, power, wind in zip(*body.drags, strict=True):
            w = self.tables.winds[wind, entry, :3]
            u, c = w - v, coefficient[self.rows, None]
            push = c * u if power == 1 else c * np.linalg.norm(u, axis=1, keepdims=True) * u
            f, added, taken = f + push, added + np.sum(push * w), taken + np.sum(push * u)
        for weight, table in zip(body.weights, self.tables.forces, strict=True):
            push = weight[self.rows, None] * table[entry, :3]
            f, added = f + push, added + np.sum(push * v)
        for e in range(*self.elements(body.triangles).indices(len(body.triangles.pressure))):
            corners, w = body.triangles.corners[e : e + 1], body.triangles.wind[e]
            w, push = self.tables.winds[w, entry, :3], np.zeros_like(x)
            wind_forces(x, v, corners, w, body.triangles.pressure[e : e + 1], push)
            f, added, taken = f + push, added + np.sum(push * w), taken + np.sum(push * (w - v))
        for e in range(*self.elements(body.dashpots).indices(len(body.dashpots.coefficient))):
            i, j = body.dashpots.corners[e]
            n = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
            rate = n @ (v[i] - v[j])
            f[i] -= body.dashpots.coefficient[e] * rate * n
            f[j] += body.dashpots.coefficient[e] * rate * n
            taken += body.dashpots.coefficient[e] * rate**2
        return f, added, taken

    def acceleration(self, entry, step, x, v, solid):
        """solid: forces (m, 3) of tets."""
        f = solid + self.elastic(x) + self.faces(x) + self.loads(entry, x, v)[0]
        for _, r, k, s, _, n in self.contacts(x, step):
            f[r] -= k * s * n
        for r, k, point, _ in self.ties(step):
            f[r] -= k * (x[r] - point)
        a = self.inverse * f + self.field - self.alpha * v
        a[self.own :] = 0.0
        return a

    def power(self, entry, x, v):
        f, added, taken = self.loads(entry, x, v)
        felt = f + self.elastic(x) + self.tets(x)
        added -= np.sum(felt[self.led] * v[self.led])
        return np.array([added, taken + self.alpha * np.sum(self.mass * v * v)])

    def settle(self, step, h, x, v, book):
        """Friction, shapes that move on, yielding; whether anything changed."""
        touches, changed, book[TOUCHING] = self.body.touches, False, 0.0
        for c, r, k, s, d, n in self.contacts(x, step):
            book[DEEPEST], book[TOUCHING] = max(book[DEEPEST], -d), book[TOUCHING] + 1.0
            q = self.tables.surfaces[c, step]
            motion = q[10:13] + np.cross(q[13:16], x[r] - q[7:10])
            along = (v[r] - motion) - ((v[r] - motion) @ n) * n
            speed = np.linalg.norm(along)
            if touches.friction[c] > 0.0 and speed > 0.0:
                most = touches.friction[c] * h * k * -s * self.inverse[r, 0]
                new = v[r] - min(1.0, most / speed) * along
                work = self.mass[r, 0] * (new - v[r]) @ motion
                book[ADDED] += work
                book[DISSIPATED] += work - 0.5 * self.mass[r, 0] * (new @ new - v[r] @ v[r])
                v[r], changed = new, True
        stored = [
            sum(0.5 * k * s * s for c, _, k, s, _, _ in self.contacts(x, at) if touches.moving[c])
            for at in (step, step + 1)
        ]
        book[ADDED] += stored[1] - stored[0]
        changed = changed or max(stored) > 0.0
        for r, k, old, new in self.ties(step):
            gained = 0.5 * k * (np.sum((x[r] - new) ** 2) - np.sum((x[r] - old) ** 2))
            book[ADDED], changed = book[ADDED] + gained, changed or np.any(old != new)
        for some, cubic in ((self.body.linear, False), (self.body.cubic, True)):
            if some.limit.size:
                slots, edges = self.springs(some)
                for slot, edge in zip(slots, edges, strict=True):
                    own = (edge[None], some.stiffness[slot : slot + 1])
                    rest = some.rest[slot : slot + 1]
                    before = spring_energy(x, *own, rest, cubic)
                    spring_yield(x, *own, rest, some.limit[slot : slot + 1], cubic)
                    lost = before - spring_energy(x, *own, rest, cubic)
                    book[DISSIPATED] += some.share[slot] * lost
                    changed = changed or lost != 0.0
        return changed


def _solid(every, positions):
    """Forces of tets on the rows of each group: one group has each of them, and tells the others
    what it does to their particles."""
    forces = [g.tets(x) for g, x in zip(every, positions, strict=True)]
    for g, told in zip(every, [f.copy() for f in forces], strict=True):
        for r in np.flatnonzero(g.source >= 0):
            owner, row = _home(g, r)
            forces[owner][row] += told[r]
    return forces


def _home(g, r):
    """Group and row there of a particle that another group moves."""
    first = g.body.groups.first
    owner = np.searchsorted(first, g.source[r], side="right") - 1
    return owner, g.source[r] - first[owner]


def _halo(body, positions):
    """Rows of particles that somebody else moves."""
    if body.halo is None:
        return
    rows = np.pad(np.concatenate(positions), ((0, 0), (0, 1)))
    body.halo(rows)
    ends = body.groups.first[1:-1]
    for own, filled in zip(positions, np.split(rows[:, :3], ends), strict=True):
        own[:] = filled


def explicit_steps(body, tables, kicks, drifts, h, count, x, v, a, ahead, connected):
    every = [_Group(g, body, tables) for g in range(len(body.groups.own))]
    books, stages = np.zeros((len(every), 4)), len(drifts)
    rows = [x[g.place] for g in every], [v[g.place] for g in every], []
    for g, X, V in zip(every, *rows[:2], strict=True):
        X[-1] = V[-1] = 0.0
        rows[2].append(
            np.where(np.arange(len(X))[:, None] < g.own, a[np.minimum(g.place, len(a) - 1)], 0.0)
        )
    for n in range(count):
        start = 1 + n * (stages + 1)
        began = [(X.copy(), V.copy()) for X, V in zip(*rows[:2], strict=True)]
        _kick(every, rows, kicks[0] * h)
        for s in range(stages):
            entry, before = start + 1 + s, []
            for g, X, V, A in zip(every, *rows, strict=True):
                X[: g.own] += drifts[s] * h * V[: g.own]
                g.lead(entry, X, V)
                before.append(V + kicks[s + 1] * h * A)
            for g, X in zip(every, rows[0], strict=True):
                for r in np.flatnonzero(g.source >= 0):
                    owner, row = _home(g, r)
                    X[r] = rows[0][owner][row]
            _halo(body, rows[0])
            solid = _solid(every, rows[0])
            for k, g in enumerate(every):
                rows[2][k][:] = g.acceleration(entry, n, rows[0][k], before[k], solid[k])
            _kick(every, rows, kicks[s + 1] * h)
        for k, g in enumerate(every):
            X, V = rows[0][k], rows[1][k]
            _book(g, h, start - 1, entry, start, began[k], X, V, books[k])
            old = V.copy()
            if g.settle(n, h, X, V, books[k]):
                before[k] += V - old
                rows[2][k][:] = g.acceleration(entry, n + 1, X, before[k], solid[k])
            ahead[g.place[: g.own]] = before[k][: g.own]
    for g, X, V, A in zip(every, *rows, strict=True):
        own = g.place[: g.own]
        x[own], v[own], a[own] = X[: g.own], V[: g.own], A[: g.own]
    return books


def explicit_stages(body, tables, c, Abar, A, h, first, last, x, v, a, connected):
    every = [_Group(g, body, tables) for g in range(len(body.groups.own))]
    free = a.shape[1]
    for i in range(first, last + 1):
        X, V = x.copy(), v.copy()
        X[:free] += c[i] * h * v[:free] + h * h * np.einsum("j,jnk->nk", Abar[i, :i], a[:i])
        V[:free] += h * np.einsum("j,jnk->nk", A[i, :i], a[:i])
        rows = [(X[g.place], V[g.place]) for g in every]
        for g, (here, there) in zip(every, rows, strict=True):
            here[-1] = there[-1] = 0.0
            g.lead(i, here, there)
        _halo(body, [here for here, _ in rows])
        for g, own, solid in zip(every, rows, _solid(every, [r[0] for r in rows]), strict=True):
            a[i, g.place[: g.own]] = g.acceleration(i, 0, *own, solid)[: g.own]


def nystrom_steps(body, tables, c, Abar, A, h, end, count, x, v, a, ahead, connected):
    every, books = [_Group(g, body, tables) for g in range(len(body.groups.own))], []
    books, stages = np.zeros((len(every), 4)), np.zeros((len(c), *a.shape))
    stages[0] = a
    for n in range(count):
        start = n * (end + 2)
        own = tables._replace(
            supports=tables.supports[:, start:],
            winds=tables.winds[:, start:],
            forces=tables.forces[:, start:],
            surfaces=tables.surfaces[:, n:],
            **_from_step(tables, n),
        )
        explicit_stages(body, own, c, Abar, A, h, 1, end, x, v, stages, connected)
        old = x.copy(), v.copy()
        free = len(a)
        x[:free] += h * v[:free] + h * h * np.einsum("j,jnk->nk", Abar[end], stages)
        v[:free] += h * np.einsum("j,jnk->nk", A[end], stages)
        rows = [(x[g.place], v[g.place]) for g in every]
        for g, (X, V) in zip(every, rows, strict=True):
            g.tables = own
            g.lead(end, X, V)
        _halo(body, [X for X, _ in rows])
        solid = _solid(every, [X for X, _ in rows])
        for k, g in enumerate(every):
            (X, V), began = rows[k], [b[g.place] for b in old]
            g.lead(0, *began)
            _book(g, h, 0, end, end + 1, began, X, V, books[k])
            if g.settle(0, h, X, V, books[k]):
                mine = g.place[: g.own]
                v[mine] = V[: g.own]
                stages[end, mine] = g.acceleration(end, 1, X, V, solid[k])[: g.own]
        stages[0] = stages[end]
    a[:], ahead[:] = stages[0], v[: len(a)]
    return books


def _from_step(tables, n):
    """Ties and what leads them, with step n as the first."""
    ties, leads = tables.ties, tables.leads[:, n:]
    here = ties.here.copy()
    for p in np.flatnonzero((ties.motion >= 0) & (n > 0)):
        m = leads[ties.motion[p], 0]
        here[p, :3] = m[:9].reshape(3, 3) @ ties.home[p, :3] + m[9:]
    return {"ties": ties._replace(here=here), "leads": leads}


def _kick(every, rows, kick):
    for g, _, V, A in zip(every, *rows, strict=True):
        V[: g.own] += kick * A[: g.own]


def _book(g, h, start, end, middle, began, x, v, book):
    """Simpson's rule on the cubic through both ends."""
    if not g.body.powers:
        return
    X, V = 0.5 * (began[0] + x) + 0.125 * h * (began[1] - v), np.empty_like(v)
    V[:] = 1.5 / h * (x - began[0]) - 0.25 * (began[1] + v)
    X[g.own :], V[g.own :] = x[g.own :], v[g.own :]
    g.lead(middle, X, V)
    powers = [g.power(start, *began), 4.0 * g.power(middle, X, V), g.power(end, x, v)]
    book[[ADDED, DISSIPATED]] += h / 6.0 * sum(powers)
