"""Go on with a recorded run: its system at hand, its state from the checkpoint."""

from __future__ import annotations

import json
import warnings
from contextlib import AbstractContextManager, nullcontext
from math import isfinite
from typing import Any

import numpy as np

from ..arrays import real_number
from ..backends.cpu import announce
from ..backends.petsc import World, world
from ..contracts import Array, Integrator
from ..errors import InputError, StiffWarning
from ..recording.check import require_same_run
from ..recording.checkpoint import AGAIN, FRAMES, Checkpoint
from ..recording.folder import SUMMARY, Lock
from ..recording.layout import Plan, describe_colliders
from ..recording.provenance import digest, fingerprint, recipe_digest, versions
from ..recording.recording import Recording
from ..recording.sinks import Interrupt
from ..recording.writer import Writer
from ..system.shares import Piece
from .devices import bound_on, check_precision
from .engines import RankSink, Silent, check_engine, over_ranks, restored
from .loop import Loop, Progress, frames_from
from .rung import Rung
from .simulate import MOST_FRAMES

SAME = 1e-9  # durations that differ by less are one: 0.1 * 3 is 0.3

LOOPS = {loop.__name__: loop for loop in (Loop, Rung)}
HAND_IN = "hand in the one it was begun with, stiffly.resume(folder, system)"


def finished(found: Recording, duration: Any = None) -> bool:
    """Nothing is left to do; InputError where the run should end before it does already."""
    end = float(found.planned[-1])
    if duration is not None:
        duration = real_number("duration", duration, "give seconds, in all")
        if not (isfinite(duration) and duration >= end * (1.0 - SAME)):
            raise InputError(
                f"duration = {duration:g}: the run in {found.folder} is one of {end:g} s already: "
                "give more seconds, in all"
            )
        frames = duration / (end / max(1, len(found.planned) - 1))
        if frames > MOST_FRAMES:
            raise InputError(
                f"duration = {duration:g} means {frames:.1e} frames: give a shorter one"
            )
        if duration > end * (1.0 + SAME):
            return False
    return found.complete and (found.folder / SUMMARY).exists()  # else killed at the very end


def go_on(
    found: Recording,
    given: Any,
    *,
    integrator: Integrator | None = None,
    duration: float | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
    precision: str | None = None,
    engine: str = "cpu",
    max_hours: float | None = None,
) -> Recording:
    """given: the system that the run was begun with, or a scene that has it; device: of the rest,
    whichever the run began on; precision: that with which it began.

    All is checked before anything is written.
    """
    interrupt = Interrupt(max_hours)
    check_engine(engine, device)
    if precision is not None:
        check_precision(precision, device)
    ranks = world() if engine == "petsc" else None
    with _locked(found, ranks):
        found = Recording(found.folder)  # another process may have gone on with it meanwhile
        if finished(found, duration):
            return found
        loop, seconds, plan = _ready(found, given, integrator, duration, (device, precision), ranks)
        with interrupt:
            again = found, seconds, loop.recorded, interrupt, plan
            if ranks is None:
                return loop.run(Writer.again(*again), progress)
            ranks.meet("one of them was still reading")  # from here on rank 0 writes
            first = ranks.rank == 0
            sink = ranks.together(lambda: Writer.again(*again) if first else Silent())
            return loop.run(RankSink(ranks, sink), progress if first else None)


def _locked(found: Recording, ranks: World | None) -> AbstractContextManager[Any]:
    """By one process: of many ranks the first."""
    if ranks is None:
        return Lock(found.folder)
    first = ranks.rank == 0
    return ranks.together(lambda: Lock(found.folder) if first else nullcontext())


