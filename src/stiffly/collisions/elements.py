"""What can touch: vertices, edges and triangles in patches, and who is whose neighbour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts import Array
from ..meshes.morton import morton
from ..meshes.topology import components, rows_in, triangle_edges

PATCH = 8  # triangles (or loose edges) of a patch


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Elements of one kind, patch after patch: start (p + 1,), corners (m, c) particles."""

    start: np.ndarray
    corners: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """What collides among N particles.  Edges without a triangle are loose (fibers).

    Every patch owns a run of vertices, of edges and of triangles: either triangles and what
    belongs to them, or loose edges (then the edges are the last ones, from `loose` on).
    sides (f, 3): edges of each triangle, side k facing corner k.
    opposite_start (e + 1,), opposite: the corners of triangles that face each edge.
    ring_start (N + 1,), ring: of each vertex the other ends of its edges.
    piece (N,): number of the connected piece.
    """

    count: int
    vertices: Kind
    edges: Kind
    faces: Kind
    loose: int
    sides: np.ndarray
    opposite_start: np.ndarray
    opposite: np.ndarray
    ring_start: np.ndarray
    ring: np.ndarray
    piece: np.ndarray


def elements(x: Array, faces: np.ndarray, edges: np.ndarray) -> Elements:
    """From triangles (f, 3) and further edges (m, 2), checked by `broad_phase`.

    x (N, 3): the rest shape, since elements that are neighbours there stay so.  Triangles follow a
    Morton curve through their centres, PATCH to a patch, then the loose edges likewise; edges and
    vertices go to the first patch that uses them.
    """
    faces = _along_curve(x, _once(faces))
    own = triangle_edges(faces) if len(faces) else np.empty((0, 2), dtype=np.int64)
    loose = _once(np.sort(edges, axis=1))
    loose = _along_curve(x, loose[~rows_in(loose, own)] if len(own) else loose)
    patch = np.arange(len(faces)) // PATCH
    strand = 1 + int(patch.max(initial=-1)) + np.arange(len(loose)) // PATCH
    count = 1 + int(max(patch.max(initial=-1), strand.max(initial=-1)))
    sides = _sides(faces, own)
    owner = _first_user(len(own), count, (sides, patch))
    order = np.argsort(owner, kind="stable")
    sides = np.argsort(order)[sides]
    every = np.concatenate([own[order], loose])
    user = _first_user(len(x), count, (faces, patch), (loose, strand))
    used = np.unique(every)
    used = used[np.argsort(user[used], kind="stable")]
    both = np.concatenate([every, every[:, ::-1]])
    return Elements(
        len(x),
        _kind(user[used], used[:, None], count),
        _kind(np.concatenate([owner[order], strand]), every, count),
        _kind(patch, faces, count),
        len(own),
        sides.astype(np.uint32),
        *_grouped(sides.ravel(), faces.ravel(), len(every)),
        *_grouped(both[:, 0], both[:, 1], len(x)),
        components(len(x), every),
    )


def _once(rows: np.ndarray) -> np.ndarray:
    """Elements without those whose particles another one has already."""
    _, first = np.unique(np.sort(rows, axis=1), axis=0, return_index=True)
    return rows[np.sort(first)]


def _along_curve(x: Array, rows: np.ndarray) -> np.ndarray:
    return rows[np.argsort(morton(x[rows].mean(axis=1)), kind="stable")]


def _first_user(size: int, patches: int, *users: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The lowest patch (size,) whose elements (m, c), one patch (m,) each, name each thing."""
    first = np.full(size, patches)
    for named, patch in users:
        np.minimum.at(first, named.ravel(), np.repeat(patch, named.shape[1]))
    return first


def _kind(patch: np.ndarray, corners: np.ndarray, count: int) -> Kind:
    start = np.searchsorted(patch, np.arange(count + 1))
    return Kind(start.astype(np.int64), np.ascontiguousarray(corners, dtype=np.uint32))


def _sides(faces: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Number of the edge that faces each corner (f, 3); edges are sorted."""
    base = 1 + int(faces.max(initial=0))
    keys = edges[:, 0] * base + edges[:, 1]
    columns = [np.sort(faces[:, pair], axis=1) for pair in ([1, 2], [2, 0], [0, 1])]
    return np.stack([np.searchsorted(keys, c[:, 0] * base + c[:, 1]) for c in columns], axis=1)


def _grouped(rows: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """start (count + 1,), and the values of each row one after the other, in their order."""
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    order = np.argsort(rows, kind="stable")
    return start.astype(np.uint32), values[order].astype(np.uint32)
