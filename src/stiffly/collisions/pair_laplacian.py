"""A constant matrix that covers contacts which change: for the local/global solver.

One contact with gap n . sum_i w_i x_i has the stiffness k (w w^T) (x) n n^T.  As sum_i w_i = 0,
w w^T = -sum_(i<j) w_i w_j (e_i - e_j)(e_i - e_j)^T, and leaving out the negative terms, those of
particles on the same side, gives springs between the two sides that are at least as stiff and do
not hold what flies as a whole.
"""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from .narrow_phase import Contacts, across

ROOM = 2.0  # springs are laid out this much stiffer, so that contacts may slide a while
LEAST = 0.25  # of k: a spring to the far corner of a triangle, where contacts may slide to
STALE = 8.0  # laid out anew when they are so much stiffer, in sum, than the contacts there are


class PairLaplacian:
    """Springs between particles, renewed only when contacts are no longer covered."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._keys = np.empty(0, dtype=np.int64)
        self._values = np.empty(0)
        self._seen: Contacts | None = None
        self.version = 0

    def cover(self, contacts: Contacts, stiffness: float) -> int:
        """The version, raised where the springs had to change."""
        if contacts is not self._seen:
            self._seen = contacts
            keys, needed = self._springs(contacts, stiffness)
            if not self._covers(keys, needed):
                self._keys = keys
                self._values = ROOM * np.maximum(needed, LEAST * stiffness)
                self.version += 1
        return self.version

    def _springs(self, contacts: Contacts, stiffness: float) -> tuple[np.ndarray, Array]:
        """Keys i N + j of particles i < j on different sides, and k sum |w_i w_j| [N/m]."""
        row, (a, b), every = across(contacts, self._count)
        keys, place = np.unique(every, return_inverse=True)
        weights = -contacts.weights[row, a] * contacts.weights[row, b]
        weights *= stiffness * contacts.shares[row]
        return keys, np.bincount(place, weights, minlength=len(keys))

    def _covers(self, keys: np.ndarray, needed: Array) -> bool:
        if len(keys) == 0 or len(self._keys) == 0:
            return len(keys) == len(self._keys)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        enough = (self._keys[at] == keys) & (needed <= self._values[at])
        return bool(enough.all() and self._values.sum() <= STALE * ROOM * needed.sum())

    def triplets(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """Rows, columns, values of the graph Laplacian [N/m]."""
        i, j = self._keys // self._count, self._keys % self._count
        k = self._values
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        return rows, columns, np.concatenate([k, k, -k, -k])
