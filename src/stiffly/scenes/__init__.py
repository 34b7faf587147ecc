"""Built-in scenes: `load(name)` builds one with the paper's parameters, or with your own.

A scene is one file: a function of the file's own name that builds a Scene (builder.py), whose
arguments say what they mean, and beside it

    SUMMARY      what is simulated, one line
    SOURCE       paper, section, figure
    SHOWS        what a run must show, one line
    RUN          step, duration, integrator, every: how it is run unless somebody says otherwise
    SMALL        arguments (and other values of RUN) of a variant that runs in seconds
    PAPER        RUN as the paper has it; what it does not print is as it was chosen here
    PAPER_HOLDS  what comes of that, one line
    FULL         the fastest honest method and step for the scene as it stands (optional); RUN is
                 for other sizes and parameters
    MEASURED     what was measured of it, and on what
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from .. import memory
from ..errors import InputError, require_name, unknown_name
from .builder import Scene

NAMES = (
    # papers 000 to 003: exponential integrators
    "oscillator-pair",
    "fput",
    "pylon",
    "coil-spring",
    "dome",
    "squats",
    "dragon",
    "twisting-beam",
    "tori",
    "rope",
    "textile",
    "statue",
    "foil",
    "steel-sphere",
    "tower",
    "molecule",
    "brush",
    "crash",
    "bunny",
    "flag",
    "hair",
    "bacterium",
    # paper 004: stabilised implicit midpoint
    "single-spring",
    "two-springs",
    "spinning-cube",
    "bar",
    "swinging-bunny",
    "dog",
    "cactus",
    "cloth",
    "hippo",
    "falling-cube",
    "sliding-bunny",
)
VARIANTS = ("paper",)  # ways to run a scene, beside its own
RUN_OPTIONS = ("step", "duration", "integrator", "every")  # of the Scene, not of its builder


class Entry(NamedTuple):
    """What the catalogue knows of a scene before it is built."""

    build: Callable[..., Scene]
    summary: str
    source: str
    shows: str
    parameters: Mapping[str, str]
    run: Mapping[str, Any]
    small: Mapping[str, Any]
    paper: Mapping[str, Any]
    holds: str
    full: Mapping[str, Any]
    measured: str


def entry(name: str) -> Entry:
    """Imports the scene's file: only what is asked for is loaded."""
    require_name("scene", name, NAMES)
    stem = name.replace("-", "_")
    file = import_module(f".{stem}", __name__)
    build = getattr(file, stem)
    about = file.SUMMARY, file.SOURCE, file.SHOWS
    runs = file.RUN, file.SMALL, file.PAPER, file.PAPER_HOLDS
    fastest = getattr(file, "FULL", {}), getattr(file, "MEASURED", "")
    return Entry(build, *about, build.meanings, *runs, *fastest)


def load(
    name: str | Path, *, small: bool = False, variant: str | None = None, **parameters: Any
) -> Scene:
    """The scene of that name; parameters are those of its builder, e.g. vertices=800, and step,
    duration, integrator, every.  small: of a size that runs in seconds.  variant: "paper" for the
    authors' own method and step.  Or the scene file (TOML) of that path; parameters are then its
    keys."""
    if str(name).endswith(".toml"):
        from .files import read  # pydantic takes its time

        return read(name, **parameters, **({} if variant is None else {"variant": variant}))
    name = str(name)
    found = entry(name)
    arguments, options = _sorted(name, found, small, variant, parameters)
    try:
        with memory.limited(name):
            scene = found.build(**arguments)
    except TypeError as failure:  # a word where a number belongs
        raise InputError(f"{name}: {failure}") from None
    if variant is None:
        return replace(scene, **options)
    holds = f"as in the paper ({scene.source}): {found.holds}"
    note = f"{scene.note}; {holds}" if scene.note else holds
    return replace(scene, **options, variant=variant, note=note)


def own_integrator(
    name: str, small: bool, variant: str | None, parameters: Mapping[str, Any]
) -> str:
    """The method of `load(name, ...)`; nothing is built."""
    found = entry(name)
    options = _sorted(name, found, small, variant, parameters)[1]
    return {"integrator": Scene.integrator, **found.run, **options}["integrator"]


def _sorted(
    name: str, found: Entry, small: bool, variant: str | None, parameters: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of the builder, and how the scene is run."""
    if variant is not None:
        check_variant(variant)
    paper = found.paper if variant else {}
    own = found.small if small else {}
    # a small one is small in any variant: it ends when it says
    given = {**own, **paper, **{k: own[k] for k in ("duration", "every") if k in own}, **parameters}
    known = inspect.signature(found.build).parameters
    for key in given:
        if key not in known and key not in RUN_OPTIONS:
            raise unknown_parameter(name, key, [*known, *RUN_OPTIONS])
    options = {key: value for key, value in given.items() if key not in known}
    arguments = {key: value for key, value in given.items() if key in known}
    # as it stands: with other numbers, another method may be the fastest
    chosen = {"step", "integrator"} & options.keys()
    same = all(known[key].default == value for key, value in arguments.items())
    if same and not chosen and not small:
        options = {**found.full, **options, "other_step": found.run["step"]}
    return arguments, options


def unknown_parameter(name: str, key: str, known: Iterable[str]) -> InputError:
    """Of a scene that has no such parameter."""
    if key != "linear":
        return unknown_name(f"parameter of {name}:", key, known)
    others = ", ".join(other for other in NAMES if "linear" in entry(other).parameters)
    return InputError(f"{name} has no linear form to choose: leave linear out ({others} have one)")


def check_variant(variant: Any) -> None:
    """InputError where no scene has such a variant."""
    require_name("variant", variant, VARIANTS)


__all__ = ["NAMES", "Entry", "Scene", "entry", "load"]
