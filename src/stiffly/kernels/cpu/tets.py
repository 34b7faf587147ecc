"""Linear tetrahedra of an isotropic material: energy, gradient, discrete gradients.

The deformation gradient of element e is F = sum_k (x_k - x_0) g_k^T, k = 1, 2, 3, with g_k the
gradient of vertex k's linear shape function at rest; its forces are P g_k (materials/material.py).
Elements go through polar.py's tiles of LANES lanes into a buffer per element, and every particle
(every block) then gathers its own sum: no races, the same bits whatever the number of threads.

A material that knows P without singular values has forces about three times as fast.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..names import MEAN_CHUNK
from .for_material import Choice, Slot, energy, for_material, piola, stress
from .jit import PARALLEL_ROWS, both, inlined, strict, tasks
from .mean_stretch import stretch
from .polar import LANES, SIGMA_ROW, SVD_ROWS, U_ROW, V_ROW, column, signed_svd, svd_tile
from .small import IDENTITY, ZERO, add_to, combine, dot, load, product, row, sum_of, times, turned

# Rows of a tile after polar.py's: the shape gradients and the two moduli.
SHAPE_ROW, MODULI_ROW, ROWS = SVD_ROWS, SVD_ROWS + 9, SVD_ROWS + 11
# Forces of vertices 1, 2, 3 take the place of V, doubts that of the first singular value.
FORCE_ROW, DOUBT_ROW = V_ROW, SIGMA_ROW
CERTAIN = 1e-16  # doubts below: their squares are rounding errors (Material.piola)


@inlined
def triple(w, row, lane):
    """Three consecutive rows of one lane."""
    k = row * LANES + lane
    return w[k], w[k + LANES], w[k + 2 * LANES]


@inlined
def set_triple(w, row, lane, a, b, c):
    k = row * LANES + lane
    w[k] = a
    w[k + LANES] = b
    w[k + 2 * LANES] = c


@inlined
def moduli_of(w, lane):
    return w[MODULI_ROW * LANES + lane], w[(MODULI_ROW + 1) * LANES + lane]


@inlined
def matrix(w, row, lane):
    """Nine consecutive rows of one lane."""
    k = row * LANES + lane
    a, b, c = w[k], w[k + LANES], w[k + 2 * LANES]
    d, e, f = w[k + 3 * LANES], w[k + 4 * LANES], w[k + 5 * LANES]
    return a, b, c, d, e, f, w[k + 6 * LANES], w[k + 7 * LANES], w[k + 8 * LANES]


@inlined
def load_lane(lane, e, first, x, tets, shape, moduli, w):
    """Element e into one lane, in place of F the edges from vertex 0 to the others; vertices are
    counted from the row `first` of x on."""
    t, g, m = tets[e], shape[e], moduli[e]
    for k in range(9):
        w[(SHAPE_ROW + k) * LANES + lane] = g[k]
    w[MODULI_ROW * LANES + lane] = m[0]
    w[(MODULI_ROW + 1) * LANES + lane] = m[1]
    o, p, q, r = x[first + t[0]], x[first + t[1]], x[first + t[2]], x[first + t[3]]
    for a in range(3):
        w[a * LANES + lane] = p[a] - o[a]
        w[(3 + a) * LANES + lane] = q[a] - o[a]
        w[(6 + a) * LANES + lane] = r[a] - o[a]


@inlined
def deform(w):
    """F in place of the edges."""
    for lane in range(LANES):
        F = product(turned(matrix(w, 0, lane)), matrix(w, SHAPE_ROW, lane))
        set_triple(w, 0, lane, F[0], F[1], F[2])
        set_triple(w, 3, lane, F[3], F[4], F[5])
        set_triple(w, 6, lane, F[6], F[7], F[8])


@strict
def load_gradients(tile, x, tets, shape, moduli):
    """A tile with F; lanes beyond the last element repeat it."""
    w = np.empty(ROWS * LANES)
    last = len(tets) - 1
    for lane in range(LANES):
        e = np.uint64(min(tile * LANES + lane, last))
        load_lane(lane, e, np.uint64(0), x, tets, shape, moduli, w)
    deform(w)
    return w


@strict
def load_tile(tile, x, tets, shape, moduli):
    """The same with F decomposed."""
    w = load_gradients(tile, x, tets, shape, moduli)
    svd_tile(w)
    return w


@inlined
def turn_shapes(w):
    """h_k = V^T g_k in place of V: h_ki in row 3 k + i."""
    for lane in range(LANES):
        a, b, c = column(w, V_ROW, lane), column(w, V_ROW + 1, lane), column(w, V_ROW + 2, lane)
        for k in range(0, 9, 3):
            g = triple(w, SHAPE_ROW + k, lane)
            set_triple(w, V_ROW + k, lane, dot(a, g), dot(b, g), dot(c, g))


# ------------------------------------------------------------------ energy


@for_material(tasks)
def _energy(tile, x, tets, shape, moduli, sums):
    w = load_tile(tile, x, tets, shape, moduli)
    total = 0.0
    for lane in range(min(LANES, len(tets) - tile * LANES)):
        a, b, c = triple(w, SIGMA_ROW, lane)
        mu, lam = moduli_of(w, lane)
        total += energy(mu, lam, a, b, c)
    sums[tile] = total


def tet_energy(x, tets, shape, moduli, material):
    """Energy [J] of elements tets (m, 4) at positions x (N, 3) [m].

    shape (m, 9): rows g_1, g_2, g_3 [1/m]; moduli (m, 2): mu and lam times the volume [J];
    material: see materials/material.py.
    """
    sums = np.empty(tile_count(tets))
    energies = _energy[material][len(tets) >= PARALLEL_ROWS]
    energies(sums.size, x, tets, shape, moduli, sums)
    return float(sums.sum())


def tile_count(tets):
    return -(-len(tets) // LANES)


# ------------------------------------------------------------------ gradient


@for_material(forceinline=True)
def _stress_lanes(w):
    for lane in range(LANES):
        a, b, c = triple(w, SIGMA_ROW, lane)
        mu, lam = moduli_of(w, lane)
        a, b, c = stress(mu, lam, a, b, c)
        set_triple(w, SIGMA_ROW, lane, a, b, c)


@inlined
def _force_lanes(w):
    """Forces U (psi_i h_ki) of vertices 1, 2, 3."""
    for lane in range(LANES):
        p = triple(w, SIGMA_ROW, lane)
        for k in range(0, 9, 3):
            h = triple(w, V_ROW + k, lane)
            f = (p[0] * h[0], p[1] * h[1], p[2] * h[2])
            for a in range(3):
                w[(FORCE_ROW + k + a) * LANES + lane] = dot(triple(w, U_ROW + 3 * a, lane), f)


@for_material(forceinline=True)
def _decomposed_forces(w):
    """Forces of a tile that holds F, by singular values."""
    svd_tile(w)
    _stress_lanes(w)
    turn_shapes(w)
    _force_lanes(w)


@for_material(forceinline=True)
def _direct_forces(w):
    """Forces of a tile that holds F, and keeps it; whether they are certain."""
    for lane in range(LANES):
        g = matrix(w, SHAPE_ROW, lane)
        mu, lam = moduli_of(w, lane)
        P, doubt = piola(mu, lam, matrix(w, 0, lane))
        f = product(g, turned(P))
        set_triple(w, FORCE_ROW, lane, f[0], f[1], f[2])
        set_triple(w, FORCE_ROW + 3, lane, f[3], f[4], f[5])
        set_triple(w, FORCE_ROW + 6, lane, f[6], f[7], f[8])
        w[DOUBT_ROW * LANES + lane] = doubt
    certain = 0
    for lane in range(LANES):
        certain += w[DOUBT_ROW * LANES + lane] < CERTAIN  # a NaN is not
    return certain == LANES


@for_material(forceinline=True)
def _certain_forces(w):
    if not _direct_forces(w):
        _decomposed_forces(w)


tile_forces = Choice(lambda m: _decomposed_forces if m.piola is None else _certain_forces)


@strict
def store_forces(tile, w, forces):
    """The first nine rows into forces (m, 12); vertex 0 balances the others."""
    first = tile * LANES
    for lane in range(min(LANES, len(forces) - first)):
        f = forces[np.uint64(first + lane)]
        for a in range(3):
            p, q, r = column(w, a, lane)
            f[a] = -(p + q + r)
            f[3 + a] = p
            f[6 + a] = q
            f[9 + a] = r


@for_material(tasks)
def _forces(tile, x, tets, shape, moduli, forces):
    w = load_gradients(tile, x, tets, shape, moduli)
    tile_forces(w)
    store_forces(tile, w[FORCE_ROW * LANES :], forces)


@both(error_model="numpy")
def _gather(start, corner, forces, out):
    for k in prange(len(out)):
        i, total = np.uint64(k), ZERO
        for p in range(start[i], start[i + np.uint64(1)]):
            total = sum_of(total, forces[corner[p]])
        add_to(out[i], 1.0, total)


def gather(start, corner, forces, out):
    """Adds the forces (m, 12) of each particle's corners to out (N, 3)."""
    _gather[len(forces) >= PARALLEL_ROWS](start, corner, forces.reshape(-1, 3), out)


