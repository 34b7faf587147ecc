"""Plain NumPy version of the distance to a mesh: every point against every triangle."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import LEAF

from .closest import vertex_face_weights

SNAP, TOUCHING, CANCELLED = 1e-12, 1e-12, 1e-9


def tree_boxes(low, high):
    leaves = -(-len(low) // LEAF)
    width = 1 << max(0, leaves - 1).bit_length()
    boxes = np.tile([np.inf] * 3 + [-np.inf] * 3, (2 * width, 1))
    for k in range(leaves):
        run = slice(LEAF * k, LEAF * (k + 1))
        boxes[width + k] = *low[run].min(axis=0), *high[run].max(axis=0)
    for k in range(width - 1, 0, -1):
        children = boxes[2 * k : 2 * k + 2]
        boxes[k] = *children[:, :3].min(axis=0), *children[:, 3:].max(axis=0)
    return boxes


def nearest_points(p, x, faces, boxes, pseudonormals, reach, points, normals, distances):
    flat, side, corner = pseudonormals
    both = np.concatenate([p, x])
    weights = np.empty((len(faces), 4))
    for k in range(len(p)):
        stencil = np.column_stack([np.full(len(faces), k), len(p) + faces.astype(int)])
        vertex_face_weights(both, stencil, weights)
        vectors = np.einsum("fc,fca->fa", weights, both[stencil])
        squares = np.einsum("fa,fa->f", vectors, vectors)
        f = int(np.argmin(squares))
        if squares[f] >= reach * reach:
            points[k], normals[k], distances[k] = 0.0, 0.0, np.inf
            continue
        bary = -weights[f, 1:]
        zero = bary < SNAP
        if zero.sum() == 0:
            n = flat[f]
        else:
            n = side[f, np.argmax(zero)] if zero.sum() == 1 else corner[faces[f, np.argmin(zero)]]
        points[k] = bary @ x[faces[f]]
        d = p[k] - points[k]
        sign, distance = (-1.0 if d @ n < 0 else 1.0), np.linalg.norm(d)
        distances[k] = sign * distance
        touching = distance <= TOUCHING * np.linalg.norm(points[k])
        n = flat[f] if np.linalg.norm(n) < CANCELLED else n
        normals[k] = n / np.linalg.norm(n) if touching else sign * d / distance
