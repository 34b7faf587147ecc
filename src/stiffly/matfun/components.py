"""Independent bodies of a sparse matrix: which rows belong together, laid out once per pattern."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts import Array

MEMORY = 1.0e9  # bytes that vectors kept for one evaluation may take: a basis, or eigenvectors
_HANDS = 64  # bodies are dealt by size like cards, so that threads get equal shares


@dataclass(frozen=True, slots=True)
class Rest:
    """The bodies that are not worth an eigenbasis, as one matrix: rows (m,) of the whole, its own
    indptr and indices, and slots (nnz,) of its blocks among all blocks."""

    rows: Array
    indptr: Array
    indices: Array
    slots: Array


@dataclass(frozen=True, slots=True)
class Batch:
    """Bodies whose eigenbases fit into MEMORY: see the kernel body_eigenbases for the arrays."""

    start: Array
    members: Array
    first: Array

    @property
    def entries(self) -> int:
        """Entries of all eigenbases together."""
        return int(self.first[-1])


@dataclass(frozen=True, slots=True)
class Layout:
    """Bodies to be diagonalised, in batches, and the rest.

    place (rows,): of every row within its body; count: of bodies; largest: coordinates of the
    largest of them; cube: sum of their coordinates cubed.
    """

    batches: tuple[Batch, ...]
    place: Array
    count: int
    largest: int
    cube: float
    rest: Rest | None


class Components:
    """labels (rows,): the body of every row of one sparsity pattern, from 0 on."""

    def __init__(self, labels: Array) -> None:
        self.labels = labels
        self.sizes = np.bincount(labels)
        self._by_body = np.argsort(labels, kind="stable")
        self._begin = np.cumsum(self.sizes) - self.sizes
        self._layouts: dict[tuple[int, int], Layout] = {}

    def layout(self, indptr: Array, indices: Array, width: int, limit: int) -> Layout:
        """For bodies of at most `limit` coordinates, `width` per row; kept for the next call.

        indptr, indices: of the pattern that the labels belong to, always the same.
        """
        key = width, limit
        if key not in self._layouts:
            self._layouts[key] = self._lay_out(indptr, indices, width, limit)
        return self._layouts[key]

    def _lay_out(self, indptr: Array, indices: Array, width: int, limit: int) -> Layout:
        order = np.argsort(-self.sizes, kind="stable")
        order = order[width * self.sizes[order] <= limit]
        order = np.concatenate([order[hand::_HANDS] for hand in range(_HANDS)])
        n = width * self.sizes[order].astype(float)
        batch = (8.0 * np.cumsum(n**2) / MEMORY).astype(int)
        split = np.flatnonzero(np.diff(batch)) + 1
        batches = tuple(self._batch(own, width) for own in np.split(order, split) if own.size)
        place = np.zeros(self.labels.size, dtype=np.int64)
        kept = np.zeros(self.labels.size, dtype=bool)
        for own in batches:
            lengths = np.diff(own.start)
            place[own.members] = ranges(np.zeros_like(lengths), lengths)
            kept[own.members] = True
        rest = self._join(np.flatnonzero(~kept), indptr, indices)
        return Layout(
            batches, place, order.size, int(n.max(initial=0.0)), float((n**3).sum()), rest
        )

    def _batch(self, bodies: Array, width: int) -> Batch:
        sizes = self.sizes[bodies]
        members = self._by_body[ranges(self._begin[bodies], sizes)]
        start = np.concatenate([[0], np.cumsum(sizes)])
        return Batch(start, members, np.concatenate([[0], np.cumsum((width * sizes) ** 2)]))

    def _join(self, rows: Array, indptr: Array, indices: Array) -> Rest | None:
        if rows.size == 0:
            return None
        lengths = np.diff(indptr)[rows]
        slots = ranges(indptr[rows], lengths)
        where = np.zeros(self.labels.size, dtype=indices.dtype)
        where[rows] = np.arange(rows.size)
        pointer = np.concatenate([[0], np.cumsum(lengths)]).astype(indptr.dtype)
        return Rest(rows, pointer, where[indices[slots]], slots)


def ranges(begin: Array, lengths: Array) -> Array:
    """begin[0], begin[0] + 1, ... (lengths[0] numbers), begin[1], ...: all ranges in a row."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(begin - (ends - lengths), lengths)
