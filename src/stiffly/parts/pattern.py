"""The layout of a body, made once for all its parts: the rows in which particles are kept, and
where the 3x3 blocks of the stiffness matrix are."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..backends.cpu import CPU
from ..contracts import Array, Backend
from ..kernels.names import NO_SLOT
from ..matfun.components import Components
from ..memory import limited

CHUNK = 1 << 16  # blocks that are looked up at a time: all of them would take gigabytes


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
        return values if self._same else values.take(self.rows, axis=0)


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

    backend: whose kernels add the blocks.
    Nothing is laid out before it is asked for: methods that take no matrix never do.
    """

    def __init__(
        self,
        couples: np.ndarray,
        free: np.ndarray,
        count: int,
        backend: Backend = CPU,
        rows: np.ndarray | None = None,
    ) -> None:
        """couples (m, 2): particles tied by any part; free (n,): sorted; count: N; rows (N,): of
        the particles that couples name, where these are not rows themselves."""
        n = free.size
        self.count, self.backend = count, backend
        self._row = np.full(count, -1, dtype=np.int64)
        self._row[free] = np.arange(n)
        self._couples, self._n = couples, n
        self._end = self._row if rows is None else self._row[rows]  # of what couples names

    @property
    def moves(self) -> np.ndarray:
        """(N,): whether each particle is free."""
        return self._row >= 0

    def _tied(self) -> np.ndarray:
        """(k, 2): free particles that are tied to each other, as rows of the matrix."""
        tied = self._end[self._couples].reshape(-1, 2)
        return tied[(tied >= 0).all(axis=1)]

    @cached_property
    def _laid_out(self) -> tuple[Any, Any]:
        with limited(f"the tangent of {self._n:,} particles", self._n):
            return self._in_rows()

    def _in_rows(self) -> tuple[Any, Any]:
        """Row-major, columns sorted in each row; keys of millions of blocks are not kept."""
        tied, own = self._tied(), np.arange(self._n)
        first, second = tied.T
        n, m = self._n, len(tied)
        keys = np.empty(2 * m + n, dtype=np.int64)
        np.add(first * n, second, out=keys[:m])
        np.add(second * n, first, out=keys[m : 2 * m])
        np.multiply(own, n + 1, out=keys[2 * m :])
        del tied, first, second
        keys = sorted_unique(keys)
        indptr = np.searchsorted(keys, np.arange(n + 1) * n).astype(np.int32)
        return indptr, np.remainder(keys, n, out=keys).astype(np.int32)

    @property
    def indices(self) -> Any:
        """(nnz,) int32, over free particles."""
        return self._laid_out[1]

    @property
    def indptr(self) -> Any:
        """(n + 1,) int32, over free particles."""
        return self._laid_out[0]

    @cached_property
    def diagonal(self) -> np.ndarray:
        """(N,): slot of each particle's own block, NO_SLOT where it is fixed."""
        return self.slots(np.arange(self.count), np.arange(self.count))

    @property
    def nnz(self) -> int:
        return self.indices.size

    def slots(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Slot of block (row, column) of particles, uint32; NO_SLOT where either is fixed."""
        indptr, indices = self._laid_out
        keys = np.repeat(np.arange(self._n) * self._n, np.diff(indptr))
        keys += indices
        slot = np.empty(len(rows), dtype=np.uint32)
        for first in range(0, len(rows), CHUNK):
            some = slice(first, first + CHUNK)
            i, j = self._row[rows[some]], self._row[columns[some]]
            found = np.searchsorted(keys, i * self._n + j)
            slot[some] = np.where((i < 0) | (j < 0), NO_SLOT, found)
        return slot

    @cached_property
    def bodies(self) -> Components | None:
        """The independent bodies that the free particles form; None when there is only one."""
        labels = self.backend.kernels.body_labels(self._couples, self._end, self._n)
        return Components(labels) if labels.max(initial=0) > 0 else None