def tet_gradient(x, tets, shape, moduli, material, start, corner, out):
    """Adds dE/dx [N] to out (N, 3).

    start (N + 1,), corner (4 m,): the corners of each particle, corner 4 e + k of element e.
    """
    forces = np.empty((len(tets), 12))
    fill = _forces[material][len(tets) >= PARALLEL_ROWS]
    fill(tile_count(tets), x, tets, shape, moduli, forces)
    gather(start, corner, forces, out)


# ------------------------------------------------------------------ discrete gradients
# Forces P g_k of the mean stress P (see mean_stretch.py).  A state of the elements is F, U, sigma,
# V of the signed singular values F = U diag(sigma) V^T, as arrays (m, 9), (m, 9), (m, 3), (m, 9);
# stvk needs F only, and the others are empty.  A step asks for many mean gradients that start from
# one state, so states are computed apart and kept.

mean_stress, mean_columns = Slot("mean.stress"), Slot("mean.columns")


@both(error_model="numpy")
def _deform(x, tets, shape, F):
    for e in prange(len(tets)):
        t, g = tets[e], shape[e]
        o, p, q, r = x[t[0]], x[t[1]], x[t[2]], x[t[3]]
        for a in range(3):
            d1, d2, d3 = p[a] - o[a], q[a] - o[a], r[a] - o[a]
            for c in range(3):
                F[e, 3 * a + c] = d1 * g[c] + d2 * g[3 + c] + d3 * g[6 + c]


