"""NumPy twins of kernels.cpu.face_springs."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import CONVEX, NO_SLOT, SECANT, TANGENT

WEIGHTS = (4.0 * np.eye(4) - 1.0) / 3.0  # of corner c (column) in spring s (row)


def _springs(x, tets, stiffness, rest):
    """d (t, 4, 3), its direction (zero where d is), and the stiffness across (t, 4)."""
    d = np.einsum("sc,tca->tsa", WEIGHTS, x[tets])
    length = np.linalg.norm(d, axis=2)
    flat = length == 0.0
    divisor = np.where(flat, 1.0, length)
    k = stiffness[:, None]
    return d, d / divisor[..., None], np.where(flat, k, k * (length - rest) / divisor)


def face_spring_energy(x, tets, stiffness, rest):
    length = np.linalg.norm(np.einsum("sc,tca->tsa", WEIGHTS, x[tets]), axis=2)
    return float(0.5 * np.sum(stiffness[:, None] * (length - rest) ** 2))


def face_spring_gradient(x, tets, stiffness, rest, start, corner, out):
    d, _, across = _springs(x, tets, stiffness, rest)
    np.add.at(out, tets, np.einsum("sc,ts,tsa->tca", WEIGHTS, across, d))


def face_spring_blocks(
    x, tets, stiffness, rest, start, corner, diagonal, slot, blocks, pressed, form=TANGENT
):
    _, n, across = _springs(x, tets, stiffness, rest)
    if form == CONVEX:
        across = np.maximum(across, 0.0)
    B = across[..., None, None] * np.eye(3)
    if form != SECANT:
        extra = stiffness[:, None] - across
        B += extra[..., None, None] * n[..., :, None] * n[..., None, :]
    K = np.einsum("sc,sd,tsab->tcdab", WEIGHTS, WEIGHTS, B).reshape(-1, 4, 3, 3)
    stored = slot != NO_SLOT
    np.add.at(blocks, slot[stored], K[stored])
    share = np.maximum(0.0, -across) @ np.abs(WEIGHTS)
    free = diagonal[tets] != NO_SLOT
    np.add.at(pressed, tets[free], share[free])
