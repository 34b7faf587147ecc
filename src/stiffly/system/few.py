"""Some of many independent bodies: what is asked of forces once, before a run, is asked of few.

The largest eigenvalue of M^-1 K is that of one of the bodies, and none of theirs is above it.  That
of a few may be smaller; so may be what a few Lanczos steps find on all of them, for which a body
is one direction among very many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..contracts import Array
from ..kernels.names import GroupedBody, GroupedSprings

MOST = 64  # bodies: half of them look stiffest, half are spread over all


class Few(NamedTuple):
    """x (k, 3) [m] and mass (k,) [kg] of the particles that these bodies move, and the acceleration
    (k, 3) that they have at other positions (k, 3)."""

    x: Array
    mass: Array
    acceleration: Callable[[Array], Array]


def divides(body: GroupedBody, first: np.ndarray) -> bool:
    """Many bodies of nothing but springs in one run; first (c + 1,): rows at which they begin."""
    parts = (body.faces.rest, body.tets.corners, body.triangles.pressure, body.run)
    others = any(len(part) for part in (*parts, body.dashpots.coefficient))
    others = others or body.tied or body.between or body.steady or body.viscous
    return not others and len(first) > MOST + 1


def chosen(body: GroupedBody, first: np.ndarray) -> np.ndarray:
    """The bodies (c,) that are asked for all."""
    groups = body.groups
    stiffest = np.zeros(len(first) - 1)
    for springs in (body.linear, body.cubic):
        bounds = springs.start[first].astype(np.int64)
        some = np.flatnonzero(np.diff(bounds))
        if some.size:
            most = np.maximum.reduceat(springs.stiffness, bounds[some])
            stiffest[some] = np.maximum(stiffest[some], most)
    looks = stiffest * np.maximum.reduceat(groups.inverse, first[:-1])
    spread = np.linspace(0, looks.size - 1, MOST // 2).astype(np.int64)
    return np.unique(np.concatenate([np.argsort(looks)[-MOST // 2 :], spread]))


def alone(body: GroupedBody, these: np.ndarray) -> tuple[GroupedBody, np.ndarray]:
    """These groups as a body of their own, whose rows are its particles; which rows they were."""
    groups, sizes = body.groups, np.diff(body.groups.first)[these]
    rows = _ranges(groups.first[these], sizes)
    bounds = {"first": _from_zero(sizes), "own": groups.own[these], "led": groups.led[these]}
    return _of_rows(body, rows, bounds), rows


def picked(
    body: GroupedBody, first: np.ndarray, these: np.ndarray
) -> tuple[GroupedBody, np.ndarray]:
    """The same of a body whose rows are all in one group; first: as for `divides`."""
    groups = body.groups
    own, led = int(groups.own[0]), int(groups.own[0] + groups.led[0])
    mine = _ranges(first[these], np.diff(first)[these])
    moves, near = np.zeros((2, int(groups.first[-1])), dtype=bool)
    moves[mine] = True
    for springs in (body.linear, body.cubic):  # each is kept by one of its ends
        row = np.repeat(np.arange(own, led), np.diff(springs.start[own : led + 1]))
        near[row[moves[springs.other[springs.start[own] : springs.start[led]]]]] = True
    leads = np.flatnonzero(near)
    near[_ends(body, np.concatenate([mine, leads]))] = True
    near[mine] = near[leads] = near[-1] = False
    rows = np.concatenate([mine, leads, np.flatnonzero(near), [near.size - 1]])
    counts = {"own": np.array([mine.size]), "led": np.array([leads.size])}
    made = _of_rows(body, rows, {"first": np.array([0, rows.size]), **counts})
    place = np.empty(near.size, dtype=np.uint32)
    place[rows] = np.arange(rows.size)
    still = np.arange(rows.size) >= mine.size  # others' particles among them
    groups = made.groups
    groups.inverse[still] = groups.mass[still] = 0.0
    both = {name: getattr(made, name) for name in ("linear", "cubic")}
    return made._replace(
        **{name: own._replace(other=place[own.other]) for name, own in both.items()}
    ), rows


def _ends(body: GroupedBody, rows: np.ndarray) -> np.ndarray:
    """Rows at the other ends of the springs that these keep."""
    return np.concatenate([_springs(s, rows).other for s in (body.linear, body.cubic)])


def _of_rows(body: GroupedBody, rows: np.ndarray, bounds: dict[str, np.ndarray]) -> GroupedBody:
    """These rows; far ends of their springs have the numbers that they had."""
    groups = body.groups
    own = {name: getattr(groups, name)[rows] for name in ("source", "support", "inverse", "mass")}
    if len(groups.home) == len(groups.place):
        own["home"] = groups.home[rows]
    made = groups._replace(**bounds, place=np.arange(rows.size, dtype=groups.place.dtype), **own)
    drags, touches = body.drags, body.touches
    return body._replace(
        groups=made,
        linear=_springs(body.linear, rows),
        cubic=_springs(body.cubic, rows),
        drags=drags._replace(coefficient=drags.coefficient.take(rows, axis=1)),
        weights=body.weights.take(rows, axis=1),
        touches=touches._replace(stiffness=touches.stiffness.take(rows, axis=1)),
    )


def _springs(springs: GroupedSprings, rows: np.ndarray) -> GroupedSprings:
    """Those of these rows."""
    begin = springs.start[rows].astype(np.int64)
    counts = springs.start[rows + 1] - begin
    slots = _ranges(begin, counts)
    start = _from_zero(counts).astype(springs.start.dtype)
    kept = {"start": start, "common": springs.common}
    own = {
        name: column[slots] if len(column) else column
        for name, column in springs._asdict().items()
        if name not in kept
    }
    return GroupedSprings(**kept, **own)


def _from_zero(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)])


def _ranges(first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """first[0], first[0] + 1, ..., sizes[0] of them, then those from first[1] on, ..."""
    return np.repeat(first - _from_zero(sizes)[:-1], sizes) + np.arange(int(sizes.sum()))
