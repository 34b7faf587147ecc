"""The record that every built-in scene comes back as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..contracts import Array
from ..meshes import Mesh


@dataclass(frozen=True, eq=False)  # arrays have no single truth value: a scene equals only itself
class Scene:
    """A system with its start and the paper's way to run it; `simulate` takes it as it is.

    x0, v0: (N, 3) for a System [m, m/s], (n,) for a SecondOrder; step, duration, every [s].
    every: between recorded frames; None: about 200 frames in all.
    rtol, atol: steps chosen by the error instead, `step` the first one tried.
    mesh: the shape to draw, where there is one, with as many vertices as there are particles.
    colliders: shapes (collisions.Plane, Sphere, TriangleMesh, ...) to draw beside it.
    parameters: what it was built with.  note: what a user should know of this build, e.g. which
    model stands in for a scanned one.
    adjust: what of it was changed afterwards (see adjust.py).
    method: options of the integrator, iterations, tolerance, budget (see `integrator`).
    solution: x, v at times t (...), where the motion is known in closed form.
    """

    name: str
    summary: str
    source: str
    system: Any = field(repr=False)
    x0: Array = field(repr=False)
    v0: Array = field(repr=False)
    step: float
    duration: float
    integrator: str = "exprb42"
    mesh: Mesh | None = field(default=None, repr=False)
    every: float | None = None
    rtol: float | None = None
    atol: float = 0.0
    colliders: tuple[Any, ...] = field(default=(), repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    adjust: Mapping[str, float] = field(default_factory=dict)
    method: Mapping[str, Any] = field(default_factory=dict)
    solution: Callable[[Any], tuple[Array, Array]] | None = field(default=None, repr=False)
