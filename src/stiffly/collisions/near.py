"""Which particles the local/global solver's matrix takes for touching: a set that changes rarely.

A change of the matrix costs a factorisation, as much as several steps.  So when something touches
that was not expected to, what will follow within the next few steps is taken in with it, and
particles are dropped only between solves, when most have left.  One that is taken for touching and
does not touch is hardly moved by a solver that iterates a few times only, since the matrix holds
it: the set must not be much larger than what touches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..contracts import Array

AHEAD = 2.0  # steps: what could touch by then, or touched so long ago, is near
STALE = 0.5  # of the set: if so many have left, they are dropped
# Both were chosen by trial on cloths that fall on a ball: fewer steps cost more factorisations,
# more steps leave larger residuals.


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
