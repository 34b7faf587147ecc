"""The frame around every built-in scene: arguments that say what they mean, and their checks.

@scene
def bar(cells: int = whole(3, "across the bar", least=1), young: float = positive(6e4, "[Pa]")):
    ...
    return setup(system, x0, step=0.033, duration=8.0)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..meshes.checks import require_counts, require_positive
from .scene import Scene


class Argument(NamedTuple):
    """What stands in the place of a default: it, what it means with its unit, what is allowed.

    check(name of the scene, **{name: value}) raises InputError.
    """

    default: Any
    meaning: str
    check: Callable[..., None] | None = None


def plain(default: Any, meaning: str) -> Any:
    """Left to the builder to check."""
    return Argument(default, meaning)


def positive(default: float, meaning: str) -> Any:
    return Argument(default, meaning, require_positive)


def not_negative(default: float, meaning: str) -> Any:
    return Argument(default, meaning, _require_not_negative)


def whole(default: int, meaning: str, *, least: int) -> Any:
    return Argument(default, meaning, partial(_require_count, least))


def _require_not_negative(scene: str, **values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value < np.inf:
            raise InputError(f"{scene} {name} = {value}: it must not be negative")


def _require_count(least: int, scene: str, **counts: int) -> None:
    require_counts(scene, least, **counts)


def setup(system: Any, x0: Array, v0: Array | None = None, **run: Any) -> Scene:
    """What a builder returns: at rest where no v0 is given; run: the other fields of a Scene.
    `scene` adds what it is called and where it comes from."""
    return Scene("", "", "", system, x0, np.zeros_like(x0) if v0 is None else v0, **run)


def scene(build: Callable[..., Scene]) -> Callable[..., Scene]:
    """The builder, a function of its file's name, with checked arguments and a complete Scene."""
    name, file = build.__name__.replace("_", "-"), build.__globals__
    known = inspect.signature(build)
    arguments = {key: argument.default for key, argument in known.parameters.items()}
    bare = [p.replace(default=p.default.default) for p in known.parameters.values()]
    signature = known.replace(parameters=bare)

    @wraps(build)
    def checked(*args: Any, **given: Any) -> Scene:
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            if arguments[key].check is not None:
                arguments[key].check(name, **{key: value})
        return replace(
            build(**bound.arguments), name=name, summary=file["SUMMARY"], source=file["SOURCE"],
            parameters=dict(bound.arguments),
        )  # fmt: skip

    checked.__dict__["__signature__"] = signature
    checked.__dict__["meanings"] = {key: a.meaning for key, a in arguments.items()}
    return checked
