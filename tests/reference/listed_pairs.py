"""NumPy twins of kernels.cpu.lennard_jones: listed pairs."""

from __future__ import annotations

import numpy as np


def _pairs(x, radius, root, start, neighbour, inner, slope):
    """Atoms i and j of each pair, d = x_i - x_j, and psi with its two derivatives by r^2."""
    i = np.repeat(np.arange(len(x)), np.diff(start.astype(np.int64)))
    j = neighbour.astype(np.int64)
    d = x[i] - x[j]
    square = np.sum(d * d, axis=1)
    epsilon = root[i] * root[j]
    a = ((radius[i] + radius[j]) ** 2 / square) ** 3
    phi = 4 * epsilon * (a**2 - a)
    phi1 = 4 * epsilon * (-6 * a**2 + 3 * a) / square
    phi2 = 4 * epsilon * (42 * a**2 - 12 * a) / square**2
    t = np.clip((square - inner) * slope, 0.0, 1.0)
    S = 1 - 10 * t**3 + 15 * t**4 - 6 * t**5
    S1 = (-30 * t**2 + 60 * t**3 - 30 * t**4) * slope
    S2 = (-60 * t + 180 * t**2 - 120 * t**3) * slope**2
    return i, j, d, S * phi, S * phi1 + S1 * phi, S * phi2 + 2 * S1 * phi1 + S2 * phi


def lj_list_energy(x, radius, root, start, neighbour, inner, slope):
    return float(0.5 * np.sum(_pairs(x, radius, root, start, neighbour, inner, slope)[3]))


def lj_list_gradient(x, radius, root, start, neighbour, inner, slope, out):
    i, _, d, _, first, _ = _pairs(x, radius, root, start, neighbour, inner, slope)
    np.add.at(out, i, 2 * first[:, None] * d)


def lj_list_product(x, b, radius, root, start, neighbour, inner, slope, out):
    i, j, d, _, first, second = _pairs(x, radius, root, start, neighbour, inner, slope)
    w = b[i] - b[j]
    along = 4 * second * np.sum(d * w, axis=1)
    np.add.at(out, i, 2 * first[:, None] * w + along[:, None] * d)


def lj_blocks(x, radius, root, start, neighbour, inner, slope, coupling, own):
    i, _, d, _, first, second = _pairs(x, radius, root, start, neighbour, inner, slope)
    blocks = 2 * first[:, None, None] * np.eye(3)
    blocks += 4 * second[:, None, None] * d[:, :, None] * d[:, None, :]
    coupling[:] = -blocks
    own[:] = 0.0
    np.add.at(own, i, blocks)