def _ready(
    found: Recording,
    given: Any,
    integrator: Integrator | None,
    duration: float | None,
    where: tuple[str, str | None],
    ranks: World | None,
) -> tuple[Loop, float, Plan | None]:
    """The loop where it stood, seconds between checkpoints, and where there are to be more frames
    the plan of the recording that it becomes."""
    if not found.checked:
        raise InputError(
            f"{found.folder} was begun with an older stiffly: finish it with that version, or "
            f"{AGAIN} ({FRAMES})"
        )
    system, saved = getattr(given, "system", given), Checkpoint.read(found.folder)
    require_same_run(found, saved)
    if not _same(found, system, getattr(given, "recipe", "")):
        raise InputError(
            f"{found.folder} was begun with another system than this one: {HAND_IN}, or use the "
            "stiffly that began it"
        )
    _warn_of_versions(found, saved)
    method = _method(found, saved, integrator)
    announce()
    origin = saved.tree("origin")
    if isinstance(system, Piece):
        origin = origin[system.numbers]
    asked, tree = (system, origin, None, method, found.integrator), saved.tree
    precision = _precision(found, *where)
    if ranks is None:
        bound, _ = bound_on(where[0], *asked, precision=precision)
    else:
        alike = {"checkpoint": digest(saved.header), "duration": duration}
        bound, _ = over_ranks(*asked, **alike)
        tree = restored(bound, tree)
    loop = LOOPS[saved.header["loop"]].resumed(bound, method, tree)
    _require_same_frames(found, loop)
    plan, loop.frames = None, found.planned
    if duration is not None and duration > found.planned[-1] * (1.0 + SAME):
        loop.frames = longer(found.planned, duration)
        plan = _plan(found, loop.frames, given)
    return loop, saved.header["seconds"], plan


def _precision(found: Recording, device: Any, asked: str | None) -> str:
    """What was asked for, else that of the run up to here."""
    begun = found.provenance.get("precision", "double")
    if asked is None and begun == "mixed" and str(device).partition(":")[0] != "gpu":
        raise InputError(
            f"{found.folder} was begun with precision mixed, which a card has: go on with --device "
            "gpu, or with --precision double"
        )
    return begun if asked is None else asked


def _same(found: Recording, system: Any, recipe: str) -> bool:
    """Whether a run was begun with this system, be it whole or in pieces, then or now."""
    begun, told = found.provenance.get("system"), recipe_digest(recipe)
    if told and told == found.provenance.get("recipe"):
        return True
    return begun == fingerprint(system)


def longer(times: Array, duration: float) -> Array:
    """Frames at `times` and from there on at the same distance; the last one at `duration` [s]."""
    every = times[1] - times[0]
    first = int(times[-1] / every * (1.0 + 1e-12)) + 1
    return np.concatenate([times, frames_from(first, every, duration)])


def _plan(found: Recording, times: Array, given: Any) -> Plan:
    """Of the same recording with frames at these times."""
    origin: dict[str, Any] = {**found.provenance, "duration": float(times[-1])}
    colliders = getattr(given, "colliders", found.colliders)
    text = np.bytes_(json.dumps(origin))
    contents = {"provenance": text, **describe_colliders(colliders, times)}
    if found.mass is not None:
        contents["mass"] = found.mass
    shape, energies = found.positions.shape[1:], tuple(found.energy.parts)
    kept = found.velocities is not None
    fields = {name: values.shape[1] for name, values in found.fields.items()}
    return Plan(times, shape, origin["dtype"], kept, energies, found.mesh, contents, fields)


def _method(found: Recording, saved: Checkpoint, given: Integrator | None) -> Integrator:
    method, known = saved.tree("method"), saved.tree("known")
    if known and given is None:
        return method
    if known:
        raise InputError(f"{found.folder} goes on with {found.integrator}: leave integrator= out")
    if given is None:
        raise InputError(
            f"{found.folder} was begun with an integrator of your own, {method}: hand it in, "
            "stiffly.resume(folder, system, integrator=...)"
        )
    return given


def _require_same_frames(found: Recording, loop: Loop) -> None:
    """The books of both agree on every frame before the checkpoint, in all digits."""
    said, there = loop.history(), found.energy
    for name, series in said.parts.items():
        if not np.array_equal(series, there.parts[name][: loop.recorded]):
            raise InputError(
                f"{found.folder} lacks frames that its checkpoint knows: it was copied while the "
                "run went on; copy it again when that has stopped"
            )


def _warn_of_versions(found: Recording, saved: Checkpoint) -> None:
    now = versions()
    others = [f"{n} {v}" for n, v in saved.header["versions"].items() if now.get(n) != v]
    if others:
        warnings.warn(
            f"{found.folder} was begun with {', '.join(others)}: from here on it may differ in the "
            "last digits",
            StiffWarning,
            stacklevel=4,
        )
