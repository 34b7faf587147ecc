"""Sparse Cholesky factorisation: nested dissection, and dense algebra front by front.

The unknowns between two halves of a body come after both of them.  So each half is eliminated by
itself, and all it leaves is a dense matrix of its border (multifrontal: Duff and Reid, ACM TOMS
9(3), 1983); then a front, a dense matrix as well, eliminates what lies between.  Almost all of the
work is LAPACK's and BLAS's then, on matrices of which no half is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# LAPACK's and BLAS's names have no stubs
from scipy.linalg.blas import dsyrk, dtrsm  # type: ignore[attr-defined]
from scipy.linalg.lapack import dpotrf  # type: ignore[attr-defined]

from ..backends.cpu import CPU
from ..contracts import Array
from ..memory import require
from .failures import NotPositiveDefinite

ENTRY = 12  # bytes of an entry of L and its row
LEAF = 48  # unknowns that are not dissected further: fewer make more fronts than they save


class Fronts(NamedTuple):
    """order (n,): unknowns as they are eliminated, by fronts: from starts[k] to starts[k + 1].
    parents: of each front, which comes later, or -1; below: rows that its columns have there."""

    order: Array
    starts: Array
    parents: Array
    below: list[Array]


@lru_cache(maxsize=8)
def fronts(indptr: bytes, indices: bytes, kind: Any, width: int, leaf: int = LEAF) -> Fronts:
    """Of a pattern in rows, each of which stands for `width` unknowns."""
    columns, starts = np.frombuffer(indices, kind), np.frombuffer(indptr, kind)
    n = starts.size - 1
    pattern = sp.csr_matrix((np.ones(columns.size, bool), columns, starts), (n, n))
    pattern = pattern + pattern.T  # zeros may be left out on one side
    order, firsts, parents = CPU.kernels.dissected(
        pattern.indptr, pattern.indices, max(1, leaf // width)
    )
    ordered = pattern[order][:, order]
    below: list[Array] = []
    known: list[list[Array]] = [[] for _ in parents]
    for k, parent in enumerate(parents):
        low, high = firsts[k : k + 2]
        own = ordered.indices[ordered.indptr[low] : ordered.indptr[high]]
        rows = np.unique(np.concatenate([own, *known[k]]))
        below.append(rows[rows >= high])
        known[k] = []
        if parent >= 0:
            known[parent].append(below[-1])
    every = [_wide(rows, width) for rows in below]
    return Fronts(_wide(order, width), firsts * width, parents, every)


def _wide(rows: Array, width: int) -> Array:
    return (width * rows[:, None] + np.arange(width)).ravel()


def cholesky(matrix: sp.csc_matrix, plan: Fronts) -> tuple[sp.csc_matrix, Array]:
    """L with ones on its diagonal and 1/D: L D L^T is the matrix in the order of the plan."""
    own, rest = np.diff(plan.starts), np.array([rows.size for rows in plan.below])
    n = plan.order.size
    ends = np.repeat(plan.starts[1:] + rest, own)
    indptr = np.concatenate([[0], np.cumsum(ends - np.arange(n))])
    room = ENTRY * int(indptr[-1]) + 24.0 * float(np.max((own + rest) ** 2))
    require(room, f"{indptr[-1]:,} entries of a factor of {n:,} unknowns")
    indices, data, inverse = np.empty(indptr[-1], np.int32), np.empty(indptr[-1]), np.empty(n)
    for k, (front, under) in enumerate(eliminated(matrix, plan)):
        columns = plan.starts[k], plan.below[k], indptr, indices, data, inverse
        CPU.kernels.front_columns(front.T, under.T, *columns)
    return sp.csc_matrix((data, indices, indptr), shape=(n, n)), inverse


def eliminated(matrix: sp.csc_matrix, plan: Fronts) -> Iterator[tuple[Array, Array]]:
    """Columns of Cholesky's factor, front by front: the lower half of an array (s, s), with s
    unknowns of its own, and (b, s) for the rows below."""
    kernels = CPU.kernels
    ordered = sp.csc_matrix(matrix[plan.order][:, plan.order])
    entries = ordered.indptr, ordered.indices, ordered.data
    own, place = np.diff(plan.starts), np.empty(plan.order.size, np.int64)
    left: list[list[tuple[Array, Array]]] = [[] for _ in own]  # to each, by its children
    for k, rows in enumerate(plan.below):
        first, s, b = plan.starts[k], own[k], rows.size
        shapes = (s, s), (b, s), (b, b)
        front, under, update = (np.zeros(shape, order="F") for shape in shapes)
        place[rows] = np.arange(b)
        kernels.front_entries(front.T, under.T, *entries, first, place)
        for theirs, border in left[k]:
            at = np.where(theirs < first + s, theirs - first, s + place[theirs])
            kernels.front_join(front.T, under.T, update.T, border.T, at)
        left[k] = []
        front, info = dpotrf(front, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise NotPositiveDefinite(f"pivot {info} of a front of {s} is not positive")
        if b:
            under = dtrsm(1.0, front, under, side=1, lower=1, trans_a=1, overwrite_b=1)
            update = dsyrk(-1.0, under, beta=1.0, c=update, lower=1, overwrite_c=1)
            left[plan.parents[k]].append((rows, update))
        yield front, under
