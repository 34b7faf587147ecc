"""Shapes on regular grids: cloth, lattices, boxes of tetrahedra; layers over a triangle mesh."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from numbers import Integral

import numpy as np

from ..arrays import truth
from ..errors import InputError
from .mesh import (
    MOST_PARTICLES,
    Mesh,
    grouped_edges,
    mesh_of_tets,
    pairs,
    require_counts,
    require_positive,
    require_room,
    require_several,
    tet_volumes,
)


def beam(
    along: int = 26,
    across: tuple[int, int] = (5, 5),
    *,
    length: float = 1.0,
    width: float = 0.16,
    height: float = 0.16,
) -> Mesh:
    """along x across[0] x across[1] vertices over length x width x height [m], six tets per cell.

    The x axis runs through the middle. Sets: 'left', 'right' (the ends), and their outlines
    'left rim', 'right rim'.

    The default has 650 particles, 3481 edges and 2400 tets. Michels, Sobottka and Weber (2014)
    name 650 particles and 3481 springs in the text, 2400 springs in the caption of Figure 17: the
    caption counts the tets of this grid. The springs are the 3481 edges.
    """
    require_several("beam", 2, across=across)
    require_counts("beam", 2, along=along, across_y=across[0], across_z=across[1])
    require_room("beam", along, *across)
    require_positive("beam", length=length, width=width, height=height)
    shape = (along, *across)
    positions = box_grid(shape, (length, width, height))
    return mesh_of_tets(positions, grid_tets(shape), _ends(shape))


def bar(
    along: int = 17,
    across: tuple[int, int] = (4, 4),
    *,
    length: float = 1.0,
    side: float = 0.1875,
    layers: tuple[int, int] | None = None,
) -> Mesh:
    """A bar of alternating five-tet cells, along x; sets as for `beam`.

    layers: of the cross-sections these alone, from the first to that before the last: a part of
    the same bar, whose sides towards the rest are open.

    The default has 272 vertices and 720 tets; Dinev, Liu and Kavan (2018) use 290 and 716. Theirs
    are the surface vertices of a 4 x 4 x 16 grid without any inside, which makes long thin tets:
    these cells are cubes instead.
    """
    require_several("bar", 2, across=across)
    require_counts("bar", 2, along=along, across_y=across[0], across_z=across[1])
    require_room("bar", along, *across)
    require_positive("bar", length=length, side=side)
    first, last = _layers("bar", along, layers)
    positions = box_grid((along, *across), (length, side, side), (first, last))
    shape = (last - first, *across)
    tets = alternating_tets(shape, first)
    return mesh_of_tets(positions, tets, _ends(shape, first == 0, last == along))


def cube(cells: int = 6, *, side: float = 1.0) -> Mesh:
    """cells^3 cubes of five tets each, centred on the origin; sets 'bottom', 'top' (z ends).

    The default has 343 vertices and 1080 tets; Dinev, Liu and Kavan (2018) use 386 and 996. Theirs
    are the surface vertices of an 8 x 8 x 8 grid (6 * 8^2 + 2 = 386) without any inside, which
    makes long thin tets: here the inside is filled.
    """
    require_counts("cube", 1, cells=cells)
    require_room("cube", cells + 1, cells + 1, cells + 1)
    require_positive("cube", side=side)
    shape = (cells + 1, cells + 1, cells + 1)
    number = np.arange(np.prod(shape)).reshape(shape)
    positions = side * (np.indices(shape).reshape(3, -1).T / cells - 0.5)
    sets = {"bottom": number[..., 0].ravel(), "top": number[..., -1].ravel()}
    return mesh_of_tets(positions, alternating_tets(shape), sets)


def _layers(shape: str, count: int, layers: tuple[int, int] | None) -> tuple[int, int]:
    """All of them, or those that are asked for."""
    if layers is None:
        return 0, count
    require_several(shape, 2, layers=layers)
    first, last = layers
    require_counts(shape, 0, layers=first)
    require_counts(shape, 0, layers=last)
    if not 0 <= first < last - 1 < count:
        raise InputError(
            f"{shape} layers = {first, last}: give two numbers from 0 to {count}, at least 2 apart"
        )
    return first, last


def box_grid(
    shape: tuple[int, int, int],
    size: tuple[float, float, float],
    layers: tuple[int, int] = (0, MOST_PARTICLES),
) -> np.ndarray:
    """Vertices (N, 3) of a grid over a box that starts at x = 0 and is centred in y and z; of its
    layers along x those from the first to that before the last."""
    axes = [np.linspace(0.0, size[0], shape[0])[slice(*layers)]]
    axes += [np.linspace(-0.5 * s, 0.5 * s, n) for s, n in zip(size[1:], shape[1:], strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _ends(
    shape: tuple[int, int, int], left: bool = True, right: bool = True
) -> dict[str, np.ndarray]:
    """left, right: whether that end is one of the whole."""
    number = np.arange(np.prod(shape)).reshape(shape)
    rim = np.ones(shape[1:], dtype=bool)
    rim[1:-1, 1:-1] = False
    return {
        "left": number[0][np.full(rim.shape, left)],
        "right": number[-1][np.full(rim.shape, right)],
        "left rim": number[0][rim & left],
        "right rim": number[-1][rim & right],
    }


def cloth(
    nx: int = 101,
    ny: int = 101,
    *,
    spacing: float = 0.01,
    diagonals: int = 2,
    bending: bool = True,
    layers: tuple[int, int] | None = None,
) -> Mesh:
    """nx x ny particles in the plane z = 0, one every `spacing` [m], numbered with y fastest.

    Groups: 'structural' joins neighbours, 'shear' one or both diagonals of every square (as
    `diagonals` says, or none), 'bending' every second particle along x and y.
    Sets: 'left' and 'right' (x ends), 'bottom' and 'top' (y ends), 'corners' (four, from (0, 0)
    along y first). Triangles face up.
    layers: of the nx rows these alone, from the first to that before the last: a part of the same
    cloth; its sets have what there is of them.

    cloth(101, 101, diagonals=1) is the cloth of Dinev, Liu and Kavan (2018): 10,201 particles and
    50,198 edges; with the two springs that hold it these are the 50,200 of their table.
    """
    require_counts("cloth", 2, nx=nx, ny=ny)
    require_room("cloth", nx, ny)
    require_positive("cloth", spacing=spacing)
    bending = truth("cloth bending", bending)
    if not isinstance(diagonals, Integral) or diagonals not in (0, 1, 2):
        raise InputError(f"cloth diagonals = {diagonals}: give 0, 1 or 2 for every square")
    first, last = _layers("cloth", nx, layers)
    rows = last - first
    number = np.arange(rows * ny).reshape(rows, ny)
    positions = np.zeros((rows * ny, 3))
    positions[:, :2] = spacing * (np.indices((rows, ny)).reshape(2, -1).T + np.array([first, 0]))
    groups = {
        "structural": np.concatenate([_along(number, 1), _along(number.T, 1)]),
        "shear": _diagonals(number, diagonals),
    }
    if bending:
        groups["bending"] = np.concatenate([_along(number, 2), _along(number.T, 2)])
    edges, kinds = grouped_edges(groups)
    left, right = number[:1][first:].ravel(), number[-1:][nx - last :].ravel()
    sets = {
        "left": left,
        "right": right,
        "bottom": number[:, 0],
        "top": number[:, -1],
        "corners": np.concatenate([left[:1], left[-1:], right[:1], right[-1:]]),
    }
    triangles = quad_sheet(number)
    return Mesh(positions, edges, triangles=triangles, edge_groups=kinds, vertex_sets=sets)


def textile(nx: int = 100, ny: int = 100, *, spacing: float = 0.01) -> Mesh:
    """The textile of Michels, Sobottka and Weber (2014): tensile and shear edges only.

    100 x 100 particles; 19,800 structural and 19,602 shear edges (the paper gives no count).
    """
    return cloth(nx, ny, spacing=spacing, bending=False)


def foil(nx: int = 10, ny: int = 10, *, spacing: float = 0.01) -> Mesh:
    """The aluminium foil of Michels, Sobottka and Weber (2014): 10 x 10 particles, 502 edges.

    180 structural + 162 shear + 160 bending: exactly the paper's 502, which it calls tensile and
    shear springs.
    """
    return cloth(nx, ny, spacing=spacing)


def flag(
    nx: int = 70, ny: int = 50, *, spacing: float = 0.02, layers: tuple[int, int] | None = None
) -> Mesh:
    """The flag of Michels, Luan and Tokman (2017): 50 x 70 particles, all three kinds of edges.

    It hangs in the plane y = 0, its pole at x = 0 (set 'left'), its length along x, z upwards.
    layers: as of `cloth`.
    """
    flat = cloth(nx, ny, spacing=spacing, layers=layers)
    upright = flat.positions[:, [0, 2, 1]]
    return replace(flat, positions=upright, triangles=flat.triangles[:, ::-1])


def _diagonals(number: np.ndarray, count: int) -> np.ndarray:
    """None, the one that the triangles use, or both of every square."""
    falling = pairs(number[:-1, :-1], number[1:, 1:])
    rising = pairs(number[1:, :-1], number[:-1, 1:])
    return np.concatenate(
        [falling[: len(falling) * (count > 0)], rising[: len(rising) * (count > 1)]]
    )


def _along(number: np.ndarray, step: int) -> np.ndarray:
    return pairs(number[:-step], number[step:])


def lattice(
    nx: int, ny: int = 1, nz: int = 1, *, spacing: float = 1.0, diagonals: bool = True
) -> Mesh:
    """nx x ny x nz particles, one every `spacing` [m], numbered with z fastest.

    Edges join next neighbours; `diagonals` adds both diagonals of every square, which is what
    keeps cloth and blocks from shearing freely.
    """
    shape = (nx, ny, nz)
    require_counts("lattice", 1, nx=nx, ny=ny, nz=nz)
    diagonals = truth("lattice diagonals", diagonals)
    if max(shape) < 2:
        raise InputError(f"lattice {nx} x {ny} x {nz}: give at least two particles")
    require_room("lattice", nx, ny, nz)
    require_positive("lattice", spacing=spacing)
    positions = spacing * np.indices(shape).reshape(3, -1).T.astype(np.float64)
    number = np.arange(nx * ny * nz).reshape(shape)
    steps = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    if diagonals:
        steps += [(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
    edges = np.concatenate([_shifted(number, step) for step in steps])
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    return Mesh(positions, edges[order], triangles=_box_skin(number))


def _shifted(number: np.ndarray, step: tuple[int, int, int]) -> np.ndarray:
    """Pairs (m, 2) of particles that lie one step apart."""
    here = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(step, number.shape, strict=True))
    there = tuple(slice(max(0, s), n - max(0, -s)) for s, n in zip(step, number.shape, strict=True))
    return np.sort(pairs(number[here], number[there]), axis=1)


def _box_skin(number: np.ndarray) -> np.ndarray:
    """Triangles on the outside of the box; a single layer gets one, facing up its axis."""
    triangles = [np.empty((0, 3), dtype=np.int64)]
    for axis in range(3):
        sheets = np.moveaxis(number, axis, 0)
        if axis == 1:  # (z, x) is the pair of axes that turns right-handed about y
            sheets = sheets.transpose(0, 2, 1)
        triangles.append(quad_sheet(sheets[-1]))
        if len(sheets) > 1:
            triangles.append(quad_sheet(sheets[0])[:, ::-1])
    return np.concatenate(triangles)


# ------------------------------------------------------------------ tets and triangles of grids


def grid_tets(shape: tuple[int, int, int]) -> np.ndarray:
    """Six tets per cell of a vertex grid (row-major numbering), the same in every cell.

    Each tet is a walk from the cell's first to its last corner, one axis at a time (Kuhn): cells
    agree on the diagonals of the faces they share.
    """
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    corner = np.indices([n - 1 for n in shape]).reshape(3, -1).T @ strides
    tets = []
    for axes in permutations(range(3)):
        walk = np.concatenate([[0], np.cumsum(strides[list(axes)])])
        even = np.linalg.det(np.eye(3)[list(axes)]) > 0.0
        order = [0, 1, 2, 3] if even else [0, 2, 1, 3]
        tets.append(corner[:, None] + walk[order])
    return np.stack(tets, axis=1).reshape(-1, 4)


def alternating_tets(shape: tuple[int, int, int], first: int = 0) -> np.ndarray:
    """Five tets per cell of a vertex grid: a regular one inside, one at each of four corners.

    Neighbouring cells are mirror images, so they agree on the diagonals of the faces they share.
    first: the number that the first layer has in a larger grid.
    """
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    cell = np.indices([n - 1 for n in shape]).reshape(3, -1).T
    corners = np.indices((2, 2, 2)).reshape(3, -1).T  # corner 4i + 2j + k of a cell
    even = np.array([[0, 3, 5, 6], [7, 3, 5, 6], [1, 0, 3, 5], [2, 0, 3, 6], [4, 0, 5, 6]])
    mirrored = even ^ 4  # the other end of the first axis
    tables = np.stack([turned_positive(corners, t) for t in (even, mirrored)])
    tets = (cell @ strides)[:, None, None] + (corners @ strides)[
        tables[(cell.sum(axis=1) + first) % 2]
    ]
    return tets.reshape(-1, 4)


def layer_tets(triangles: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Three tets for every prism between a triangle and its copy in the layer above.

    below, above (N,): numbers of each vertex in the two layers. Vertices are taken in the order of
    their numbers, so prisms agree on the diagonals of the quads they share. The tets may be turned
    the wrong way round: see `turned_positive`.
    """
    a, b, c = np.sort(triangles, axis=1).T
    walks = [
        (below[a], below[b], below[c], above[c]),
        (below[a], below[b], above[b], above[c]),
        (below[a], above[a], above[b], above[c]),
    ]
    return np.concatenate([np.stack(walk, axis=1) for walk in walks])


def turned_positive(positions: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """The same tets, those of negative volume with their last two vertices exchanged."""
    turned = tets.copy()
    negative = tet_volumes(positions, tets) < 0.0
    turned[negative, 2:] = tets[negative, :1:-1]
    return turned


def quad_sheet(quad: np.ndarray) -> np.ndarray:
    """Two triangles for every cell of a grid (rows, columns) of vertex numbers."""
    a, b, c, d = (q.ravel() for q in (quad[:-1, :-1], quad[1:, :-1], quad[1:, 1:], quad[:-1, 1:]))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
