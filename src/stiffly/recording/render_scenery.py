"""The scenery that is photographed: body, shadow, floor, colliders, light and camera.

Everything is drawn at twice the size and averaged down: smooth edges that look the same with a
graphics card and without one.  The shadow is the body pressed flat onto the floor, which costs
next to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .exports.colliders import Solid, solids
from .exports.frames import Motion
from .render_body import SHADE, Body, vertex_normals
from .render_colors import Coloring
from .render_floor import BELOW, Floor, find_floor
from .render_view import OPENING, View

FINE = 2  # pixels drawn for each pixel of the picture, in both directions
STONE = (0.80, 0.80, 0.81)
SHRUNK = 0.15  # of the body's edges: chords of what lies on a ball would dip into it
THICK = 0.025  # of the size: half a ball
FAR = 100.0  # sizes of the picture: what lies beyond is pulled in, or numbers would overflow


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
        self._set_camera()
        with _no_chatter():
            self._plotter.disable_anti_aliasing()
            self._plotter.show(auto_close=False)  # opens the window that nobody sees

    def picture(self, i: int) -> np.ndarray:
        """(height, width, 3) uint8."""
        from PIL import Image

        x = self._near(self._motion.frame(i))
        self._body.place(x, None if self._coloring is None else self._coloring.colors(i))
        if self._shadow is not None and self._floor is not None:
            self._shadow.place(self._floor.shadow(x), None)
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

    def _near(self, x: Array) -> Array:
        middle, reach = 0.5 * (self._view.low + self._view.high), FAR * self._view.size
        with np.errstate(invalid="ignore", over="ignore"):
            return middle + np.nan_to_num(np.clip(x - middle, -reach, reach))

    def _add_colliders(
        self, shapes: list[Solid], floor: Floor | None
    ) -> Iterator[Callable[[float], None]]:
        """Draws them; yields what moves one to where it is at a time."""
        for solid in shapes:
            if floor is not None and solid is floor.solid:
                continue
            actor = self._plotter.add_mesh(
                self._pv.PolyData.from_regular_faces(self._shrunk(solid), solid.triangles),
                color=STONE, ambient=0.4, diffuse=0.7, specular=0.1,
                smooth_shading=not solid.flat, split_sharp_edges=not solid.flat,
                # a wall or a room is seen through from behind
                culling="back" if solid.flat or solid.hollow else None,
            )  # fmt: skip
            if solid.moving:
                yield lambda t, actor=actor, solid=solid: _place(actor, solid, t)
            if floor is not None and not solid.flat:
                yield self._add_shadow(solid, floor)

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

    def _set_camera(self) -> None:
        view, camera = self._view, self._plotter.camera
        distance = float((0.5 * (view.low + view.high) - view.eye) @ view.forward)
        camera.position, camera.focal_point = view.eye, view.eye + distance * view.forward
        camera.up, camera.view_angle = view.up, OPENING
        camera.clipping_range = (0.05 * distance, distance + 8.0 * view.size)


def sunlight(view: View) -> Array:
    """The direction in which the light travels."""
    ahead = np.cross([0.0, 0.0, 1.0], view.right)  # forward, along the ground
    direction = np.array([0.0, 0.0, -1.0]) + 0.38 * view.right + 0.22 * ahead
    return direction / np.linalg.norm(direction)


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
