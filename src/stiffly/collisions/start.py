"""What must be true before the first step: no two things are in the same place, and no contact is
too stiff for step and mass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..parts.checks import as_elements, as_indices, as_number, as_numbers
from .broad_phase import BroadPhase, Elements, PairList, load_ipctk

SWINGS = 10.0  # h sqrt(k/m) beyond which a bounce, pi sqrt(m/k) long, is over in a third of a step
RESOLVED = 2.0  # where a bounce takes one and a half steps
SHORTEST = 1e-12  # [s] no run takes steps as short


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
    """Positions (N, 3) [m] in which no two connected pieces overlap: one piece after the other is
    moved, if it overlaps those before it, along an axis until its box is a gap apart from theirs.

    Pieces with fixed particles come first and stay.  InputError where two of them overlap, or a
    piece overlaps itself.
    """
    x, gap = as_numbers("positions", x), as_number("gap", gap, above=0.0)
    triangles, lines = as_elements("face", faces, 3), as_elements("edge", edges, 2)
    parts = BroadPhase(x, lines, triangles).elements
    held = np.zeros(len(x), dtype=bool)
    held[as_indices("fixed", fixed, len(x))] = True
    pairs = _overlapping_pieces(parts, x)
    if any(a == b for a, b in pairs):
        raise InputError("a body overlaps itself at the start: mend its mesh, or move its parts")
    stay = set(parts.piece[held].tolist())
    if any(a in stay and b in stay for a, b in pairs):
        raise InputError("two bodies that are held overlap at the start: move one of them")
    placed: list[int] = []
    for piece in sorted(set(parts.piece.tolist()), key=lambda one: (one not in stay, one)):
        if any((piece, other) in pairs for other in placed):
            boxes = np.array([_box(x[parts.piece == other]) for other in placed])
            mask = parts.piece == piece
            x[mask] += _way_out(_box(x[mask]), boxes, gap)
            pairs = _overlapping_pieces(parts, x)
        placed.append(piece)
    return x


def _overlapping_pieces(parts: Elements, x: Array) -> set[tuple[int, int]]:
    """Both ways round."""
    found, piece = overlaps(parts, x), parts.piece
    pairs = {(int(piece[one.edge[0]]), int(piece[one.triangle[0]])) for one in found}
    return pairs | {(b, a) for a, b in pairs}


def _box(x: Array) -> Array:
    """Lowest and highest corner, (2, 3)."""
    return np.stack([x.min(axis=0), x.max(axis=0)])


def _way_out(box: Array, others: Array, gap: float) -> Array:
    """The shortest shift (3,) along an axis after which box (2, 3) is a gap apart from all others
    (m, 2, 3).  It only goes on in its direction, past one of them after the other: this ends."""
    ways, reach = [], gap + 1e-9 * np.abs(others).max()  # a hair more: rounding must not ask again
    for axis in range(3):
        for side, sign in ((0, 1.0), (1, -1.0)):
            shift = np.zeros(3)
            while True:
                now = box + shift
                near = (now[0] < others[:, 1] + gap) & (now[1] > others[:, 0] - gap)
                hit = others[near.all(axis=1)]
                if len(hit) == 0:
                    break
                edge = hit[:, 1 - side, axis] + sign * reach
                shift[axis] = sign * np.max(sign * (edge - box[side, axis]))
            ways.append(shift)
    return min(ways, key=lambda way: float(np.abs(way).max()))


def require_apart(parts: Elements, x: Array, pairs: PairList, order: np.ndarray) -> None:
    """InputError names the deepest overlap, or what touches without a gap; order (N,): the user's
    number of each row of x."""
    found = overlaps(parts, x)
    if found:
        edge, triangle = (tuple(order[list(rows)].tolist()) for rows in found[0][:2])
        depth = found[0].depth
        raise InputError(
            f"bodies overlap at the start: the edge {edge} reaches {depth:.3g} m through the "
            f"triangle {triangle} (particles; {len(found)} such places): move them apart, or "
            "stiffly.collisions.push_apart(...) first (push_apart = true in [contact])"
        )
    d = pairs.distances(x)
    if np.any(d <= 0.0):
        touching = np.unique(order[pairs.stencil[np.argmin(d)]])
        raise InputError(
            f"particles {tuple(touching.tolist())} touch without a gap at the start: "
            "contact needs some distance; move them apart, or "
            "stiffly.collisions.push_apart(...) first (push_apart = true in [contact])"
        )


def bounce(h: float, stiffness: Array, mass: Array) -> str | None:
    """A line where steps of h [s] cannot follow the bounce of a mass (m,) [kg] on k (m,) [N/m]."""
    rates = np.sqrt(stiffness / mass)
    if rates.size == 0 or h * rates.max() <= SWINGS:
        return None
    k = int(np.argmax(rates))
    return (
        f"contact: h sqrt(k/m) = {h * rates[k]:.3g}, a bounce is over within one step: a step of "
        f"{RESOLVED / rates[k]:.2g} s or a stiffness of {mass[k] * (RESOLVED / h) ** 2:.2g} N/m "
        "resolve it"
    )


def require_resolvable(stiffness: Array, mass: Array) -> None:
    """InputError where no step could follow."""
    rates = np.sqrt(stiffness / mass)
    if rates.size and RESOLVED / rates.max() < SHORTEST:
        k = int(np.argmax(rates))
        raise InputError(
            f"contact stiffness {stiffness[k]:.3g} N/m against {mass[k]:.3g} kg: no step resolves "
            f"it; give at most {mass[k] * (RESOLVED / SHORTEST) ** 2:.2g} N/m"
        )
