"""Plain twins of kernels.cpu.fronts: nothing is dissected, and matrices are whole ones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def dissected(indptr, indices, leaf):
    n = indptr.size - 1
    return np.arange(n), np.array([0, n]), np.array([-1])


def front_entries(own, below, indptr, indices, data, first, place):
    n, size = indptr.size - 1, own.shape[0]
    columns = sp.csc_matrix((data, indices, indptr), shape=(n, n)).toarray()[:, first:][:, :size].T
    own += np.triu(columns[:, first : first + size])
    later = np.arange(n) >= first + size
    np.add.at(below.T, place[later & columns.any(axis=0)], columns.T[later & columns.any(axis=0)])


def front_join(own, below, rest, update, at):
    size, b = below.shape
    whole = np.zeros((size + b, size + b))
    whole[np.ix_(at, at)] = np.triu(update)
    own += whole[:size, :size]
    below += whole[:size, size:]
    rest += whole[size:, size:]


def front_columns(own, below, first, rows, indptr, indices, data, inverse):
    size = own.shape[0]
    for j in range(size):
        column = slice(indptr[first + j], indptr[first + j + 1])
        indices[column] = [*range(first + j, first + size), *rows]
        data[column] = np.concatenate([own[j, j:], below[j]]) / own[j, j]
        inverse[first + j] = own[j, j] ** -2.0
