"""What must be true before the first step: no two things are in the same place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..bodies.checks import as_elements, as_indices, as_numbers
from ..contracts import Array
from ..errors import InputError
from .broad_phase import BroadPhase, load_ipctk
from .elements import Elements
from .pair_list import PairList

PUSHES = 200  # moves of whole pieces before giving up


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


def require_thin(faces: np.ndarray, edges: np.ndarray, rest: Array, thickness: float) -> None:
    """InputError where the thickness is more than any edge: units, or a digit too many."""
    sides = [faces[:, [k, (k + 1) % 3]] for k in range(3)]
    every = np.concatenate([*sides, edges]).astype(np.int64)
    longest = float(np.linalg.norm(rest[every[:, 0]] - rest[every[:, 1]], axis=1).max())
    if 0.0 < longest < thickness:
        raise InputError(
            f"contact thickness {thickness:g} m is more than the longest edge, {longest:.3g} m: "
            "give a fraction of an edge"
        )


def push_apart(x: Any, faces: Any = (), edges: Any = (), *, gap: float, fixed: Any = ()) -> Array:
    """Positions (N, 3) [m] in which no two connected pieces overlap: whole pieces are moved, along
    the axis where that is the shortest way, until their boxes are a gap apart.

    Pieces with fixed particles stay.  InputError where a piece overlaps itself, or none can move.
    """
    x = as_numbers("positions", x).copy()
    triangles, lines = as_elements("face", faces, 3), as_elements("edge", edges, 2)
    parts = BroadPhase(x, lines, triangles).elements
    held = np.zeros(len(x), dtype=bool)
    held[as_indices("fixed", fixed, len(x))] = True
    for _ in range(PUSHES):
        found = overlaps(parts, x)
        if not found:
            return x
        a, b = parts.piece[found[0].edge[0]], parts.piece[found[0].triangle[0]]
        _separate(x, parts.piece == a, parts.piece == b, held, gap)
    raise InputError("bodies overlap at the start and cannot be pushed apart: move them by hand")


def _separate(x: Array, one: np.ndarray, two: np.ndarray, held: np.ndarray, gap: float) -> None:
    """Moves one of two pieces (masks), in place."""
    if np.array_equal(one, two):
        raise InputError("a body overlaps itself at the start: mend its mesh, or move its parts")
    if held[one].any():
        one, two = two, one
    if held[one].any():
        raise InputError("two bodies that are held overlap at the start: move one of them")
    low, high = x[two].min(axis=0) - x[one].max(axis=0), x[two].max(axis=0) - x[one].min(axis=0)
    ways = np.concatenate([low - gap, high + gap])
    k = int(np.argmin(np.abs(ways)))
    x[one, k % 3] += ways[k]


def require_apart(parts: Elements, x: Array, pairs: PairList) -> None:
    """InputError names the deepest overlap, or what touches without a gap."""
    found = overlaps(parts, x)
    if found:
        edge, triangle, depth = found[0]
        raise InputError(
            f"bodies overlap at the start: the edge {edge} reaches {depth:.3g} m through the "
            f"triangle {triangle} (particles; {len(found)} such places): move them apart, or "
            "stiffly.collisions.push_apart(...) first (push_apart = true in [contact])"
        )
    d = pairs.distances(x)
    if np.any(d <= 0.0):
        k = int(np.argmin(d))
        raise InputError(
            f"particles {tuple(np.unique(pairs.stencil[k]).tolist())} touch without a gap at the "
            "start: contact needs some distance; move them apart, or "
            "stiffly.collisions.push_apart(...) first (push_apart = true in [contact])"
        )
