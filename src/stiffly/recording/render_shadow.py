"""The shadow on the floor, soft as that of a sun that is not a point.

The body is drawn from above, pressed flat onto the floor along each of a few directions of light;
the mean of these small pictures is laid on the floor.  So it is sharp where a body stands, and the
more blurred the higher it hangs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array
from .exports.frames import Motion, Solid
from .render_body import SHADE, Body
from .render_floor import REACH, Floor, smooth
from .render_view import View

DARKNESS = 0.27  # of the middle of a shadow
SIDE = 448  # pixels of the picture from above
SUN = 0.11  # radius of the sun, where its distance is 1
LIGHTS, FEWEST = 16, 6  # directions of light
BUDGET = 2_000_000  # triangles and lines that are drawn for one shadow, about
BLUR = 2.0  # pixels: as far as the steps between the lights are seen


class Shadow:
    """Of a motion and of what it touches, on a floor: `place` draws it anew."""

    def __init__(
        self, pv: Any, plotter: Any, motion: Motion, solids: list[Solid], floor: Floor, view: View
    ) -> None:
        self._floor, self._solids, self._meshes = floor, solids, []
        self._plotter = pv.Plotter(off_screen=True, window_size=[SIDE, SIDE], lighting="none")
        self._plotter.set_background("white")
        self._center, self._half = self._square(solids, view)
        # lines as thick as in the picture, whose height is about the size of what it shows
        height = round(SIDE * 0.5 * view.size / self._half)
        self._body = Body(pv, self._plotter, motion, max(height, 1), flat=True)
        for solid in solids:
            mesh = pv.PolyData.from_regular_faces(solid.at(0.0), solid.triangles)
            self._plotter.add_mesh(mesh, color=SHADE, lighting=False)
            self._meshes.append(mesh)
        shapes = len(motion.triangles) + len(motion.lines) + sum(len(s.triangles) for s in solids)
        count = int(np.clip(BUDGET / max(shapes, 1), FEWEST, LIGHTS))
        self._flattenings = [floor.flattening(light) for light in _lights(floor.light, count)]
        self._look_down()
        self._image = self._lay(pv, plotter)
        self._plotter.disable_anti_aliasing()
        self._plotter.show(auto_close=False)

    def _square(self, solids: list[Solid], view: View) -> tuple[Array, float]:
        """Where shadows fall: the middle on the floor, half a side [m]."""
        box = np.array(np.meshgrid(*zip(view.low, view.high, strict=True))).reshape(3, -1).T
        found = np.concatenate([box, *(solid.at(0.0) for solid in solids)])
        margin = 2.0 * SUN * float(np.ptp(found @ self._floor.normal))
        u, w = self._floor.across()
        flat = self._floor.shadow(found) - self._floor.point
        a, b = flat @ u, flat @ w
        half = 0.5 * max(float(np.ptp(a)), float(np.ptp(b))) + margin + 0.02 * view.size
        middle = 0.5 * (a.min() + a.max()) * u + 0.5 * (b.min() + b.max()) * w
        return self._floor.point + middle, min(half, REACH * view.size)

    def _look_down(self) -> None:
        camera, (_, w) = self._plotter.camera, self._floor.across()
        far = 4.0 * self._half
        camera.parallel_projection, camera.parallel_scale = True, self._half
        camera.position = self._center + far * self._floor.normal
        camera.focal_point, camera.up = self._center, w
        camera.clipping_range = (0.5 * far, 1.5 * far)

    def _lay(self, pv: Any, plotter: Any) -> Any:
        """The square that lies on the floor in the large picture; returns what is drawn on it."""
        u, w = (self._half * axis for axis in self._floor.across())
        raised = self._center + self._floor.above * self._floor.normal
        corners = np.array([raised - u - w, raised + u - w, raised + u + w, raised - u + w])
        sheet = pv.PolyData.from_regular_faces(corners, [[0, 1, 2], [0, 2, 3]])
        sheet.active_texture_coordinates = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=float)
        image = pv.ImageData(dimensions=(SIDE, SIDE, 1))
        ink = np.uint8(255.0 * 0.45 * np.array(SHADE))
        image.point_data["ink"] = np.tile(np.append(ink, 0), (SIDE * SIDE, 1)).astype(np.uint8)
        texture = pv.Texture(image)
        texture.interpolate = True
        plotter.add_mesh(sheet, texture=texture, lighting=False).ForceTranslucentOn()
        along = np.linspace(-self._half, self._half, SIDE)
        place = (self._center - self._floor.point) @ np.stack(self._floor.across(), axis=1)
        radius = np.hypot(along[None, :] + place[0], along[:, None] + place[1])
        self._fade = 1.0 - smooth(radius / (REACH * self._floor.size))
        return image

    def place(self, x: Array, t: float) -> None:
        from PIL import Image, ImageFilter

        self._body.place(x, None)
        for solid, mesh in zip(self._solids, self._meshes, strict=True):
            if solid.moving:
                mesh.points = solid.at(t).astype(np.float32)
        total = np.zeros((SIDE, SIDE))
        for matrix in self._flattenings:
            for actor in self._plotter.renderer.actors.values():
                actor.user_matrix = matrix
            self._plotter.render()
            total += read_pixels(self._plotter, SIDE, SIDE)[..., 0] < 250
        dark = DARKNESS * self._fade * total / len(self._flattenings)
        soft = Image.fromarray(np.uint8(255.0 * dark)).filter(ImageFilter.GaussianBlur(BLUR))
        self._image.point_data["ink"][:, 3] = np.asarray(soft).ravel()
        self._image.GetPointData().GetArray("ink").Modified()
        self._image.Modified()

    def close(self) -> None:
        self._plotter.close()


def _lights(light: Array, count: int) -> list[Array]:
    """Directions (3,) evenly over the face of the sun: a spiral, as seeds lie in a sunflower."""
    side = np.cross(light, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    other = np.cross(light, side)
    k = np.arange(count) + 0.5
    radius, turn = SUN * np.sqrt(k / count), k * np.pi * (3.0 - np.sqrt(5.0))
    return [
        light + r * (np.cos(a) * side + np.sin(a) * other)
        for r, a in zip(radius, turn, strict=True)
    ]


def read_pixels(plotter: Any, width: int, height: int) -> np.ndarray:
    """(height, width, 3) uint8, the lowest row first: what is in the window, without the second
    drawing that a screenshot would cost."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonCore import vtkUnsignedCharArray

    read = vtkUnsignedCharArray()
    plotter.render_window.GetPixelData(0, 0, width - 1, height - 1, 1, read, 0)
    return vtk_to_numpy(read).reshape(height, width, 3)
