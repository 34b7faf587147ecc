"""NumPy twins of kernels.cpu.contact: penalty."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import CONVEX, NO_SLOT, TANGENT

from .surfaces import mean_surface, row, surface


def _touching(x, own, kind, numbers, margin):
    """j, particle, s = d - margin, n, H of each particle that may touch."""
    for j, i in enumerate(own):
        d, n, H = surface(kind, row(numbers, j), x[i])
        yield j, i, d - margin, n, H


def contact_energy(x, own, kind, numbers, stiffness, margin):
    each = _touching(x, own, kind, numbers, margin)
    return sum(0.5 * stiffness[j] * min(s, 0.0) ** 2 for j, _, s, _, _ in each)


def contact_gradient(x, own, kind, numbers, stiffness, margin, out):
    for j, i, s, n, _ in _touching(x, own, kind, numbers, margin):
        out[i] += stiffness[j] * min(s, 0.0) * n


def contact_blocks(
    x, own, kind, numbers, stiffness, margin, diagonal, blocks, pressed, form=TANGENT
):
    for j, i, s, n, H in _touching(x, own, kind, numbers, margin):
        if s < 0.0 and diagonal[i] != NO_SLOT:
            if form == CONVEX and np.trace(s * H) < 0.0:
                H = np.zeros((3, 3))
            blocks[diagonal[i]] += stiffness[j] * (np.outer(n, n) + s * H)
            pressed[i] += 0.5 * stiffness[j] * max(0.0, -np.linalg.eigvalsh(s * H)[0])


def _divided(s0, s1, k):
    """Divided difference of phi(s) = k/2 min(s, 0)^2, and its derivative by s1."""
    if s0 < 0.0 and s1 < 0.0:
        return 0.5 * k * (s0 + s1), 0.5 * k
    if s0 >= 0.0 and s1 >= 0.0:
        return 0.0, 0.0
    f = 0.5 * k * (min(s1, 0.0) ** 2 - min(s0, 0.0) ** 2) / (s1 - s0)
    return f, (k * min(s1, 0.0) - f) / (s1 - s0)


def _between(x0, x1, own, kind, numbers, stiffness, margin):
    for j, i in enumerate(own):
        q = row(numbers, j)
        (d0, _, _), (d1, n1, _) = surface(kind, q, x0[i]), surface(kind, q, x1[i])
        f, rate = _divided(d0 - margin, d1 - margin, stiffness[j])
        if d0 < margin or d1 < margin:  # elsewhere the plane may be infinitely far
            yield i, f, rate, n1, *mean_surface(kind, q, x0[i], x1[i])
        else:
            yield i, 0.0, 0.0, n1, np.zeros(3), np.zeros((3, 3))


def contact_mean_gradient(x0, x1, own, kind, numbers, stiffness, margin, out):
    for i, f, _, _, m, _ in _between(x0, x1, own, kind, numbers, stiffness, margin):
        out[i] += f * m


def contact_mean_blocks(x0, x1, own, kind, numbers, stiffness, margin, diagonal, blocks):
    for i, f, rate, n1, m, S in _between(x0, x1, own, kind, numbers, stiffness, margin):
        if diagonal[i] != NO_SLOT:
            blocks[diagonal[i]] += rate * np.outer(m, n1) + f * S
