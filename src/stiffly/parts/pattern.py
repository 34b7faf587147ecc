"""The layout of a body, made once for all its parts: the rows in which particles are kept, and
where the 3x3 blocks of the stiffness matrix are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..backends.cpu import CPU
from ..contracts import Array, Backend
from ..kernels.names import NO_SLOT
from ..matfun.components import Components


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


def sorted_unique(keys: np.ndarray) -> np.ndarray:
    """As np.unique, which hashes first: on millions of keys that takes twenty times longer."""
    keys = np.sort(keys)
    new = np.ones(keys.size, dtype=bool)
    new[1:] = keys[1:] != keys[:-1]
    return keys[new]


def unique_pairs(pairs: np.ndarray, count: int) -> np.ndarray:
    """Pairs (m, 2) of indices below count as (i, j), i < j: sorted, each once."""
    low, high = np.minimum(*pairs.T), np.maximum(*pairs.T)
    return np.stack(np.divmod(sorted_unique(low * count + high), count), axis=1)


def pair_laplacian(pairs: np.ndarray, k: Array) -> tuple[np.ndarray, np.ndarray, Array]:
    """Rows, columns, values of the graph Laplacian of springs k (m,) [N/m] between pairs (m, 2)."""
    i, j = pairs.T
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    return rows, columns, np.concatenate([k, k, -k, -k])


class BlockPattern:
    """Block rows and columns of the free particles: both triangles and the diagonal, sorted.

    indptr (n + 1,), indices (nnz,): int32, over free particles.
    diagonal (N,): slot of each particle's own block, NO_SLOT where it is fixed.
    bodies: the independent bodies that the free particles form, or None when there is only one.
    backend: whose kernels add the blocks.
    """

    def __init__(
        self, couples: np.ndarray, free: np.ndarray, count: int, backend: Backend = CPU
    ) -> None:
        """couples (m, 2): particles tied by any part; free (n,): sorted; count: N."""
        n = free.size
        self.count, self.backend = count, backend
        self._row = np.full(count, -1, dtype=np.int64)
        self._row[free] = np.arange(n)
        tied = self._row[couples].reshape(-1, 2)
        tied = tied[(tied >= 0).all(axis=1)]
        own = np.arange(n)
        rows = np.concatenate([tied[:, 0], tied[:, 1], own])
        columns = np.concatenate([tied[:, 1], tied[:, 0], own])
        self._keys = sorted_unique(rows * n + columns)  # row-major: columns sorted in each row
        self._n = n
        self.indices: Any = (self._keys % n).astype(np.int32)
        self.indptr: Any = np.searchsorted(self._keys, np.arange(n + 1) * n).astype(np.int32)
        self.diagonal = self.slots(np.arange(count), np.arange(count))
        self.bodies = self._find_bodies()

    @property
    def nnz(self) -> int:
        return self._keys.size

    def slots(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Slot of block (row, column) of particles, uint32; NO_SLOT where either is fixed."""
        i, j = self._row[rows], self._row[columns]
        slot = np.searchsorted(self._keys, i * self._n + j).astype(np.uint32)
        slot[(i < 0) | (j < 0)] = NO_SLOT
        return slot

    def _find_bodies(self) -> Components | None:
        graph = sp.csr_matrix(
            (np.ones(self.nnz, dtype=np.int8), self.indices, self.indptr), shape=(self._n, self._n)
        )
        count, labels = connected_components(graph, directed=False)
        return Components(labels) if count > 1 else None
