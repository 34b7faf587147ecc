"""How a system numbers its particles inside: one layout, for whatever is kept by particle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array


class Numbering:
    """Rows of all arrays (N, ...) that a system, its prepared parts and their kernels see.

    order (N,): the particle of each row, as the user numbers them; rows (N,): the row of each
    particle.  The first `free` rows are those that move: State.x is their coordinates.
    """

    def __init__(self, order: np.ndarray, free: int) -> None:
        self.order, self.free = order, free
        self.rows = np.empty_like(order)
        self.rows[order] = every = np.arange(order.size)
        self._same = np.array_equal(order, every)

    def given(self, values: Array) -> Array:
        """What is kept by row (N, ...) as the user numbers particles; itself where both agree."""
        return values if self._same else values[self.rows]


def free_first(count: int, held: Any = ()) -> Numbering:
    """Particles that are free, then those `held` (indices), both as they were numbered."""
    free = np.ones(count, dtype=bool)
    free[np.asarray(held, dtype=np.int64)] = False
    order = np.concatenate([np.flatnonzero(free), np.flatnonzero(~free)])
    return Numbering(order, int(free.sum()))
