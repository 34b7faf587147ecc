"""A sparser matrix that is not below the given one: weak couples are led over strong ones.

    |u_i - u_j|^2 <= 2 |u_i - u_c|^2 + 2 |u_c - u_j|^2

A negative entry -k of a matrix M + alpha L couples i and j as a spring does.  It may be left out if
the couples i-c and c-j of a detour get twice its k, and if there are n detours, 2/n of it each.
Beside couples twenty times as strong that is next to nothing for an iteration that corrects its
matrix by what it sees (secants.py); and a matrix with fewer couples factorises and solves faster:
cloth whose bending springs reach over two cells takes half as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array

WEAK = 0.05  # of both couples of a detour, at most
WORTH = 0.9  # of the entries, at most, must be left


def sparser(matrix: Any) -> Any:
    """A' >= A, symmetric and sparse (csc), with fewer entries; A where there is little to gain."""
    upper: Any = sp.coo_matrix(sp.triu(matrix, 1))
    chosen = upper.data < 0.0
    edges = np.stack([upper.row[chosen], upper.col[chosen]], axis=1).astype(np.int64)
    strength, n = -upper.data[chosen], matrix.shape[0]
    left, new = with_detours(edges, strength, n)
    if matrix.nnz - 2 * (len(edges) - len(left)) > WORTH * matrix.nnz:
        return matrix
    total: Any = sp.csc_matrix(matrix - laplacian(edges, strength, n) + laplacian(left, new, n))
    total.eliminate_zeros()
    return total


def laplacian(edges: np.ndarray, strength: Array, count: int) -> Any:
    """sum k (e_i - e_j)(e_i - e_j)^T."""
    i, j = edges.T
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    values = np.concatenate([strength, strength, -strength, -strength])
    return sp.csc_matrix((values, (rows, columns)), shape=(count, count))


def with_detours(edges: np.ndarray, strength: Array, count: int) -> tuple[np.ndarray, Array]:
    """edges (m, 2) between `count` nodes, strength (m,) > 0; both of those left."""
    weak = _weak(edges, strength, count)
    if not weak.size:
        return edges, strength
    i, j = edges.T
    strong = np.setdiff1d(np.arange(len(edges)), weak)
    # entry (i, c): one more than the number of the couple between them; zeros are no entries
    ends = np.concatenate([i[strong], j[strong]]), np.concatenate([j[strong], i[strong]])
    names = sp.csr_matrix((np.tile(strong + 1, 2), ends), shape=(count, count))
    there, back = names[i[weak]], names[j[weak]]
    first = sp.csr_matrix(there.multiply(back.astype(bool)))
    second = sp.csr_matrix(back.multiply(there.astype(bool)))
    first.sort_indices()
    second.sort_indices()
    owner = np.repeat(np.arange(weak.size), np.diff(first.indptr))
    legs = np.stack([first.data, second.data]).astype(np.int64) - 1
    good = (strength[weak[owner]] <= WEAK * strength[legs]).all(axis=0)
    owner, legs = owner[good], legs[:, good]
    detours = np.bincount(owner, minlength=weak.size)
    share = 2.0 * strength[weak[owner]] / detours[owner]
    total = strength + np.bincount(legs.ravel(), np.tile(share, 2), len(edges))
    kept = np.setdiff1d(np.arange(len(edges)), weak[detours > 0])
    return edges[kept], total[kept]


def _weak(edges: np.ndarray, strength: Array, count: int) -> np.ndarray:
    """Couples that are weak beside the strongest at either end."""
    strongest = np.zeros(count)
    np.maximum.at(strongest, edges.ravel(), np.repeat(strength, 2))
    return np.flatnonzero(strength <= WEAK * strongest[edges].min(axis=1))
