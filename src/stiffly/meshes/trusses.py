"""Lattice masts: an electricity pylon with arms and insulator strings, a tower on four legs."""

from __future__ import annotations

import numpy as np

from .mesh import Mesh, grouped_edges, pairs, require_counts, require_positive

STRING = 2  # links of every insulator string of the pylon
WAIST = 0.38  # of the tower: height where the legs end and the column begins, as part of the whole
DECK = 0.19  # height of the lower ties between the legs
LINKS = 3  # bars from each lowest node of the column to the tops of the legs


def pylon(
    panels: int = 32,
    arms: int = 3,
    *,
    height: float = 30.0,
    base: float = 6.0,
    top: float = 1.0,
    reach: float = 4.0,
) -> Mesh:
    """A square mast of `panels`, with `arms` pairs of arms near its top, z upwards.

    base, top: width of the mast at its ends; reach: of an arm, from the axis to its tip [m].
    A face of a panel is braced by two diagonals joined where they cross. An arm is a pyramid of
    four bars from one panel's corners to the tip, where a string of two links hangs.
    Groups: 'legs', 'braces', 'ring' (the square at the top), 'arms', 'strings'.
    Sets: 'feet', 'top', 'tips', 'strings'.

    The default has 278 particles and 680 edges, the counts of Michels, Sobottka and Weber (2014).
    With the feet held, 680 bars leave 274 free nodes at least 822 - 680 = 142 motions that stretch
    no bar. This one has 152: 128 nodes where diagonals cross move sideways, and 12 nodes of the
    strings swing two ways; the mast and the arms are rigid.
    """
    require_counts("pylon", 0, arms=arms)
    require_counts("pylon", max(3, 3 * arms), panels=panels)  # an arm takes every third panel
    require_positive("pylon", height=height, base=base, top=top, reach=reach)
    corners = _mast(panels, height, base, top)  # (panels + 1, 4, 3)
    number = np.arange(4 * (panels + 1)).reshape(-1, 4)
    crossings, crossing = _crossings(corners, len(number.ravel()))
    after = np.roll(number, -1, axis=1)
    quads = np.stack([number[:-1], after[:-1], number[1:], after[1:]], axis=-1).reshape(-1, 4)
    arm_points, groups, tips, strings = _arms(corners, number, arms, reach, len(crossings))
    groups = {
        "legs": pairs(number[:-1], number[1:]),
        "braces": pairs(crossing[:, None], quads),
        "ring": pairs(number[-1], after[-1]),
        **groups,
    }
    edges, rows = grouped_edges(groups)
    points = np.concatenate([corners.reshape(-1, 3), crossings, arm_points])
    sets = {"feet": number[0], "top": number[-1], "tips": tips, "strings": strings}
    return Mesh(points, edges, edge_groups=rows, vertex_sets=sets)


def _mast(panels: int, height: float, base: float, top: float) -> np.ndarray:
    """Corners (panels + 1, 4, 3); panels get lower as the mast gets narrower."""
    z = height * (1.0 - np.geomspace(1.0, 1.0 / 3.0, panels + 1)) / (1.0 - 1.0 / 3.0)
    half = 0.5 * (base + (top - base) * z / height)
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    corners = np.empty((panels + 1, 4, 3))
    corners[..., :2] = half[:, None, None] * square
    corners[..., 2] = z[:, None]
    return corners


