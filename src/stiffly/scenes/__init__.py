"""Built-in scenes: `load(name)` builds one with the paper's parameters, or with your own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import InputError, unknown_name
from . import cactus, coil_spring, fput, oscillator_pair, spinning_cube
from .scene import Scene


class Entry(NamedTuple):
    """What the catalogue knows of a scene before it is built."""

    build: Callable[..., Scene]
    summary: str
    source: str


CATALOGUE: dict[str, Entry] = {
    "fput": Entry(fput.fput, fput.SUMMARY, fput.SOURCE),
    "oscillator-pair": Entry(
        oscillator_pair.oscillator_pair, oscillator_pair.SUMMARY, oscillator_pair.SOURCE
    ),
    "coil-spring": Entry(coil_spring.coil_spring, coil_spring.SUMMARY, coil_spring.SOURCE),
    "spinning-cube": Entry(
        spinning_cube.spinning_cube, spinning_cube.SUMMARY, spinning_cube.SOURCE
    ),
    "cactus": Entry(cactus.cactus, cactus.SUMMARY, cactus.SOURCE),
}

NAMES = tuple(CATALOGUE)


def load(name: str, **parameters: Any) -> Scene:
    """The scene of that name; parameters are those of its builder, e.g. vertices=800."""
    if name not in CATALOGUE:
        raise unknown_name("scene", name, NAMES)
    build = CATALOGUE[name].build
    known = inspect.signature(build).parameters
    for given in parameters:
        if given not in known:
            raise unknown_name(f"parameter of {name}:", given, known)
    try:
        return build(**parameters)
    except TypeError as failure:  # a word where a number belongs
        raise InputError(f"{name}: {failure}") from None


__all__ = ["CATALOGUE", "NAMES", "Entry", "Scene", "load"]
