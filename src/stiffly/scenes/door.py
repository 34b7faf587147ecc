"""`stiffly.simulate`: what users have, turned into what the time loop takes."""

from __future__ import annotations

from functools import wraps
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..recording.run import Run
from ..run.many import simulate_many as run_together
from ..run.simulate import require_options
from ..run.simulate import simulate as run_through
from . import NAMES, load
from .builder import rank_by_rank


@wraps(run_through)
def simulate(system: Any, x0: Any = None, v0: Any = None, **options: Any) -> Run:
    require_options(options)
    with rank_by_rank(options.get("engine", "cpu")):
        scene = as_scene(system)
    return run_through(scene, x0, v0, **options)


@wraps(run_together)
def simulate_many(systems: Any, x0: Any = None, v0: Any = None, **options: Any) -> list[Run]:
    known: dict[str, Any] = {}  # a name or a file is read once
    if isinstance(systems, list | tuple):
        systems = [_once(known, system) for system in systems]
    return run_together(systems, x0, v0, **options)


def _once(known: dict[str, Any], given: Any) -> Any:
    if not isinstance(given, str | PathLike):
        return as_scene(given)
    name = fspath(given)
    if name not in known:
        known[name] = as_scene(given)
    return known[name]


def as_scene(given: Any) -> Any:
    """What can be simulated: of a Scene in the making, the name of a built-in scene, a scene file
    or a mesh file; anything else as it is."""
    if not isinstance(given, (str, PathLike)):
        return given.build() if hasattr(given, "build") else given
    path = Path(fspath(given))
    if path.suffix in ("", ".toml") or str(given) in NAMES:
        return load(fspath(given))
    from .python import dropped  # pydantic takes its time

    return dropped(path).build()
