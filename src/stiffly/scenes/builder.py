"""The record of a scene, and the frame around built-in ones: arguments that say what they mean.

@scene
def bar(cells: int = whole(3, "across the bar", least=1), young: float = positive(6e4, "[Pa]")):
    ...
    return Setup(system, x0, mesh=mesh)

A builder that also takes `cut` (system/slabs.py) can build its scene rank by rank: it does so
within `rank_by_rank`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np

from ..backends.petsc import world
from ..bodies import System
from ..contracts import Array
from ..errors import InputError
from ..meshes.mesh import Mesh, require_counts, require_positive
from ..parts.part import Part
from ..system.shares import Piece
from ..system.slabs import WHOLE, Cut

CUT: ContextVar[Cut] = ContextVar("cut", default=WHOLE)


@contextmanager
def rank_by_rank(engine: str) -> Iterator[None]:
    """Where it is petsc, scenes whose builders can do it are built in pieces, each on its rank:
    system, x0, v0 and mesh are then those of the piece."""
    if not isinstance(engine, str) or engine != "petsc":  # others are told later
        yield
        return
    ranks = world()
    before = CUT.set(Cut(ranks.rank, ranks.size))
    try:
        yield
    finally:
        CUT.reset(before)


@dataclass(frozen=True, eq=False)  # arrays have no single truth value: a scene equals only itself
class Scene:
    """A system with its start and the way to run it; `simulate` takes it as it is.

    x0, v0: (N, 3) for a System [m, m/s], (n,) for a SecondOrder; step, duration, every [s].
    every: between recorded frames; None: 1/30, but about 200 to 600 frames in all.
    rtol, atol: steps chosen by the error instead, `step` the first one tried.
    mesh: the shape to draw, where there is one, with as many vertices as there are particles.
    colliders: shapes (collisions.Plane, Sphere, TriangleMesh, ...) to draw beside it.
    parameters: what it was built with.  note: what a user should know of this build, e.g. which
    model stands in for a scanned one.
    adjust: what of it was changed afterwards (see adjust.py).
    variant: "paper", where it is run with the authors' own method and step.
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
    variant: str | None = None
    other_step: float | None = None  # of methods that it does not name itself
    recipe: str = field(default="", repr=False)  # what tells it from others, if built in pieces


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
    return Argument(default, meaning, partial(require_counts, least=least))


def switch(default: bool, meaning: str) -> Any:
    return Argument(default, meaning, _require_switch)


def _require_switch(scene: str, **values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, bool):
            raise InputError(f"{scene} {name} = {value!r}: give true or false")


def _require_not_negative(scene: str, **values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value < np.inf:
            raise InputError(f"{scene} {name} = {value}: it must not be negative")


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


def at_rest(mesh: Mesh, mass: Any, parts: Sequence[Part], note: str = "", **system: Any) -> Setup:
    """Parts of a System whose particles rest at the vertices of the mesh, and start there.

    mass: of every particle [kg], or (N,); system: other arguments of System.
    """
    made = System(mass, parts, rest=mesh.positions, **system)
    return Setup(made, mesh.positions, mesh=mesh, note=note)


def scene(build: Callable[..., Setup]) -> Callable[..., Scene]:
    """The builder, a function of its file's name, with checked arguments and a complete Scene."""
    name, file = build.__name__.replace("_", "-"), build.__globals__
    known = inspect.signature(build)
    sliced = "cut" in known.parameters
    known = known.replace(parameters=[p for p in known.parameters.values() if p.name != "cut"])
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
        made = build(**bound.arguments, **({"cut": CUT.get()} if sliced else {}))
        if made.v0 is None:
            made = made._replace(v0=np.zeros_like(made.x0))
        about = {"summary": file["SUMMARY"], "source": file["SOURCE"], **file["RUN"]}
        if sliced:
            about["recipe"] = recipe(name, bound.arguments)
        if isinstance(made.system, Piece):
            made = made._replace(system=replace(made.system, recipe=about["recipe"]))
        return Scene(name=name, **about, parameters=dict(bound.arguments), **made._asdict())

    checked.__dict__["__signature__"] = signature
    checked.__dict__["meanings"] = {key: a.meaning for key, a in arguments.items()}
    return checked


def recipe(name: str, numbers: Mapping[str, Any]) -> str:
    """The same for 1 and 1.0, which scene files do not tell apart."""
    alike = {key: float(v) if isinstance(v, int) else v for key, v in sorted(numbers.items())}
    return f"{name} {alike}"
