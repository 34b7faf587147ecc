"""The scenery that is photographed: body, shadow, floor, colliders, light and camera.

Everything is drawn at twice the size and averaged down: smooth edges that look the same with a
graphics card and without one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .colors import Coloring, coat
from .exports.frames import Motion, Solid, solids
from .render_body import Body, vertex_normals
from .render_floor import BELOW, Floor, find_floor
from .render_shadow import Shadow, read_pixels
from .render_view import OPENING, View, sunlight
from .render_walls import is_wall, slab

FINE = 2  # pixels drawn for each pixel of the picture, in both directions
STONE = (0.80, 0.80, 0.81)
SHRUNK = 0.15  # of the body's edges: chords of what lies on a ball would dip into it
THICK = 0.025  # of the size: half a ball
NEAR = 0.05  # of the size: how far off what is near darkens a surface
SAMPLES = 32  # directions in which that is looked for
FAR = 100.0  # sizes of the picture: what lies beyond is pulled in, or numbers would overflow


def library() -> Any:
    """pyvista; InputError where it is missing."""
    try:
        import pyvista
    except ImportError:
        raise InputError('pictures of bodies need pyvista: pip install "stiffly[render]"') from None
    return pyvista


class Scenery:
    """One motion in front of a camera; `picture(i)` photographs frame i.

    soft: corners and what touches are darker, since less light comes there (ambient occlusion).
    """

    def __init__(
        self,
        motion: Motion,
        coloring: Coloring | None,
        view: View,
        size: tuple[int, int],
        soft: bool = False,
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
        rods = coloring is not None and coloring.rods is not None
        self._body = Body(self._pv, self._plotter, motion, FINE * size[1], rods=rods)
        self._shadow = None
        if floor is not None:
            floor.add_to(self._pv, self._plotter)
            standing = [s for s in shapes if not s.flat]
            with _no_chatter():
                self._shadow = Shadow(self._pv, self._plotter, motion, standing, floor, view)
        self._set_lights()
        self._set_camera(view)
        with _no_chatter():
            self._plotter.disable_anti_aliasing()
            if soft:
                reach = {"radius": NEAR * view.size, "bias": 0.05 * NEAR * view.size}
                self._plotter.enable_ssao(**reach, kernel_size=SAMPLES, blur=True)
            self._plotter.show(auto_close=False)  # opens the window that nobody sees

    def picture(self, i: int, view: View | None = None) -> np.ndarray:
        """(height, width, 3) uint8; view: where the camera is now, if it moves."""
        from PIL import Image

        middle, reach = 0.5 * (self._view.low + self._view.high), FAR * self._view.size
        with np.errstate(invalid="ignore", over="ignore"):
            x = np.clip(self._motion.frame(i) - middle, -reach, reach)
            x = middle + np.nan_to_num(x)
        colors = self._coloring
        if colors is None:
            self._body.place(x, None)
        else:
            self._body.place(x, colors.colors(i), colors.rod_colors(i))
        if view is not None:
            self._set_camera(view)
        for move in self._moving:
            move(float(self._motion.times[i]))
        with _no_chatter():
            if self._shadow is not None:
                self._shadow.place(x, float(self._motion.times[i]))
            self._plotter.render()
            pixels = read_pixels(self._plotter, *(FINE * side for side in self._size))[::-1]
        return np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).reduce(FINE))

    def close(self) -> None:
        self._plotter.close()
        if self._shadow is not None:
            self._shadow.close()

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
