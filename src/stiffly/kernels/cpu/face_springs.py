"""Springs from each vertex of a tet to the centre of the opposite face, E = k/2 (|d| - l)^2.

d = x_a - (x_b + x_c + x_d)/3.  Two passes: each tet computes its four springs, then each particle
gathers the corners that are its own, in order: the same bits whatever the number of threads.
Spring s of a tet acts on corner c with weight 1 where s = c and -1/3 elsewhere.  Laws and discrete
gradients are those of springs.py.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..names import CONVEX, NO_SLOT, SECANT, TANGENT
from .jit import PARALLEL_ROWS, both, njit
from .small import add_to, bar, dot, length
from .springs import across, mean_pull, mean_tangent, spring_law
from .tets import gather

THIRD = 1.0 / 3.0


@njit(inline="always")
def _offset(x, t, s):
    """d of spring s: (4 x_s - sum of all four) / 3 loses digits, so the face is summed alone."""
    a = x[t[s]]
    b = x[t[(s + 1) % 4]]
    c = x[t[(s + 2) % 4]]
    d = x[t[(s + 3) % 4]]
    return (
        a[0] - THIRD * (b[0] + c[0] + d[0]),
        a[1] - THIRD * (b[1] + c[1] + d[1]),
        a[2] - THIRD * (b[2] + c[2] + d[2]),
    )


@njit
def _energy(x, tets, stiffness, rest, each):
    for e in range(each.size):
        total = 0.0
        for s in range(4):
            L = length(_offset(x, tets[e], s))
            total += spring_law(L, stiffness[e], rest[e, s], False)
        each[e] = total


def face_spring_energy(x, tets, stiffness, rest):
    """Energy [J]. x (N, 3) [m], tets (t, 4), stiffness (t,) [N/m], rest (t, 4) [m]."""
    each = np.empty(len(tets))
    _energy(x, tets, stiffness, rest, each)
    return float(each.sum())


@njit(inline="always")
def _to_corners(forces):
    """From g_s (4, 3) by spring s's own d to the corners: (4/3) g_c - (1/3) sum of g."""
    for a in range(3):
        mean = THIRD * (forces[0, a] + forces[1, a] + forces[2, a] + forces[3, a])
        for s in range(4):
            forces[s, a] = 4.0 * THIRD * forces[s, a] - mean


@njit(inline="always")
def _tet_forces(x, t, stiffness, rest, forces):
    for s in range(4):
        d = _offset(x, t, s)
        scale = across(dot(d, d), stiffness, rest[s], False)
        for a in range(3):
            forces[s, a] = scale * d[a]
    _to_corners(forces)


@njit(inline="always")
def _gather(i, start, corner, forces, out):
    for p in range(start[i], start[i + np.uint64(1)]):
        add_to(out, 1.0, forces[corner[p]])


@both()
def _gradient(x, tets, stiffness, rest, start, corner, forces, out):
    for e in prange(len(tets)):
        _tet_forces(x, tets[e], stiffness[e], rest[e], forces[4 * e : 4 * e + 4])
    for i in prange(len(out)):
        _gather(np.uint64(i), start, corner, forces, out[i])


def face_spring_gradient(x, tets, stiffness, rest, start, corner, out):
    """Adds dE/dx [N] to out (N, 3).

    start (N + 1,), corner (4t,): of each particle, the corners 4 tet + c that it is.
    """
    _gradient[len(x) >= PARALLEL_ROWS](
        x, tets, stiffness, rest, start, corner, np.empty((4 * len(tets), 3)), out
    )


@njit(inline="always")
def _tet_matrices(x, t, stiffness, rest, form, matrices, press):
    """Upper triangle (00, 11, 22, 01, 02, 12) of each spring's 3x3 matrix B_s; press_s >= 0."""
    for s in range(4):
        d = _offset(x, t, s)
        square = dot(d, d)
        scale = across(square, stiffness, rest[s], False)
        if form == CONVEX:
            scale = max(scale, 0.0)
        extra = 0.0 if form == SECANT or square == 0.0 else (stiffness - scale) / square
        B = bar(scale, extra, d)
        for a in range(6):
            matrices[s, a] = B[a]
        press[s] = max(0.0, -scale)


