"""NumPy twins of kernels.cpu.face_springs: discrete gradients."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import NO_SLOT

from .face_springs import WEIGHTS
from .mean_springs import mean_terms


def _terms(x0, x1, tets, stiffness, rest):
    """g (t, 4, 3) and dg/dd1 (t, 4, 3, 3) of the four springs of each tet."""
    d0, d1 = (np.einsum("sc,tca->tsa", WEIGHTS, x[tets]).reshape(-1, 3) for x in (x0, x1))
    g, B = mean_terms(d0, d1, np.repeat(stiffness, 4), rest.ravel())
    return g.reshape(-1, 4, 3), B.reshape(-1, 4, 3, 3)


def face_spring_mean_gradient(x0, x1, tets, stiffness, rest, start, corner, out):
    g, _ = _terms(x0, x1, tets, stiffness, rest)
    np.add.at(out, tets, np.einsum("sc,tsa->tca", WEIGHTS, g))


def face_spring_mean_blocks(x0, x1, tets, stiffness, rest, start, corner, diagonal, slot, blocks):
    _, B = _terms(x0, x1, tets, stiffness, rest)
    K = np.einsum("sc,sd,tsab->tcdab", WEIGHTS, WEIGHTS, B).reshape(-1, 4, 3, 3)
    stored = slot != NO_SLOT
    np.add.at(blocks, slot[stored], K[stored])
