"""NumPy twin of kernels.cpu.neighbours."""

from __future__ import annotations

import numpy as np


def neighbour_list(x, reach, skip_start, skip):
    near = np.sum((x[:, None] - x) ** 2, axis=2) < reach**2
    np.fill_diagonal(near, False)
    near[np.repeat(np.arange(len(x)), np.diff(skip_start.astype(np.int64))), skip] = False
    start = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
    return start.astype(np.uint32), np.nonzero(near)[1].astype(np.uint32)
