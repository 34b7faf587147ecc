"""Where the blocks of tetrahedra are added up: sorted once, so that every slot sums its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.names import BLOCK_CHUNK, MEAN_CHUNK, NO_SLOT
from .pattern import BlockPattern

_UPPER = np.triu_indices(4)

SlotSums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # chunks, slot, start, source


class BlockSums(NamedTuple):
    """Which of the tets' blocks go into which slots, chunk by chunk: see tet_blocks."""

    chunks: np.ndarray
    slot: np.ndarray
    mirror: np.ndarray
    start: np.ndarray
    source: np.ndarray


def block_sums(tets: np.ndarray, pattern: BlockPattern) -> BlockSums:
    """For the ten blocks of a symmetric tangent, k <= l."""
    rows, columns = (tets[:, k].ravel() for k in _UPPER)
    chunks, slot, start, source = _slot_sums(pattern.slots(rows, columns), 10 * BLOCK_CHUNK)
    first = source[start[:-1]]
    return BlockSums(chunks, slot, pattern.slots(columns[first], rows[first]), start, source)


def mean_sums(tets: np.ndarray, pattern: BlockPattern) -> SlotSums:
    """For all sixteen blocks: see tet_mean_blocks."""
    rows, columns = np.repeat(tets, 4, axis=1).ravel(), np.tile(tets, 4).ravel()
    return _slot_sums(pattern.slots(rows, columns), 16 * MEAN_CHUNK)


def _slot_sums(slot: np.ndarray, per_chunk: int) -> SlotSums:
    """Blocks by chunk and slot; those of fixed particles are left out."""
    source = np.flatnonzero(slot != NO_SLOT)
    count = int(slot[source].max(initial=0)) + 1
    key = source // per_chunk * count + slot[source]
    order = np.argsort(key, kind="stable")
    source, key = source[order], key[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))
    chunks = np.arange(-(-slot.size // per_chunk) + 1)
    return (
        np.searchsorted(key[start], chunks * count),
        slot[source[start]],
        np.append(start, source.size).astype(np.uint32),
        source.astype(np.uint32),
    )
