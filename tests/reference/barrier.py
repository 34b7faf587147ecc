"""Plain NumPy version of pairs that repel without limit (see kernels.cpu.barrier)."""

from __future__ import annotations

import numpy as np

from stiffly.kernels.names import EDGE_EDGE, VERTEX_EDGE

from .closest import edge_edge_weights, vertex_edge_weights, vertex_face_weights

WEIGHTS = (vertex_face_weights, vertex_edge_weights, edge_edge_weights)
ALL = np.arange(4)[None]


def _meet(kind, X):
    """Weights (4,), the vector between the closest points, the distance."""
    w = np.empty((1, 4))
    WEIGHTS[kind](X, ALL, w)
    r = w[0] @ (X - X[0])
    return w[0], r, np.linalg.norm(r)


def _points(kind):
    return 3 if kind == VERTEX_EDGE else 4


def _crossing(X, soft):
    u, v = X[1] - X[0], X[3] - X[2]
    n = np.cross(u, v)
    by_u, by_v = 2.0 * np.cross(v, n) / soft, 2.0 * np.cross(n, u) / soft
    return n @ n / soft, np.array([-by_u, by_u, -by_v, by_v])


def _terms(kind, X, t, soft):
    """Of one pair: d, its gradient, b, b', m, c, and the gradient of c."""
    w, r, d = _meet(kind, X)
    b, slope = 0.0, 0.0
    if d < t:
        b = 0.5 * (t - d) ** 4 / d**2
        slope = -2.0 * (t - d) ** 3 / d**2 - (t - d) ** 4 / d**3
    m, c, C = 1.0, 1.0, np.zeros((4, 3))
    if soft > 0.0:
        c, C = _crossing(X, soft)
        m = (2.0 - c) * c if c < 1.0 else 1.0
    return d, np.outer(w, r / d), b, slope, m, c, C


def _gradient(kind, X, t, soft):
    _, n, b, slope, m, c, C = _terms(kind, X, t, soft)
    return m * slope * n + (b * (2.0 - 2.0 * c) * C if c < 1.0 else 0.0)


def _rigid(points, Y):
    """Orthonormal columns (12, 6 or fewer): shifts and turns of the first points of Y (4, 3)."""
    modes = np.zeros((6, 4, 3))
    Y = Y - Y[:points].mean(axis=0)
    for a in range(3):
        modes[a, :points, a] = 1.0
        modes[3 + a, :points] = np.cross(np.eye(3)[a], Y[:points]) / max(np.abs(Y).max(), 1e-300)
    U, s, _ = np.linalg.svd(modes.reshape(6, 12).T, full_matrices=False)
    return U[:, s > 1e-7 * s[0]]


def _mean(kind, X0, X1, t, soft):
    d0, n0, b0, _, m0, c0, C0 = _terms(kind, X0, t, soft)
    d1, n1, b1, _, m1, c1, C1 = _terms(kind, X1, t, soft)
    if d0 >= t and d1 >= t:
        return np.zeros((4, 3))
    close = abs(d1 - d0) <= 1e-5 * min(d0, d1)
    half = 0.5 * (d0 + d1)
    slope = -2.0 * (t - half) ** 3 / half**2 - (t - half) ** 4 / half**3 if half < t else 0.0
    q = slope if close else (b1 - b0) / (d1 - d0)
    G = 0.25 * (m0 + m1) * q * (n0 + n1)
    if soft > 0.0:
        near = abs(c1 - c0) <= 1e-5
        p = (2.0 - c0 - c1 if c1 < 1.0 else 0.0) if near else (m1 - m0) / (c1 - c0)
        G = G + 0.25 * (b0 + b1) * p * (C0 + C1)
    points, D = _points(kind), X1 - X0
    D[points:] = 0.0
    R = _rigid(points, 0.5 * (X0 + X1))
    G, E = ((F.ravel() - R @ (R.T @ F.ravel())).reshape(4, 3) for F in (G, D))
    gap, square = m1 * b1 - m0 * b0 - np.vdot(G, D), np.vdot(E, E)
    small = 8 * 2.0**-52 * (m0 * b0 + m1 * b1 + abs(np.vdot(G, D)))
    return G + (gap / square) * E if square > 0.0 and abs(gap) > small else G


def pair_distances(x, kinds, stencil, out):
    out[:] = [_meet(kind, x[i])[2] for kind, i in zip(kinds, stencil, strict=True)]


def barrier_energy(x, kinds, stencil, reach, soft, stiffness):
    rows = zip(kinds, stencil, reach, soft, strict=True)
    terms = [_terms(kind, x[i], t, s) for kind, i, t, s in rows]
    return stiffness * sum(b * m for _, _, b, _, m, _, _ in terms)


