"""NumPy twins of kernels.cpu.springs: discrete gradients."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import NO_SLOT


def mean_terms(d0, d1, stiffness, rest, cubic=False):
    """g (m, 3) and dg/dd1 (m, 3, 3) of springs along d0, then d1 (m, 3)."""
    L0, L1 = np.linalg.norm(d0, axis=1), np.linalg.norm(d1, axis=1)
    e0, e1, m = L0 - rest, L1 - rest, d0 + d1
    force, slope = stiffness * (e0 + e1) / 2, stiffness / 2
    if cubic:
        force = force * (1 + (e0**2 + e1**2) / (2 * rest**2))
        # of a polynomial: (e0 + e1)/2 + (e0^3 + e0^2 e1 + e0 e1^2 + e1^3) / (4 l^2)
        slope = slope + stiffness * (e0**2 + 2 * e0 * e1 + 3 * e1**2) / (4 * rest**2)
    empty = L0 + L1 == 0.0
    total = np.where(empty, 1.0, L0 + L1)
    scale = np.where(empty, slope, force / total)
    n = d1 / np.where(L1 == 0.0, 1.0, L1)[:, None]
    extra = (slope - scale) / total
    B = scale[:, None, None] * np.eye(3) + extra[:, None, None] * m[:, :, None] * n[:, None, :]
    return scale[:, None] * m, B


def _half_springs(x0, x1, start, neighbour, spring, stiffness, rest, cubic):
    owner = np.repeat(np.arange(len(x0)), np.diff(start.astype(np.int64)))
    d0, d1 = x0[owner] - x0[neighbour], x1[owner] - x1[neighbour]
    return owner, *mean_terms(d0, d1, stiffness[spring], rest[spring], cubic)


def spring_mean_gradient(x0, x1, start, neighbour, spring, stiffness, rest, out, cubic=False):
    owner, g, _ = _half_springs(x0, x1, start, neighbour, spring, stiffness, rest, cubic)
    np.add.at(out, owner, g)


def spring_mean_blocks(
    x0, x1, start, neighbour, spring, stiffness, rest, diagonal, slot, blocks, cubic=False
):
    owner, _, B = _half_springs(x0, x1, start, neighbour, spring, stiffness, rest, cubic)
    free = diagonal[owner] != NO_SLOT
    both = free & (slot != NO_SLOT)
    np.add.at(blocks, diagonal[owner[free]], B[free])
    np.subtract.at(blocks, slot[both], B[both])
