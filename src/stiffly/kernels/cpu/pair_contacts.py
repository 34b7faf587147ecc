"""Contacts between elements: four particles each, a linear gap, and friction along it.

The gap of a contact is g = n . sum_i w_i x_i, with weights w (4,), sum_i w_i = 0, and a unit
normal n (3,).  Energies are functions of gaps, so all forces are sum_c f_c w_ci n_c.
"""

from __future__ import annotations

import math

from .jit import njit


@njit(inline="always")
def _sum(x, i, w):
    """sum_i w_i x_i."""
    a, b, c, d = x[i[0]], x[i[1]], x[i[2]], x[i[3]]
    return (
        w[0] * a[0] + w[1] * b[0] + w[2] * c[0] + w[3] * d[0],
        w[0] * a[1] + w[1] * b[1] + w[2] * c[1] + w[3] * d[1],
        w[0] * a[2] + w[1] * b[2] + w[2] * c[2] + w[3] * d[2],
    )


@njit
def pair_friction(v, inverse_mass, stencil, weights, normals, most):
    """Slows the sliding of each contact in turn, v (N, 3) in place; momentum stays.

    The impulse lies along the sliding velocity u of sum_i w_i v_i, across n, and is the smaller
    of most (m,) [N s] and what stops the sliding, |u| / sum_i w_i^2 / m_i: never a reversal, so
    kinetic energy only falls.  inverse_mass (N,) [1/kg]: zero for particles that are held.
    """
    for k in range(len(stencil)):
        if most[k] <= 0.0:
            continue
        i, w, n = stencil[k], weights[k], normals[k]
        d = _sum(v, i, w)
        normal = d[0] * n[0] + d[1] * n[1] + d[2] * n[2]
        u0, u1, u2 = d[0] - normal * n[0], d[1] - normal * n[1], d[2] - normal * n[2]
        speed = math.sqrt(u0 * u0 + u1 * u1 + u2 * u2)
        light = 0.0
        for c in range(4):
            light += w[c] * w[c] * inverse_mass[i[c]]
        if speed == 0.0 or light == 0.0:
            continue
        impulse = min(most[k] / speed, 1.0 / light)
        for c in range(4):
            r, s = v[i[c]], impulse * w[c] * inverse_mass[i[c]]
            r[0] -= s * u0
            r[1] -= s * u1
            r[2] -= s * u2
