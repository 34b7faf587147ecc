"""Nested dissection of a graph, and what becomes of its parts in a sparse factorisation.

A part falls into two sides and the separator between them, where it is thin: at a level of
f = (steps from one end) - (steps from the other), which is nearly flat in a solid.  George and Liu
(Computer Solution of Large Sparse Positive Definite Systems, 1981, Sec. 8.4) cut at a level of one
of the two, which is a sphere.  What stands between the sides needlessly joins one of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .jit import njit

_inner: Any = partial(njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # pyright: ignore[reportCallIssue]

SWEEPS = 6  # over a separator, to make it thinner
ONE, BETWEEN, OTHER = -1, 0, 1


def dissected(indptr, indices, leaf):
    """Order (n,), starts (m + 1,), parents (m,): of fronts, which are runs of the order.

    indptr, indices: a graph, symmetric, by rows; leaf: parts of so many are not cut further.
    What a row of a front is tied to lies in the same front, within one of those that come before
    and have it above them, or in one above (its parent, the parent's parent, ...; -1: none).
    """
    order, fronts = _dissected(indptr, indices, leaf)
    found = np.array(fronts, dtype=np.int64).reshape(-1, 2)
    by_start = np.argsort(found[:, 0])  # children, then their parent
    number = np.empty(len(found) + 1, np.int64)
    number[by_start], number[-1] = np.arange(len(found)), -1
    return order, np.append(found[by_start, 0], order.size), number[found[by_start, 1]]


@njit
def _dissected(indptr, indices, leaf):
    """The order, and beginning and parent of each front: the parent comes first."""
    n = indptr.size - 1
    order, queue = np.arange(n), np.empty(n, np.int64)
    part, side = np.zeros(n, np.int64), np.zeros(n, np.int64)
    far = np.empty((2, n), np.int64)
    graph = indptr, indices, part
    waiting = [(0, n, -1)]
    fronts = [(0, 0)][:0]
    stamp = 0
    while len(waiting) > 0:
        low, high, parent = waiting.pop()
        rows, one, other = order[low:high], 0, 0
        if high - low > leaf:
            stamp += 1
            for v in rows:
                part[v], side[v], far[0, v], far[1, v] = stamp, BETWEEN, -1, -1
            reached = _spread(graph, rows[0], queue, far[0])
            if reached < rows.size:
                one = _components(graph, rows, queue, far[0], reached)
                other = rows.size - one
                for v in rows:
                    side[v] = OTHER
                for k in range(one):
                    side[queue[k]] = ONE
            elif _cut(graph, rows, queue, far, side):
                one, other = _thinned(graph, rows, side)
        if one == 0 or other == 0:  # no way to cut it
            one = other = 0
        else:
            _sort(rows, side, one, other, queue)
        if low + one + other < high:
            fronts.append((low + one + other, parent))
            parent = len(fronts) - 1
        if one > 0:
            waiting.append((low, low + one, parent))
            waiting.append((low + one, low + one + other, parent))
    return order, fronts


@_inner
def _spread(graph, first, queue, far):
    """Breadth first from `first` through its part, into the queue: how many there are.  far: steps
    to each, -1 before."""
    indptr, indices, part = graph
    queue[0], far[first] = first, 0
    at, count = 0, 1
    while at < count:
        v = queue[at]
        at += 1
        for w in indices[indptr[v] : indptr[v + 1]]:
            if part[w] == part[v] and far[w] < 0:
                far[w] = far[v] + 1
                queue[count] = w
                count += 1
    return count


@_inner
def _components(graph, rows, queue, far, reached):
    """How many of the queue are one side where a part hangs together nowhere: whole components,
    up to half of all, and always some and not all."""
    before = k = 0
    while 2 * reached < rows.size:
        while far[rows[k]] >= 0:
            k += 1
        before = reached
        reached += _spread(graph, rows[k], queue[reached:], far)
    return before if reached == rows.size else reached


@_inner
def _cut(graph, rows, queue, far, side):
    """The sides of a connected part, and a separator; whether there is one."""
    indptr, indices, part = graph
    count = rows.size
    _spread(graph, queue[count - 1], queue, far[1])
    end = queue[count - 1]
    for v in rows:
        far[0, v] = -1
    _spread(graph, end, queue, far[0])
    most = far[0, queue[count - 1]]
    level = np.zeros(2 * most + 3, np.int64)  # how many have f = 0, 1, ... (f + most)
    above, below = np.zeros_like(level), np.zeros_like(level)
    for v in rows:
        f = least = largest = far[0, v] - far[1, v] + most
        for w in indices[indptr[v] : indptr[v + 1]]:
            if part[w] == part[v]:
                g = far[0, w] - far[1, w] + most
                least, largest = min(least, g), max(largest, g)
        level[f] += 1
        above[least + 1] += 1  # v has neighbours below a cut t with least < t <= f ...
        above[f + 1] -= 1
        below[f + 1] += 1  # ... and above or at one with f < t <= largest
        below[largest + 1] -= 1
    best, cut, upper = np.inf, -1, True
    under = high = low = 0
    for t in range(1, 2 * most + 1):
        under, high, low = under + level[t - 1], high + above[t], low + below[t]
        least = min(under, count - under - high)
        if least > 0 and high < best * least:
            best, cut, upper = high / least, t, True
        least = min(under - low, count - under)
        if least > 0 and low < best * least:
            best, cut, upper = low / least, t, False
    if cut < 0:
        return False
    for v in rows:
        over = far[0, v] - far[1, v] + most >= cut
        side[v] = OTHER if over else ONE
        if over == upper:
            for w in indices[indptr[v] : indptr[v + 1]]:
                if part[w] == part[v] and (far[0, w] - far[1, w] + most >= cut) != over:
                    side[v] = BETWEEN
    return True


@_inner
def _thinned(graph, rows, side):
    """What has neighbours on one side only joins that side; what has one neighbour on the larger
    side changes places with it.  How many are on either side then."""
    indptr, indices, part = graph
    count = np.zeros(3, np.int64)
    for v in rows:
        count[side[v]] += 1
    for _ in range(SWEEPS):
        moved = False
        for v in rows:
            if side[v] != BETWEEN:
                continue
            ties = np.zeros(3, np.int64)
            for w in indices[indptr[v] : indptr[v + 1]]:
                if part[w] == part[v]:
                    ties[side[w]] += 1
            small = ONE if count[ONE] <= count[OTHER] else OTHER
            if ties[-small] <= 1:
                goes = small
            elif ties[small] == 0:
                goes = -small
            else:
                continue
            if ties[-goes] == 1 and count[goes] + 1 >= count[-goes]:
                continue  # nothing would be gained
            moved = True
            side[v] = goes
            count[goes] += 1
            for w in indices[indptr[v] : indptr[v + 1]]:
                if part[w] == part[v] and side[w] == -goes:
                    side[w] = BETWEEN
                    count[-goes] -= 1
        if not moved:
            break
    return count[ONE], count[OTHER]


@_inner
def _sort(rows, side, one, other, queue):
    """One side, the other, the separator."""
    places = np.zeros(3, np.int64)
    places[OTHER], places[BETWEEN] = one, one + other
    for v in rows:
        queue[places[side[v]]] = v
        places[side[v]] += 1
    for k in range(rows.size):
        rows[k] = queue[k]


@njit
def front_entries(own, below, indptr, indices, data, first, place):
    """own (s, s), below (s, b) += columns first, first + 1, ... of a matrix (CSC, in the order of
    fronts), each in a row, from its diagonal on.  place (n,): of each row below in the front."""
    size = own.shape[0]
    for j in range(size):
        for p in range(indptr[first + j], indptr[first + j + 1]):
            i = indices[p] - first
            if i >= size:
                below[j, place[indices[p]]] += data[p]
            elif i >= j:
                own[j, i] += data[p]


@njit
def front_join(own, below, rest, update, at):
    """What a child leaves, update (c, c), joins its parent at rows `at` (c,), counted from the
    parent's first own one; rest (b, b) is what the parent leaves.  Columns in rows, as above."""
    size = own.shape[0]
    for j in range(at.size):
        to = at[j]
        for i in range(j, at.size):
            if to >= size:
                rest[to - size, at[i] - size] += update[j, i]
            elif at[i] >= size:
                below[to, at[i] - size] += update[j, i]
            else:
                own[to, at[i]] += update[j, i]


@njit
def front_columns(own, below, first, rows, indptr, indices, data, inverse):
    """Columns of L (CSC, ones on the diagonal) and 1/D, of a front's Cholesky factor; columns in
    rows, as above."""
    size = own.shape[0]
    for j in range(size):
        root, p = own[j, j], indptr[first + j]
        inverse[first + j] = 1.0 / (root * root)
        for i in range(j, size):
            indices[p], data[p] = first + i, own[j, i] / root
            p += 1
        for i in range(rows.size):
            indices[p], data[p] = rows[i], below[j, i] / root
            p += 1
