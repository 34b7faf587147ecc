"""Plain NumPy version of contacts between elements (see kernels.cpu.barrier)."""

from __future__ import annotations

import numpy as np

from .barrier import _cleared, _meet


def pair_friction(v, inverse_mass, stencil, weights, normals, most):
    presses = np.abs(weights) * np.maximum(most, 0.0)[:, None]
    pressed, old = np.zeros(len(v)), v.copy()
    np.add.at(pressed, stencil, presses)
    for i, w, n, limit, own in zip(stencil, weights, normals, most, presses, strict=True):
        some = w != 0.0
        share = own[some] / pressed[i[some]] if limit > 0.0 else np.ones(np.count_nonzero(some))
        d = w @ old[i]
        u = d - (d @ n) * n
        speed, light = np.linalg.norm(u), np.sum(w[some] ** 2 * inverse_mass[i[some]] / share)
        if limit > 0.0 and speed > 0.0 and light > 0.0:
            impulse = min(limit / speed, 1.0 / light)
            np.subtract.at(v, i, impulse * (w * inverse_mass[i])[:, None] * u)


def pair_impulses(v, inverse_mass, stencil, weights, normals, least):
    for i, w, n, wanted in zip(stencil, weights, normals, least, strict=True):
        _push(v, i, w, n, inverse_mass, wanted - w @ v[i] @ n)


def stop_crossings(x, move, inverse_mass, kinds, stencil, reach, restitution, shares):
    for k, (kind, i) in enumerate(zip(kinds, stencil, strict=True)):
        floor = 0.1 * min(_meet(kind, x[i])[2], reach[k])
        shares[k] = _cleared(kind, x[i], move[i], floor)
        if shares[k] < 1.0:
            w, r, d = _meet(kind, x[i] + shares[k] * move[i])
            n = r / d
            _push(move, i, w, n, inverse_mass, -(1.0 + restitution) * (w @ move[i] @ n))


def _push(v, i, w, n, inverse_mass, missing):
    """By an impulse along n, w @ v[i] @ n grows by what is missing, if anything is."""
    light = np.sum(w**2 * inverse_mass[i])
    if missing > 0.0 and light > 0.0:
        np.add.at(v, i, missing / light * (w * inverse_mass[i])[:, None] * n)
