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


def divides(body: GroupedBody, connected: bool) -> bool:
    """Many bodies of nothing but springs, each of them a group, in one run."""
    parts = (body.faces.rest, body.tets.corners, body.triangles.pressure, body.run)
    others = any(len(part) for part in (*parts, body.dashpots.coefficient))
    return not (connected or others or body.tied) and len(body.groups.own) > MOST


def chosen(body: GroupedBody) -> np.ndarray:
    """The groups (c,) that are asked for all."""
    groups = body.groups
    stiffest = np.zeros(len(groups.own))
    for springs in (body.linear, body.cubic):
        bounds = springs.start[groups.first].astype(np.int64)
        some = np.flatnonzero(np.diff(bounds))
        if some.size:
            most = np.maximum.reduceat(springs.stiffness, bounds[some])
            stiffest[some] = np.maximum(stiffest[some], most)
    looks = stiffest * np.maximum.reduceat(groups.inverse, groups.first[:-1])
    spread = np.linspace(0, looks.size - 1, MOST // 2).astype(np.int64)
    return np.unique(np.concatenate([np.argsort(looks)[-MOST // 2 :], spread]))


def alone(body: GroupedBody, these: np.ndarray) -> tuple[GroupedBody, np.ndarray]:
    """These groups as a body of their own, whose rows are its particles; which rows they were."""
    groups, sizes = body.groups, np.diff(body.groups.first)[these]
    rows = _ranges(groups.first[these], sizes)
    own = {name: getattr(groups, name)[rows] for name in ("source", "support", "inverse", "mass")}
    if len(groups.home) == len(groups.place):
        own["home"] = groups.home[rows]
    made = groups._replace(
        first=_from_zero(sizes),
        own=groups.own[these],
        led=groups.led[these],
        place=np.arange(rows.size, dtype=groups.place.dtype),
        **own,
    )
    drags, touches = body.drags, body.touches
    return body._replace(
        groups=made,
        linear=_springs(body.linear, rows),
        cubic=_springs(body.cubic, rows),
        drags=drags._replace(coefficient=drags.coefficient.take(rows, axis=1)),
        weights=body.weights.take(rows, axis=1),
        touches=touches._replace(stiffness=touches.stiffness.take(rows, axis=1)),
    ), rows


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
