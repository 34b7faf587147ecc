"""NumPy twin of kernels.cpu.polar."""

from __future__ import annotations

import numpy as np


def signed_svd(F):
    U, sigma, Vt = np.linalg.svd(np.asarray(F, dtype=np.float64).reshape(-1, 3, 3))
    V = Vt.transpose(0, 2, 1)
    for Q in (U, V):  # a reflection becomes a rotation, and the last singular value changes sign
        mirrored = np.linalg.det(Q) < 0.0
        Q[mirrored, :, 2] *= -1.0
        sigma[mirrored, 2] *= -1.0
    return U, sigma, V
