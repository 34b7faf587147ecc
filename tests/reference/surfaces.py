"""NumPy twins of kernels.cpu.contact: surfaces, one point at a time."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import HEMISPHERE, PLANE, SPHERE


def _half_ball(q, p):
    """Part next to p; coordinates (rho, z) across and along the axis, unit vector e across."""
    y, r, a = p - q[:3], q[3], q[4:7]
    z = a @ y
    w = y - z * a
    rho = np.linalg.norm(w)
    e = w / rho if rho > 0.0 else np.zeros(3)
    if z >= 0.0:
        part = "cap" if np.linalg.norm(y) - r >= -z else "flat"
    else:
        part = "flat" if rho <= r else "rim"
    return part, rho, z, e


def _sphere(q, p, side):
    """d, n, H."""
    y = p - q[:3]
    length = np.linalg.norm(y)
    if length == 0.0:
        return -side * q[3], np.zeros(3), np.zeros((3, 3))
    n = y / length
    return side * (length - q[3]), side * n, side * (np.eye(3) - np.outer(n, n)) / length


def surface(kind, q, p):
    """d, n = grad d, H = Hessian of d at p (3,)."""
    if kind == PLANE:
        return q[:3] @ (p - q[3:6]) + q[6], q[:3], np.zeros((3, 3))
    if kind == SPHERE:
        return _sphere(q, p, q[4])
    part, rho, z, e = _half_ball(q, p)
    a = q[4:7]
    if part == "cap":
        return _sphere(q, p, 1.0)
    if part == "flat":
        return -z, -a, np.zeros((3, 3))
    out = rho - q[3]
    d = np.hypot(out, z)
    n, t, along = (out * e + z * a) / d, (out * a - z * e) / d, np.cross(a, e)
    return d, n, np.outer(t, t) / d + out / (rho * d) * np.outer(along, along)


def mean_surface(kind, q, p0, p1):
    """m with m.(p1 - p0) = d(p1) - d(p0), and dm/dp1."""
    (d0, _, _), (d1, n1, _) = surface(kind, q, p0), surface(kind, q, p1)
    if kind == PLANE:
        return q[:3], np.zeros((3, 3))
    parts = [_half_ball(q, p)[0] if kind == HEMISPHERE else "cap" for p in (p0, p1)]
    if parts[0] != parts[1]:
        return _corrected(kind, q, p0, p1)
    if parts[0] == "flat":
        return -q[4:7], np.zeros((3, 3))
    if parts[0] == "cap":
        side = q[4] if kind == SPHERE else 1.0
        y0, y1 = p0 - q[:3], p1 - q[:3]
        total = np.linalg.norm(y0) + np.linalg.norm(y1)
        if total == 0.0:
            return np.zeros(3), np.zeros((3, 3))
        m = side * (y0 + y1) / total
        return m, side * (np.eye(3) - np.outer(m, n1)) / total
    (_, rho0, z0, e0), (_, rho1, z1, e1) = _half_ball(q, p0), _half_ball(q, p1)
    a, wide = q[4:7], rho0 + rho1
    P, out = (rho0 * e0 + rho1 * e1) / wide, wide - 2.0 * q[3]
    m = (out * P + (z0 + z1) * a) / (d0 + d1)
    dP = (np.eye(3) - np.outer(a, a) - np.outer(P, e1)) / wide
    dN = np.outer(P, e1) + out * dP + np.outer(a, a)
    return m, (dN - np.outer(m, n1)) / (d0 + d1)


def _corrected(kind, q, p0, p1):
    (d0, _, _), (d1, n1, _) = surface(kind, q, p0), surface(kind, q, p1)
    _, n, H = surface(kind, q, 0.5 * (p0 + p1))
    step = p1 - p0
    square = step @ step
    if square <= 1e-20 * q[3] ** 2:
        return n, 0.5 * H
    c = (d1 - d0 - n @ step) / square
    dc = (n1 - n - 0.5 * H @ step - 2.0 * c * step) / square
    return n + c * step, 0.5 * H + np.outer(step, dc) + c * np.eye(3)


def row(numbers, j):
    return numbers[j if len(numbers) > 1 else 0]


def surface_distances(x, kind, numbers, out):
    for j, p in enumerate(x):
        out[j] = surface(kind, row(numbers, j), p)[0]


def surface_normals(x, rows, kind, numbers, out):
    for i, j in enumerate(rows):
        out[i] = surface(kind, row(numbers, j), x[j])[1]
