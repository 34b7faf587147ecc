"""The plain twin of kernels.cpu.small_steps: dense eigenbases, the formulas of the method."""

from __future__ import annotations

import numpy as np

from .spectral import stumpff_values


def rosenbrock_steps(force, jacobian, A, root, nodes, weights, h, count, x, v):
    def acceleration(y):
        return (force(y) - A @ y) / root**2

    for done in range(count):
        K = (A - jacobian(x)) / np.outer(root, root)
        if not np.isfinite(K).all():
            return done
        lam, Q = np.linalg.eigh(K)
        U, W = Q / root[:, None], Q.T * root

        def c(k, tau, lam=lam):
            return stumpff_values(k, tau * tau * lam)

        a = acceleration(x)
        wv, wa = W @ v, W @ a
        dx = h * c(1, h) * wv + h * h * c(2, h) * wa
        dv = h * c(1, h) * wa - h * h * lam * c(2, h) * wv
        for tau, (b3, b4) in zip(nodes * h, weights, strict=True):
            stage = tau * c(1, tau) * wv + tau * tau * c(2, tau) * wa
            d = W @ (acceleration(x + U @ stage) - a) + lam * stage
            dx += h * h * (b3 * c(4, h) + b4 * c(5, h)) * d
            dv += h * (b3 * c(3, h) + b4 * c(4, h)) * d
        if not np.isfinite(np.concatenate([dx, dv])).all():
            return done
        x += U @ dx
        v += U @ dv
    return count
