"""From pairs of blocks whose boxes overlap to pairs of elements whose boxes overlap.

A block is a run of patches; a patch owns a run of vertices, a run of edges and a run of triangles
that lie together.  Elements that share a particle, and pairs in which nothing can move, are left
out.  Boxes are rows (low corner, high corner).  Lists come in the order of their inputs, whatever
the number of threads.
"""

from __future__ import annotations

import numpy as np

from .jit import njit, tasks

CHUNKS = 16  # shares of the work, each with its own room for pairs
PARALLEL_PATCHES = 4096  # pairs of patches: about a millisecond of the serial loop


@njit(inline="always")
def _enclose(box, other):
    for a in range(3):
        box[a] = min(box[a], other[a])
        box[a + 3] = max(box[a + 3], other[a + 3])


@njit
def element_boxes(boxes, corners, out):
    """Writes out (m, 6), the boxes of elements with corners (m, c), from those of particles."""
    for k in range(len(corners)):
        box, first = out[k], boxes[corners[k, 0]]
        for a in range(6):  # an assignment of arrays takes two seconds to compile
            box[a] = first[a]
        for c in range(1, corners.shape[1]):
            _enclose(box, boxes[corners[k, c]])


@njit
def run_boxes(boxes, start, out):
    """Writes out (p, 6), around each run start_k .. start_(k + 1) of boxes; start (p + 1,)."""
    for k in range(len(out)):
        box = out[k]
        box[:3], box[3:] = np.inf, -np.inf
        for m in range(start[k], start[k + 1]):
            _enclose(box, boxes[m])


@njit(inline="always")
def _overlap(a, b):
    # without `and`: six comparisons cost less than one branch guessed wrong
    return (
        (a[0] <= b[3])
        & (b[0] <= a[3])
        & (a[1] <= b[4])
        & (b[1] <= a[4])
        & (a[2] <= b[5])
        & (b[2] <= a[5])
    )


@njit
def _patch_pairs(blocks, size, boxes, out):
    found = 0
    for k in range(len(blocks)):
        i, j = blocks[k, 0], blocks[k, 1]
        for p in range(i * size, min((i + 1) * size, len(boxes))):
            for q in range(p if i == j else j * size, min((j + 1) * size, len(boxes))):
                if _overlap(boxes[p], boxes[q]):
                    if found < len(out):
                        out[found, 0], out[found, 1] = p, q
                    found += 1
    return found


def patch_pairs(blocks, size, boxes):
    """Pairs (m, 2), p <= q, of patches with overlapping boxes (n, 6), a patch with itself too.

    blocks (k, 2): pairs i <= j of runs of `size` patches that may meet.
    """
    out = np.empty((32 * len(boxes), 2), dtype=np.int64)
    found = _patch_pairs(blocks, size, boxes, out)
    if found > len(out):
        out = np.empty((found, 2), dtype=np.int64)
        _patch_pairs(blocks, size, boxes, out)
    return out[:found]


@njit(inline="always")
def _share(task, pairs, count):
    """First and end of a task's share of the pairs."""
    return task * len(pairs) // count, (task + 1) * len(pairs) // count


@tasks()
def _vertices(
    task, pairs, patches, start, particle, box, held, starts, corners, boxes, still, outs, counts
):
    """Pairs of a vertex of one patch and an element of the other, both ways."""
    found, last, out = 0, corners.shape[1] - 1, outs[task]
    first, end = _share(task, pairs, len(outs))
    for k in range(first, end):
        for turn in range(1 if pairs[k, 0] == pairs[k, 1] else 2):
            p, q = pairs[k, turn], pairs[k, 1 - turn]
            for v in range(start[p], start[p + 1]):
                own, i = box[v], particle[v]
                if not _overlap(own, patches[q]):
                    continue
                for e in range(starts[q], starts[q + 1]):
                    if not _overlap(own, boxes[e]) or (held[i] and still[e]):
                        continue
                    a, b, c = corners[e, 0], corners[e, 1], corners[e, last]
                    if (a != i) & (b != i) & (c != i):
                        if found < len(out):
                            out[found, 0], out[found, 1] = i, e
                        found += 1
    counts[task] = found


@tasks()
def _edges(task, pairs, patches, start, corners, boxes, still, outs, counts):
    found, out = 0, outs[task]
    first, end = _share(task, pairs, len(outs))
    for k in range(first, end):
        p, q = pairs[k, 0], pairs[k, 1]
        for e in range(start[p], start[p + 1]):
            own, a, b = boxes[e], corners[e, 0], corners[e, 1]
            if not _overlap(own, patches[q]):
                continue
            for f in range(e + 1 if p == q else start[q], start[q + 1]):
                if not _overlap(own, boxes[f]) or (still[e] and still[f]):
                    continue
                c, d = corners[f, 0], corners[f, 1]
                if (a != c) & (a != d) & (b != c) & (b != d):
                    if found < len(out):
                        out[found, 0], out[found, 1] = e, f
                    found += 1
    counts[task] = found


def _collected(find, pairs, arguments, room):
    """All rows (m, 2) that a loop finds; tried with room[0] rows, again where more are needed."""
    count = 1 if len(pairs) < PARALLEL_PATCHES else CHUNKS
    while True:
        out = np.empty((count, int(room[0]), 2), dtype=np.uint32)
        found = np.zeros(count, dtype=np.int64)
        find[count > 1](count, pairs, *arguments, out, found)
        if found.max() <= room[0]:
            return np.concatenate([rows[:n] for rows, n in zip(out, found, strict=True)])
        room[0] = found.max() + found.max() // 4


def vertex_element_pairs(pairs, patches, vertices, elements, room):
    """Pairs (m, 2) of a particle and an element (a triangle, an edge) with overlapping boxes.

    pairs (k, 2): patches to look at; patches (p, 6): their boxes.
    vertices: start (p + 1,), particle (n,), box (n, 6), held (N,) mask.
    elements: start (p + 1,), corners (e, c), box (e, 6), still (e,) mask.
    room (1,): rows to try with (per share of the work), raised in place to what was needed.
    """
    return _collected(_vertices, pairs, (patches, *vertices, *elements), room)


def edge_edge_pairs(pairs, patches, edges, room):
    """Pairs (m, 2) of two edges; arguments as in `vertex_element_pairs`."""
    return _collected(_edges, pairs, (patches, *edges), room)
