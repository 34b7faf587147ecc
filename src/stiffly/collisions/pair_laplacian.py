"""A constant matrix that covers contacts which change: for the local/global solver.

One contact with distance d has, along its normal, the stiffness b'' (w w^T) (x) n n^T.  As
sum_i w_i = 0, w w^T = -sum_(i<j) w_i w_j (e_i - e_j)(e_i - e_j)^T, and leaving out the negative
terms, those of particles on the same side, gives springs between the two sides that are at least as
stiff and do not hold what flies as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..contracts import Array

ROOM = 2.0  # springs are laid out this much stiffer, so that contacts may slide a while
STALE = 8.0  # laid out anew when they are so much stiffer, in sum, than the contacts there are


class PairLaplacian:
    """Springs between particles, renewed only when contacts are no longer covered."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._keys = np.empty(0, dtype=np.int64)
        self._values = np.empty(0)
        self._at: Array | None = None
        self._seen = True
        self.version = 0

    def learnt(self) -> dict[str, Any]:
        springs = {"keys": self._keys, "values": self._values, "version": self.version}
        return {**springs, "at": self._at, "seen": self._seen}

    def recall(self, learnt: Mapping[str, Any]) -> None:
        self._keys, self._values, self.version = (learnt[n] for n in ("keys", "values", "version"))
        self._at, self._seen = learnt["at"], learnt["seen"]

    def see(self, x: Array) -> None:
        """Positions whose contacts must be covered."""
        self._at, self._seen = x, False

    def cover(self, pressed: Callable[[Array], Any]) -> int:
        """The version, raised where the springs had to change; pressed(x) as in repulsion.py."""
        if not self._seen and self._at is not None:
            keys, needed = self._springs(*pressed(self._at))
            if not self._covers(keys, needed):
                self._keys, self._values = keys, ROOM * needed
                self.version += 1
            self._seen = True
        return self.version

    def _springs(
        self, pairs: Any, weights: Array, normals: Array, forces: Array
    ) -> tuple[np.ndarray, Array]:
        """Keys i N + j of particles i < j on different sides, and sum |w_i w_j| b'' [N/m]."""
        i = pairs.stencil.astype(np.int64)
        row, a, b = np.nonzero((weights[:, :, None] > 0.0) & (weights[:, None, :] < 0.0))
        one, two = i[row, a], i[row, b]
        keys, place = np.unique(
            np.minimum(one, two) * self._count + np.maximum(one, two), return_inverse=True
        )
        stiff = -weights[row, a] * weights[row, b] * self._slopes(pairs, forces)[row]
        return keys, np.bincount(place, stiff, minlength=len(keys))

    def _slopes(self, pairs: Any, forces: Array) -> Array:
        """b'' (m,) [N/m], from the force b' of the same barrier."""
        d, t = pairs.distances(self._at), pairs.reach
        return forces * (3.0 / (t - d) + 3.0 / d - 1.0 / (t + d))

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
