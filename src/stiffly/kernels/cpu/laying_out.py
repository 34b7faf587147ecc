"""How bodies are laid out for the loops: one pass over their elements each, where array operations
would make a copy of all of them at every step.

numpy makes the arrays that are as long as there are elements: it asks for pages of 2 MB, which the
system clears several times as fast as the small ones that numba's arrays get."""

from __future__ import annotations

import numpy as np
from numba import prange

from .jit import PARALLEL_ROWS, both, njit

WARP = 32  # threads of a card that read side by side


def body_labels(couples, row, count):
    """(count,): the body of every row, numbered by their first rows; couples (m, 2): particles that
    are tied, row (N,): of each particle, < 0 where it is none of these."""
    return _body_labels(couples, row, np.arange(count, dtype=np.int32))


@njit
def _body_labels(couples, row, parent):
    for e in range(len(couples)):
        i, j = row[couples[e, 0]], row[couples[e, 1]]
        if i < 0 or j < 0:
            continue
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i < j:
            parent[j] = i
        else:
            parent[i] = j
    bodies = 0
    for i in range(len(parent)):  # a parent comes before its rows
        if parent[i] == i:
            parent[i] = bodies
            bodies += 1
        else:
            parent[i] = parent[parent[i]]
    return parent


def element_groups(corners, group_of_row, shared):
    """element (q,), group (q,): who moves a corner of elements (m, c); where groups share
    elements, all who do: those by the first corner, then others by the second, ...

    group_of_row (rows,): -1 where none moves it."""
    most = corners.size if shared else len(corners)
    element, group = np.empty((2, most), dtype=np.int32)
    found = _element_groups(corners, group_of_row, shared, element, group)
    if shared:  # most of the room is left
        return element[:found].copy(), group[:found].copy()
    return element[:found], group[:found]


@njit
def _element_groups(corners, group_of_row, shared, element, group):
    """How many there are."""
    m, c = corners.shape
    found = 0
    if not shared:
        for e in range(m):
            owner = group_of_row[corners[e, 0]]
            for k in range(1, c):
                owner = max(owner, group_of_row[corners[e, k]])
            if owner >= 0:
                element[found], group[found] = e, owner
                found += 1
        return found
    for k in range(c):
        for e in range(m):
            owner = group_of_row[corners[e, k]]
            new = owner >= 0
            for other in range(k):
                new &= group_of_row[corners[e, other]] != owner
            if new:
                element[found], group[found] = e, owner
                found += 1
    return found


@njit
def borrowed_keys(corners, element, group, group_of_row):
    """group * rows + row of the corners that a group needs and does not move, column by column."""
    q, c, total = len(element), corners.shape[1], np.int64(len(group_of_row))
    count = 0
    for k in range(c):
        for i in range(q):
            count += group_of_row[corners[element[i], k]] != group[i]
    keys = np.empty(count, dtype=np.int64)
    at = 0
    for k in range(c):
        for i in range(q):
            row = corners[element[i], k]
            if group_of_row[row] != group[i]:
                keys[at] = group[i] * total + row
                at += 1
    return keys


def corner_places(corners, element, group, group_of_row, own_at, keys, borrowed_at):
    """(q, c) int32: where groups have the corners of their elements: own_at (free rows,), or
    borrowed_at (b,) of keys (b,), which are sorted."""
    place = np.empty((len(element), corners.shape[1]), dtype=np.int32)
    _corner_places(corners, element, group, group_of_row, own_at, keys, borrowed_at, place)
    return place


@njit
def _corner_places(corners, element, group, group_of_row, own_at, keys, borrowed_at, place):
    q, c, total = len(element), corners.shape[1], np.int64(len(group_of_row))
    for i in range(q):
        for k in range(c):
            row = corners[element[i], k]
            if group_of_row[row] == group[i]:
                place[i, k] = own_at[row]
            else:
                key, low, high = group[i] * total + row, 0, len(keys)
                while low < high:
                    middle = (low + high) // 2
                    if keys[middle] < key:
                        low = middle + 1
                    else:
                        high = middle
                place[i, k] = borrowed_at[low]


def turn_springs(ends, led, gives):
    """Turns springs (q, 2) round, in place, so that most places (R,) where they begin have fours;
    returns how many begin at each place.

    Those of led places begin there.  Of others, places with one or two too many for a multiple of
    four give one to a place that has room, the last one they have.  gives (passes, R): who may give
    and who may take, drawn anew for every pass, so that nobody does both."""
    count, given, taken = np.zeros((3, len(led)), dtype=np.int64)
    can_give, can_take = np.empty((2, len(led)), dtype=np.bool_)
    _turn_springs(ends, led, gives, count, given, taken, can_give, can_take)
    return count


