"""Fewer springs with a Laplacian that is not below that of the given ones.

    |u_i - u_j|^2 <= 2 |u_i - u_c|^2 + 2 |u_c - u_j|^2

So a weak spring i-j may be left out if the springs i-c and c-j of a detour get twice its stiffness,
and if there are n detours, 2/n of it each.  Beside springs twenty times as stiff that is next to
nothing, and a matrix with fewer couples factorises and solves faster: cloth whose bending springs
reach over two cells takes half as long.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..contracts import Array

WEAK = 0.05  # of both springs of a detour, at most


def with_detours(edges: np.ndarray, stiffness: Array, count: int) -> tuple[np.ndarray, Array]:
    """edges (m, 2) between `count` particles, stiffness (m,) [N/m]; both of the springs left."""
    weak = _weak(edges, stiffness, count)
    if not weak.size:
        return edges, stiffness
    i, j = edges.T
    strong = np.setdiff1d(np.arange(len(edges)), weak)
    # entry (i, c): one more than the number of the spring between them; zeros are no entries
    ends = np.concatenate([i[strong], j[strong]]), np.concatenate([j[strong], i[strong]])
    names = sp.csr_matrix((np.tile(strong + 1, 2), ends), shape=(count, count))
    there, back = names[i[weak]], names[j[weak]]
    first = sp.csr_matrix(there.multiply(back.astype(bool)))
    second = sp.csr_matrix(back.multiply(there.astype(bool)))
    first.sort_indices()
    second.sort_indices()
    owner = np.repeat(np.arange(weak.size), np.diff(first.indptr))
    legs = np.stack([first.data, second.data]).astype(np.int64) - 1
    good = (stiffness[weak[owner]] <= WEAK * stiffness[legs]).all(axis=0)
    owner, legs = owner[good], legs[:, good]
    detours = np.bincount(owner, minlength=weak.size)
    share = 2.0 * stiffness[weak[owner]] / detours[owner]
    total = stiffness + np.bincount(legs.ravel(), np.tile(share, 2), len(edges))
    kept = np.setdiff1d(np.arange(len(edges)), weak[detours > 0])
    return edges[kept], total[kept]


def _weak(edges: np.ndarray, stiffness: Array, count: int) -> np.ndarray:
    """Springs that are weak beside the stiffest at either end."""
    stiffest = np.zeros(count)
    np.maximum.at(stiffest, edges.ravel(), np.repeat(stiffness, 2))
    beside = stiffest[edges].min(axis=1)
    return np.flatnonzero((stiffness > 0.0) & (stiffness <= WEAK * beside))
