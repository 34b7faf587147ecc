"""NumPy twins of kernels.cpu.drag: wind."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import NO_SLOT


def _geometry(x, v, triangles, wind):
    """Area vectors S, their squares (0 read as infinite), and p = (wind - v).S of each."""
    a, b, c = (x[triangles[:, k]] for k in range(3))
    S = 0.5 * np.cross(b - a, c - a)
    square = np.einsum("ij,ij->i", S, S)
    p = np.einsum("ij,ij->i", wind - v[triangles].mean(axis=1), S)
    return S, np.where(square == 0.0, np.inf, square), p


def wind_forces(x, v, triangles, wind, pressure, out):
    S, square, p = _geometry(x, v, triangles, wind)
    F = (pressure * np.abs(p) * p / square)[:, None] * S
    np.add.at(out, triangles.ravel(), np.repeat(F / 3.0, 3, axis=0))


def _cross_matrix(r):
    """[r]x with [r]x d = r x d, (s, 3, 3)."""
    zero = np.zeros(len(r))
    rows = [zero, -r[:, 2], r[:, 1], r[:, 2], zero, -r[:, 0], -r[:, 1], r[:, 0], zero]
    return np.stack(rows, axis=1).reshape(-1, 3, 3)


def wind_tangents(x, v, triangles, wind, pressure, slots, stiffness, damping):
    S, square, p = _geometry(x, v, triangles, wind)
    u = wind - v[triangles].mean(axis=1)
    size = np.abs(p)
    slope = 2.0 * pressure * size / square
    S_S = S[:, :, None] * S[:, None, :]
    along_v = -slope[:, None, None] / 3.0 * S_S
    # dF/dS, then dS/d(corner) = [opposite edge]x / 2 with the sign that a -> (c - b)
    value = pressure * size * p / square
    dF = slope[:, None, None] * S[:, :, None] * u[:, None, :]
    dF += value[:, None, None] * (np.eye(3) - 2.0 * S_S / square[:, None, None])
    for k in range(3):
        edge = x[triangles[:, (k + 2) % 3]] - x[triangles[:, (k + 1) % 3]]
        along_x = 0.5 * dF @ _cross_matrix(edge)
        for m in range(3):
            kept = slots[:, m, k] != NO_SLOT
            np.subtract.at(stiffness, slots[kept, m, k], along_x[kept] / 3.0)
            np.subtract.at(damping, slots[kept, m, k], along_v[kept] / 3.0)
