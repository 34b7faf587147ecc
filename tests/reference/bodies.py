"""Independent bodies one after another, by NumPy's own eigensolver."""

from __future__ import annotations

import numpy as np

from .spectral import stumpff_terms


def _bodies(root, start, members, first):
    """For every body: its rows, its part of lam, its part of Q."""
    d = root.shape[1]
    for b in range(len(start) - 1):
        low, high = int(start[b]), int(start[b + 1])
        n = d * (high - low)
        yield members[low:high], slice(d * low, d * high), slice(first[b], first[b] + n * n)


def body_eigenbases(indptr, indices, blocks, root, start, members, place, first, lam, Q):
    d = blocks.shape[1]
    for rows, own, basis in _bodies(root, start, members, first):
        a = np.zeros((rows.size, rows.size, d, d))
        for i, row in enumerate(rows):
            for slot in range(indptr[row], indptr[row + 1]):
                a[i, place[indices[slot]]] += blocks[slot]
        scale = root[rows].ravel()
        a = a.swapaxes(1, 2).reshape(scale.size, scale.size) / np.outer(scale, scale)
        if np.isfinite(a).all():
            lam[own], z = np.linalg.eigh(a)
            Q[basis] = z.T.ravel()
        else:
            lam[own] = Q[basis] = np.nan


def body_apply(F, root, start, members, first, Q, B, out):
    for rows, own, basis in _bodies(root, start, members, first):
        scale = root[rows].ravel()
        z = Q[basis].reshape(scale.size, scale.size)
        b = B[:, rows].reshape(len(B), -1) * scale
        value = np.einsum("jik,ik->jk", F[:, :, own], b @ z.T) @ z / scale
        out[:, rows] = value.reshape(len(out), rows.size, -1)


def body_stumpff_apply(terms, lam, root, start, members, first, Q, B, out):
    F = np.zeros((len(out), len(B), lam.size))
    rows, columns, ks, taus, powers, factors = terms
    stumpff_terms(lam, rows, columns, ks, taus, powers, factors, F)
    body_apply(F, root, start, members, first, Q, B, out)
