"""What must be true before the first step: no two things are in the same place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .broad_phase import load_ipctk
from .elements import Elements
from .pair_list import PairList


class Overlap(NamedTuple):
    """An edge (two particles) that goes through a triangle (three), by depth [m]."""

    edge: tuple[int, ...]
    triangle: tuple[int, ...]
    depth: float


def overlaps(parts: Elements, x: Array) -> list[Overlap]:
    """Edges that go through triangles with which they share no particle, deepest first."""
    edges = parts.edges.corners.astype(np.int64)
    faces = parts.faces.corners.astype(np.int64)
    if len(faces) == 0 or len(edges) == 0:
        return []
    tree = load_ipctk().LBVH()
    tree.build(*map(np.asfortranarray, (x, edges.astype(np.int32), faces.astype(np.int32))), 0.0)
    found = tree.detect_edge_face_candidates()
    pairs = np.array([(c.edge_id, c.face_id) for c in found], dtype=np.int64).reshape(-1, 2)
    e, f = edges[pairs[:, 0]], faces[pairs[:, 1]]
    apart = ~(e[:, :, None] == f[:, None, :]).any(axis=(1, 2))
    e, f = e[apart], f[apart]
    depth = _through(x[e], x[f])
    order = [k for k in np.argsort(-depth, kind="stable") if depth[k] >= 0.0]
    return [Overlap(tuple(e[k].tolist()), tuple(f[k].tolist()), float(depth[k])) for k in order]


def _through(e: Array, f: Array) -> Array:
    """How far edges (m, 2, 3) reach through triangles (m, 3, 3) [m]: the nearer end's distance from
    the triangle's plane; -1 where they do not."""
    a, u, v = f[:, 0], f[:, 1] - f[:, 0], f[:, 2] - f[:, 0]
    n = np.cross(u, v)
    length = np.linalg.norm(n, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = n / length[:, None]
        first, last = (np.einsum("ka,ka->k", n, e[:, i] - a) for i in (0, 1))
        share = first / (first - last)
        p = e[:, 0] + share[:, None] * (e[:, 1] - e[:, 0]) - a
        uu, uv, vv, pu, pv = (np.einsum("ka,ka->k", b, c)
                              for b, c in ((u, u), (u, v), (v, v), (p, u), (p, v)))  # fmt: skip
        det = uu * vv - uv * uv
        s, t = (vv * pu - uv * pv) / det, (uu * pv - uv * pu) / det
        inside = (first * last <= 0.0) & (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0)
    return np.where(inside, np.minimum(np.abs(first), np.abs(last)), -1.0)


def require_apart(parts: Elements, x: Array, pairs: PairList) -> None:
    """InputError names the deepest overlap, or what touches without a gap."""
    found = overlaps(parts, x)
    if found:
        edge, triangle, depth = found[0]
        raise InputError(
            f"bodies overlap at the start: the edge {edge} reaches {depth:.3g} m through the "
            f"triangle {triangle} (particles; {len(found)} such places): move them apart, or "
            "stiffly.collisions.push_apart(x, faces) first ([contact] push_apart = true)"
        )
    d = pairs.distances(x)
    if np.any(d <= 0.0):
        k = int(np.argmin(d))
        raise InputError(
            f"particles {tuple(np.unique(pairs.stencil[k]).tolist())} touch without a gap at the "
            "start: contact needs some distance; move them apart, or "
            "stiffly.collisions.push_apart(x, faces) first ([contact] push_apart = true)"
        )
