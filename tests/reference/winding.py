"""Plain NumPy version of winding numbers: every ray against every triangle."""

from __future__ import annotations

import numpy as np


def winding_numbers(p, x, faces, low, cell, start, members, out):
    corners = x[faces]
    for k in range(len(p)):
        inside = sum(_side(corners[:, i], corners[:, (i + 1) % 3], p[k]) for i in range(3))
        out[k] = np.sum(inside * (_height(corners, p[k]) > p[k, 2]))


def _side(a, b, p):
    """+1, -1 or 0 (f,): sides that pass p on the right, going up or down."""
    turned = (b[:, 1] < a[:, 1]) | ((b[:, 1] == a[:, 1]) & (b[:, 0] < a[:, 0]))
    first, last = np.where(turned[:, None], b, a), np.where(turned[:, None], a, b)
    along, to = last - first, p - first
    area = along[:, 0] * to[:, 1] - along[:, 1] * to[:, 0]
    left = np.where(turned, area <= 0.0, area > 0.0)
    up, down = (a[:, 1] <= p[1]) & (p[1] < b[:, 1]), (b[:, 1] <= p[1]) & (p[1] < a[:, 1])
    return (up & left).astype(int) - (down & ~left)


def _height(corners, p):
    a, u, v = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area, r = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0], p - a
    low, high = corners[:, :, 2].min(axis=1), corners[:, :, 2].max(axis=1)
    safe = np.where(area == 0.0, 1.0, area)
    s = (r[:, 0] * v[:, 1] - r[:, 1] * v[:, 0]) / safe
    t = (u[:, 0] * r[:, 1] - u[:, 1] * r[:, 0]) / safe
    z = np.clip(a[:, 2] + s * u[:, 2] + t * v[:, 2], low, high)
    return np.where(area == 0.0, 0.5 * (low + high), z)