def tet_states(x, tets, shape, material):
    """F, U, sigma, V of every element at positions x (N, 3); arguments as in tet_energy."""
    F = np.empty((len(tets), 9))
    _deform[len(tets) >= PARALLEL_ROWS](x, tets, shape, F)
    U, sigma, V = signed_svd(F if material.mean.decomposed else F[:0])
    return F, U.reshape(-1, 9), sigma, V.reshape(-1, 9)


@both(error_model="numpy")
def _stretches(sigma0, V0, sigma1, V1, shift, U):
    for e in prange(len(U)):
        s0, s1 = row(sigma0[e], 0), row(sigma1[e], 0)
        mean = combine(0.5, stretch(load(V0[e]), s0), 0.5, stretch(load(V1[e]), s1))
        # only the last stretch can be negative: twice its size makes the mean positive
        shift[e] = 2.0 * max(0.0, -min(s0[2], s1[2]))
        mean = combine(1.0, mean, shift[e], IDENTITY)
        for k in range(9):
            U[e, k] = mean[k]


def mean_basis(before, after, mean):
    """B (m, 9) and u (m, 3), Um = B diag(u) B^T, where the mean stress wants them; empty else.

    From the singular values of Um made positive by a shift.
    """
    if not mean.turned:
        return np.empty((0, 9)), np.empty((0, 3))
    (_, _, sigma0, V0), (_, _, sigma1, V1) = before, after
    U, shift = np.empty_like(V0), np.empty(len(V0))
    _stretches[len(V0) >= PARALLEL_ROWS](sigma0, V0, sigma1, V1, shift, U)
    _, u, B = signed_svd(U)
    return B.reshape(-1, 9), u - shift[:, None]


