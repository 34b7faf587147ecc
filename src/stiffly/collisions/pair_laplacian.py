"""A constant matrix that covers contacts which change: for the local/global solver.

One contact with distance d has, along its normal, the stiffness b'' (w w^T) (x) n n^T.  As
sum_i w_i = 0, w w^T = -sum_(i<j) w_i w_j (e_i - e_j)(e_i - e_j)^T, and leaving out the negative
terms, those of particles on the same side, gives springs between the two sides that are at least as
stiff and do not hold what flies as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array

ROOM = 2.0  # springs are laid out this much stiffer, so that contacts may slide a while
STALE = 8.0  # laid out anew when they are so much stiffer, in sum, than the contacts there are

Springs = tuple[np.ndarray, Array]  # keys i N + j of pairs of particles i < j, stiffness [N/m]
NONE: Springs = (np.empty(0, dtype=np.int64), np.empty(0))


def covering(
    old: Springs, count: int, x: Array, pairs: Any, weights: Array, normals: Array, forces: Array
) -> Springs:
    """Springs that cover the contacts at x (see PreparedRepulsion._pressed), with room; the old
    ones themselves while these do."""
    keys, needed = _springs(count, x, pairs, weights, forces)
    return old if _covers(old, keys, needed) else (keys, ROOM * needed)


def _springs(
    count: int, x: Array, pairs: Any, weights: Array, forces: Array
) -> tuple[np.ndarray, Array]:
    """Of particles on different sides: sum |w_i w_j| b'' [N/m]."""
    i = pairs.stencil.astype(np.int64)
    row, a, b = np.nonzero((weights[:, :, None] > 0.0) & (weights[:, None, :] < 0.0))
    one, two = i[row, a], i[row, b]
    keys, place = np.unique(
        np.minimum(one, two) * count + np.maximum(one, two), return_inverse=True
    )
    stiff = -weights[row, a] * weights[row, b] * _slopes(x, pairs, forces)[row]
    return keys, np.bincount(place, stiff, minlength=len(keys))


def _slopes(x: Array, pairs: Any, forces: Array) -> Array:
    """b'' (m,) [N/m], from the force b' of the same barrier."""
    d, t = pairs.distances(x), pairs.reach
    return forces * (3.0 / (t - d) + 3.0 / d - 1.0 / (t + d))


def _covers(springs: Springs, keys: np.ndarray, needed: Array) -> bool:
    known, values = springs
    if len(keys) == 0 or len(known) == 0:
        return len(keys) == len(known)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    enough = (known[at] == keys) & (needed <= values[at])
    return bool(enough.all() and values.sum() <= STALE * ROOM * needed.sum())


def triplets(springs: Springs, count: int) -> tuple[np.ndarray, np.ndarray, Array]:
    """Rows, columns, values of the graph Laplacian [N/m]."""
    keys, k = springs
    i, j = keys // count, keys % count
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    return rows, columns, np.concatenate([k, k, -k, -k])
