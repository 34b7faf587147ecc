"""Ties of a body to points in space, as loops that take many explicit steps want them.

Which rows are tied may change between two calls, as a user's hand takes hold and lets go; so ties
are part of what such a call is given, not of the body that has been laid out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array
from ..kernels.names import Ties
from ..parts.terms import TieTerm
from .supports import MOST_LED, rigid


def ties_among(terms: list[Any]) -> list[TieTerm]:
    return [term for term in terms if isinstance(term, TieTerm)]


def lack_of(terms: list[Any]) -> str:
    """What no table has room for, in words."""
    for term in ties_among(terms):
        if term.motion is not None and not rigid(term.motion) and len(term.rows) > MOST_LED:
            return f"attachments of more than {MOST_LED} particles along a path"
    return ""


def points_of(term: TieTerm, since: float | None) -> Array:
    """(k, 3) as they stand now, or as they were put at that time."""
    return term.points if since is None or term.at is None else term.at(since)


def stored_beyond(terms: list[TieTerm], x: Array, free: int, since: float | None) -> float:
    """[J] in ties of particles that do not move, or that supports lead, at x (N, 3): whatever
    changes it is done by what leads one of the ends."""
    total = 0.0
    for term in terms:
        held = term.rows >= free
        d = x[term.rows[held]] - points_of(term, since)[held]
        total += 0.5 * term.stiffness * float(np.vdot(d, d))
    return total


class TiedRows:
    """Where the rows of ties lie in groups: found anew only where others are tied."""

    def __init__(self, place: np.ndarray, mass: Array, free: int) -> None:
        """place, mass (R,) as in Groups."""
        moved = np.flatnonzero(mass)
        self._count, self._at = len(place), np.zeros(free, dtype=np.int64)
        self._at[place[moved]] = moved
        self._lay_out([])

    def _lay_out(self, rows: list[np.ndarray]) -> None:
        self._rows = rows
        every = np.concatenate([np.empty(0, dtype=np.int64), *rows])
        free = np.flatnonzero(every < len(self._at))
        at = self._at[every[free]]
        order = np.argsort(at, kind="stable")
        self._order, self._row = free[order], at[order].astype(np.uint32)
        ends = np.searchsorted(self._row, np.arange(self._count + 1))
        self._start, none = ends.astype(np.uint32), np.empty(0)
        self._nothing = Ties(
            *(self._start, self._row, none, np.empty((0, 4)), np.empty((0, 4))),
            np.empty(0, dtype=np.int64),
        )

    def tables(
        self, terms: list[TieTerm], times: Array, since: float | None
    ) -> tuple[Ties, np.ndarray]:
        """The ties, and where their points are led to: (m, 1 + times, 12) as in TimeTables.  No
        times: nothing moves."""
        if not terms and not self._rows:
            return self._nothing, np.empty((0, 1 + len(times), 12))
        rows = [term.rows for term in terms]
        pairs = zip(rows, self._rows, strict=False)
        if len(rows) != len(self._rows) or any(a is not b for a, b in pairs):
            self._lay_out(rows)
        leads = [np.empty((0, 1 + len(times), 12))]
        here, home, motion = [np.empty((0, 3))], [np.empty((0, 3))], [np.empty(0, dtype=np.int64)]
        for term in terms:
            own = np.full(len(term.rows), -1)
            if term.motion is not None and len(times):
                made = _led(term, times)
                own[:] = sum(map(len, leads)) + np.arange(len(made))  # one for all, or for each
                leads.append(made)
            motion.append(own)
            here.append(points_of(term, since))
            home.append(term.points if term.start is None else term.start)
        stiffness = np.concatenate(
            [np.empty(0), *(np.full(len(t.rows), t.stiffness) for t in terms)]
        )
        ties = Ties(
            self._start,
            self._row,
            stiffness[self._order],
            _quads(np.concatenate(here)[self._order]),
            _quads(np.concatenate(home)[self._order]),
            np.concatenate(motion)[self._order],
        )
        return ties, np.concatenate(leads)


NOTHING_TIED = TiedRows(np.empty(0, dtype=np.uint32), np.empty(0), 0)


def _quads(points: Array) -> Array:
    return np.pad(points, ((0, 0), (0, 1)))


def _led(term: TieTerm, times: Array) -> Array:
    """(1 or k, 1 + times, 12): A, b of points at these times; of a path A is zero."""
    alike = rigid(term.motion)
    made = np.zeros((1 if alike else len(term.rows), 1 + len(times), 12))
    if alike:
        A, b = term.motion.affine(times)[:2]
        made[0, 1:, :9], made[0, 1:, 9:] = A.reshape(-1, 9), b
        return made
    assert term.at is not None
    for k, t in enumerate(times.tolist()):
        made[:, 1 + k, 9:] = term.at(t)
    return made
