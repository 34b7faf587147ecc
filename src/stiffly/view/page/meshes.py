"""Bodies as triangles that follow the particles: surfaces, tubes around lines, beads.

Everything that can be dragged must be triangles: browsers do not find lines and points under the
pointer.  A shape has faces (f, 3) of vertices(x) (V, 3), which follow from the particles x (N, 3),
each from the one that owns it (V,), and is shaded flat or not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array

SHARP = 40.0  # degrees between triangles at rest: from there on an edge should stay an edge
OFTEN = 0.05  # share of sharp edges: from there on triangles are shaded flat
FEW = 12  # particles: then they are drawn as balls, like the weights of a pendulum
THICK = 0.02  # radius of a tube, as a share of the body's size, where there are few
SIDES = {200: 8, 1000: 5, 4000: 3}  # sides of a tube for up to so many lines


class Surface:
    """The triangles of a body, without the particles inside it."""

    def __init__(self, rest: Array, triangles: np.ndarray) -> None:
        self._which = self.owner = np.unique(triangles)
        self.faces = np.searchsorted(self._which, triangles)
        self.flat = _is_angular(rest, triangles)

    def vertices(self, x: Array) -> Array:
        return x[self._which]


class Tubes:
    """A prism around each line (m, 2)."""

    flat = False

    def __init__(self, lines: np.ndarray, radius: float, sides: int) -> None:
        self._lines, self.owner = lines, np.repeat(lines, sides)
        angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
        self._circle = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        here = np.arange(sides)
        there = np.roll(here, -1)
        one = np.concatenate(
            [
                np.column_stack([here, there, sides + here]),
                np.column_stack([there, sides + there, sides + here]),
            ]
        )
        self.faces = (one + 2 * sides * np.arange(len(lines))[:, None, None]).reshape(-1, 3)

    def vertices(self, x: Array) -> Array:
        a, b = x[self._lines[:, 0]], x[self._lines[:, 1]]
        u, v = _across(b - a)
        ring = self._circle[:, :1] * u[:, None] + self._circle[:, 1:] * v[:, None]
        return np.stack([a[:, None] + ring, b[:, None] + ring], axis=1).reshape(-1, 3)


class Beads:
    """A small octahedron or ball around each particle."""

    def __init__(self, which: np.ndarray, radius: float) -> None:
        self._which = which
        template, faces = _ball(2 if len(which) <= FEW else 1 if len(which) <= 400 else 0)
        self._template, self.owner = radius * template, np.repeat(which, len(template))
        self.faces = (faces + len(template) * np.arange(len(which))[:, None, None]).reshape(-1, 3)
        self.flat = False

    def vertices(self, x: Array) -> Array:
        return (x[self._which][:, None] + self._template).reshape(-1, 3)


class Parts(NamedTuple):
    """shapes to draw and to grab; lines (m, 2): too many for tubes, drawn as they are."""

    shapes: list[Any]
    lines: np.ndarray


def parts_of(rest: Array, piece: Any, size: float) -> Parts:
    """How a body (exports.pieces.Piece) among points at rest (N, 3) of that size [m] is drawn."""
    shapes: list[Any] = []
    lines = piece.lines
    if len(piece.triangles):
        shapes.append(Surface(rest, piece.triangles))
    few = len(rest) <= FEW and not len(piece.triangles)
    if len(lines):
        radius = size * THICK * min(1.0, (10.0 / len(lines)) ** 0.35)
        a, b = rest[lines].swapaxes(0, 1)
        radius = min(radius, 0.3 * (float(np.median(np.linalg.norm(b - a, axis=1))) or 1e-9))
        most = max(SIDES)
        chosen = lines if len(lines) <= most else lines[:: 1 + len(lines) // most]
        sides = next(SIDES[k] for k in sorted(SIDES) if len(chosen) <= k)
        shapes.append(Tubes(chosen, radius, sides))
        lines = lines if len(lines) > most else lines[:0]
    which = piece.points if few else piece.dots
    if len(which):
        radius = size * (0.04 if few else 0.3 / len(rest) ** (1 / 3))
        shapes.append(Beads(which, radius))
    return Parts(shapes, lines)


def level_of(shape: Any, levels: np.ndarray) -> np.ndarray:
    """Levels (f,) of a shape's faces from those (N,) of the particles: the middle of the three."""
    return np.sort(levels[shape.owner[shape.faces]], axis=1)[:, 1]


def pieces(shape: Any, x: Array, level: np.ndarray, count: int) -> list[Any]:
    """Vertices and faces of what has each of the levels 0 to count - 1; None where nothing has."""
    vertices, found = shape.vertices(x), []
    for k in range(count):
        faces = shape.faces[level == k]
        used = np.zeros(len(vertices), dtype=bool)
        used[faces] = True
        number = np.cumsum(used, dtype=np.uint32) - np.uint32(1)
        found.append((vertices[used], number[faces]) if len(faces) else None)
    return found


def _is_angular(rest: Array, triangles: np.ndarray) -> bool:
    """Many edges are sharp: smoothed normals would make a box look like a cushion."""
    a, b, c = (rest[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    owner = np.repeat(np.arange(len(triangles)), 3)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    edges, owner = edges[order], owner[order]
    twins = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1))
    if not len(twins):
        return False
    cosine = np.einsum("ij,ij->i", normals[owner[twins]], normals[owner[twins + 1]])
    return bool(np.mean(cosine < np.cos(np.radians(SHARP))) > OFTEN)


def _across(along: Array) -> tuple[Array, Array]:
    """Two unit vectors (m, 3) each, at right angles to the given ones and to each other."""
    axis = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    helper = np.zeros_like(axis)
    helper[np.arange(len(axis)), np.abs(axis).argmin(axis=1)] = 1.0
    u = np.cross(axis, helper)
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
    return u, np.cross(axis, u)


def _ball(level: int) -> tuple[Array, np.ndarray]:
    """An octahedron, each level divides every triangle into four on the unit sphere."""
    x = np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array(
        [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    )
    for _ in range(level):
        middles = x[faces] + x[np.roll(faces, -1, axis=1)]
        middles /= np.linalg.norm(middles, axis=2, keepdims=True)
        new = len(x) + np.arange(middles.size // 3).reshape(-1, 3)
        a, b, c = faces.T
        ab, bc, ca = new.T
        faces = np.concatenate(
            [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
        x = np.concatenate([x, middles.reshape(-1, 3)])
    return x, faces