def barrier_gradient(x, kinds, stencil, reach, soft, stiffness, out):
    for kind, i, t, s in zip(kinds, stencil, reach, soft, strict=True):
        np.add.at(out, i, stiffness * _gradient(kind, x[i], t, s))


def barrier_contacts(x, kinds, stencil, reach, soft, stiffness, weights, normals, forces):
    for k, (kind, i, t, s) in enumerate(zip(kinds, stencil, reach, soft, strict=True)):
        w, r, d = _meet(kind, x[i])
        _, _, _, slope, m, _, _ = _terms(kind, x[i], t, s)
        weights[k], normals[k], forces[k] = w, r / d, -stiffness * m * slope


def _differences(function, X, h):
    """Derivative (4, 4, 3, 3) of function(X) -> (4, 3): [i, j, a, b] = d f_ia / d X_jb."""
    out = np.empty((4, 4, 3, 3))
    for j in range(4):
        for b in range(3):
            step = np.zeros((4, 3))
            step[j, b] = h
            out[:, j, :, b] = (function(X + step) - function(X - step)) / (2.0 * h)
    return out


def barrier_blocks(x, kinds, stencil, reach, soft, stiffness, out):
    for k, (kind, i, t, s) in enumerate(zip(kinds, stencil, reach, soft, strict=True)):
        h = 1e-4 * _meet(kind, x[i])[2]
        H = _differences(lambda X, kind=kind, t=t, s=s: _gradient(kind, X, t, s), x[i], h)
        H[:, _points(kind) :] = 0.0
        out[k] = 0.5 * stiffness * (H + H.transpose(1, 0, 3, 2))


def barrier_mean_gradient(x0, x1, kinds, stencil, reach, soft, stiffness, out):
    for kind, i, t, s in zip(kinds, stencil, reach, soft, strict=True):
        np.add.at(out, i, stiffness * _mean(kind, x0[i], x1[i], t, s))


def barrier_mean_blocks(x0, x1, kinds, stencil, reach, soft, stiffness, out):
    for k, (kind, i, t, s) in enumerate(zip(kinds, stencil, reach, soft, strict=True)):
        h = 1e-4 * min(_meet(kind, x1[i])[2], t)
        slope = _differences(
            lambda X, kind=kind, t=t, s=s, i=i: _mean(kind, x0[i], X, t, s), x1[i], h
        )
        slope[:, _points(kind) :] = 0.0
        out[k] = stiffness * slope


def _cleared(kind, X, D, floor):
    points = _points(kind)
    D = D[:points] - D[:points].mean(axis=0)
    ways, sides = np.linalg.norm(D, axis=1), 2 if kind == EDGE_EDGE else 1
    speed, share, X = ways[:sides].max() + ways[sides:].max(), 0.0, X.copy()
    d = _meet(kind, X)[2]
    while True:
        if speed == 0.0 or d - floor >= speed * (1.0 - share):
            return 1.0
        if d <= floor or (share > 0.0 and d - floor < 0.01 * floor):
            return share
        step = 0.9 * (d - floor) / speed
        X[:points] += step * D
        share += step
        d = _meet(kind, X)[2]


def clear_share(x, move, kinds, stencil):
    best = 1.0
    for kind, i in zip(kinds, stencil, strict=True):
        best *= _cleared(kind, x[i], best * move[i], 0.1 * _meet(kind, x[i])[2])
    return best


def stays_clear(x0, x1, kinds, stencil):
    for kind, i in zip(kinds, stencil, strict=True):
        floor = 0.1 * min(_meet(kind, x0[i])[2], _meet(kind, x1[i])[2])
        if _cleared(kind, x0[i], x1[i] - x0[i], floor) < 1.0:
            return False
    return True


def near_pairs(x, move, rest, piece, kinds, stencil, thickness, room, parallel, reach, soft):
    near = np.zeros(len(stencil), dtype=bool)
    for k, (kind, i) in enumerate(zip(kinds, stencil, strict=True)):
        joined = piece[i[0]] == piece[i[2]]
        reach[k] = min(thickness, 0.5 * _meet(kind, rest[i])[2]) if joined else thickness
        u, v = rest[i[1]] - rest[i[0]], rest[i[3]] - rest[i[2]]
        square = max(u @ u, thickness**2) * max(v @ v, thickness**2)
        soft[k] = parallel * square if kind == EDGE_EDGE else 0.0
        first, second = np.split(move[i[: _points(kind)]], [2 if kind == EDGE_EDGE else 1])
        way = np.linalg.norm(first[:, None] - second, axis=2).max()
        least = _meet(kind, x[i])[2] - way - 2.0 * np.sqrt(3.0) * room
        near[k] = reach[k] > 0.0 and least < reach[k]
    return near
