"""The shapes of stiffly.meshes as tables: `kind` is the function's name, the keys its arguments.

Types and defaults come from the functions themselves; what the arguments mean stands here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from math import prod
from operator import or_
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
from pydantic import Field, Strict, create_model, model_validator

from ... import meshes
from ...meshes.mesh import MOST_PARTICLES
from .types import Index, Table, Vector, refuse

SEGMENTS = "segments"  # of every fiber that grows from roots: no argument of the roots themselves

_CLOTH = {"nx": "particles along x", "ny": "particles along y", "spacing": "between them [m]"}
_BEAM = {"along": "vertices along x", "across": "vertices along y and z", "length": "along x [m]"}
_CREATURE = {
    "vertices": "about how many",
    "shape": "rabbit, biped, dragon, hippo, dog or cactus",
    "height": "[m]",
}
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "bar": {**_BEAM, "side": "of the cross-section [m]"},
    "beam": {**_BEAM, "width": "along y [m]", "height": "along z [m]"},
    "car": {
        "vertices": "about how many",
        "length": "over all [m]",
        "inside": "with engine, bulkhead, axles and seats",
    },
    "cloth": {
        **_CLOTH,
        "diagonals": "shear edges in every square: 0, 1 or 2",
        "bending": "edges to every second particle, too",
    },
    "coil": {
        "vertices": "a multiple of the product of across",
        "turns": "of the wire",
        "radius": "to the middle of the wire [m]",
        "wire": "side of its square cross-section [m]",
        "height": "between the ends [m]",
        "across": "vertices of a cross-section, outwards and upwards",
    },
    "creature": _CREATURE,
    "creature-surface": _CREATURE,
    "cube": {"cells": "along each side", "side": "[m]"},
    "dome": {
        "rings": "of vertices around the apex",
        "border": "vertices of the lowest ring",
        "radius": "of the outer layer [m]",
        "thickness": "[m]",
        "opening": "angle between the axis and the rim [degrees]",
    },
    "flag": _CLOTH,
    "flagellum": {
        "particles": "of the chain",
        "length": "along the axis [m]",
        "radius": "of the helix [m]",
        "turns": "of the helix",
        "taper": "how soon it reaches its radius [m]",
    },
    "foil": _CLOTH,
    "lattice": {
        "nx": "particles along x",
        "ny": "particles along y",
        "nz": "particles along z",
        "spacing": "between them [m]",
        "diagonals": "edges along both diagonals of every square",
    },
    "pylon": {
        "panels": "of the mast",
        "arms": "pairs of them",
        "height": "[m]",
        "base": "width of the mast at its feet [m]",
        "top": "width of the mast at its top [m]",
        "reach": "of an arm from the axis [m]",
    },
    "rope": {
        "particles": "of the chain",
        "length": "[m]",
        "start": "place of the first particle [m]",
        "direction": "of the rope",
    },
    "sphere": {
        "rings": "circles of latitude",
        "segments": "particles of each",
        "radius": "[m]",
        "diagonals": "shear edges, too",
    },
    "textile": _CLOTH,
    "torus": {
        "sections": "discs around the axis z",
        "around": "particles on the skin of each",
        "radius": "from the axis to the core [m]",
        "tube": "radius of the discs [m]",
    },
    "tower": {
        "across": "nodes along a side",
        "leg_levels": "of each leg",
        "column_levels": "of the column",
        "height": "[m]",
    },
    # where fibers grow
    "brush-roots": {
        "count": "bristles in all",
        "tufts": "along x and y",
        "head": "size along x and y [m]",
        "tuft": "radius of a tuft [m]",
        "length": "of a bristle [m]",
    },
    "hair-cap": {
        "count": "hairs in all",
        "half_axes": "of the head [m]",
        "opening": "angle of the cap from the axis z [degrees]",
        "length": "of a hair [m]",
    },
}
ROOTS = ("brush-roots", "hair-cap")
LINES = ("rope", "flagellum", "particles")  # one line of points: also a centreline of a fiber


class Shape(Table):
    kind: str

    def size(self) -> int:
        """About how many particles it has, by its counts alone."""
        return 1


class Particles(Shape):
    """Particles one by one."""

    kind: Literal["particles"]
    positions: list[Vector] = Field(min_length=1, description="of every particle [m]")
    edges: list[Annotated[tuple[Index, Index], Strict(False)]] = Field(
        [], description="pairs of particles, counted from 0"
    )

    @model_validator(mode="after")
    def _check(self) -> Particles:
        count = len(self.positions)
        for i, j in self.edges:
            if i == j or min(i, j) < 0 or max(i, j) >= count:
                raise refuse(
                    "edges", f"edge [{i}, {j}]: give two different numbers from 0 to {count - 1}"
                )
        return self


def function_of(kind: str) -> Callable[..., Any]:
    return getattr(meshes, kind.replace("-", "_"))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Without what asks for a part of a shape: a scene file has all of it."""
    known = inspect.signature(function)
    return known.replace(parameters=[p for n, p in known.parameters.items() if n != "layers"])


class _Formula(Shape):
    """A shape made by a function."""

    def arguments(self) -> dict[str, Any]:
        """Those of the function."""
        return {k: v for k, v in self.own(Shape).items() if k in MEANINGS[self.kind]}

    def size(self) -> int:
        given = self.arguments()
        for key in ("vertices", "particles"):
            if key in given:
                return given[key]
        if "count" in given:  # fibers are four particles thick
            return 4 * given["count"] * (getattr(self, SEGMENTS) + 1)
        if "cells" in given:
            return given["cells"] ** 3
        counts = [v for value in given.values() for v in np.atleast_1d(value).tolist()]
        return prod(max(1, n) for n in counts if type(n) is int)

    @model_validator(mode="after")
    def _check(self) -> _Formula:
        if self.size() > MOST_PARTICLES:
            raise refuse(
                "kind",
                f"{self.kind} of {self.size():.1e} particles: give {MOST_PARTICLES:.0e} at most",
            )
        return self


def _field(kind: str, parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
    array = not isinstance(hint, type) or hint is tuple
    if parameter.name in ("start", "direction"):
        hint = tuple[float, float, float]
    required = parameter.default is inspect.Parameter.empty
    meaning = MEANINGS[kind][parameter.name]
    described = Field(... if required else parameter.default, description=meaning)
    return (Annotated[hint, Strict(False)] if array else hint), described


def _model(kind: str) -> Any:
    function = function_of(kind)
    hints = get_type_hints(function)
    parameters = signature_of(function).parameters.values()
    fields: dict[str, Any] = {"kind": (Literal[kind], ...)}
    fields |= {p.name: _field(kind, p, hints[p.name]) for p in parameters}
    if kind in ROOTS:
        fields[SEGMENTS] = (Annotated[int, Field(ge=1)], Field(8, description="of every fiber"))
    name = kind.title().replace("-", "")
    summary = inspect.cleandoc(function.__doc__ or "").split("\n")[0]
    model: Any = create_model(name, __base__=_Formula, **fields)
    model.__doc__ = summary
    return model


KINDS: Mapping[str, Any] = {"particles": Particles, **{kind: _model(kind) for kind in MEANINGS}}
_any: Any = reduce(or_, KINDS.values())
AnyShape = Annotated[_any, Field(discriminator="kind")]
