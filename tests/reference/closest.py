"""Plain NumPy version of the closest points (see kernels.cpu.pair_distance)."""

from __future__ import annotations

import numpy as np

FLAT = 1e-14


def _dot(a, b):
    return np.einsum("ij,ij->i", a, b)


def _along(p, a, b):
    e, r = b - a, p - a
    square = _dot(e, e)
    s = np.clip(_dot(r, e) / np.where(square == 0.0, 1.0, square), 0.0, 1.0)
    d = r - s[:, None] * e
    return s, _dot(d, d)


def vertex_edge_weights(x, stencil, weights):
    s, _ = _along(*(x[stencil[:, k]] for k in range(3)))
    weights[:] = np.stack([np.ones_like(s), s - 1.0, -s, np.zeros_like(s)], axis=1)


def vertex_face_weights(x, stencil, weights):
    p, a, b, c = (x[stencil[:, k]] for k in range(4))
    o, i = np.zeros(len(p)), np.ones(len(p))
    sides = [_along(p, a, b), _along(p, b, c), _along(p, c, a)]
    (s0, _), (s1, _), (s2, _) = sides
    points = np.array([[1 - s0, s0, o], [o, 1 - s1, s1], [s2, o, 1 - s2]])
    best = np.argmin([square for _, square in sides], axis=0)
    border = points[best, :, np.arange(len(p))]
    u, v, r = b - a, c - a, p - a
    uu, uv, vv, ru, rv = _dot(u, u), _dot(u, v), _dot(v, v), _dot(r, u), _dot(r, v)
    det = uu * vv - uv * uv
    y, z = vv * ru - uv * rv, uu * rv - uv * ru
    inner = (det > FLAT * uu * vv) & (y >= 0) & (z >= 0) & (y + z <= det)
    det = np.where(inner, det, 1.0)
    inside = np.stack([1 - (y + z) / det, y / det, z / det], axis=1)
    weights[:, 0] = i
    weights[:, 1:] = -np.where(inner[:, None], inside, border)


def edge_edge_weights(x, stencil, weights):
    a, b, c, d = (x[stencil[:, k]] for k in range(4))
    u, v, r = b - a, d - c, c - a
    uu, uv, vv, ru, rv = _dot(u, u), _dot(u, v), _dot(v, v), _dot(r, u), _dot(r, v)
    det = uu * vv - uv * uv
    crossing = det > FLAT * uu * vv
    D = np.where(crossing, det, 1.0)
    s, t = (vv * ru - uv * rv) / D, (uv * ru - uu * rv) / D
    beside = ~crossing & (uu > 0) & (vv > 0)
    A, B = np.where(beside, uu, 1.0), np.where(beside, vv, 1.0)
    ends = np.sort([ru / A, (ru + uv) / A], axis=0)
    low, high = np.maximum(0.0, ends[0]), np.minimum(1.0, ends[1])
    middle = 0.5 * (low + high)
    across = np.clip((middle * uv - rv) / B, 0.0, 1.0)
    beside &= low <= high
    s, t = np.where(beside, middle, s), np.where(beside, across, t)
    inner = (crossing & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)) | beside
    o, i = np.zeros(len(a)), np.ones(len(a))
    found = [_along(a, c, d), _along(b, c, d), _along(c, a, b), _along(d, a, b)]
    best = np.argmin([square for _, square in found], axis=0)
    k = np.arange(len(a))
    s = np.where(inner, s, np.array([o, i, found[2][0], found[3][0]])[best, k])
    t = np.where(inner, t, np.array([found[0][0], found[1][0], o, i])[best, k])
    weights[:] = np.stack([1 - s, s, t - 1, -t], axis=1)