@njit(inline="always")
def _row_blocks(i, start, corner, slot, matrices, press, blocks):
    """Writes particle i's block row; returns its share of the negative stiffness.

    Block (c, c') of a tet is S/9 + (8/9) B_c on the diagonal and S/9 - (4/9)(B_c + B_c') off it,
    S the sum of the four B: the weights 1 and -1/3 multiplied out.
    """
    pressed = 0.0
    for p in range(start[i], start[i + np.uint64(1)]):
        q = corner[p]
        first = q - q % np.uint32(4)
        for c in range(4):
            pressed += press[first + np.uint32(c)] * THIRD
            place = slot[q, c]
            if place == NO_SLOT:
                continue
            own = matrices[q]
            other = matrices[first + np.uint32(c)]
            factor = 4.0 / 9.0 if first + np.uint32(c) == q else -4.0 / 9.0
            block = blocks[place]
            for a in range(6):
                total = 0.0
                for s in range(4):
                    total += matrices[first + np.uint32(s), a]
                value = total / 9.0 + factor * (own[a] + other[a])
                if a < 3:
                    block[a, a] += value
                else:
                    row, column = (0, a - 2) if a < 5 else (1, 2)
                    block[row, column] += value
                    block[column, row] += value
        pressed += 2.0 * THIRD * press[q]
    return pressed


@both()
def _blocks(x, springs, form, start, corner, diagonal, slot, work, blocks, pressed):
    tets, stiffness, rest = springs
    matrices, press = work
    for e in prange(len(tets)):
        four = slice(4 * e, 4 * e + 4)
        _tet_matrices(x, tets[e], stiffness[e], rest[e], form, matrices[four], press[four])
    for i in prange(len(x)):
        if diagonal[i] != NO_SLOT:
            pressed[i] += _row_blocks(np.uint64(i), start, corner, slot, matrices, press, blocks)


def face_spring_blocks(
    x, tets, stiffness, rest, start, corner, diagonal, slot, blocks, pressed, form=TANGENT
):
    """Adds d2E/dx2 [N/m] to blocks (nnz, 3, 3), and to pressed (N,) p = -f/L > 0 of each
    compressed spring, whole at its vertex and p/3 at each corner of the face.

    diagonal (N,): slot of each particle's own block; slot (4t, 4): slots of each corner's blocks.
    form: as in spring_blocks.
    """
    work = (np.empty((4 * len(tets), 6)), np.empty(4 * len(tets)))
    springs = (tets, stiffness, rest)
    _blocks[len(x) >= PARALLEL_ROWS](
        x, springs, form, start, corner, diagonal, slot, work, blocks, pressed
    )


# ------------------------------------------------------------------ discrete gradients


@njit(inline="always")
def _tet_mean_forces(x0, x1, t, stiffness, rest, forces):
    for s in range(4):
        a, b = _offset(x0, t, s), _offset(x1, t, s)
        g = mean_pull(a, b, stiffness, rest[s], False)
        for k in range(3):
            forces[s, k] = g[k]
    _to_corners(forces)


@both()
def _mean_forces(x0, x1, tets, stiffness, rest, forces):
    for e in prange(len(tets)):
        _tet_mean_forces(x0, x1, tets[e], stiffness[e], rest[e], forces[4 * e : 4 * e + 4])


def face_spring_mean_gradient(x0, x1, tets, stiffness, rest, start, corner, out):
    """Adds g [N] to out (N, 3), g.(x1 - x0) = E(x1) - E(x0); the rest as in
    face_spring_gradient."""
    forces = np.empty((len(tets), 12))
    fill = _mean_forces[len(tets) >= PARALLEL_ROWS]
    fill(x0, x1, tets, stiffness, rest, forces.reshape(-1, 3))
    gather(start, corner, forces, out)


@njit(inline="always")
def _tet_mean_matrices(x0, x1, t, stiffness, rest, matrices):
    """dg_s/dd_s of the four springs (4, 9)."""
    for s in range(4):
        a, b = _offset(x0, t, s), _offset(x1, t, s)
        scale, extra = mean_tangent(a, b, stiffness, rest[s], False)
        for k in range(3):
            for j in range(3):
                value = extra * (a[k] + b[k]) * b[j]
                matrices[s, 3 * k + j] = value + scale if k == j else value


@njit(inline="always")
def _row_mean_blocks(i, start, corner, slot, matrices, blocks):
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
def _mean_blocks(x0, x1, tets, stiffness, rest, sums, matrices, blocks):
    start, corner, diagonal, slot = sums
    for e in prange(len(tets)):
        _tet_mean_matrices(x0, x1, tets[e], stiffness[e], rest[e], matrices[4 * e : 4 * e + 4])
    for i in prange(len(x0)):
        if diagonal[i] != NO_SLOT:
            _row_mean_blocks(np.uint64(i), start, corner, slot, matrices, blocks)


def face_spring_mean_blocks(x0, x1, tets, stiffness, rest, start, corner, diagonal, slot, blocks):
    """Adds dg/dx1 [N/m] to blocks (nnz, 3, 3), not symmetric; slots as in face_spring_blocks."""
    matrices = np.empty((4 * len(tets), 9))
    sums = (start, corner, diagonal, slot)
    _mean_blocks[len(tets) >= PARALLEL_ROWS](
        x0, x1, tets, stiffness, rest, sums, matrices, blocks.reshape(-1, 9)
    )
