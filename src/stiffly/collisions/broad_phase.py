"""What can touch, vertices, edges and triangles in patches; which of them may: boxes around
patches, through the BVH of the IPC Toolkit; and which may press for all positions near a way.

ipctk's LBVH (a linear bounding volume hierarchy, Lauterbach et al. 2009) hands every pair over as
one Python object, a microsecond each, so it is asked for pairs of blocks of 128 triangles, and the
pairs inside those are found by a compiled loop: on a folded cloth of 20 000 triangles hundreds of
times fewer objects.  It ends the process when an index is out of range, so everything is checked
first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..backends.cpu import CPU
from ..backends.kernels import take
from ..contracts import Array, Backend
from ..errors import InputError
from ..kernels.names import EDGE_EDGE, VERTEX_EDGE, VERTEX_FACE
from ..meshes.morton import morton
from ..meshes.topology import components, rows_in, triangle_edges
from ..parts.checks import (
    as_elements,
    as_indices,
    as_number,
    as_numbers,
    require_below,
    require_points,
)

PATCH = 8  # triangles (or loose edges) of a patch
BLOCK = 16  # patches of a block
ROOM = 0.1  # thicknesses around the way, and as much of the usual way: for what turns aside
PARALLEL = 1e-3  # of |u|^2 |v|^2: edges with a smaller cross product fade (Li et al. 2020)

KERNELS = (
    *("patch_pairs", "vertex_element_pairs", "edge_edge_pairs", "element_boxes", "run_boxes"),
    *("near_pairs", "pair_distances"),
)


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
    sides = side_numbers(faces, own)
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


def side_numbers(faces: np.ndarray, edges: np.ndarray) -> np.ndarray:
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


class Candidates(NamedTuple):
    """Pairs whose boxes overlap, none with a common particle; rows of uint32.

    vertex_face (m, 2): particle, triangle; vertex_edge (k, 2): particle, loose edge;
    edge_edge (l, 2): two edges.  Numbers are those of `BroadPhase.elements`.
    """

    vertex_face: np.ndarray
    vertex_edge: np.ndarray
    edge_edge: np.ndarray


class BroadPhase:
    """Finds candidates among the same elements again and again.

    positions (N, 3) [m]: any shape in which neighbours are near, the rest shape for instance.
    faces (f, 3) triangles, edges (e, 2): further edges, such as fibers; sides of triangles are
    edges by themselves.  fixed: particles that never move (indices or mask): pairs of them alone
    are left out.
    """

    def __init__(
        self,
        positions: Any,
        edges: Any = (),
        faces: Any = (),
        fixed: Any = (),
        *,
        backend: Backend = CPU,
    ) -> None:
        self.kernels = take(backend, "Repulsion", *KERNELS)
        x = as_numbers("positions", positions)
        require_points("positions", x, "have")
        triangles, lines = as_elements("face", faces, 3), as_elements("edge", edges, 2)
        require_below("face", triangles, len(x))
        require_below("edge", lines, len(x))
        if len(triangles) + len(lines) == 0:
            raise InputError("there is nothing to collide: give faces=, edges= or both")
        load_ipctk()
        self.elements: Elements = elements(x, triangles, lines)
        self.held = np.zeros(len(x), dtype=bool)
        self.held[as_indices("fixed", fixed, len(x))] = True
        self._still = [np.all(self.held[kind.corners], axis=1) for kind in self._kinds()]
        self._room = np.full((3, 1), len(self.elements.edges.corners))  # only speed depends on it

    def candidates(self, x: Any, radius: float, move: Any = None) -> Candidates:
        """Every pair of elements closer than 2 radius [m] at x (N, 3), or on the straight way
        from x to x + move (N, 3) [m]; and others whose boxes overlap."""
        count = self.elements.count
        x = as_numbers("positions", x, (count, 3))
        r = as_number("radius", radius, least=0.0)
        end = x if move is None else x + as_numbers("move", move, (count, 3))
        boxes = np.empty((count, 6))
        boxes[:, :3], boxes[:, 3:] = np.minimum(x, end) - r, np.maximum(x, end) + r
        start, vertices = self.elements.vertices.start, self.elements.vertices.corners[:, 0]
        points = (start, vertices, boxes[vertices], self.held)
        edges, faces = self._boxed(boxes)
        kernels = self.kernels
        a, b = (_around(kernels, kind[2], kind[0]) for kind in (edges, faces))
        patches = np.hstack([np.minimum(a[:, :3], b[:, :3]), np.maximum(a[:, 3:], b[:, 3:])])
        runs = np.append(np.arange(0, len(patches), BLOCK), len(patches))
        blocks = overlapping(_around(kernels, patches, runs))
        pairs = kernels.patch_pairs(blocks, BLOCK, patches)
        strands = (np.maximum(edges[0], self.elements.loose), *edges[1:])
        return Candidates(
            kernels.vertex_element_pairs(pairs, patches, points, faces, self._room[0]),
            kernels.vertex_element_pairs(pairs, patches, points, strands, self._room[1]),
            kernels.edge_edge_pairs(pairs, patches, edges, self._room[2]),
        )

    def _kinds(self) -> tuple[Kind, Kind]:
        return self.elements.edges, self.elements.faces

    def _boxed(self, boxes: Array) -> list[tuple[Array, Array, Array, Array]]:
        """start, corners, boxes and which are fixed, of edges and of triangles."""
        found = []
        for kind, still in zip(self._kinds(), self._still, strict=True):
            out = np.empty((len(kind.corners), 6))
            self.kernels.element_boxes(boxes, kind.corners, out)
            found.append((kind.start, kind.corners, out, still))
        return found


def overlapping(boxes: Array) -> np.ndarray:
    """Pairs (m, 2) of uint32, p <= q, of boxes (n, 6) that overlap (at least those: ipctk rounds
    outwards to single precision), sorted; every box with itself.

    Each box is handed over as the edge between its corners: ipctk boxes edges.
    """
    ipctk = load_ipctk()
    boxes = as_numbers("boxes", boxes)
    count = len(boxes)
    corners = np.asfortranarray(boxes.reshape(-1, 3))
    ends = np.asfortranarray(np.arange(2 * count, dtype=np.int32).reshape(-1, 2))
    tree = ipctk.LBVH()
    tree.build(corners, ends, np.asfortranarray(np.empty((0, 3), dtype=np.int32)), 0.0)
    found = tree.detect_edge_edge_candidates()
    p, q = (
        np.fromiter(map(attrgetter(name), found), dtype=np.int64, count=len(found))
        for name in ("edge0_id", "edge1_id")
    )
    itself = np.arange(count)
    keys = np.concatenate([np.minimum(p, q) * count + np.maximum(p, q), itself * (count + 1)])
    keys.sort()  # threads hand pairs over in any order; results must not depend on it
    return np.stack([keys // count, keys % count], axis=1).astype(np.uint32)


def _around(kernels: Any, boxes: Array, start: np.ndarray) -> Array:
    """Boxes (p, 6) around runs of boxes."""
    out = np.empty((len(start) - 1, 6))
    kernels.run_boxes(boxes, start, out)
    return out


def load_ipctk() -> Any:
    try:
        import ipctk
    except ImportError:
        raise InputError(
            "contact between meshes needs ipctk: pip install 'stiffly[contact]'"
        ) from None
    return ipctk


# ------------------------------------------------------------------ pairs that may press

# Looked for anew only when one leaves the way.  A list holds every pair that can come within its
# reach while the particles go, all at the same time, along the way from one place to another, each
# with some room around it. Energies and forces are sums over pairs that are near, and those
# farther away contribute nothing: which list is asked makes no difference.


@dataclass(frozen=True, slots=True, eq=False)
class PairList:
    """kinds (m,), stencil (m, 4), reach (m,) [m], soft (m,): see kernels barrier; x, move (N, 3)
    [m]: particles may be at x + s move, 0 <= s <= 1, up to `room` [m] off in every coordinate."""

    kinds: np.ndarray
    stencil: np.ndarray
    reach: Array
    soft: Array
    x: Array
    move: Array
    room: float
    kernels: Any

    def covers(self, x: Array) -> bool:
        """Then x is in a convex set: the way between two places that are covered stays in it."""
        off, square = x - self.x, float(np.vdot(self.move, self.move))
        if square > 0.0:
            s = float(np.vdot(off, self.move)) / square
            off -= min(max(s, 0.0), 1.0) * self.move
        return bool(np.abs(off).max(initial=0.0) <= self.room)

    def rows(self, kept: np.ndarray) -> PairList:
        kinds, stencil, reach, soft = (a[kept] for a in self.terms)
        return replace(self, kinds=kinds, stencil=stencil, reach=reach, soft=soft)

    @property
    def terms(self) -> tuple[np.ndarray, np.ndarray, Array, Array]:
        """As the kernels ask for them."""
        return self.kinds, self.stencil, self.reach, self.soft

    def distances(self, x: Array) -> Array:
        out = np.empty(len(self.stencil))
        self.kernels.pair_distances(x, self.kinds, self.stencil, out)
        return out


def find_pairs(broad: BroadPhase, rest: Array, x: Array, end: Array, thickness: float) -> PairList:
    """Around the way from x to end (N, 3) [m]."""
    move = end - x
    aside = float((move - move.mean(axis=0)).std())  # a common flight needs no room
    room = ROOM * (thickness + aside)
    found, parts = broad.candidates(x, 0.5 * thickness + room, move), broad.elements
    faces, edges = parts.faces.corners, parts.edges.corners
    strands = edges[found.vertex_edge[:, 1]]
    stencil = np.concatenate(
        [
            np.hstack([found.vertex_face[:, :1], faces[found.vertex_face[:, 1]]]),
            np.hstack([found.vertex_edge[:, :1], strands, strands[:, :1]]),
            np.hstack([edges[found.edge_edge[:, 0]], edges[found.edge_edge[:, 1]]]),
        ]
    ).astype(np.uint32)
    counts = [len(found.vertex_face), len(found.vertex_edge), len(found.edge_edge)]
    kinds = np.repeat(np.array([VERTEX_FACE, VERTEX_EDGE, EDGE_EDGE]), counts)
    reach, soft = np.empty((2, len(stencil)))
    near = broad.kernels.near_pairs(
        x, move, rest, parts.piece, kinds, stencil, thickness, room, PARALLEL, reach, soft
    )
    return PairList(kinds, stencil, reach, soft, x.copy(), move, room, broad.kernels).rows(near)
