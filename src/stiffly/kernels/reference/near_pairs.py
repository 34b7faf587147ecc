"""Plain Python version of the near pairs (see kernels.cpu.near_pairs)."""

from __future__ import annotations

import numpy as np

from .closest import edge_edge_weights, vertex_edge_weights, vertex_face_weights

__all__ = ["near_edges", "near_strands", "near_triangles"]

SNAP, NEARER, TINY, TILT, PARALLEL = 1e-9, 1e-8, 1e-150, 0.3, 1e-6


def _empty(m):
    return (
        np.zeros((m, 4), "u4"),
        np.zeros((m, 4)),
        np.zeros((m, 3)),
        np.zeros(m),
        np.zeros(m, "u1"),
    )


def _counting(stencil, weights, normals, shares, kind):
    return tuple(a[kind > 0] for a in (stencil, weights, normals, shares, kind))


def _nearer_beyond(x, d, p, around):
    e = x[around] - p
    return bool(np.any(e @ d > NEARER * np.sum(e * e, axis=1)))


def _upright(x, n, p, around, limit):
    e = x[around] - p
    length = np.linalg.norm(e, axis=1)
    apart = length > max(TINY, SNAP * limit)
    lean = np.max(e[apart] @ n / length[apart], initial=0.0)
    return max(0.0, 1.0 - (lean / TILT) ** 2)


def _between(s, u, limit):
    r = min(1.0, min(s, 1.0 - s) * max(4.0, np.linalg.norm(u) / limit))
    return r * (2.0 - r)


def _normal(direction, d, move, limit):
    """The unit normal along d, or None where the pair is too far or has no direction."""
    length = np.linalg.norm(direction)
    if length < TINY:
        return None
    n = direction / length
    n = -n if n @ d < 0 else n
    return n if abs(n @ d) + min(0.0, n @ move) < limit else None


def near_triangles(x, move, limit, pairs, topology):
    stencil, weights, normals, shares, kind = _empty(len(pairs))
    faces, sides, opposite_start, opposite, ring_start, ring = topology
    stencil[:] = np.hstack([pairs[:, :1], faces[pairs[:, 1]]])
    vertex_face_weights(x, stencil, weights)
    shares[:] = 1.0
    for k, (i, f) in enumerate(zip(stencil, pairs[:, 1], strict=True)):
        share = np.where(-weights[k, 1:] < SNAP, 0.0, -weights[k, 1:])
        weights[k, 1:] = -share / share.sum()
        q = -weights[k, 1:] @ x[i[1:]]
        d, zero = x[i[0]] - q, np.flatnonzero(weights[k, 1:] == 0)
        a, b, c = x[i[1:]]
        n = _normal(d if zero.size else np.cross(b - a, c - a), d, weights[k] @ move[i], limit)
        kind[k] = 0
        if n is None:
            continue
        normals[k] = n
        if zero.size == 0:
            kind[k] = 1
        elif zero.size == 1:
            side = int(sides[f, zero[0]])
            around = opposite[opposite_start[side] : opposite_start[side + 1]]
            far = _nearer_beyond(x, d, q, around)
            kind[k] = 0 if far else (2 if len(around) > 1 else 3)
        else:
            corner = int(i[1 + np.argmin(weights[k, 1:])])
            around = ring[ring_start[corner] : ring_start[corner + 1]]
            kind[k] = 0 if _nearer_beyond(x, d, q, around) else 4
    return _counting(stencil, weights, normals, shares, kind)


def near_strands(x, move, limit, pairs, topology):
    stencil, weights, normals, shares, kind = _empty(len(pairs))
    edges, ring_start, ring = topology
    ends = edges[pairs[:, 1]]
    stencil[:] = np.hstack([pairs[:, :1], ends, ends[:, :1]])
    vertex_edge_weights(x, stencil, weights)
    for k, i in enumerate(stencil):
        s = -weights[k, 2]
        s = 0.0 if s < SNAP else (1.0 if s > 1.0 - SNAP else s)
        weights[k] = 1.0, s - 1.0, -s, 0.0
        d = weights[k] @ x[i]
        n = _normal(d, d, weights[k] @ move[i], limit)
        kind[k] = 0
        if n is None:
            continue
        own = ring[ring_start[i[0]] : ring_start[int(i[0]) + 1]]
        normals[k], shares[k] = n, 1.0
        if s in (0.0, 1.0):
            end = int(i[1 + int(s)])
            around = ring[ring_start[end] : ring_start[end + 1]]
            beyond = _nearer_beyond(x, d, x[end], around)
            kind[k] = 0 if beyond or _nearer_beyond(x, -d, x[i[0]], own) else 4
        else:
            shares[k] = _upright(x, -n, x[i[0]], own, limit)
            kind[k] = 2 if shares[k] > 0.0 else 0
    return _counting(stencil, weights, normals, shares, kind)


def near_edges(x, move, limit, pairs, topology):
    stencil, weights, normals, shares, kind = _empty(len(pairs))
    edges, start, opposite = topology
    stencil[:] = edges[pairs].reshape(-1, 4)
    edge_edge_weights(x, stencil, weights)
    for k, (i, (e, f)) in enumerate(zip(stencil, pairs.astype(int), strict=True)):
        kind[k] = 0
        if np.abs(weights[k]).min() < SNAP:
            continue
        (p, q), d = (weights[k, :2] @ x[i[:2]], -weights[k, 2:] @ x[i[2:]]), weights[k] @ x[i]
        u, v = x[i[1]] - x[i[0]], x[i[3]] - x[i[2]]
        across = np.cross(u, v)
        crossing = across @ across > PARALLEL * (u @ u) * (v @ v)
        n = _normal(across if crossing else d, d, weights[k] @ move[i], limit)
        if n is None:
            continue
        normals[k] = n
        shares[k] = _between(weights[k, 0], u, limit) * _between(-weights[k, 2], v, limit)
        shares[k] *= _upright(x, n, q, opposite[start[f] : start[f + 1]], limit)
        shares[k] *= _upright(x, -n, p, opposite[start[e] : start[e + 1]], limit)
        kind[k] = shares[k] > 0.0
    return _counting(stencil, weights, normals, shares, kind)
