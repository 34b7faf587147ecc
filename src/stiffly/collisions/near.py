"""What the local/global solver's matrix takes for touching: contacts change, and it does rarely.

A change of the matrix costs a factorisation, as much as several steps.  So when something touches
that was not expected to, what will follow within the next few steps is taken in with it, and
particles are dropped only between solves, when most have left.  One that is taken for touching and
does not touch is hardly moved by a solver that iterates a few times only, since the matrix holds
it: the set must not be much larger than what touches.

A contact of two bodies at a distance d has, along its normal, the stiffness b'' (w w^T) (x) n n^T.
As sum_i w_i = 0, w w^T = -sum_(i<j) w_i w_j (e_i - e_j)(e_i - e_j)^T, and leaving out the negative
terms, those of particles on the same side, gives springs between the two sides that are at least as
stiff and do not hold what flies as a whole (`covering`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contracts import Array

AHEAD = 2.0  # steps: what could touch by then, or touched so long ago, is near
STALE = 0.5  # of the set: if so many have left, they are dropped
# Both were chosen by trial on cloths that fall on a ball: fewer steps cost more factorisations,
# more steps leave larger residuals.

ROOM = 2.0  # springs are laid out this much stiffer, so that contacts may slide a while
SURPLUS = 8.0  # laid out anew when they are so much stiffer, in sum, than the contacts there are

Springs = tuple[np.ndarray, Array]  # keys i N + j of pairs of particles i < j, stiffness [N/m]
NONE: Springs = (np.empty(0, dtype=np.int64), np.empty(0))


def near(
    gaps: Callable[[Array], Array], x0: Array, x1: Array, old: np.ndarray | None, begins: bool
) -> np.ndarray:
    """Where gaps(x) [m] from where contact begins are closed, or about to be, in a step from x0,
    at x1; `old` itself where it serves.  Within one solve (not `begins`) nothing is dropped."""
    now = gaps(x1)
    newcomers = old is None or bool(np.any((now < 0.0) & ~old))
    if old is not None and not newcomers and not begins:
        return old
    before = gaps(x0)
    with np.errstate(invalid="ignore"):  # inf - inf: out of reach, then and now
        found = (np.minimum(before, now) < 0.0) | (now < AHEAD * np.abs(before - now))
    if old is None:
        return found
    if begins and np.count_nonzero(old & ~found) > STALE * np.count_nonzero(old):
        return found
    return found | old if newcomers else old


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
    d, t = pairs.distances(x), pairs.reach
    slopes = forces * (3.0 / (t - d) + 3.0 / d - 1.0 / (t + d))  # b'' from b' of the same barrier
    stiff = -weights[row, a] * weights[row, b] * slopes[row]
    return keys, np.bincount(place, stiff, minlength=len(keys))


def _covers(springs: Springs, keys: np.ndarray, needed: Array) -> bool:
    known, values = springs
    if len(keys) == 0 or len(known) == 0:
        return len(keys) == len(known)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    enough = (known[at] == keys) & (needed <= values[at])
    return bool(enough.all() and values.sum() <= SURPLUS * ROOM * needed.sum())
