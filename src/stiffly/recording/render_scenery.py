"""The scenery that is photographed: body, shadow, floor, colliders, light and camera.

Everything is drawn at twice the size and averaged down: smooth edges that look the same with a
graphics card and without one.  The shadow is the body pressed flat onto the floor, which costs
next to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .exports.frames import Motion, Solid, solids
from .render_body import SHADE, Body, vertex_normals
from .render_labels import Coloring, coat
from .render_view import OPENING, View
from .render_walls import is_level, is_wall, slab

FINE = 2  # pixels drawn for each pixel of the picture, in both directions
STONE = (0.80, 0.80, 0.81)
SHRUNK = 0.15  # of the body's edges: chords of what lies on a ball would dip into it
THICK = 0.025  # of the size: half a ball
FAR = 100.0  # sizes of the picture: what lies beyond is pulled in, or numbers would overflow
REACH = 2.2  # radius of what is shown of the floor, in sizes of the picture
# the floor, the lines of its grid, what it fades into
GREY, LINE, WHITE = (np.array(c) for c in ([236, 238, 241], [214, 218, 224], [255, 255, 255]))
CELLS = 9  # of the grid, across the picture
BELOW = 4e-3  # of the size: by so much the floor is drawn lower, or it would show through a cloth
WIDTH = 2.4e-3  # of the size: thickness of the grid's lines
LIFT = 1e-3  # of the size: the shadow lies above the grid, the grid above the floor


def library() -> Any:
    """pyvista; InputError where it is missing."""
    try:
        import pyvista
    except ImportError:
        raise InputError('pictures of bodies need pyvista: pip install "stiffly[render]"') from None
    return pyvista


class Scenery:
    """One motion in front of a camera; `picture(i)` photographs frame i."""

    def __init__(
        self, motion: Motion, coloring: Coloring | None, view: View, size: tuple[int, int]
    ) -> None:
        self._pv = library()
        self._motion, self._coloring, self._view, self._size = motion, coloring, view, size
        window = [FINE * side for side in size]
        with _no_chatter():
            self._plotter = self._pv.Plotter(off_screen=True, window_size=window, lighting="none")
        self._plotter.set_background("white")
        shapes = solids(motion.colliders, view.low, view.high)
        below = BELOW if len(motion.triangles) else THICK  # lines and balls are drawn thick
        floor = find_floor(shapes, view, sunlight(view), below)
        self._moving = list(self._add_colliders(shapes, floor))
        self._body = Body(self._pv, self._plotter, motion, FINE * size[1])
        self._shadow = None
        if floor is not None:
            floor.add_to(self._pv, self._plotter)
            self._shadow = Body(self._pv, self._plotter, motion, FINE * size[1], flat=True)
        self._floor = floor
        self._set_lights()
        self._set_camera(view)
        with _no_chatter():
            self._plotter.disable_anti_aliasing()
            self._plotter.show(auto_close=False)  # opens the window that nobody sees

    def picture(self, i: int, view: View | None = None) -> np.ndarray:
        """(height, width, 3) uint8; view: where the camera is now, if it moves."""
        from PIL import Image

        middle, reach = 0.5 * (self._view.low + self._view.high), FAR * self._view.size
        with np.errstate(invalid="ignore", over="ignore"):
            x = np.clip(self._motion.frame(i) - middle, -reach, reach)
            x = middle + np.nan_to_num(x)
        self._body.place(x, None if self._coloring is None else self._coloring.colors(i))
        if self._shadow is not None and self._floor is not None:
            self._shadow.place(self._floor.shadow(x), None)
        if view is not None:
            self._set_camera(view)
        for move in self._moving:
            move(float(self._motion.times[i]))
        with _no_chatter():
            self._plotter.render()
            pixels = self._pixels()
        return np.asarray(Image.fromarray(pixels).reduce(FINE))

    def _pixels(self) -> np.ndarray:
        """What is in the window, without the second drawing that a screenshot would cost."""
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkCommonCore import vtkUnsignedCharArray

        width, height = (FINE * side for side in self._size)
        read = vtkUnsignedCharArray()
        window: Any = self._plotter.render_window
        window.GetPixelData(0, 0, width - 1, height - 1, 1, read, 0)
        return vtk_to_numpy(read).reshape(height, width, 3)[::-1].copy()

    def close(self) -> None:
        self._plotter.close()

    def _add_colliders(
        self, shapes: list[Solid], floor: Floor | None
    ) -> Iterator[Callable[[float], None]]:
        """Draws them; yields what moves one to where it is at a time."""
        for solid in shapes:
            if floor is not None and solid is floor.solid:
                continue
            if is_wall(solid):
                solid = slab(solid, self._view, self._ground(floor))
            mesh = self._pv.PolyData.from_regular_faces(self._shrunk(solid), solid.triangles)
            stain = self._stain(solid)
            paint: dict[str, Any] = {"color": STONE}
            if stain is not None:
                mesh.point_data["stain"] = stain(float(self._motion.times[0]))
                paint = {"scalars": "stain", "rgb": True}
            actor = self._plotter.add_mesh(
                mesh, **paint, ambient=0.4, diffuse=0.7, specular=0.1,
                smooth_shading=not solid.flat,
                split_sharp_edges=not solid.flat and stain is None,  # else vertices are others
                # a wall or a room is seen through from behind
                culling="back" if solid.flat or solid.hollow else None,
            )  # fmt: skip
            if solid.moving:
                yield lambda t, actor=actor, solid=solid: _place(actor, solid, t)
            if stain is not None:
                yield lambda t, actor=actor, stain=stain: _paint(actor, stain(t))
            if floor is not None and not solid.flat:
                yield self._add_shadow(solid, floor)

    def _stain(self, solid: Solid) -> Callable[[float], Array] | None:
        """The colours (V, 3) of the plaque on it at a time."""
        plaque, scale = self._motion.plaque, coat(self._motion)
        if scale is None or plaque.shape[1] != len(solid.positions):
            return None

        def colors(t: float) -> Array:
            i = int(np.abs(self._motion.times - t).argmin())
            bare = np.asarray(plaque[0]) == 0.0
            return np.where(bare[:, None], np.uint8(255.0 * np.array(STONE)), scale.colors(i))

        return colors

    def _ground(self, floor: Floor | None) -> float:
        """Where walls stand [m]."""
        return float(self._view.low[2] if floor is None else floor.point[2])

    def _add_shadow(self, solid: Solid, floor: Floor) -> Callable[[float], None]:
        mesh = self._pv.PolyData.from_regular_faces(floor.shadow(solid.at(0.0)), solid.triangles)
        self._plotter.add_mesh(mesh, color=SHADE, lighting=False)

        def move(t: float) -> None:
            if solid.moving:
                mesh.points = floor.shadow(solid.at(t)).astype(np.float32)

        return move

    def _shrunk(self, solid: Solid) -> Array:
        rest, triangles = self._motion.rest, self._motion.triangles
        if solid.flat or solid.hollow or not len(triangles):
            return solid.positions
        sides = rest[triangles] - rest[np.roll(triangles, 1, axis=1)]
        edge = float(np.median(np.linalg.norm(sides, axis=2)))
        size = float(np.ptp(solid.positions, axis=0).max())
        normals = vertex_normals(solid.positions, solid.triangles)
        return solid.positions - min(SHRUNK * edge, 0.02 * size) * normals

    def _set_lights(self) -> None:
        """A sun over the left shoulder, which the shadow agrees with, and two weak lamps."""
        view, Light = self._view, self._pv.Light
        middle = 0.5 * (view.low + view.high)
        sun = middle - 10.0 * view.size * sunlight(view)
        lamp = middle + 10.0 * view.size * (view.right - 0.6 * view.forward + 0.3 * view.up)
        for place, strength in ((sun, 0.58), (lamp, 0.14), (view.eye, 0.42)):
            light = Light(position=place, focal_point=middle, intensity=strength)
            light.positional = False
            self._plotter.add_light(light)

    def _set_camera(self, view: View) -> None:
        camera = self._plotter.camera
        distance = float((0.5 * (view.low + view.high) - view.eye) @ view.forward)
        camera.position, camera.focal_point = view.eye, view.eye + distance * view.forward
        camera.up, camera.view_angle = view.up, OPENING
        camera.clipping_range = (0.05 * distance, distance + 8.0 * view.size)


def sunlight(view: View) -> Array:
    """The direction in which the light travels."""
    ahead = np.cross([0.0, 0.0, 1.0], view.right)  # forward, along the ground
    direction = np.array([0.0, 0.0, -1.0]) + 0.38 * view.right + 0.22 * ahead
    return direction / np.linalg.norm(direction)


def _paint(actor: Any, colors: Array) -> None:
    mesh = actor.mapper.dataset
    mesh.point_data["stain"][:] = colors  # in place: an array put there anew is not drawn
    mesh.GetPointData().GetArray("stain").Modified()
    mesh.Modified()


def _place(actor: Any, solid: Solid, t: float) -> None:
    frame, matrix = solid.frame(t), np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = frame.rotation, frame.origin
    actor.user_matrix = matrix


@contextmanager
def _no_chatter() -> Iterator[None]:
    """Without a display VTK complains on stderr, then draws all the same."""
    if os.environ.get("DISPLAY") or os.name == "nt":
        yield
        return
    from vtkmodules.vtkCommonCore import vtkLogger

    before = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkLogger.SetStderrVerbosity(before)


# ------------------------------------------------------------------ the floor


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
        return x - along[:, None] * self.light + 2.0 * LIFT * self.size * self.normal

    def add_to(self, pv: Any, plotter: Any) -> None:
        for points, colors, faces in (self._disc(), self._grid()):
            sheet = pv.PolyData.from_regular_faces(points.reshape(-1, 3), faces)
            sheet.point_data["rgb"] = colors.reshape(-1, 3)
            plotter.add_mesh(sheet, scalars="rgb", rgb=True, lighting=False)

    def _across(self) -> tuple[Array, Array]:
        u = np.cross([0.0, 1.0, 0.0], self.normal)
        u /= np.linalg.norm(u)
        return u, np.cross(self.normal, u)

    def _faded(self, color: Array, radius: Array) -> np.ndarray:
        """The colour, turning white towards the end of the floor."""
        share = np.clip(radius / (REACH * self.size), 0.0, 1.0)[..., None]
        share = share * share * (3.0 - 2.0 * share)
        return (color + share * (WHITE - color)).round().astype(np.uint8)

    def _disc(self) -> tuple[Array, np.ndarray, np.ndarray]:
        """Points, colours, faces."""
        radius, turn = np.meshgrid(
            np.linspace(0.0, REACH * self.size, 24), np.linspace(0.0, 2.0 * np.pi, 73)
        )
        u, w = self._across()
        points = (radius * np.cos(turn))[..., None] * u + (radius * np.sin(turn))[..., None] * w
        return self.point + points, self._faded(GREY, radius), _quads(*radius.shape)

    def _grid(self) -> tuple[Array, np.ndarray, np.ndarray]:
        """Ribbons at round distances from the origin, both ways: points, colours, faces.

        VTK draws lines a little in front of where they are, and so through the shadow.
        """
        u, w = self._across()
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


def _quads(rows: int, columns: int) -> np.ndarray:
    """Faces (k, 4) of a grid of points, row by row."""
    index = np.arange(rows * columns).reshape(rows, columns)
    corners = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    return np.stack(corners, axis=-1).reshape(-1, 4)
