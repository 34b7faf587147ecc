"""Colliders as plain numbers, so that reading a recording never runs code from it.

A motion is a function of time, often the user's own: it is kept as where it was at each frame.
Shapes that are no class of ours are left out: they are seen in a run, but not drawn from its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..collisions import Hemisphere, Plane, Sphere, TriangleMesh
from ..contracts import Array

ARGUMENTS = {
    Plane: ("point", "normal"),
    Sphere: ("centre", "radius", "inside"),
    Hemisphere: ("centre", "radius", "axis"),
    TriangleMesh: ("positions", "triangles"),
}
KINDS = {kind.__name__: kind for kind in ARGUMENTS}


class Sampled:
    """A rigid motion known at times (F,) [s]: between two of them, that of the nearer one.

    rotations (F, 3, 3), origins (F, 3) [m].
    """

    def __init__(self, times: Array, rotations: Array, origins: Array) -> None:
        self._times, self._rotations, self._origins = times, rotations, origins

    def place(self, t: float, start: Array) -> tuple[Array, Array]:
        """Where points start (k, 3) are; velocities are not known, and none are needed to draw."""
        k = int(np.abs(self._times - t).argmin())
        return start @ self._rotations[k].T + self._origins[k], np.zeros(start.shape)


def describe(shapes: Sequence[Any], times: Array) -> dict[str, Any]:
    """Datasets by path: arrays and numbers of every shape, and its motion at times (F,)."""
    found: dict[str, Any] = {}
    known = [shape for shape in shapes if type(shape) in ARGUMENTS]
    for i, shape in enumerate(known):
        at = f"colliders/{i}"
        found[f"{at}/kind"] = np.bytes_(type(shape).__name__)
        for name in ARGUMENTS[type(shape)]:
            found[f"{at}/{name}"] = getattr(shape, name)
        if shape.moving:
            frames = [shape.frame(float(t)) for t in times]
            found[f"{at}/rotations"] = np.array([frame.rotation for frame in frames])
            found[f"{at}/origins"] = np.array([frame.origin for frame in frames])
    return found


def restore(group: Any, times: Array) -> tuple[Any, ...]:
    """The shapes that `describe` has written to an h5py group."""
    shapes = []
    for i in range(len(group)):
        data = group[str(i)]
        kind = KINDS[data["kind"][()].decode()]
        arguments = {name: data[name][()] for name in ARGUMENTS[kind]}
        motion = None
        if "rotations" in data:
            motion = Sampled(times, data["rotations"][()], data["origins"][()])
        shapes.append(kind(**arguments, motion=motion))
    return tuple(shapes)
