"""The floor: a disc that fades into white, a grid of round spacing, and where shadows fall."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from .exports.frames import Solid
from .render_view import View
from .render_walls import is_level

REACH = 2.2  # radius of what is shown of the floor, in sizes of the picture
# the floor, the lines of its grid, what it fades into
GREY, LINE, WHITE = (np.array(c) for c in ([236, 238, 241], [214, 218, 224], [255, 255, 255]))
CELLS = 9  # of the grid, across the picture
BELOW = 4e-3  # of the size: by so much the floor is drawn lower, or it would show through a cloth
WIDTH = 2.4e-3  # of the size: thickness of the grid's lines
LIFT = 1e-3  # of the size: the shadow lies above the grid, the grid above the floor


class Floor(NamedTuple):
    """A plane through point with unit normal; light: where sunlight goes; solid: the collider."""

    point: Array
    normal: Array
    light: Array
    size: float
    solid: Solid | None

    def shadow(self, x: Array) -> Array:
        """Where sunlight through x (N, 3) meets the floor."""
        height = (x - self.point) @ self.normal
        along = height / (self.light @ self.normal)
        return x - along[:, None] * self.light + self.above * self.normal

    @property
    def above(self) -> float:
        """By how much the shadow lies above the floor [m]."""
        return 2.0 * LIFT * self.size

    def flattening(self, light: Array) -> Array:
        """(4, 4): presses what is on its side of the floor onto it, along the light."""
        matrix = np.eye(4)
        matrix[:3, :3] -= np.outer(light, self.normal) / (light @ self.normal)
        matrix[:3, 3] = self.point - matrix[:3, :3] @ self.point
        return matrix

    def add_to(self, pv: Any, plotter: Any) -> None:
        for points, colors, faces in (self._disc(), self._grid()):
            sheet = pv.PolyData.from_regular_faces(points.reshape(-1, 3), faces)
            sheet.point_data["rgb"] = colors.reshape(-1, 3)
            plotter.add_mesh(sheet, scalars="rgb", rgb=True, lighting=False)

    def across(self) -> tuple[Array, Array]:
        u = np.cross([0.0, 1.0, 0.0], self.normal)
        u /= np.linalg.norm(u)
        return u, np.cross(self.normal, u)

    def _faded(self, color: Array, radius: Array) -> np.ndarray:
        """The colour, turning white towards the end of the floor."""
        share = smooth(radius / (REACH * self.size))[..., None]
        return (color + share * (WHITE - color)).round().astype(np.uint8)

    def _disc(self) -> tuple[Array, np.ndarray, np.ndarray]:
        """Points, colours, faces."""
        radius, turn = np.meshgrid(
            np.linspace(0.0, REACH * self.size, 24), np.linspace(0.0, 2.0 * np.pi, 73)
        )
        u, w = self.across()
        points = (radius * np.cos(turn))[..., None] * u + (radius * np.sin(turn))[..., None] * w
        return self.point + points, self._faded(GREY, radius), _quads(*radius.shape)

    def _grid(self) -> tuple[Array, np.ndarray, np.ndarray]:
        """Ribbons at round distances from the origin, both ways: points, colours, faces.

        VTK draws lines a little in front of where they are, and so through the shadow.
        """
        u, w = self.across()
        spacing, reach = round_number(self.size / CELLS), REACH * self.size
        along = np.linspace(-reach, reach, 60)
        points, colors = [], []
        for a, b in ((u, w), (w, u)):
            start = float(self.point @ a)
            first, last = np.ceil((start - reach) / spacing), np.floor((start + reach) / spacing)
            for place in spacing * np.arange(first, last + 1) - start:
                sides = place + 0.5 * WIDTH * self.size * np.array([-1.0, 1.0])
                points.append(sides[:, None, None] * a + along[None, :, None] * b)
                colors.append(self._faded(LINE, np.hypot(*np.meshgrid(along, sides))))
        raised = self.point + LIFT * self.size * self.normal + np.array(points)
        faces = _quads(2, len(along)) + 2 * len(along) * np.arange(len(points))[:, None, None]
        return raised, np.array(colors), faces.reshape(-1, 4)


def find_floor(shapes: list[Solid], view: View, light: Array, below: float = BELOW) -> Floor | None:
    """The plane collider that is most level; else, unless it moves or the body is in a room, just
    below the body.

    below: by how much, in sizes of the picture.
    """
    centre = 0.5 * (view.low + view.high)
    still = [s for s in shapes if is_level(s) and not s.moving]
    if still:
        solid = max(still, key=lambda s: s.shape.normal[2])
        plane = solid.shape
        height = (centre - plane.point) @ plane.normal + BELOW * view.size
        point = centre - height * plane.normal
        return Floor(point, plane.normal, light, view.size, solid)
    if any(is_level(s) or s.hollow for s in shapes):
        return None
    point = np.array([centre[0], centre[1], view.low[2] - below * view.size])
    return Floor(point, np.array([0.0, 0.0, 1.0]), light, view.size, None)


def round_number(size: float) -> float:
    """1, 2 or 5 times a power of ten, near size."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(power * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(np.log(k * power / size))))


def smooth(share: Array) -> Array:
    """From 0 to 1 with level ends."""
    share = np.clip(share, 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


def _quads(rows: int, columns: int) -> np.ndarray:
    """Faces (k, 4) of a grid of points, row by row."""
    index = np.arange(rows * columns).reshape(rows, columns)
    corners = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    return np.stack(corners, axis=-1).reshape(-1, 4)
