"""Closing what is open: cones over the holes of a surface."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contracts import Array
from .mesh import row_keys
from .topology import sides


class Closed(NamedTuple):
    """A surface without border: positions (V + holes, 3), triangles (f + edges, 3).

    Vertices and triangles that were there come first.  holes, edges: how many loops, and sides of
    triangles along them, were closed; share: of the whole area that is new.
    """

    positions: Array
    triangles: np.ndarray
    holes: int
    edges: int
    share: float


def border(triangles: np.ndarray) -> np.ndarray:
    """Directed sides (m, 2) that no other triangle runs along the other way.

    Three triangles at one edge leave one such side; four, two each way, leave none.  As many begin
    as end at every vertex.
    """
    directed = sides(triangles)
    forward = directed[:, 0] < directed[:, 1]
    _, first, inverse = np.unique(
        row_keys(np.sort(directed, axis=1)), return_index=True, return_inverse=True
    )
    surplus = np.bincount(inverse, np.where(forward, 1, -1)).astype(int)
    edges = np.sort(directed[first], axis=1)
    edges[surplus < 0] = edges[surplus < 0, ::-1]
    return np.repeat(edges, np.abs(surplus), axis=0)


def loops(edges: np.ndarray) -> list[list[int]]:
    """Directed sides (m, 2) as simple closed walks; each side belongs to exactly one."""
    onward: dict[int, list[int]] = {}
    for a, b in edges[::-1].tolist():
        onward.setdefault(a, []).append(b)
    found = []
    for start in sorted(onward):
        while onward[start]:
            path, place = [start], {start: 0}
            while True:
                here = onward[path[-1]].pop()
                if here in place:  # a simple loop is complete; what led to it goes on
                    begin = place[here]
                    found.append(path[begin:])
                    for left in path[begin + 1 :]:
                        del place[left]
                    del path[begin + 1 :]
                    if begin == 0:
                        break
                    continue
                place[here] = len(path)
                path.append(here)
    return found


def closed(positions: Array, triangles: np.ndarray) -> Closed:
    """The surface with a cone to its centre over every hole: without border, whatever it was."""
    open_sides = border(triangles)
    found = loops(open_sides)
    if not found:
        return Closed(positions, triangles, 0, 0, 0.0)
    centres, caps = [], []
    for number, loop in enumerate(found, len(positions)):
        corners = np.array(loop)
        centres.append(positions[corners].mean(axis=0))
        caps.append(np.stack([np.roll(corners, -1), corners, np.full(len(loop), number)], axis=1))
    x = np.concatenate([positions, centres])
    whole = np.concatenate([triangles, *caps])
    a, b, c = (x[whole[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    share = float(areas[len(triangles) :].sum() / max(areas.sum(), np.finfo(float).tiny))
    return Closed(x, whole, len(found), len(open_sides), share)