@inlined
def _vertex_forces(P, g, f):
    """P g_k for the vertices 1, 2, 3 into f (12,); vertex 0 balances them."""
    for a in range(3):
        f[a] = 0.0
    for k in range(3):
        v = times(P, row(g, k))
        for a in range(3):
            f[3 * (k + 1) + a] = v[a]
            f[a] -= v[a]


@for_material(both)
def _mean_forces(before, after, middle, shape, moduli, forces):
    for e in prange(len(forces)):
        m = moduli[e]
        P = mean_stress(m[0], m[1], before, after, middle, e)
        _vertex_forces(P, shape[e], forces[e])


def tet_mean_gradient(before, after, tets, shape, moduli, material, start, corner, out):
    """Adds g [N] to out (N, 3), g.(x1 - x0) = E(x1) - E(x0), for the states at x0 and x1.

    The rest as in tet_gradient.
    """
    forces = np.empty((len(tets), 12))
    middle = mean_basis(before, after, material.mean)
    fill = _mean_forces[material][len(tets) >= PARALLEL_ROWS]
    fill(before, after, middle, shape, moduli, forces)
    gather(start, corner, forces, out)


# ------------------------------------------------------------------ their derivatives
# By the second state, as 3x3 blocks: not symmetric.


@strict
def _complete(K, out):
    """All sixteen blocks (144,), block 4 k + l; rows and columns sum to zero."""
    for a in range(3):
        for b in range(3):
            corner = 0.0
            for k in range(3):
                in_row, in_column = 0.0, 0.0
                for n in range(3):
                    value = K[3 * k + a, 3 * n + b]
                    out[9 * (4 * (k + 1) + n + 1) + 3 * a + b] = value
                    in_row += value
                    in_column += K[3 * n + a, 3 * k + b]
                out[9 * 4 * (k + 1) + 3 * a + b] = -in_row
                out[9 * (k + 1) + 3 * a + b] = -in_column
                corner += in_row
            out[3 * a + b] = corner


@for_material(both)
def _fill(first, count, before, after, middle, shape, moduli, elements):
    for n in prange(count):
        e, K = first + n, np.empty((9, 9))
        mean_columns(moduli[e, 0], moduli[e, 1], before, after, middle, e, shape[e], K)
        _complete(K, elements[n])


@strict
def _sum(begin, end, first, slot, start, source, elements, blocks):
    for p in range(begin, end):
        block = blocks[slot[p]]
        for q in range(start[p], start[p + 1]):
            e = elements[source[q] - first]
            for k in range(9):
                block[k] += e[k]


def tet_mean_blocks(
    before, after, tets, shape, moduli, material, chunks, slot, start, source, blocks
):
    """Adds dg/dx1 [N/m] of tet_mean_gradient to blocks (nnz, 3, 3).

    slot[p] takes the blocks source[start[p]:start[p + 1]] of the elements, block 16 e + 4 k + l
    being that of vertices k, l of element e.  Chunk c of MEAN_CHUNK elements has the slots
    p = chunks[c] to chunks[c + 1].
    """
    elements = np.empty((min(len(tets), MEAN_CHUNK), 144))
    fill = _fill[material][len(tets) >= PARALLEL_ROWS]
    middle = mean_basis(before, after, material.mean)
    flat = blocks.reshape(-1, 9)
    for chunk in range(len(chunks) - 1):
        first = chunk * MEAN_CHUNK
        count = min(MEAN_CHUNK, len(tets) - first)
        fill(first, count, before, after, middle, shape, moduli, elements)
        own = chunks[chunk], chunks[chunk + 1], np.uint32(16 * first)
        _sum(*own, slot, start, source, elements.reshape(-1, 9), flat)
