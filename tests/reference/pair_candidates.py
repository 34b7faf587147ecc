"""Plain NumPy version of the pairs of elements (see kernels.cpu.pair_candidates)."""

from __future__ import annotations

import numpy as np


def element_boxes(boxes, corners, out):
    out[:, :3] = boxes[corners, :3].min(axis=1)
    out[:, 3:] = boxes[corners, 3:].max(axis=1)


def run_boxes(boxes, start, out):
    for k in range(len(out)):
        inside = boxes[start[k] : start[k + 1]]
        out[k, :3] = inside[:, :3].min(axis=0, initial=np.inf)
        out[k, 3:] = inside[:, 3:].max(axis=0, initial=-np.inf)


def _overlap(a, b):
    """Mask (m, n) of boxes (m, 6), (n, 6)."""
    a, b = a[:, None], b[None]
    return np.all((a[..., :3] <= b[..., 3:]) & (b[..., :3] <= a[..., 3:]), axis=2)


def patch_pairs(blocks, size, boxes):
    near = _overlap(boxes, boxes)
    found = [np.empty((0, 2), dtype=np.int64)]
    for i, j in blocks:
        p, q = (np.arange(k * size, min((k + 1) * size, len(boxes))) for k in (int(i), int(j)))
        rows = np.stack(np.meshgrid(p, q, indexing="ij"), axis=-1).reshape(-1, 2)
        found.append(rows[(rows[:, 0] <= rows[:, 1]) & near[rows[:, 0], rows[:, 1]]])
    return np.concatenate(found)


def _apart(first, second):
    """Mask (m, n): elements with corners (m, c), (n, d) that share none."""
    return ~(first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))


def vertex_element_pairs(pairs, patches, vertices, elements, room):
    start, particle, box, held = vertices
    starts, corners, boxes, still = elements
    found = [np.empty((0, 2), dtype=np.uint32)]
    for p, q in pairs:
        for a, b in [(p, q)] if p == q else [(p, q), (q, p)]:
            v, e = slice(start[a], start[a + 1]), slice(starts[b], starts[b + 1])
            i = particle[v]
            near = _overlap(box[v], boxes[e]) & ~(held[i][:, None] & still[e][None])
            rows, columns = np.nonzero(near & _apart(i[:, None], corners[e]))
            found.append(np.stack([i[rows], columns + starts[b]], axis=1).astype(np.uint32))
    return np.concatenate(found)


def edge_edge_pairs(pairs, patches, edges, room):
    start, corners, boxes, still = edges
    found = [np.empty((0, 2), dtype=np.uint32)]
    for p, q in pairs:
        e, f = slice(start[p], start[p + 1]), slice(start[q], start[q + 1])
        near = _overlap(boxes[e], boxes[f]) & ~(still[e][:, None] & still[f][None])
        rows, columns = np.nonzero(near & _apart(corners[e], corners[f]))
        both = np.stack([rows + start[p], columns + start[q]], axis=1)
        found.append(both[both[:, 0] < both[:, 1]].astype(np.uint32) if p == q else both)
    return np.concatenate(found).astype(np.uint32)
