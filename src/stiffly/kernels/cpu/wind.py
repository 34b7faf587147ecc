"""Wind on triangles: F = q |p| p S / |S|^2, p = (wind - v).S, S the area vector, v the mean
velocity of the corners; q = density * coefficient / 2.  Every corner gets a third of F.  Serial, so
that sums have one order; it takes a small share of any step."""

from __future__ import annotations

import numpy as np

from ..names import NO_SLOT
from .jit import njit


@njit(inline="always")
def _area(a, b, c):
    e0, e1, e2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    f0, f1, f2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    return (
        0.5 * (e1 * f2 - e2 * f1),
        0.5 * (e2 * f0 - e0 * f2),
        0.5 * (e0 * f1 - e1 * f0),
    )


@njit(inline="always")
def _relative(v, i, j, k, wind):
    a, b, c = v[i], v[j], v[k]
    return (
        wind[0] - (a[0] + b[0] + c[0]) / 3.0,
        wind[1] - (a[1] + b[1] + c[1]) / 3.0,
        wind[2] - (a[2] + b[2] + c[2]) / 3.0,
    )


@njit
def wind_forces(x, v, triangles, wind, pressure, out):
    """Adds the force [N] to out (N, 3); triangles (s, 3), wind (3,) [m/s], pressure (s,) =
    density * coefficient / 2 [kg/m^3]."""
    for s in range(triangles.shape[0]):
        i, j, k = triangles[s]
        S = _area(x[i], x[j], x[k])
        u = _relative(v, i, j, k, wind)
        square = S[0] * S[0] + S[1] * S[1] + S[2] * S[2]
        p = u[0] * S[0] + u[1] * S[1] + u[2] * S[2]
        third = 0.0 if square == 0.0 else pressure[s] * abs(p) * p / square / 3.0
        for corner in (i, j, k):
            row = out[corner]
            row[0] += third * S[0]
            row[1] += third * S[1]
            row[2] += third * S[2]


@njit
def _derivatives(S, u, q, dF, dv):
    """dF/dS into dF (3, 3), dF/dv of any one corner into dv (3, 3)."""
    square = S[0] * S[0] + S[1] * S[1] + S[2] * S[2]
    inverse = 0.0 if square == 0.0 else 1.0 / square
    p = u[0] * S[0] + u[1] * S[1] + u[2] * S[2]
    slope = 2.0 * q * abs(p) * inverse
    value = q * abs(p) * p * inverse
    for a in range(3):
        for b in range(3):
            dv[a, b] = -slope / 3.0 * S[a] * S[b]
            dF[a, b] = slope * S[a] * u[b] - 2.0 * value * inverse * S[a] * S[b]
        dF[a, a] += value


@njit
def wind_tangents(x, v, triangles, wind, pressure, slots, stiffness, damping):
    """Adds K = -df/dx and D = -df/dv to blocks (nnz, 3, 3); slots (s, 3, 3): where block
    (corner m, corner k) is kept, NO_SLOT where it is not."""
    dF, dv, dx = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for s in range(triangles.shape[0]):
        corner = triangles[s]
        S = _area(x[corner[0]], x[corner[1]], x[corner[2]])
        u = _relative(v, corner[0], corner[1], corner[2], wind)
        _derivatives(S, u, pressure[s], dF, dv)
        for k in range(3):
            q, r = x[corner[(k + 2) % 3]], x[corner[(k + 1) % 3]]
            e0, e1, e2 = 0.5 * (q[0] - r[0]), 0.5 * (q[1] - r[1]), 0.5 * (q[2] - r[2])
            for a in range(3):  # dS/dx_k = [e]x, with [e]x d = e x d
                dx[a, 0] = dF[a, 1] * e2 - dF[a, 2] * e1
                dx[a, 1] = dF[a, 2] * e0 - dF[a, 0] * e2
                dx[a, 2] = dF[a, 0] * e1 - dF[a, 1] * e0
            for m in range(3):
                slot = slots[s, m, k]
                if slot != NO_SLOT:
                    for a in range(3):
                        for b in range(3):
                            stiffness[slot, a, b] -= dx[a, b] / 3.0
                            damping[slot, a, b] -= dv[a, b] / 3.0
