"""Which way triangles face: against their neighbours, and inwards or outwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .mesh import Mesh, row_keys
from .topology import components, sides

NO_VOLUME = 1e-12  # part of the cube of a piece's size below which it has no inside


class Pieces(NamedTuple):
    """Triangles joined across edges that two of them share.

    piece (s,): number of the piece; against (s,): which triangles run against most of their piece
    (none in a one-sided piece, such as a Moebius strip); closed (p,): pieces without border.
    """

    piece: np.ndarray
    against: np.ndarray
    closed: np.ndarray


def pieces(triangles: np.ndarray) -> Pieces:
    """The two sides of every triangle are nodes of a graph; neighbours join the sides that agree.

    A piece with two sides falls into two components, a one-sided piece into one.
    """
    count = len(triangles)
    all_sides = sides(triangles)
    key = row_keys(np.sort(all_sides, axis=1))
    order = np.argsort(key, kind="stable")
    _, start, inverse, shared = np.unique(
        key[order], return_index=True, return_inverse=True, return_counts=True
    )
    one, two = order[start[shared == 2]], order[start[shared == 2] + 1]
    same_way = all_sides[one, 0] == all_sides[two, 0]
    t, u = one % count, two % count
    joined = np.stack([t, u + count * same_way], axis=1)
    mirrored = np.stack([t + count, u + count * ~same_way], axis=1)
    label = components(2 * count, np.concatenate([joined, mirrored])).reshape(2, count)
    _, first, piece = np.unique(label.min(axis=0), return_index=True, return_inverse=True)
    turned = label[0] != label[0, first][piece]
    turned &= label[0] != label[1]
    size = np.bincount(piece)
    most = 2 * np.bincount(piece, weights=turned) > size
    closed = np.ones(len(size), dtype=bool)
    closed[piece[order[shared[inverse] != 2] % count]] = False
    closed[piece[label[0] == label[1]]] = False  # a one-sided piece has no inside
    return Pieces(piece, turned ^ (most[piece] & (label[0] != label[1])), closed)


def facing_inwards(mesh: Mesh, found: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """Which pieces are closed and inside out (p,), and the signed volume [m^3] of each (p,).

    A piece inside another may bound a cavity, so the outermost one decides for all in its box.
    `found.against` must be all False.
    """
    count = len(found.closed)
    volumes, low, high = np.zeros(count), np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    corners = mesh.positions[mesh.triangles]
    np.minimum.at(low, found.piece, corners.min(axis=1))
    np.maximum.at(high, found.piece, corners.max(axis=1))
    a, b, c = (corners[:, k] - low[found.piece] for k in range(3))
    np.add.at(volumes, found.piece, np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0)
    size = (high - low).max(axis=1, initial=0.0)
    inwards = np.zeros(count, dtype=bool)
    if not (found.closed & (volumes < -NO_VOLUME * size**3)).any():
        return inwards, volumes
    outermost: list[int] = []
    for i in np.argsort(-np.prod(high - low, axis=1), kind="stable"):
        if not found.closed[i] or abs(volumes[i]) <= NO_VOLUME * size[i] ** 3:
            continue
        around = (low[outermost] <= low[i]).all(axis=1) & (high[outermost] >= high[i]).all(axis=1)
        if around.any():
            inwards[i] = inwards[outermost[int(np.argmax(around))]]
        else:
            outermost.append(int(i))
            inwards[i] = volumes[i] < 0.0
    return inwards, volumes
