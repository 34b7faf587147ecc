"""The frame around every built-in scene: arguments that say what they mean, and their checks.

@scene
def bar(cells: int = whole(3, "across the bar", least=1), young: float = positive(6e4, "[Pa]")):
    ...
    return Setup(system, x0, mesh=mesh)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..meshes import Mesh
from ..meshes.mesh import require_counts, require_positive
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


class Setup(NamedTuple):
    """What a builder returns, fields of a Scene: at rest where no v0 is given.  `scene` adds what
    it is called, where it comes from and how it is run."""

    system: Any
    x0: Array
    v0: Array | None = None
    mesh: Mesh | None = None
    colliders: tuple[Any, ...] = ()
    note: str = ""
    solution: Callable[[Any], tuple[Array, Array]] | None = None


def scene(build: Callable[..., Setup]) -> Callable[..., Scene]:
    """The builder, a function of its file's name, with checked arguments and a complete Scene."""
    name, file = build.__name__.replace("_", "-"), build.__globals__
    known = inspect.signature(build)
    arguments = {key: argument.default for key, argument in known.parameters.items()}
    bare = [p.replace(default=p.default.default) for p in known.parameters.values()]
    signature = known.replace(parameters=bare, return_annotation="Scene")

    @wraps(build)
    def checked(*args: Any, **given: Any) -> Scene:
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            if arguments[key].check is not None:
                arguments[key].check(name, **{key: value})
        made = build(**bound.arguments)
        if made.v0 is None:
            made = made._replace(v0=np.zeros_like(made.x0))
        about = {"summary": file["SUMMARY"], "source": file["SOURCE"], **file["RUN"]}
        return Scene(name=name, **about, parameters=dict(bound.arguments), **made._asdict())

    checked.__dict__["__signature__"] = signature
    checked.__dict__["meanings"] = {key: a.meaning for key, a in arguments.items()}
    return checked
