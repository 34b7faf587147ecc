"""How far pairs may move before they meet, and which pairs may meet at all."""

from __future__ import annotations

import math

import numpy as np

from .jit import njit
from .pair_distance import distance, gap, gather

KEPT = 0.1  # of a distance: what is left of it where a way is cut
ADVANCE = 0.9  # of what distance over speed allows: additive conservative advancement
PATIENCE = 10_000  # advances; whoever needs more is as good as touching


@njit
def _speed(kind, D):
    """Frees displacements D (4, 3) of their mean; returns the largest of one side plus that of
    the other: no pair of points of the two sides approaches by more."""
    points = 3 if kind == 1 else 4
    for a in range(3):
        mean = 0.0
        for i in range(points):
            mean += D[i, a] / points
        for i in range(points):
            D[i, a] -= mean
    first = second = 0.0
    for i in range(points):
        way = D[i, 0] ** 2 + D[i, 1] ** 2 + D[i, 2] ** 2
        if i < (2 if kind == 2 else 1):
            first = max(first, way)
        else:
            second = max(second, way)
    return math.sqrt(first) + math.sqrt(second)


@njit
def _cleared(kind, X, D, floor, w, r):
    """The share of the way from X along D (4, 3) on which the distance stays above `floor` [m].

    Additive continuous collision detection (Li et al. 2021): the way is safe as far as the distance
    divided by the speed with which points of the two sides can approach.
    """
    points, speed = 3 if kind == 1 else 4, _speed(kind, D)
    d, share = distance(kind, X, w, r), 0.0
    for _ in range(PATIENCE):
        if not speed > 0.0 or d - floor >= speed * (1.0 - share):
            return 1.0
        if d <= floor:
            return share
        step = ADVANCE * (d - floor) / speed
        for i in range(points):
            for a in range(3):
                X[i, a] += step * D[i, a]
        share += step
        d = distance(kind, X, w, r)
        if (d - floor) < 0.01 * floor:
            return share
    return share


@njit
def clear_share(x, move, kinds, stencil):
    """The share 0..1 of the way from x to x + move (N, 3) on which every pair keeps a tenth of
    its distance."""
    X, D, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    best = 1.0
    for k in range(len(stencil)):
        gather(move, stencil[k], D)
        D *= best
        if gap(kinds[k], x, stencil[k]) * (1.0 - KEPT) >= _speed(kinds[k], D):
            continue
        gather(x, stencil[k], X)
        d = distance(kinds[k], X, w, r)
        best *= _cleared(kinds[k], X, D, KEPT * d, w, r)
    return best


@njit
def stays_clear(x0, x1, kinds, stencil):
    """Whether no pair passes through itself on the straight way from x0 to x1 (N, 3); also False
    where one comes ten times closer in between than it is at either end."""
    X, D, w, r = np.empty((4, 3)), np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencil)):
        gather(x0, stencil[k], X)
        gather(x1, stencil[k], D)
        D -= X
        if gap(kinds[k], x0, stencil[k]) * (1.0 - KEPT) >= _speed(kinds[k], D):
            continue
        gather(x1, stencil[k], D)
        d1 = distance(kinds[k], D, w, r)
        d0 = distance(kinds[k], X, w, r)
        D -= X
        if _cleared(kinds[k], X, D, KEPT * min(d0, d1), w, r) < 1.0:
            return False
    return True


@njit
def near_pairs(x, move, rest, piece, kinds, stencil, thickness, room, parallel, reach, soft):
    """Of candidates, those that may come closer than they reach: a mask (m,).

    Writes reach (m,), the thickness [m] or, where both sides belong to one piece (N,), half their
    distance at rest (N, 3), if that is less; and soft (m,), `parallel` times |u|^2 |v|^2 at rest,
    neither taken for shorter than the thickness, for two edges, else 0.  x, move (N, 3) [m], room
    [m]: all particles are on the same share of the way from x to x + move, each up to room off it
    in every coordinate.
    """
    X, w, r, near = np.empty((4, 3)), np.empty(4), np.empty(3), np.zeros(len(stencil), np.bool_)
    for k in range(len(stencil)):
        i, kind = stencil[k], kinds[k]
        reach[k], soft[k] = thickness, 0.0
        gather(rest, i, X)
        if piece[i[0]] == piece[i[2]]:
            reach[k] = min(thickness, 0.5 * distance(kind, X, w, r))
        if kind == 2:
            uu = vv = 0.0
            for a in range(3):
                uu += (X[1, a] - X[0, a]) ** 2
                vv += (X[3, a] - X[2, a]) ** 2
            soft[k] = parallel * max(uu, thickness**2) * max(vv, thickness**2)
        gather(x, i, X)
        d, way = distance(kind, X, w, r), 0.0
        split = 2 if kind == 2 else 1
        for b in range(split):
            for c in range(split, 3 if kind == 1 else 4):
                square = 0.0
                for a in range(3):
                    square += (move[i[c], a] - move[i[b], a]) ** 2
                way = max(way, square)
        # points of the two sides, weighted means of their corners, approach by no more than the
        # corners move against each other, plus rooms
        least = d - math.sqrt(way) - 2.0 * math.sqrt(3.0) * room
        near[k] = reach[k] > 0.0 and least < reach[k]
    return near
