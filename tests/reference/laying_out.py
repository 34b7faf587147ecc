"""NumPy twins of kernels.cpu.laying_out."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components


def body_labels(couples, row, count):
    ends = row[couples].reshape(-1, 2)
    i, j = ends[(ends >= 0).all(axis=1)].T
    graph = sp.coo_matrix((np.ones(i.size), (i, j)), shape=(count, count))
    found = connected_components(graph, directed=False)[1]
    first = np.unique(found, return_index=True)[1]
    return np.argsort(np.argsort(first))[found]


def element_groups(corners, group_of_row, shared):
    groups = group_of_row[corners]
    if not shared:
        owner = groups.max(axis=1, initial=-1)
        return np.flatnonzero(owner >= 0), owner[owner >= 0]
    pairs = [
        (e, group)
        for k in range(corners.shape[1])
        for e, group in enumerate(groups[:, k])
        if group >= 0 and group not in groups[e, :k]
    ]
    return tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)


def borrowed_keys(corners, element, group, group_of_row):
    keys = [np.empty(0, dtype=np.int64)]
    for column in corners[element].T.astype(np.int64):
        other = group_of_row[column] != group
        keys.append(group[other] * len(group_of_row) + column[other])
    return np.concatenate(keys)


def corner_places(corners, element, group, group_of_row, own_at, keys, borrowed_at):
    borrowed = dict(zip(keys.tolist(), borrowed_at.tolist(), strict=True))
    return np.array(
        [
            own_at[row] if group_of_row[row] == g else borrowed[g * len(group_of_row) + row]
            for e, g in zip(element.tolist(), group.tolist(), strict=True)
            for row in corners[e].tolist()
        ]
    ).reshape(-1, corners.shape[1])


def turn_springs(ends, led, gives):
    near, far = ends.T.copy()
    swap = ~led[near] & (led[far] | (far < near))
    near[swap], far[swap] = far[swap], near[swap]
    for giving in gives:
        over = np.bincount(near, minlength=len(led)) % 4
        can_give = giving & ~led & (over > 0) & (over < 3)
        can_take = ~giving & ~led & (over > 0)
        turns = np.flatnonzero(can_give[near] & can_take[far])
        for end in (near, far):  # one of each place, the last one
            chosen = np.full(len(led), -1)
            chosen[end[turns]] = turns
            turns = chosen[chosen >= 0]
        near[turns], far[turns] = far[turns], near[turns]
    ends[:] = np.stack([near, far], axis=1)
    return np.bincount(near, minlength=len(led))


def slots_in_rows(near, start):
    order = np.argsort(near, kind="stable")
    counts = np.bincount(near, minlength=len(start) - 1)
    within = np.arange(near.size) - np.repeat(np.cumsum(counts) - counts, counts)
    slots = np.empty(near.size, dtype=np.int64)
    slots[order] = start[near[order]] + within
    return slots


def both_ends(start, other, stiffness):
    used = np.flatnonzero(stiffness)
    near = np.repeat(np.arange(len(start) - 1), np.diff(start.astype(np.int64)))[used]
    return used, np.stack([near, other[used]])


def slots_in_slices(near, rows, lanes):
    slice_ = 32 // lanes
    counts = np.bincount(near, minlength=-(-rows // slice_) * slice_)
    turns = -(-counts.reshape(-1, slice_).max(axis=1) // lanes)
    start = np.concatenate([[0], np.cumsum(32 * turns)])
    order = np.argsort(near, kind="stable")
    rank = np.empty(near.size, dtype=np.int64)
    rank[order] = np.arange(near.size) - np.repeat(np.cumsum(counts) - counts, counts)
    place = lanes * (near % slice_) + rank % lanes
    return start, start[near // slice_] + 32 * (rank // lanes) + place


def into_slots(values, chosen, slots, made):
    made[slots] = values[chosen]
