"""The NumPy twin of kernels.cpu.body_newton: dense matrices, one body after the other."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import (
    BODY_CHANGE,
    BODY_COVERED,
    BODY_DISSIPATED,
    BODY_FAILED,
    BODY_RESIDUAL,
    LANES,
)

from .contact import contact_mean_gradient
from .mean_springs import mean_terms

NUDGE = 1e-7  # of the largest coordinate: for differences of residuals


class _Body:
    """One lane of a group: r(d), and what of it damping takes."""

    def __init__(self, group, lane, layout, springs, touches, motion, numbers):
        structure, _, member_at, members, held_at, held = layout[:6]
        spring_at, ends = layout[10:]
        pull_at, stiffness, rest, self.cubic = springs
        before, after, p, q, stride, mass, weight = motion
        self.alpha, self.beta, self.theta, _, self.damping = numbers[:5]
        self.rows = members[member_at[group] : member_at[group + 1], lane]
        fixed = held[held_at[group] : held_at[group + 1], lane]
        shape, own = structure[group], slice(pull_at[group], pull_at[group + 1])
        self.ends = ends[spring_at[shape] : spring_at[shape + 1]]
        self.stiffness, self.rest = stiffness[own, lane], rest[own, lane]
        self.surfaces = [
            (kind, row[None], margin) for kind, row, margin in zip(*touches[:3], strict=True)
        ]
        self.hard = [every[self.rows] for every in touches[3]]
        self.x0, self.p, self.q = before[self.rows], p[self.rows], q[self.rows]
        self.held, self.held_after = before[fixed], after[fixed]
        self.m, self.w = mass[self.rows, None], weight[self.rows]
        self.covered = np.linalg.norm(self.m * stride[self.rows])

    def residual(self, d):
        X, V = self.p + d, self.q + self.beta / self.alpha * d
        start = X if self.theta == 1.0 else self.x0
        held = self.held_after if self.theta == 1.0 else self.held
        x0, x1 = np.vstack([start, held]), np.vstack([X, self.held_after])
        g = np.zeros(x0.shape)
        d0, d1 = (x[self.ends[:, 0]] - x[self.ends[:, 1]] for x in (x0, x1))
        pull, _ = mean_terms(d0, d1, self.stiffness, self.rest, self.cubic)
        np.add.at(g, self.ends[:, 0], pull)
        np.add.at(g, self.ends[:, 1], -pull)
        for (kind, row, margin), hard in zip(self.surfaces, self.hard, strict=True):
            own = np.flatnonzero(hard > 0.0)
            contact_mean_gradient(x0, x1, own, kind, row, hard[own], margin, g)
        force = -g[: len(d)] - self.w - self.damping * self.m * self.between(V)
        return self.m * d - self.alpha * force

    def between(self, V):
        return (1.0 - self.theta) * self.q + self.theta * V

    def slopes(self, d):
        """dr/dd (n, n) by differences to both sides."""
        off, flat = NUDGE * np.abs(self.p).max(initial=1e-3), d.ravel()
        columns = []
        for step in off * np.eye(flat.size):
            ahead, back = (self.residual((flat + s * step).reshape(-1, 3)) for s in (1, -1))
            columns.append((ahead - back).ravel() / (2.0 * off))
        return np.array(columns).T

    def solve(self, d, most):
        """Newton's method with halved steps; the d of the smallest |r| found."""
        r = self.residual(d)
        for _ in range(most):
            dx = -np.linalg.solve(self.slopes(d), r.ravel()).reshape(d.shape)
            trials = [d + 0.5**k * dx for k in range(8)]
            sizes = [np.linalg.norm(self.residual(trial)) for trial in trials]
            if not min(sizes) < np.linalg.norm(r):
                break
            d = trials[int(np.argmin(sizes))]
            r = self.residual(d)
        return d, np.linalg.norm(r)


def body_newton(order, layout, springs, touches, motion, numbers, d, X, V, report, counts):
    """Without the halving of steps: a body that would need it has failed."""
    _, _, _, h, damping, tolerance, most, _ = numbers
    for group in order:
        for lane in range(LANES):
            b = layout[1][group, lane]
            if b < 0:
                continue
            body = _Body(group, lane, layout, springs, touches, motion, numbers)
            own, size = body.solve(d[body.rows], most)
            moved = np.linalg.norm(body.m * own)
            v = body.q + body.beta / body.alpha * own
            d[body.rows], X[body.rows], V[body.rows] = own, body.p + own, v
            middle = body.between(v)
            report[b, [BODY_RESIDUAL, BODY_CHANGE, BODY_COVERED]] = size, moved, body.covered
            report[b, BODY_DISSIPATED] = h * damping * np.sum(body.m * middle**2)
            counts[b, BODY_FAILED] = size > max(tolerance, 1e-6) * (moved + body.covered)
