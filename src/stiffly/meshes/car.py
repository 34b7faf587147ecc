"""A car: its outer shell, and on request what is inside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from ..arrays import truth
from ..contracts import Array
from .grids import quad_sheet
from .implicit import joined, rounded_box, wheel
from .mesh import Mesh, grouped_edges, pairs, require_counts, require_positive, used_only
from .sizing import mesh_of_count
from .stuffing import skin
from .topology import (
    bending_pairs,
    components,
    first_repeat,
    is_one_closed,
    shell,
    sides,
    triangle_edges,
)

BLEND = 0.04  # [m]
LOW, HIGH = np.array([-2.3, -1.0, -0.05]), np.array([2.3, 1.0, 1.6])
STRETCH = 1.4  # leaning the cabin changes distances by about this factor
LENGTH = 4.3  # [m] of the car that the numbers below describe
CELL = 0.68  # of the boxes, in spacings of the lattice: sides as long as those of the shell
NEAR = 1.5  # times as far from the base as the nearest of a rim: so far it is mounted
LEGS = 3  # by which a rim vertex stands on what it is mounted on


class Box(NamedTuple):
    """A closed box inside; on: the number of the box that it is mounted on, -1 for the shell."""

    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    on: int = -1


INSIDE = (
    Box((1.45, 0.0, 0.60), (0.38, 0.42, 0.18)),  # engine
    Box((0.80, 0.0, 0.60), (0.05, 0.65, 0.20)),  # bulkhead
    Box((1.35, 0.0, 0.37), (0.05, 0.55, 0.05)),  # front axle
    Box((-1.35, 0.0, 0.37), (0.05, 0.55, 0.05)),  # rear axle
    Box((0.10, 0.36, 0.50), (0.26, 0.24, 0.07)),  # front seats
    Box((0.10, -0.36, 0.50), (0.26, 0.24, 0.07)),
    Box((-0.22, 0.36, 0.90), (0.06, 0.24, 0.30), on=4),  # and their backs
    Box((-0.22, -0.36, 0.90), (0.06, 0.24, 0.30), on=5),
    Box((-0.80, 0.0, 0.50), (0.26, 0.58, 0.07)),  # rear seat
    Box((-1.12, 0.0, 0.86), (0.06, 0.58, 0.26), on=8),
)
# openings of the shell, as low and high (x, |y|, z): side windows, windscreen, rear window
WINDOWS = np.array(
    [
        [(-0.30, 0.50, 1.00), (0.58, 1.00, 1.30)],
        [(-1.05, 0.50, 1.00), (-0.42, 1.00, 1.30)],
        [(0.60, 0.00, 1.00), (1.20, 0.52, 1.30)],
        [(-1.80, 0.00, 1.00), (-1.05, 0.52, 1.30)],
    ]
)


def car(vertices: int = 120_000, *, length: float = LENGTH, inside: bool = False) -> Mesh:
    """A surface of about `vertices` vertices: body, cabin and four wheels in one closed piece.

    x forwards, z upwards, wheels on z = 0; length over all [m]. The count is met within 5 %.
    Groups: 'structural' (edges), 'bending' (vertices opposite each edge).
    Sets: 'front' (the foremost 5 % of the length), 'wheels' (below the body).

    inside: with open windows, and behind them engine, bulkhead, axles and seats, closed boxes of
    their own; group 'mounts': edges that hold them; set 'inside': their vertices.  The default has
    about the 120,000 vertices that Luan and Michels (2018) have for a car and its interior.
    """
    require_counts("car", 200, vertices=vertices)
    inside = truth("car inside", inside)
    require_positive("car", length=length)
    start = (2.0 / vertices) ** 0.5 * (HIGH - LOW).max()
    name, make, sound = "car", _shell, is_one_closed
    if inside:
        name, make, sound = "car with its inside", _furnished, _is_furnished
    positions, triangles = mesh_of_count(name, vertices, make, start, 2.0, sound)
    made = _with_mounts(positions, triangles) if inside else shell(positions, triangles)
    x = positions - [0.0, 0.0, positions[:, 2].min()]
    x *= length / np.ptp(x[:, 0])
    sets = {
        **made.vertex_sets,
        "front": np.flatnonzero(x[:, 0] > x[:, 0].max() - 0.05 * length),
        "wheels": np.flatnonzero(x[:, 2] < 0.25 * length / LENGTH),
    }
    groups = made.edge_groups
    return Mesh(x, made.edges, triangles=triangles, edge_groups=groups, vertex_sets=sets)


def _shell(spacing: float) -> tuple[Array, np.ndarray]:
    return skin(_depth, LOW, HIGH, spacing)


def _depth(points: np.ndarray) -> np.ndarray:
    lean = 0.35 * (points[:, 2] - 0.8)  # windscreens and sides close in towards the roof
    cabin_points = points.copy()
    cabin_points[:, 0] *= 1.0 + lean
    cabin_points[:, 1] *= 1.0 + 0.6 * lean
    body = rounded_box((0.0, 0.0, 0.6), (2.15, 0.85, 0.3), 0.15)
    cabin = rounded_box((-0.25, 0.0, 1.0), (1.15, 0.75, 0.45), 0.15)
    wheels = [wheel((x, y, 0.32), 0.32, 0.11, 0.05) for x in (-1.35, 1.35) for y in (-0.78, 0.78)]
    return joined([body, lambda _: cabin(cabin_points) / STRETCH, *wheels], blend=BLEND)(points)


# ------------------------------------------------------------------ the inside


def _furnished(spacing: float) -> tuple[Array, np.ndarray]:
    """The shell with its windows open, then the boxes in their order."""
    positions, triangles = _opened(*_shell(spacing))
    points, faces, count = [positions], [triangles], len(positions)
    for box in INSIDE:
        x, t = _box_surface(box, CELL * spacing)
        points.append(x)
        faces.append(t + count)
        count += len(x)
    return np.concatenate(points), np.concatenate(faces)


def _opened(positions: Array, triangles: np.ndarray) -> tuple[Array, np.ndarray]:
    """Without the triangles that lie wholly in a window."""
    place = np.column_stack([positions[:, 0], np.abs(positions[:, 1]), positions[:, 2]])
    glass = np.zeros(len(triangles), dtype=bool)
    for low, high in WINDOWS:
        glass |= ((place > low) & (place < high)).all(axis=1)[triangles].all(axis=1)
    return used_only(positions, triangles[~glass])


def _box_surface(box: Box, spacing: float) -> tuple[Array, np.ndarray]:
    """Vertices and triangles, outwards, with cells of about `spacing` [m], one at least."""
    size = 2.0 * np.array(box.half)
    cells = np.maximum(np.round(size / spacing).astype(int), 1)
    shape = tuple(int(n) for n in cells + 1)
    points = np.stack(np.meshgrid(*(np.linspace(-0.5, 0.5, n) for n in shape), indexing="ij"), -1)
    number = np.arange(points[..., 0].size).reshape(shape)
    faces = []
    for axis in range(3):
        low, high = (quad_sheet(np.moveaxis(number, axis, 0)[end]) for end in (0, -1))
        if axis != 1:  # rows and columns of these turn the other way round
            low, high = low[:, ::-1], high[:, ::-1]
        faces += [low, high[:, ::-1]]
    return used_only(box.centre + size * points.reshape(-1, 3), np.concatenate(faces))


def _is_furnished(triangles: np.ndarray) -> bool:
    """The shell is one piece, and no edge has three triangles."""
    piece = components(int(triangles.max(initial=-1)) + 1, triangle_edges(triangles))
    return int(piece.max(initial=-1)) == len(INSIDE) and first_repeat(sides(triangles)) < 0


def _with_mounts(positions: Array, triangles: np.ndarray) -> Mesh:
    """Groups and the set 'inside' of a car as `_furnished` makes it."""
    piece = components(len(positions), triangle_edges(triangles))  # in order: the shell is 0
    mounts = [
        _legs(positions, np.flatnonzero(piece == k + 1), np.flatnonzero(piece == box.on + 1))
        for k, box in enumerate(INSIDE)
    ]
    groups = {
        "structural": triangle_edges(triangles),
        "bending": bending_pairs(triangles),
        "mounts": np.concatenate(mounts),
    }
    edges, rows = grouped_edges(groups)
    sets = {"inside": np.flatnonzero(piece)}
    return Mesh(positions, edges, triangles=triangles, edge_groups=rows, vertex_sets=sets)


def _legs(x: Array, box: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Edges (m, 2) by which a box stands on the base, both given by their vertices.

    From each vertex of its rim near the base, LEGS edges to the base's vertices nearest to as many
    points around its foot, as far from the foot as the foot is from it: upright legs alone would
    let the box swing.
    """
    tree = KDTree(x[base])
    feet = _mounted(x, box, tree)
    reach, foot = tree.query(x[feet])
    down = (x[base[foot]] - x[feet]) / reach[:, None]
    u = np.cross(down, np.eye(3)[np.argmin(np.abs(down), axis=1)])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    w = np.cross(down, u)
    chosen = np.full((len(feet), LEGS), -1)
    for k, turn in enumerate(2.0 * np.pi / LEGS * np.arange(LEGS)):
        around = reach[:, None] * (np.cos(turn) * u + np.sin(turn) * w)
        near = np.asarray(tree.query(x[base[foot]] + around, k=LEGS)[1])
        taken = (near[:, :, None] == chosen[:, None]).any(axis=2)
        chosen[:, k] = near[np.arange(len(feet)), np.argmin(taken, axis=1)]
    return pairs(feet[:, None], base[chosen])


def _mounted(x: Array, box: np.ndarray, base: KDTree) -> np.ndarray:
    """The vertices of a box from which legs go: its rim near the base, four corners at least."""
    at_end = np.isclose(x[box], x[box].min(axis=0)) | np.isclose(x[box], x[box].max(axis=0))
    reach = np.asarray(base.query(x[box])[0])
    rim, corners = (np.flatnonzero(at_end.sum(axis=1) >= k) for k in (2, 3))
    near = rim[reach[rim] <= NEAR * reach[rim].min()]
    return box[np.union1d(near, corners[np.argsort(reach[corners], kind="stable")[:4]])]
