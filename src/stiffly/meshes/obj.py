"""Vertices, faces and lines of Wavefront obj files.

meshio 5.3 drops lines, misreads relative (negative) numbers, and refuses files whose texture
coordinates or normals are not one per vertex.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError

FACES = {3: "triangle", 4: "quad"}
LEAST = {"f": 3, "l": 2}
EXAMPLE = {
    "v": "a vertex has three coordinates, as in v 0.5 0 1.2",
    "f": "a face lists three vertex numbers or more, as in f 1 2 3",
    "l": "a line lists two vertex numbers or more, as in l 1 2",
}


class Block(NamedTuple):
    """Elements of one type, counted from 0, as meshio gives them."""

    type: str
    data: list[list[int]]


class Geometry(NamedTuple):
    """points (N, 3) and elements in the order of the file."""

    points: np.ndarray
    cells: list[Block]


def read_obj(path: Path, name: str) -> Geometry:
    """What v, f and l say; all else is passed over. InputError names the line that is wrong.

    Numbers count from 1; negative ones count back from the vertex before the line (-1 is the last).
    """
    points: list[list[float]] = []
    cells: list[Block] = []
    largest, culprit = -1, ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0] not in EXAMPLE:
                continue
            where = f"{name}, line {number} ({' '.join(words)[:60]})"
            if words[0] == "v":
                points.append(_coordinates(words, where))
                continue
            corners = _corners(words, len(points), where)
            if max(corners) > largest:
                largest, culprit = max(corners), where
            _append(cells, words[0], corners)
    if largest >= len(points) > 0:
        raise InputError(
            f"{culprit}: there is no vertex {largest + 1}, the file has {len(points)}: "
            "correct the number, or add the vertex"
        )
    return Geometry(np.array(points, dtype=np.float64).reshape(-1, 3), cells)


def _coordinates(words: list[str], where: str) -> list[float]:
    """x y z; what follows (a weight, a colour) is left out."""
    try:
        found = [float(word) for word in words[1:4]]
    except ValueError:
        found = []
    if len(found) < 3:
        raise InputError(f"{where}: {EXAMPLE['v']}")
    return found


def _corners(words: list[str], before: int, where: str) -> list[int]:
    """Vertices counted from 0; a corner may name a texture and a normal behind slashes."""
    try:
        numbers = [int(word.split("/")[0]) for word in words[1:]]
    except ValueError:
        numbers = []
    if len(numbers) < LEAST[words[0]]:
        raise InputError(f"{where}: {EXAMPLE[words[0]]}")
    for k in numbers:
        if k == 0:
            raise InputError(f"{where}: there is no vertex 0, obj files count from 1: add 1 to all")
        if k < -before:
            raise InputError(
                f"{where}: {k} counts back further than the {before} vertices above this line: "
                "correct it, or write numbers from 1 on"
            )
    if words[0] == "f" and len(numbers) > 4:
        raise InputError(f"{where}: a polygon with {len(numbers)} corners: triangulate it first")
    return [k - 1 if k > 0 else before + k for k in numbers]


def _append(cells: list[Block], letter: str, corners: list[int]) -> None:
    """Into the last block where it has the same type, so that elements keep their order."""
    kind = FACES[len(corners)] if letter == "f" else "line"
    if not cells or cells[-1].type != kind:
        cells.append(Block(kind, []))
    if letter == "f":
        cells[-1].data.append(corners)
    else:
        cells[-1].data.extend([list(pair) for pair in pairwise(corners)])
