"""NumPy twins of kernels.cpu.drag: dashpots."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import NO_SLOT


def _directions(x, v, edges):
    """n (m, 3) from the second end to the first, |d| with 0 read as infinite, and w = v_i - v_j."""
    i, j = edges.T
    d = x[i] - x[j]
    length = np.linalg.norm(d, axis=1)
    length = np.where(length == 0.0, np.inf, length)
    return d / length[:, None], length, v[i] - v[j]


def dashpot_force(x, v, edges, coefficient, out):
    n, _, w = _directions(x, v, edges)
    f = (coefficient * np.einsum("ij,ij->i", n, w))[:, None] * n
    np.subtract.at(out, edges[:, 0], f)
    np.add.at(out, edges[:, 1], f)


def dashpot_tangents(x, v, edges, coefficient, slots, stiffness, damping):
    n, length, w = _directions(x, v, edges)
    rate = np.einsum("ij,ij->i", n, w)
    P = np.eye(3) - n[:, :, None] * n[:, None, :]
    K = n[:, :, None] * np.einsum("ijk,ik->ij", P, w)[:, None, :] + rate[:, None, None] * P
    K *= (coefficient / length)[:, None, None]
    D = coefficient[:, None, None] * n[:, :, None] * n[:, None, :]
    for block, sign in ((0, 1.0), (1, -1.0), (2, -1.0), (3, 1.0)):
        kept = slots[:, block] != NO_SLOT
        np.add.at(stiffness, slots[kept, block], sign * K[kept])
        np.add.at(damping, slots[kept, block], sign * D[kept])
