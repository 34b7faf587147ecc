"""Plain NumPy version of contacts between elements (see kernels.cpu.barrier)."""

from __future__ import annotations

import numpy as np


def pair_friction(v, inverse_mass, stencil, weights, normals, most):
    for i, w, n, limit in zip(stencil, weights, normals, most, strict=True):
        d = w @ v[i]
        u = d - (d @ n) * n
        speed, light = np.linalg.norm(u), np.sum(w**2 * inverse_mass[i])
        if limit > 0.0 and speed > 0.0 and light > 0.0:
            impulse = min(limit / speed, 1.0 / light)
            np.subtract.at(v, i, impulse * (w * inverse_mass[i])[:, None] * u)
