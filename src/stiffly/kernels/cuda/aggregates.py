"""Aggregates of particles that move as affine bodies: the coarse level of a preconditioner.

An affine motion has twelve numbers, four functions (1 and the place along three axes) of each
coordinate.  Rigid motions are among them, however far a body has turned since its places were
taken, so that aggregates and functions are made once for a pattern.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# LAPACK's names have no stubs
from scipy.linalg.lapack import dgetrf, dgetri, dpotrf, dpotri  # type: ignore[attr-defined]

from ...contracts import Array

MOST = 32  # aggregates: the inverse of 384 numbers takes the host 2 ms
LEAST = 16  # particles of one, about
THIN = 1e-3  # of its length: an aggregate has no other functions along what it is thinner in
PIECE = 2048  # entries that a warp goes through


class Aggregates(NamedTuple):
    """label (N,): of each particle; functions (N, 4); order (N,): particles, aggregate by
    aggregate, where these begin: first (m + 1,).

    missing (4 m,): functions that are zero.
    """

    label: np.ndarray
    functions: Array
    order: np.ndarray
    first: np.ndarray
    missing: np.ndarray

    @property
    def count(self) -> int:
        return len(self.first) - 1


def aggregates(points: Array) -> Aggregates:
    """Of particles at these points (N, 3): those nearest to a few that are far apart."""
    label = _nearest(points, max(1, min(MOST, len(points) // LEAST)))
    count = int(label.max()) + 1
    sizes = np.bincount(label, minlength=count)
    centre = _sums(label, points, count) / sizes[:, None]
    away = points - centre[label]
    spread = _sums(label, (away[:, :, None] * away[:, None, :]).reshape(-1, 9), count)
    squares, axes = np.linalg.eigh(spread.reshape(-1, 3, 3))
    thin = squares <= THIN**2 * squares[:, 2:]
    scale = np.where(thin, 0.0, 1.0 / np.sqrt(np.where(thin, 1.0, squares)))
    along = np.einsum("ni,nij->nj", away, axes[label]) * scale[label]
    functions = np.column_stack([1.0 / np.sqrt(sizes[label]), along])
    missing = np.column_stack([np.zeros(count, dtype=bool), thin]).ravel()
    order = np.argsort(label, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])
    return Aggregates(label, np.ascontiguousarray(functions), order, first, missing)


def _nearest(points: Array, count: int) -> np.ndarray:
    """(N,): which of so many points each is next to, each as far as can be from those before."""
    label, least = np.zeros(len(points), dtype=np.int64), np.full(len(points), np.inf)
    chosen = 0
    for k in range(count):
        square = np.square(points - points[chosen]).sum(axis=1)
        label[square < least] = k
        np.minimum(least, square, out=least)
        chosen = int(least.argmax())
        if least[chosen] == 0.0:
            break
    return label


def _sums(label: np.ndarray, values: Array, count: int) -> Array:
    return np.stack([np.bincount(label, column, count) for column in values.T], axis=1)


class Pairs(NamedTuple):
    """Entries of a matrix by pairs of aggregates, in pieces: near, far (nnz,): their rows and
    columns, entry (nnz,): which they are; start (pieces + 1,); begin (m^2 + 1,): the pieces of a
    pair."""

    near: np.ndarray
    far: np.ndarray
    entry: np.ndarray
    start: np.ndarray
    begin: np.ndarray


def pairs(indptr: np.ndarray, indices: np.ndarray, parts: Aggregates) -> Pairs:
    near = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    pair = parts.count * parts.label[near] + parts.label[indices]
    entry = np.argsort(pair, kind="stable")
    sizes = np.bincount(pair, minlength=parts.count**2)
    pieces = -(-sizes // PIECE)
    begin = np.concatenate([[0], np.cumsum(pieces)])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    within = np.arange(begin[-1]) - np.repeat(begin[:-1], pieces)
    start = np.append(np.repeat(ends[:-1], pieces) + PIECE * within, ends[-1])
    return Pairs(near[entry], indices[entry], entry, start, begin)


def inverse(coarse: Any, missing: np.ndarray, symmetric: bool) -> Array | None:
    """Of P^T A P (12 m, 12 m), symmetric where it has to be, with zeros for missing functions;
    None where there is none, or a symmetric one is not positive definite."""
    gone = np.repeat(missing, 3)
    full = np.where(gone[:, None] | gone, np.diag(gone.astype(float)), coarse)
    if not np.isfinite(full).all():
        return None
    if not symmetric:
        factor, pivots, failed = dgetrf(full)
        return None if failed else dgetri(factor, pivots)[0]
    factor, failed = dpotrf(full, lower=1)
    if failed:
        return None
    lower = np.tril(dpotri(factor, lower=1)[0])
    return lower + np.tril(lower, -1).T
