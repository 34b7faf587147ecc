"""The same scene stiffer or softer, with other damping, under other gravity, in another wind.

    softer = adjusted(scene, stiffness=0.5)             # of all that is elastic in the bodies
    moon = adjusted(scene, damping=1e-3, gravity=1.62)  # Rayleigh's beta [s]; [m/s^2]
    storm = adjusted(scene, wind=20.0)                  # [m/s]

What bodies touch, hang on or are driven by stays as it is: contact, attachments, supports, loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..bodies import Gravity, LennardJones, RigidFrame, System, Wind
from ..contracts import Array, Rayleigh
from ..errors import InputError
from ..meshes.mesh import tet_surface
from ..parts.checks import as_number
from ..parts.part import Elastic, Part
from ..system.shares import Piece
from .builder import Scene, recipe

DOWN = np.array([0.0, 0.0, -1.0])
# a frame that moves has gravity in its motion; atoms have no weight to speak of, and other units
WEIGHTLESS = (RigidFrame, LennardJones)
REASONS = {
    "stiffness": "none of its parts can be scaled",
    "damping": "its equations are given as they are",
    "gravity": "its frame has gravity in its motion, its units are others, or it has no particles",
    "wind": "it has no surface, or its wind changes with time",
}

AnyScene = TypeVar("AnyScene", bound=Scene)


def adjustable(scene: Scene) -> frozenset[str]:
    """What can be changed in this scene: 'stiffness', 'damping', 'gravity', 'wind'; in a user's
    own equations nothing."""
    if not isinstance(scene.system, System):
        return frozenset()
    parts = scene.system.given.parts
    elastic = any(isinstance(part, Elastic) for part in parts)
    heavy = not any(isinstance(part, WEIGHTLESS) for part in parts)
    blown = len(_surface(scene)) > 0 and all(part.steady for part in _winds(scene))
    return frozenset(
        ["damping", *["stiffness"] * elastic, *["gravity"] * heavy, *["wind"] * (heavy and blown)]
    )


def own_damping(scene: Scene) -> float:
    """Rayleigh's beta [s]."""
    given = scene.system.damping
    return given.beta if isinstance(given, Rayleigh) else 0.0


def own_gravity(scene: Scene) -> float:
    """[m/s^2]; 0 where the scene has none."""
    return float(np.linalg.norm(_field(scene)))


def own_wind(scene: Scene) -> float:
    """[m/s]; 0 where the air is still, or no air is there."""
    return float(np.linalg.norm(_breeze(scene)))


def adjusted(
    scene: AnyScene,
    stiffness: float = 1.0,
    damping: float | None = None,
    gravity: float | None = None,
    wind: float | None = None,
) -> AnyScene:
    """The scene with `stiffness` times its own, and with Rayleigh's beta [s], gravity [m/s^2] and
    wind [m/s] instead of its own (None: unchanged).

    Gravity keeps its direction; where there is none, or zero, it points down, along -z.  So does
    the wind; where the air was still it blows along the shorter horizontal side of the body.
    InputError where something is to change that cannot (see `adjustable`); nothing changes where
    the values are the scene's own.
    """
    if isinstance(scene.system, Piece):
        return _piecewise(scene, stiffness, damping, gravity, wind)
    wanted = _changes(scene, stiffness, damping, gravity, wind)
    if not wanted:
        return scene
    for name in wanted:
        if name not in adjustable(scene):
            raise InputError(f"{name} of {scene.name} cannot be changed ({REASONS[name]}): leave "
                             "it as it is")  # fmt: skip
    given = scene.system.given
    factor = wanted.get("stiffness", 1.0)
    parts = [part.scaled(factor) if isinstance(part, Elastic) else part for part in given.parts]
    if "gravity" in wanted:
        parts = _heavier(parts, _field(scene), wanted["gravity"])
    if "wind" in wanted:
        parts = _windier(scene, parts, wanted["wind"])
    rayleigh = given.damping
    if "damping" in wanted:
        rayleigh = Rayleigh(0.0 if rayleigh is None else rayleigh.alpha, wanted["damping"])
    system = System(*given._replace(parts=tuple(parts), damping=rayleigh))
    total = factor * scene.adjust.get("stiffness", 1.0)
    noted = {**scene.adjust, **wanted, **({"stiffness": total} if factor != 1.0 else {})}
    told = recipe(scene.recipe, noted) if scene.recipe else ""
    return replace(scene, system=system, adjust=noted, recipe=told)


def _piecewise(scene: AnyScene, *wanted: Any) -> AnyScene:
    piece = scene.system
    alone = replace(scene, system=piece.built)
    if wanted[-1] is not None and not _winds(alone):
        raise InputError(
            f"wind on {scene.name} goes by the shape of the whole body, which no rank has: leave "
            "it out, or run it without --engine petsc"
        )
    alone = adjusted(alone, *wanted)
    own = replace(piece, built=alone.system, recipe=alone.recipe)
    return replace(alone, system=own)


def _changes(scene: Scene, stiffness: Any, *others: Any) -> dict[str, float]:
    """What is to be other than it is."""
    wanted = {"stiffness": as_number("stiffness factor", stiffness, above=0.0)}
    for name, value in zip(("damping", "gravity", "wind"), others, strict=True):
        if value is not None:
            wanted[name] = as_number(name, value, least=0.0)
    own = {"stiffness": 1.0, "damping": own_damping(scene), "gravity": own_gravity(scene)}
    own["wind"] = own_wind(scene)
    return {name: value for name, value in wanted.items() if value != own[name]}


def _field(scene: Scene) -> Array:
    """The sum (3,) of the scene's gravities."""
    given = getattr(scene.system, "given", None)
    parts: Sequence[Part] = () if given is None else given.parts
    return sum((part.g for part in parts if isinstance(part, Gravity)), np.zeros(3))


def _heavier(parts: Sequence[Part], field: Array, size: float) -> list[Part]:
    """Gravity of that size in place of all that there was."""
    before = float(np.linalg.norm(field))
    new: Part = Gravity(size * (field / before if before > 0.0 else DOWN))
    first = next((i for i, part in enumerate(parts) if isinstance(part, Gravity)), len(parts))
    return [*parts[:first], new, *(p for p in parts[first:] if not isinstance(p, Gravity))]


# ------------------------------------------------------------------ the air


def _winds(scene: Scene) -> list[Wind]:
    given = getattr(scene.system, "given", None)
    return [] if given is None else [part for part in given.parts if isinstance(part, Wind)]


def _breeze(scene: Scene) -> Array:
    """The velocity (3,) [m/s] of the first steady wind."""
    return next((part.velocity(0.0) for part in _winds(scene) if part.steady), np.zeros(3))


def _surface(scene: Scene) -> np.ndarray:
    """Triangles (s, 3) that the air pushes."""
    if scene.mesh is None:
        return np.empty((0, 3), dtype=np.int64)
    return scene.mesh.triangles if len(scene.mesh.triangles) else tet_surface(scene.mesh.tets)


def _windier(scene: Scene, parts: Sequence[Part], size: float) -> list[Part]:
    """Wind of that size in place of what there was, on the same triangles."""
    before = _breeze(scene)
    speed = float(np.linalg.norm(before))
    across = np.eye(3)[int(np.argmin(np.ptp(scene.x0, axis=0)[:2]))]
    new = size * (before / speed if speed > 0.0 else across)
    blown = [part.blowing(new) if isinstance(part, Wind) else part for part in parts]
    return blown if _winds(scene) else [*blown, Wind(_surface(scene), new)]
