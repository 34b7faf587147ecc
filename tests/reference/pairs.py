"""NumPy twins of kernels.cpu.lennard_jones: all pairs."""

from __future__ import annotations

import numpy as np

from .listed_pairs import lj_list_energy, lj_list_gradient, lj_list_product

NO_SWITCH = (np.inf, 1.0)


def _listed(start, low, high):
    """The runs written out as a list."""
    runs = [np.arange(a, b) for a, b in zip(low, high, strict=True)]
    counts = np.concatenate([[0], np.cumsum(high.astype(np.int64) - low.astype(np.int64))])
    return counts[start.astype(np.int64)], np.concatenate([np.empty(0, dtype=np.int64), *runs])


def lj_energy(x, radius, root, start, low, high):
    return lj_list_energy(x, radius, root, *_listed(start, low, high), *NO_SWITCH)


def lj_gradient(x, radius, root, start, low, high, out):
    lj_list_gradient(x, radius, root, *_listed(start, low, high), *NO_SWITCH, out)


def lj_product(x, b, radius, root, start, low, high, out):
    lj_list_product(x, b, radius, root, *_listed(start, low, high), *NO_SWITCH, out)
