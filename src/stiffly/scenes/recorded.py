"""The scene that a recorded run was made of, and how the run goes on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..contracts import Integrator
from ..errors import InputError
from ..recording.folder import SCENE, require_files
from ..recording.recording import Recording
from ..run.loop import Progress
from ..run.resume import HAND_IN, finished, go_on
from . import NAMES, load
from .adjust import adjusted
from .builder import Scene, rank_by_rank
from .door import as_scene


def resume(
    folder: str | Path,
    system: Any = None,
    *,
    integrator: Integrator | None = None,
    duration: float | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
    precision: str | None = None,
    engine: str = "cpu",
    max_hours: float | None = None,
) -> Recording:
    """Go on with a run that was stopped, to the very frames of a run that was not.

    folder: what was given to `simulate(out=...)`.  Frames recorded after the last checkpoint are
    computed again.  A run that is complete comes back as it is.
    system: the System, SecondOrder or scene that the run was begun with; not needed where the
    folder tells: a built-in scene, or a scene file.  integrator: only one of your own making.
    duration: seconds in all, where the run is to become longer than it was meant to be.
    device, engine, max_hours: as `simulate` has them; a run may go on where it did not begin.
    precision: that with which it began, if not told otherwise.
    """
    found = Recording(folder)
    if finished(found, duration):
        return found
    require_files(found.folder)
    with rank_by_rank(engine):
        given = scene_of(found) if system is None else as_scene(system)
    options = {"integrator": integrator, "duration": duration, "progress": progress}
    options |= {"device": device, "precision": precision, "engine": engine}
    return go_on(found, given, max_hours=max_hours, **options)


def scene_of(found: Recording, remedy: str = HAND_IN) -> Scene:
    """Built anew from scene.toml, or from its name and parameters; remedy: where both lack."""
    path, origin = found.folder / SCENE, found.provenance
    if path.exists():
        from .files import read  # pydantic takes its time

        return read(path)
    if origin.get("scene") not in NAMES:
        raise InputError(f"{found.folder} does not say what its system was made of: {remedy}")
    return adjusted(load(origin["scene"], **origin["parameters"]), **origin.get("adjust", {}))
