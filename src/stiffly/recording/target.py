"""What a recording will be, checked before anything is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .colliders import describe
from .folder import Place, check, check_space
from .layout import Plan
from .provenance import provenance

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Options:
    """How to record: see `simulate`."""

    place: Place
    dtype: str
    velocities: bool
    checkpoint: float
    provenance: Mapping[str, Any]

    @staticmethod
    def checked(
        out: Any,
        force: bool,
        dtype: str,
        velocities: bool,
        checkpoint: Any,
        given: Mapping[str, Any] | None,
    ) -> Options:
        if dtype not in DTYPES:
            raise InputError(f"dtype {dtype!r}: positions are recorded as float32 or float64")
        try:
            seconds = float(checkpoint)
        except (TypeError, ValueError):
            seconds = np.nan
        if not seconds >= 0.0:
            raise InputError(
                f"checkpoint = {checkpoint!r}: give the seconds between two, or 0 for every frame"
            )
        return Options(check(out, force), dtype, bool(velocities), seconds, dict(given or {}))


@dataclass(frozen=True)
class Target:
    """Where a new run goes, and what is known of it before its first frame.

    plan: without the names of its energies.  checkpoint: seconds between two (0: every frame).
    scene: text for scene.toml, where there is one.
    """

    place: Place
    plan: Plan
    checkpoint: float
    scene: str | None


def target(
    options: Options,
    shape: tuple[int, ...],
    times: Array,
    scene: Any,
    run: Mapping[str, Any],
    mass: Array | None = None,
) -> Target:
    """For frames of that shape at times (F,) [s]; scene: a Scene or None; run: what was asked;
    mass (N,) [kg], where there is one for every particle."""
    mesh = getattr(scene, "mesh", None)
    if mesh is not None and mesh.positions.shape != shape:
        raise InputError(
            f"the mesh of {scene.name} has {len(mesh.positions)} vertices for {shape[0]} "
            "particles: give the scene a mesh with one vertex each, or none"
        )
    parameters = getattr(scene, "parameters", {})
    known = {
        "scene": getattr(scene, "name", None),
        "parameters": parameters,
        "adjust": getattr(scene, "adjust", {}),
        "source": getattr(scene, "source", None),
        "seed": parameters.get("seed"),
        **run,
        "dtype": options.dtype,
        "keep_velocities": options.velocities,
    }
    text = json.dumps(provenance(options.provenance, **known))
    contents = {"provenance": np.bytes_(text), **describe(getattr(scene, "colliders", ()), times)}
    if mass is not None:
        contents["mass"] = mass
    plan = Plan(times, shape, options.dtype, options.velocities, (), mesh, contents)
    check_space(options.place.folder, plan.bytes)
    text = options.provenance.get("toml", getattr(scene, "text", None))
    return Target(options.place, plan, options.checkpoint, text)
