"""At which frequencies a body moves, read off its own motion, and what Verlet makes of them.

The squares of v, x'', x''' and x'''', averaged over a stretch of the motion, are moments of the
spectrum of its velocity: m_j = sum_k v_k^2 w_k^(2j).  Two frequencies with two weights have the
same four moments (Gauss quadrature): a slow and a fast one that stand for all.  Verlet turns a
mode of frequency w at (2/h) asin(h w/2) instead of w, so its error after a time T is

    min(sqrt(T^2 (w' - w)^2 + (h^2 w^2/8)^2), sqrt 2)   of the mode's amplitude:

a phase that drifts, an amplitude that is off, and never more than two unrelated motions differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import asin, hypot, inf, sqrt

import numpy as np

from ...contracts import Array

Scales = tuple[float, float]  # of positions and of velocities
Pair = tuple[float, float]
Modes = list[tuple[float, float]]
WHILE = 0.3  # of the duration: how long what gathers speed is taken to go on
UNRELATED = sqrt(2.0)  # distance of two motions of one size whose phases have nothing in common
GATHERING = 1.5  # of equality in m_1^2 <= m_0 m_2, which holds for everything that swings
DEGENERATE = 1e-9  # of the moments: below, one frequency is all there is


@dataclass
class Content:
    """Moments of a motion so far, and the scales of it: largest |v| and |x - start|."""

    start: Array
    moments: Array = field(default_factory=lambda: np.zeros(4))  # time integrals
    time: float = 0.0
    scale_x: float = 0.0
    scale_v: float = 0.0

    def add(
        self, x: Array, v: Array, accelerations: Sequence[Array], apart: float, span: float
    ) -> None:
        """accelerations: of three times `apart` [s], x and v at the middle one; span [s]: what
        this sample stands for."""
        before, here, after = accelerations
        third = (after - before) / (2.0 * apart)
        fourth = (after - 2.0 * here + before) / apart**2
        squares = np.array([np.dot(w, w) for w in (v, here, third, fourth)])
        self.moments = self.moments + span * squares
        self.time += span
        self.scale_v = max(self.scale_v, sqrt(squares[0]))
        self.scale_x = max(self.scale_x, float(np.linalg.norm(x - self.start)))

    def join(self, other: Content) -> None:
        """What another stretch of the same motion has seen."""
        self.moments = self.moments + other.moments
        self.time += other.time
        self.scale_v = max(self.scale_v, other.scale_v)
        self.scale_x = max(self.scale_x, other.scale_x)

    @property
    def gathering(self) -> bool:
        """It does not swing: velocities grow by an acceleration that hardly changes."""
        m = self.moments
        return bool(m[1] ** 2 > GATHERING * max(m[0] * m[2], 1e-300))

    def modes(self) -> Modes:
        """(frequency [1/s], mean square of the velocity) of the slow and of the fast stand-in."""
        if self.time == 0.0 or not self.moments[3] > 0.0:
            return []
        m = self.moments / self.time
        unit = m[3] / m[2]  # frequencies in units of the fastest, so that moments are comparable
        m = m / unit ** np.arange(4)
        determinant = m[0] * m[2] - m[1] ** 2
        if determinant <= DEGENERATE * m[0] * m[2]:
            top = sqrt(unit)
            return [(top, m[2])]
        p = (m[0] * m[3] - m[1] * m[2]) / determinant
        q = (m[1] * m[3] - m[2] ** 2) / determinant
        root = sqrt(max(0.25 * p * p - q, 0.0))
        slow, fast = max(0.5 * p - root, 0.0), 0.5 * p + root
        if not fast > slow * (1.0 + 1e-9):
            return [(sqrt(unit * fast), m[0])]
        share = min(max((m[1] - slow * m[0]) / (fast - slow), 0.0), m[0])
        return [(sqrt(unit * slow), m[0] - share), (sqrt(unit * fast), share)]

    @property
    def fastest(self) -> float:
        """How fast the fast stand-in is, times what a lost phase costs."""
        modes = self.modes()
        return UNRELATED * sqrt(modes[-1][1]) if modes else 0.0

    def expected(self, duration: float, seen: Scales) -> Scales:
        """The largest |x - start| and |v| of the whole motion; seen: of an earlier part.

        A start from rest has seen little: what swings is taken to go on for a radian, what gathers
        speed for a while.
        """
        x, v = max(self.scale_x, seen[0]), max(self.scale_v, seen[1])
        modes = self.modes()
        if not modes:
            return x, v
        swing = 1.0 / max(modes[0][0], 1e-300)
        longest = min(duration, WHILE * duration if self.gathering else swing)
        v = max(v, sqrt(self.moments[1] / self.time) * longest)
        return max(x, v * longest), v

    def verlet_errors(
        self, h: float, span: float, horizon: float, modes: Modes | None = None
    ) -> tuple[Pair, Pair]:
        """Errors of positions and velocities that come together in `span` seconds: those that add
        up over the horizon, and those of modes whose phase is lost there, which do not."""
        grown, lost = [0.0, 0.0], [0.0, 0.0]
        for w, square in self.modes() if modes is None else modes:
            drift = verlet_drift(w, h)
            own = grown if drift * horizon <= UNRELATED else lost
            off = square * min(hypot(drift * span, (h * w) ** 2 / 8.0), UNRELATED) ** 2
            own[1] += off
            own[0] += off / w**2 if w > 0.0 else 0.0
        return (sqrt(grown[0]), sqrt(grown[1])), (sqrt(lost[0]), sqrt(lost[1]))

    def verlet_error(
        self, h: float, span: float, horizon: float, scales: Scales, modes: Modes | None = None
    ) -> float:
        """All of them, relative; modes: its own, where they are known."""
        (x, v), (lost_x, lost_v) = self.verlet_errors(h, span, horizon, modes)
        return relative((x + lost_x, v + lost_v), scales)


def relative(errors: tuple[float, float], scales: Scales) -> float:
    """The larger relative error of positions and velocities; not a number counts as infinite."""
    found = max(e / max(s, 1e-300) if e else 0.0 for e, s in zip(errors, scales, strict=True))
    return found if found == found else inf


def verlet_drift(w: float, h: float) -> float:
    """|w' - w| [1/s] of Verlet at step h."""
    half = 0.5 * h * w
    return (2.0 / h) * asin(half) - w if half < 1.0 else inf
