"""Colliders as triangles: what bodies touch, for pictures and for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...collisions import Hemisphere, Plane, Sphere
from ...collisions.motion import Frame
from ...contracts import Array

AROUND = 64  # sides of a round shape
UP = 32  # rings of a ball


class Solid(NamedTuple):
    """A collider where it was given; where it is at time t: `frame(t).points(positions)`.

    positions (V, 3) [m], triangles (f, 3) facing out of the solid; flat: a plane, of which a
    square is shown; hollow: a room seen from inside.
    """

    shape: Any
    positions: Array
    triangles: np.ndarray
    flat: bool = False
    hollow: bool = False

    @property
    def moving(self) -> bool:
        return bool(self.shape.moving)

    def frame(self, t: float) -> Frame:
        return self.shape.frame(t)

    def at(self, t: float) -> Array:
        return self.frame(t).points(self.positions)


def solids(shapes: Iterable[Any], low: Array, high: Array) -> list[Solid]:
    """Colliders that can be drawn; planes as squares below what moves within the box low, high.

    A shape of the user's own is drawn when it has positions and triangles.
    """
    found = []
    for shape in shapes:
        if isinstance(shape, Plane):
            found.append(_square(shape, low, high))
        elif isinstance(shape, Sphere):
            positions, triangles = _revolved(*_arc(np.pi, UP))
            if shape.inside:
                triangles = triangles[:, ::-1]
            positions = shape.centre + shape.radius * positions
            found.append(Solid(shape, positions, triangles, hollow=shape.inside))
        elif isinstance(shape, Hemisphere):
            radii, heights = _arc(0.5 * np.pi, UP // 2)
            positions, triangles = _revolved(np.append(radii, 0.0), np.append(heights, 0.0))
            turned = positions @ _upright(shape.axis).T
            found.append(Solid(shape, shape.centre + shape.radius * turned, triangles))
        elif hasattr(shape, "positions") and hasattr(shape, "triangles"):
            positions = np.asarray(shape.positions, dtype=np.float64)
            found.append(Solid(shape, positions, np.asarray(shape.triangles)))
    return found


def _square(plane: Plane, low: Array, high: Array) -> Solid:
    centre, half = 0.5 * (low + high), max(float(np.linalg.norm(high - low)), 1e-9)
    home = plane.frame(0.0).home(centre)
    middle = home - (home - plane.point) @ plane.normal * plane.normal
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    positions = middle + half * corners @ _upright(plane.normal).T
    return Solid(plane, positions, np.array([[0, 1, 2], [0, 2, 3]]), flat=True)


def _upright(axis: Array) -> Array:
    """A rotation (3, 3) that turns z into the axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(helper, axis)
    u /= np.linalg.norm(u)
    return np.column_stack([u, np.cross(axis, u), axis])


def _arc(angle: float, count: int) -> tuple[Array, Array]:
    """Radii and heights of a unit circle from its pole down by an angle."""
    theta = np.linspace(0.0, angle, count + 1)
    return np.sin(theta), np.cos(theta)


def _revolved(radii: Array, heights: Array) -> tuple[Array, np.ndarray]:
    """A profile from pole to pole, where radii are taken as 0, turned about z: positions, triangles
    outwards."""
    turn = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(AROUND)])
    rings = [r * circle + [0.0, 0.0, z] for r, z in zip(radii[1:-1], heights[1:-1], strict=True)]
    poles = np.array([[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]])
    here = np.arange(AROUND)
    there = np.roll(here, -1)
    first, last = 2, 2 + AROUND * (len(rings) - 1)
    faces = [np.column_stack([np.zeros(AROUND, dtype=int), first + here, first + there])]
    for k in range(len(rings) - 1):
        a, b = 2 + k * AROUND, 2 + (k + 1) * AROUND
        faces.append(np.column_stack([a + here, b + here, b + there]))
        faces.append(np.column_stack([a + here, b + there, a + there]))
    faces.append(np.column_stack([np.ones(AROUND, dtype=int), last + there, last + here]))
    return np.concatenate([poles, *rings]), np.concatenate(faces)
