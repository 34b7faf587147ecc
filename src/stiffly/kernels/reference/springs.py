"""NumPy twins of kernels.cpu.springs."""

from __future__ import annotations

import numpy as np

__all__ = ["NO_SLOT", "spring_blocks", "spring_energy", "spring_gradient"]

NO_SLOT = np.uint32(0xFFFFFFFF)


def _directions(x, start, neighbour):
    """Owner i of each half-spring, d = x_i - x_j (2m, 3), and |d| with 0 read as infinite."""
    owner = np.repeat(np.arange(len(x)), np.diff(start.astype(np.int64)))
    d = x[owner] - x[neighbour]
    length = np.linalg.norm(d, axis=1)
    return owner, d, np.where(length == 0.0, np.inf, length)


def spring_energy(x, edges, stiffness, rest):
    length = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    return float(0.5 * np.sum(stiffness * (length - rest) ** 2))


def spring_gradient(x, start, neighbour, stiffness, rest, out):
    owner, d, length = _directions(x, start, neighbour)
    np.add.at(out, owner, (stiffness * (1.0 - rest / length))[:, None] * d)


def spring_blocks(x, start, neighbour, stiffness, rest, diagonal, slot, blocks, pressed):
    owner, d, length = _directions(x, start, neighbour)
    n = d / length[:, None]
    ratio = rest / length
    across = stiffness * (1.0 - ratio)
    B = across[:, None, None] * np.eye(3)
    B += (stiffness * ratio)[:, None, None] * n[:, :, None] * n[:, None, :]
    free = diagonal[owner] != NO_SLOT
    both = free & (slot != NO_SLOT)
    np.add.at(blocks, diagonal[owner[free]], B[free])
    np.subtract.at(blocks, slot[both], B[both])
    share = np.where(both, 1.0, 0.5) * np.maximum(0.0, -across)
    np.add.at(pressed, owner[free], share[free])
