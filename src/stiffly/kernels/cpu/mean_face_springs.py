"""Discrete gradients of the springs from a vertex to the centre of the opposite face.

As in mean_springs.py with d = x_a - (x_b + x_c + x_d)/3, and summed as in face_springs.py.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from ..names import NO_SLOT
from .face_springs import THIRD, _offset
from .jit import both, njit
from .mean_springs import mean_scale, mean_tangent
from .tets import gather
from .threads import PARALLEL_ROWS


@njit(inline="always")
def _length(d):
    return math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])


@njit(inline="always")
def _tet_forces(x0, x1, t, stiffness, rest, f):
    """At the four corners (12,): (4/3) g_c - (1/3) sum of g, g_s that of spring s's own d."""
    for s in range(4):
        a, b = _offset(x0, t, s), _offset(x1, t, s)
        L0, L1 = _length(a), _length(b)
        total = L0 + L1 if L0 + L1 > 0.0 else 1.0
        scale, _ = mean_scale(total, L0 - rest[s], L1 - rest[s], stiffness, rest[s], False)
        for k in range(3):
            f[3 * s + k] = scale * (a[k] + b[k])
    for k in range(3):
        mean = THIRD * (f[k] + f[3 + k] + f[6 + k] + f[9 + k])
        for s in range(4):
            f[3 * s + k] = 4.0 * THIRD * f[3 * s + k] - mean


@both()
def _forces(x0, x1, tets, stiffness, rest, forces):
    for e in prange(len(tets)):
        _tet_forces(x0, x1, tets[e], stiffness[e], rest[e], forces[e])


def face_spring_mean_gradient(x0, x1, tets, stiffness, rest, start, corner, out):
    """Adds g [N] to out (N, 3), g.(x1 - x0) = E(x1) - E(x0); the rest as in
    face_spring_gradient."""
    forces = np.empty((len(tets), 12))
    _forces[len(tets) >= PARALLEL_ROWS](x0, x1, tets, stiffness, rest, forces)
    gather(start, corner, forces, out)


@njit(inline="always")
def _tet_matrices(x0, x1, t, stiffness, rest, matrices):
    """dg_s/dd_s of the four springs (4, 9)."""
    for s in range(4):
        a, b = _offset(x0, t, s), _offset(x1, t, s)
        scale, extra = mean_tangent(_length(a), _length(b), stiffness, rest[s], False)
        for k in range(3):
            for j in range(3):
                value = extra * (a[k] + b[k]) * b[j]
                matrices[s, 3 * k + j] = value + scale if k == j else value


@njit(inline="always")
def _row_blocks(i, start, corner, slot, matrices, blocks):
    """Block (c, c') of a tet: the sum of w_sc w_sc' B_s, w = 1 where s = c and -1/3 elsewhere."""
    for p in range(start[i], start[i + np.uint64(1)]):
        q = corner[p]
        first = q - q % np.uint32(4)
        for c in range(4):
            other = first + np.uint32(c)
            place = slot[q, c]
            if place == NO_SLOT:
                continue
            factor = 4.0 / 9.0 if other == q else -4.0 / 9.0
            for a in range(9):
                total = 0.0
                for s in range(4):
                    total += matrices[first + np.uint32(s), a]
                blocks[place, a] += total / 9.0 + factor * (matrices[q, a] + matrices[other, a])


@both()
def _blocks(x0, x1, tets, stiffness, rest, sums, matrices, blocks):
    start, corner, diagonal, slot = sums
    for e in prange(len(tets)):
        _tet_matrices(x0, x1, tets[e], stiffness[e], rest[e], matrices[4 * e : 4 * e + 4])
    for i in prange(len(x0)):
        if diagonal[i] != NO_SLOT:
            _row_blocks(np.uint64(i), start, corner, slot, matrices, blocks)


def face_spring_mean_blocks(x0, x1, tets, stiffness, rest, start, corner, diagonal, slot, blocks):
    """Adds dg/dx1 [N/m] to blocks (nnz, 3, 3), not symmetric; slots as in face_spring_blocks."""
    matrices = np.empty((4 * len(tets), 9))
    sums = (start, corner, diagonal, slot)
    _blocks[len(tets) >= PARALLEL_ROWS](
        x0, x1, tets, stiffness, rest, sums, matrices, blocks.reshape(-1, 9)
    )