def _crossings(corners: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the diagonals of each face cross: between its lower and upper edge, by their widths."""
    middle = 0.5 * (corners + np.roll(corners, -1, axis=1))
    width = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=-1, keepdims=True)
    low, high = width[:-1], width[1:]
    points = (high * middle[:-1] + low * middle[1:]) / (low + high)
    points = points.reshape(-1, 3)
    return points, np.arange(start, start + len(points))


def _arms(
    corners: np.ndarray, number: np.ndarray, arms: int, reach: float, crossings: int
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Tips and string nodes, their edges, and the numbers of both; faces at +x, then at -x."""
    level = len(corners) - 2 - 3 * np.arange(arms).reshape(-1, 1, 1, 1)
    roots = number[level + np.array([[0], [1]]), np.array([[[0, 3]], [[1, 2]]])]
    count = arms * 2 * (1 + STRING)
    nodes = number.size + crossings + np.arange(count).reshape(arms, 2, 1 + STRING)
    points = np.zeros((arms, 2, 1 + STRING, 3))
    points[..., 0] = np.array([[reach], [-reach]])
    points[..., 2] = corners[level[..., 0] + 1, 0, 2] - 0.05 * reach * np.arange(1 + STRING)
    bars = pairs(roots.reshape(arms, 2, 4), nodes[..., :1])
    groups = {"arms": bars, "strings": pairs(nodes[..., :-1], nodes[..., 1:])}
    return points.reshape(-1, 3), groups, nodes[..., 0].ravel(), nodes[..., 1:].ravel()


def tower(
    across: int = 5, leg_levels: int = 40, column_levels: int = 90, *, height: float = 300.0
) -> Mesh:
    """A girder network in the manner of the Eiffel tower, z upwards [m].

    Every cross-section is a square of 4 * across nodes. Its outline, uprights and one diagonal of
    each panel form the walls; inside, bars across the corners and through the axis keep the
    section square. The legs are tied to each other at a deck and at their tops.
    Groups: 'lower' (the legs and their ties), 'upper' (the column and what joins it to the legs).
    Sets: 'feet', 'deck' (the tied sections of the legs), 'top'.

    The default has the 5000 nodes of Michels, Sobottka and Weber (2014) and of Michels, Luan and
    Tokman (2017), and 20,948 edges; neither paper says how many girders there are. With the feet
    held it has no motion that stretches no bar.
    """
    require_counts("tower", 2, across=across, leg_levels=leg_levels, column_levels=column_levels)
    require_positive("tower", height=height)
    legs, column = _positions(across, leg_levels, column_levels, height)
    positions = np.concatenate([legs.reshape(-1, 3), column.reshape(-1, 3)])
    number = np.arange(legs.size // 3).reshape(legs.shape[:-1])
    upper = number.size + np.arange(column.size // 3).reshape(column.shape[:-1])
    deck = round(DECK / WAIST * (leg_levels - 1))
    walls = [_walls(leg, across) for leg in number]
    ties = [_ties(number[:, level], across) for level in {deck, leg_levels - 1}]
    crown = _nearest(upper[0], number[:, -1].ravel(), positions)
    groups = {
        "lower": np.concatenate([*walls, *ties]),
        "upper": np.concatenate([_walls(upper, across), crown]),
    }
    edges, rows = grouped_edges(groups)
    sets = {
        "feet": number[:, 0].ravel(),
        "deck": number[:, deck].ravel(),
        "top": upper[-1],
    }
    return Mesh(positions, edges, edge_groups=rows, vertex_sets=sets)


def _positions(
    across: int, leg_levels: int, column_levels: int, height: float
) -> tuple[np.ndarray, np.ndarray]:
    """Legs (4, leg_levels, 4 across, 3) and column (column_levels, 4 across, 3).

    Widths and distances from the axis fall off exponentially with height, as the wind load asks.
    """
    corner = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    step = np.arange(across)[:, None] / across
    sides = [a + step * (b - a) for a, b in zip(corner, np.roll(corner, -1, axis=0), strict=True)]
    outline = np.concatenate(sides)  # from corner (-1, -1), counter-clockwise
    part = np.linspace(0.0, 1.0, leg_levels)
    z = WAIST * height * part
    away = height * np.geomspace(0.165, 0.03, leg_levels)
    half = height * np.geomspace(0.042, 0.023, leg_levels)
    centre = corner[:, None, None] * away[:, None, None]
    legs = np.empty((4, leg_levels, 4 * across, 3))
    legs[..., :2] = centre + half[:, None, None] * outline
    legs[..., 2] = z[:, None]
    gap = (1.0 - WAIST) / column_levels
    column = np.empty((column_levels, 4 * across, 3))
    column[..., :2] = height * np.geomspace(0.045, 0.006, column_levels)[:, None, None] * outline
    column[..., 2] = height * np.linspace(WAIST + gap, 1.0, column_levels)[:, None]
    return legs, column


def _walls(number: np.ndarray, across: int) -> np.ndarray:
    """Bars of one shaft: outlines, uprights, one diagonal of each panel, braces inside."""
    after = np.roll(number, -1, axis=1)
    odd = (np.indices(number[:-1].shape).sum(axis=0) % 2).astype(bool)  # zigzag, not spiral
    foot, head = np.where(odd, after[:-1], number[:-1]), np.where(odd, number[1:], after[1:])
    k = np.arange(1, across)
    corner = across * np.arange(4)[:, None]  # node k before a corner to node k after it
    before, behind = number[:, (corner - k) % (4 * across)], number[:, corner + k]
    wall, facing = number[:, corner[:2] + k], number[:, corner[2:] + k]  # through the axis
    bars = [
        (number, after),
        (number[:-1], number[1:]),
        (foot, head),
        (before, behind),
        (wall, facing),
    ]
    return np.concatenate([pairs(a, b) for a, b in bars])


def _ties(section: np.ndarray, across: int) -> np.ndarray:
    """Bars (m, 2) between the facing walls of neighbouring legs, straight and diagonal."""
    bottom, right, top, left = (
        (side * across + np.arange(across + 1)) % (4 * across) for side in range(4)
    )
    ties = []
    for one, wall, other, facing in (
        (0, right, 1, left),
        (3, right, 2, left),
        (0, top, 3, bottom),
        (1, top, 2, bottom),
    ):
        a, b = section[one, wall], section[other, facing][::-1]  # outlines run opposite ways
        ties += [pairs(a, b), pairs(a[:-1], b[1:])]
    return np.concatenate(ties)


def _nearest(nodes: np.ndarray, others: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Bars from each node to the LINKS nearest of the others; equal distances by number."""
    apart = np.linalg.norm(positions[nodes, None] - positions[others], axis=-1)
    near = np.argsort(apart.round(9), axis=1, kind="stable")[:, :LINKS]
    return pairs(nodes[:, None], others[near])