@njit
def _turn_springs(ends, led, gives, count, given, taken, can_give, can_take):
    for i in range(len(ends)):
        near, far = ends[i, 0], ends[i, 1]
        if not led[near] and (led[far] or far < near):
            ends[i, 0], ends[i, 1] = far, near
        count[ends[i, 0]] += 1
    for one in range(len(gives)):
        for r in range(len(led)):
            over, open_to = count[r] % 4, not led[r]
            can_give[r] = gives[one, r] and open_to and (over == 1 or over == 2)
            can_take[r] = not gives[one, r] and open_to and over > 0
        given[:], taken[:] = -1, -1
        for i in range(len(ends)):
            if can_give[ends[i, 0]] and can_take[ends[i, 1]]:
                given[ends[i, 0]] = i
        for r in range(len(led)):
            if given[r] >= 0:
                taken[ends[given[r], 1]] = given[r]
        for r in range(len(led)):
            if taken[r] >= 0:
                i = taken[r]
                near, far = ends[i, 0], ends[i, 1]
                ends[i, 0], ends[i, 1] = far, near
                count[near] -= 1
                count[far] += 1


def slots_in_rows(near, start):
    """(q,) uint32: the slot of each element in its row, near (q,), which begins at start (R + 1,),
    in the order they are given."""
    slots = np.empty(len(near), dtype=np.uint32)
    _slots_in_rows(near, start[:-1].copy(), slots)
    return slots


@njit
def _slots_in_rows(near, next_one, slots):
    for i in range(len(near)):
        slots[i] = next_one[near[i]]
        next_one[near[i]] += 1


# ------------------------------------------------------------------ for a card: kernels/cuda


def both_ends(start, other, stiffness):
    """used (m,): the slots of half lists in which a spring lies, start (R + 1,), other, stiffness
    (p,); ends (2, m): its row, and the other one.  All uint32."""
    m = np.count_nonzero(stiffness)
    used, ends = np.empty(m, dtype=np.uint32), np.empty((2, m), dtype=np.uint32)
    _both_ends(start, other, stiffness, used, ends)
    return used, ends


@njit
def _both_ends(start, other, stiffness, used, ends):
    m = 0
    for i in range(len(start) - 1):
        for p in range(np.int64(start[i]), np.int64(start[i + 1])):
            if stiffness[p] != 0.0:
                used[m], ends[0, m], ends[1, m] = p, i, other[p]
                m += 1


def slots_in_slices(near, rows, lanes):
    """start (S + 1,), slots (q,) uint32: where entries of rows near (q,) lie, slice by slice, as in
    kernels/cuda/common.cu, in the order they are given."""
    shift, within = lanes.bit_length() - 1, (WARP // lanes).bit_length() - 1
    slices = -(-rows // (WARP // lanes))
    count = np.zeros(slices << within, dtype=np.uint32)
    start, slots = np.zeros(slices + 1, dtype=np.int64), np.empty(len(near), dtype=np.uint32)
    _slots_in_slices(near, shift, within, count, start, slots)
    return start, slots


@njit
def _slots_in_slices(near, shift, within, count, start, slots):
    """1 << shift lanes of each of the 1 << within rows of a slice."""
    for e in range(len(near)):
        count[near[e]] += 1
    for s in range(len(start) - 1):
        most = 0
        for i in range(s << within, (s + 1) << within):
            most = max(most, np.int64(count[i]))
        start[s + 1] = start[s] + (((most + (1 << shift) - 1) >> shift) << (shift + within))
    count[:] = 0
    for e in range(len(near)):
        i = np.int64(near[e])
        rank = np.int64(count[i])
        count[i] += 1
        place = ((i & ((1 << within) - 1)) << shift) + (rank & ((1 << shift) - 1))
        slots[e] = start[i >> within] + ((rank >> shift) << (shift + within)) + place


def into_slots(values, chosen, slots, made):
    """made[slots] = values[chosen], in place: each slot once."""
    _into_slots[len(slots) >= PARALLEL_ROWS](values, chosen, slots, made)


@both()
def _into_slots(values, chosen, slots, made):
    for e in prange(len(slots)):
        made[slots[e]] = values[chosen[e]]
