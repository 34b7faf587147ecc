"""What bodies touch, and the floor that their shadows fall on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...recording.exports.frames import Motion, Solid, solids
from .place import SIZE, Place

STONE = (176, 178, 184)
FAINT, SHADE = (205, 208, 214), 0.25  # lines of the floor, and how dark its shadows are
LEAST_BALL = 0.85  # of a ball that is drawn smaller than it is
DEEPER = 0.25 * SIZE  # the floor gives way to what falls through, by steps of


class Colliders:
    """What bodies touch, once in every lane."""

    def __init__(self, scene: Any, shown: Motion, place: Place, lanes: int) -> None:
        low, high = shown.rest.min(axis=0), shown.rest.max(axis=0)
        self.solids = list(solids(shown.colliders, low, high))
        self._place, self._nodes = place, []
        drawn = [shrunk(solid, _coarseness(shown)) for solid in self.solids]
        for lane in range(lanes):
            for i, solid in enumerate(drawn):
                node = scene.add_mesh_simple(
                    f"/lane-{lane}/collider-{i}", place.on_page(solid.at(0.0)), solid.triangles,
                    color=STONE, opacity=0.35 if solid.hollow else None,
                    side="front" if solid.flat else "double",  # walls are seen through from behind
                )  # fmt: skip
                self._nodes.append((solid, node))

    def show(self, t: float) -> None:
        for solid, node in self._nodes:
            if solid.moving:
                node.vertices = self._place.on_page(solid.at(t))


def shrunk(solid: Solid, edge: float) -> Solid:
    """A ball a little smaller: only the corners of triangles touch it, and between corners that are
    `edge` [m] apart it would look through.  By the sagitta of that chord, down to
    LEAST_BALL."""
    radius = getattr(solid.shape, "radius", None)
    if radius is None or solid.hollow:
        return solid
    share = max(1.0 - (edge / radius) ** 2 / 3.0, LEAST_BALL**2) ** 0.5
    centre = solid.shape.centre
    return solid._replace(positions=centre + share * (solid.positions - centre))


def _coarseness(shown: Motion) -> float:
    """The length [m] that few edges of the surface exceed; 0 where there is none."""
    corners = shown.rest[shown.triangles]
    if not len(corners):
        return 0.0
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    return float(np.percentile(lengths, 95.0))


class Floor:
    """Below everything, for the shadows to fall on; nothing touches it."""

    def __init__(self, scene: Any, height: float) -> None:
        self._height = height
        self._node = scene.add_grid(
            "/floor", infinite_grid=True, cell_size=0.25 * SIZE, section_size=SIZE,
            cell_color=FAINT, section_color=FAINT, cell_thickness=0.6, section_thickness=1.0,
            fade_distance=12.0 * SIZE, shadow_opacity=SHADE, position=(0.0, 0.0, height),
        )  # fmt: skip

    def below(self, height: float) -> None:
        """Where something has come down to that height."""
        if height < self._height:
            self._height = float(height) - DEEPER
            self._node.position = (0.0, 0.0, self._height)
