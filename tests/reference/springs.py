"""NumPy twins of kernels.cpu.springs."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import CONVEX, NO_SLOT, SECANT, TANGENT


def _energies(length, stiffness, rest, cubic):
    e = length - rest
    if cubic:
        return stiffness * (e**2 / 2 + e**4 / (4 * rest**2))
    return stiffness * e**2 / 2


def _lengths(x, edges):
    return np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)


def spring_energy(x, edges, stiffness, rest, cubic=False):
    return float(np.sum(_energies(_lengths(x, edges), stiffness, rest, cubic)))


def spring_yield(x, edges, stiffness, rest, limit, cubic=False):
    length = _lengths(x, edges)
    strain = length / rest - 1.0
    yields = (np.abs(strain) > (1.0 + 1e-12) * limit) & (length > 0.0)
    new = np.where(yields, length / (1.0 + np.copysign(limit, strain)), rest)
    lost = _energies(length, stiffness, rest, cubic) - _energies(length, stiffness, new, cubic)
    rest[:] = new
    return float(np.sum(lost))


def _half_springs(x, start, neighbour, spring, stiffness, rest, cubic):
    """Owner i of each half-spring, d = x_i - x_j (2m, 3), its direction (zero where d is), and
    the stiffness along and across it (2m,)."""
    owner = np.repeat(np.arange(len(x)), np.diff(start.astype(np.int64)))
    stiffness, rest = stiffness[spring], rest[spring]
    d = x[owner] - x[neighbour]
    length = np.linalg.norm(d, axis=1)
    flat = length == 0.0
    divisor = np.where(flat, 1.0, length)
    e = length - rest
    along = stiffness * (1.0 + 3.0 * (e / rest) ** 2) if cubic else stiffness
    force = stiffness * (e + e**3 / rest**2) if cubic else stiffness * e
    return owner, d, d / divisor[:, None], along, np.where(flat, along, force / divisor)


def spring_gradient(x, start, neighbour, spring, stiffness, rest, out, cubic=False):
    owner, d, _, _, across = _half_springs(x, start, neighbour, spring, stiffness, rest, cubic)
    np.add.at(out, owner, across[:, None] * d)


def spring_product(x, start, neighbour, spring, stiffness, rest, b, out, cubic=False):
    owner, _, n, along, across = _half_springs(x, start, neighbour, spring, stiffness, rest, cubic)
    w = b[owner] - b[neighbour]
    axial = ((along - across) * np.sum(n * w, axis=1))[:, None] * n
    np.add.at(out, owner, across[:, None] * w + axial)


def spring_blocks(
    x,
    start,
    neighbour,
    spring,
    stiffness,
    rest,
    diagonal,
    slot,
    blocks,
    pressed,
    cubic=False,
    form=TANGENT,
):
    owner, _, n, along, across = _half_springs(x, start, neighbour, spring, stiffness, rest, cubic)
    if form == CONVEX:
        across = np.maximum(across, 0.0)
    B = across[:, None, None] * np.eye(3)
    if form != SECANT:
        B += (along - across)[:, None, None] * n[:, :, None] * n[:, None, :]
    free = diagonal[owner] != NO_SLOT
    both = free & (slot != NO_SLOT)
    np.add.at(blocks, diagonal[owner[free]], B[free])
    np.subtract.at(blocks, slot[both], B[both])
    share = np.where(both, 1.0, 0.5) * np.maximum(0.0, -across)
    np.add.at(pressed, owner[free], share[free])


def spring_bars(
    x, start, neighbour, spring, stiffness, rest, slot, bars, own, pressed, cubic=False
):
    half = (start, neighbour, spring, stiffness, rest)
    owner, _, n, along, across = _half_springs(x, *half, cubic)
    free = owner < len(own)
    both = free & (slot != NO_SLOT)
    bars[slot[both], 0] = across[both]
    bars[slot[both], 1:] = (np.sqrt(along - across)[:, None] * n)[both]
    B = across[:, None, None] * np.eye(3) + (along - across)[:, None, None] * (
        n[:, :, None] * n[:, None, :]
    )
    np.add.at(own, owner[free], B[free][:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
    share = np.where(both, 1.0, 0.5) * np.maximum(0.0, -across)
    np.add.at(pressed, owner[free], share[free])
