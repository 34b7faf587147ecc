"""Neighbour lists through a grid of cells (Hockney and Eastwood 1981; Verlet 1967).

Particles are sorted into cubes at least as wide as the reach, so that all neighbours of a
particle lie in its own cube and the 26 around it.
"""

from __future__ import annotations

import numpy as np

from .jit import njit


@njit
def _grid(x, reach):
    """Lowest corner (3,), cells along each axis (3,) and their widths (3,).

    At most 4 N cells in all: one particle far away must not cost a huge empty grid.
    """
    low = np.empty(3)
    extent = np.empty(3)
    shape = np.empty(3, dtype=np.int64)
    for a in range(3):
        low[a] = x[:, a].min()
        extent[a] = x[:, a].max() - low[a]
        shape[a] = max(1, int(min(extent[a] / reach, 4.0 * len(x))))
    while 1.0 * shape[0] * shape[1] * shape[2] > 4 * len(x):
        longest = np.argmax(shape)
        shape[longest] = (shape[longest] + 1) // 2
    return low, shape, np.maximum(extent / shape, reach)


@njit
def _sort_into_cells(x, low, shape, width):
    """Cell of each particle along each axis (N, 3), first (cells + 1,) and members (N,)."""
    cell = np.empty(x.shape, dtype=np.int64)
    first = np.zeros(shape[0] * shape[1] * shape[2] + 1, dtype=np.int64)
    for i in range(len(x)):
        for a in range(3):
            cell[i, a] = min(shape[a] - 1, int((x[i, a] - low[a]) / width[a]))
        first[(cell[i, 0] * shape[1] + cell[i, 1]) * shape[2] + cell[i, 2] + 1] += 1
    for c in range(1, len(first)):
        first[c] += first[c - 1]
    fill = first.copy()
    members = np.empty(len(x), dtype=np.uint32)
    for i in range(len(x)):
        c = (cell[i, 0] * shape[1] + cell[i, 1]) * shape[2] + cell[i, 2]
        members[fill[c]] = i
        fill[c] += 1
    return cell, first, members


@njit
def _is_excluded(j, skip):
    found = False
    for k in range(len(skip)):
        found |= skip[k] == j
    return found


@njit
def _closer_pairs(x, square, shape, cell, first, members, skip_start, skip, pair_i, pair_j):
    """Writes pairs i > j, i ascending, as far as there is room; returns their number."""
    found = 0
    for i in range(len(x)):
        x0, x1, x2 = x[i, 0], x[i, 1], x[i, 2]
        c0, c1, c2 = cell[i, 0], cell[i, 1], cell[i, 2]
        left_out = skip[skip_start[i] : skip_start[i + 1]]
        for a in range(max(c0 - 1, 0), min(c0 + 2, shape[0])):
            for b in range(max(c1 - 1, 0), min(c1 + 2, shape[1])):
                row = (a * shape[1] + b) * shape[2]
                # the cells along the last axis lie next to each other
                for k in range(first[row + max(c2 - 1, 0)], first[row + min(c2 + 2, shape[2])]):
                    j = members[k]
                    if j >= i:
                        continue
                    d0 = x0 - x[j, 0]
                    d1 = x1 - x[j, 1]
                    d2 = x2 - x[j, 2]
                    near = d0 * d0 + d1 * d1 + d2 * d2 < square
                    if near and not _is_excluded(j, left_out):
                        if found < len(pair_i):
                            pair_i[found] = i
                            pair_j[found] = j
                        found += 1
    return found


@njit
def _both_ways(pair_i, pair_j, count):
    """start (N + 1,), neighbour (2m,): each pair in both rows, sorted without a sort.

    Pairs come with i ascending, so handing i to the row of j writes the upper partners of each j
    in order; walking those rows and handing j to the row of i does the same for the lower ones.
    """
    upper = np.zeros(count + 1, dtype=np.int64)
    start = np.zeros(count + 1, dtype=np.int64)
    for k in range(len(pair_i)):
        upper[pair_j[k] + np.uint32(1)] += 1
        start[pair_i[k] + np.uint32(1)] += 1
    for i in range(count):
        start[i + 1] += start[i] + upper[i + 1]
        upper[i + 1] += upper[i]
    above = np.empty(len(pair_i), dtype=np.uint32)
    fill = upper.copy()
    for k in range(len(pair_i)):
        j = pair_j[k]
        above[fill[j]] = pair_i[k]
        fill[j] += 1
    neighbour = np.empty(2 * len(pair_i), dtype=np.uint32)
    fill[:] = start
    for j in range(count):
        for k in range(upper[j], upper[j + 1]):
            i = above[k]
            neighbour[fill[i]] = j
            fill[i] += 1
    for j in range(count):
        neighbour[fill[j] : start[j + 1]] = above[upper[j] : upper[j + 1]]
    return start.astype(np.uint32), neighbour


def neighbour_list(x, reach, skip_start, skip):
    """start (N + 1,), neighbour (m,): for each particle of x (N, 3) the others closer than reach,
    sorted; skip_start (N + 1,), skip (k,): partners of each particle that are left out.

    Serial: a list lasts for many steps.
    """
    low, shape, width = _grid(x, reach)
    cells = _sort_into_cells(x, low, shape, width)
    room = 64 * len(x)
    while True:
        i, j = np.empty((2, room), dtype=np.uint32)
        found = _closer_pairs(x, reach * reach, shape, *cells, skip_start, skip, i, j)
        if found <= room:
            return _both_ways(i[:found], j[:found], len(x))
        room = found
