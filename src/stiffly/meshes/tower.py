"""A lattice tower: four curved legs that carry a slender column."""

from __future__ import annotations

import numpy as np

from .checks import require_counts, require_positive
from .mesh import Mesh, grouped_edges, pairs

WAIST = 0.38  # height where the legs end and the column begins, as part of the whole
DECK = 0.19  # height of the lower ties between the legs
LINKS = 3  # bars from each lowest node of the column to the tops of the legs


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
