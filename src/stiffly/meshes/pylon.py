"""An electricity pylon: a tapering truss with arms and insulator strings."""

from __future__ import annotations

import numpy as np

from .checks import require_counts, require_positive
from .mesh import Mesh, grouped_edges, pairs

LINKS = 2  # of every insulator string


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
    """Tips and string nodes, their edges, and the numbers of both."""
    points, bars, links, tips, strings = [np.empty((0, 3))], [], [], [], []
    start = number.size + crossings
    for arm in range(arms):
        level = len(corners) - 2 - 3 * arm
        for side, (i, j) in ((1.0, (0, 3)), (-1.0, (1, 2))):  # faces at +x and -x
            z = corners[level + 1, 0, 2]
            drop = 0.05 * reach * np.arange(1, LINKS + 1)
            chain = np.zeros((1 + LINKS, 3))
            chain[:, 0], chain[0, 2], chain[1:, 2] = side * reach, z, z - drop
            nodes = np.arange(start, start + len(chain))
            roots = number[level : level + 2][:, [i, j]].ravel()
            bars += [[root, nodes[0]] for root in roots]
            links += np.stack([nodes[:-1], nodes[1:]], axis=1).tolist()
            points.append(chain)
            tips.append(nodes[0])
            strings += nodes[1:].tolist()
            start += len(chain)
    groups = {"arms": np.array(bars), "strings": np.array(links)}
    return np.concatenate(points), groups, np.array(tips, int), np.array(strings, int)
