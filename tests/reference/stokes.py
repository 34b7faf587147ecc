"""NumPy twins of kernels.cpu.stokes."""

from __future__ import annotations

import numpy as np


def stokeslet_velocities(targets, sources, forces, eps, mu, out):
    d = targets[:, None] - sources
    square = np.sum(d * d, axis=2)
    inverse = (square + eps**2) ** -1.5
    along = np.einsum("ijk,jk->ij", d, forces) * inverse
    out[:] = (
        (square + 2 * eps**2) * inverse @ forces + np.einsum("ij,ijk->ik", along, d)
    ) / (8 * np.pi * mu)  # fmt: skip


def stokeslet_rates(x, b, forces, eps, mu, out):
    d, w = x[:, None] - x, b[:, None] - b
    R2 = np.sum(d * d, axis=2) + eps**2
    dw = np.sum(d * w, axis=2)
    gd = np.einsum("ijk,jk->ij", d, forces)
    gw = np.einsum("ijk,jk->ij", w, forces)
    isotropic = 2 * dw * R2**-1.5 - 3 * (R2 + eps**2) * dw * R2**-2.5
    along = gw * R2**-1.5 - 3 * dw * gd * R2**-2.5
    out[:] = isotropic @ forces
    out += np.einsum("ij,ijk->ik", along, d) + np.einsum("ij,ijk->ik", gd * R2**-1.5, w)
    out /= 8 * np.pi * mu


def stokeslet_matrix(x, eps, mu, out):
    d = x[:, None] - x
    square = np.sum(d * d, axis=2)
    blocks = (square + 2 * eps**2)[..., None, None] * np.eye(3) + d[..., :, None] * d[..., None, :]
    blocks *= ((square + eps**2) ** -1.5 / (8 * np.pi * mu))[..., None, None]
    out[:] = blocks.swapaxes(1, 2).reshape(out.shape)


def stokeslet_rate_matrix(x, forces, eps, mu, out):
    for k, b in enumerate(np.eye(x.size)):
        column = np.empty_like(x)
        stokeslet_rates(x, b.reshape(-1, 3), forces, eps, mu, column)
        out[:, k] = column.ravel()
