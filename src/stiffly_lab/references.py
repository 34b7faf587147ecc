"""Reference solutions: an independent tight method, its own error estimate, kept on the disk.

    found = solution(problem, bench)     # found.x, found.v at the end, found.error, found.how

A linear body that is small is solved exactly, through its eigenvectors; anything else with a right-
hand side by SciPy's DOP853 at two tolerances (Radau where that takes too long), whose difference is
the error estimate.  Where contact, yielding or a moved attachment acts between the steps there is
no right-hand side, and Verlet at ever smaller steps stands in: not independent, and `how` says so.

Files lie in $XDG_CACHE_HOME/stiffly/references (default ~/.cache), each behind its checksum.
"""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from stiffly.errors import StiffWarning
from stiffly.recording.provenance import write_atomic
from stiffly.scenes import Scene

from . import tight
from .bench import Bench, Row
from .tight import Reference
from .trial import trial

VERSION = 1  # of what is computed: files of another are left alone
PERTURBED = 1e-4  # of the largest coordinate: where the forces are looked at a second time


_KNOWN: dict[str, Reference] = {}  # of this process


def solution(problem: Scene, bench: Bench, *, limit_s: float | None = None) -> Reference:
    """The reference of this problem: from the disk, or computed and left there.

    Raises a SimulationFailure where there is none, e.g. because the motion is chaotic.
    limit_s: seconds for each attempt; default 20 for quick benches, 900 for others.
    """
    key = fingerprint(problem)
    if key in _KNOWN:
        return _KNOWN[key]
    found = _read(problem, key)
    if found is None:
        limit = limit_s or (20.0 if bench.quick else 900.0)
        kept: list[Reference] = []

        def computed() -> Row:
            kept.append(tight.motion(problem, limit))
            return {"how": kept[0].how, "error": kept[0].error}

        bench.row(f"{problem.name} {key[:8]}: reference", computed)
        if not kept:  # the row was known, its file is gone
            computed()
        found = kept[0]
        _write(problem, key, found)
    _KNOWN[key] = found
    return found


def fingerprint(problem: Scene) -> str:
    """Of all that decides about the motion: what is given, and the forces at two states."""
    system, start = problem.system.bind(problem.x0, problem.v0)
    rng = np.random.default_rng(20140101)
    size = PERTURBED * float(np.abs(start.x).max(initial=0.0))
    nudges = size * rng.standard_normal((2, start.x.size))
    t = problem.duration / 3.0
    aside = start.moved(t, start.x + nudges[0], start.v + nudges[1] / problem.duration)
    given = sorted((str(k), repr(value)) for k, value in problem.parameters.items())
    tolerances = tight.tolerances(problem)
    adjusted = sorted(problem.adjust.items())
    text = repr((VERSION, tolerances, problem.name, given, adjusted, problem.duration))
    digest = hashlib.sha256(text.encode())
    for array in (start.x, start.v, problem.x0):
        digest.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    with np.errstate(all="ignore"):
        for state in (start, aside):  # to single precision: machines differ in the last digits
            digest.update(system.acceleration(state).astype(np.float32).tobytes())
    return digest.hexdigest()


__all__ = ["Reference", "fingerprint", "folder", "solution"]


# ------------------------------------------------------------------ on the disk


def folder() -> Path:
    """Where references are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stiffly" / "references"


def _path(problem: Scene, key: str) -> Path:
    return folder() / f"{problem.name}-{key[:24]}.ref"


def _write(problem: Scene, key: str, found: Reference) -> None:
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **{k: np.asarray(a) for k, a in asdict(found).items()})
    content = packed.getvalue()
    path = _path(problem, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, hashlib.sha256(content).hexdigest().encode(), b"\n", content)
    except OSError as failure:  # a full or read-only disk costs time, not the experiment
        _warn(f"the reference of {problem.name} is not kept: {failure}; set XDG_CACHE_HOME")


def _read(problem: Scene, key: str) -> Reference | None:
    path = _path(problem, key)
    try:
        checksum, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest().encode() != checksum:
        _warn(f"{path} fails its checksum: the reference of {problem.name} is computed again")
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        values = {name: file[name] for name in file.files}
    return Reference(**{k: value if value.ndim else value.item() for k, value in values.items()})


def _warn(text: str) -> None:
    warnings.warn(text, StiffWarning, stacklevel=4)


# ------------------------------------------------------------------ a reference of our own
# By exprb42 at tiny steps, for bodies whose excursion is near rounding.  A bunny of 40 m that moves
# by 10 um leaves SciPy's solvers no digits to control their steps by; exponential methods do not
# care, and their error is estimated with twice the step.  Where an outside solver can be trusted,
# it is asked too.


def own_reference(
    scene: Scene, bench: Bench, step: float, *, check: bool, velocities: bool = True
) -> Reference:
    """x, v at the end; check: also against the independent reference of `solution`; velocities:
    whether its error is theirs, too."""

    def computed() -> Row:
        fine, coarse = (trial(scene, integrator="exprb42", step=h) for h in (step, 2.0 * step))
        flat = [a.reshape(len(a), -1) for a in (fine.positions - scene.x0, fine.velocities)]
        scale_x, scale_v = (float(np.linalg.norm(a, axis=1).max()) for a in flat)
        x, v = fine.positions[-1], fine.velocities[-1]
        others = {"twice the step": (coarse.positions[-1], coarse.velocities[-1])}
        if check:
            independent = solution(scene, Bench(), limit_s=900.0)
            others[independent.how] = (independent.x, independent.v)
        gaps = {
            name: max(
                np.linalg.norm(x - a) / scale_x,
                velocities * np.linalg.norm(v - b) / scale_v,
            )
            for name, (a, b) in others.items()
        }
        words = ", ".join(f"{gap:.0e} from {name}" for name, gap in gaps.items())
        return {
            "x": x,
            "v": v,
            "error": float(max(gaps.values())),
            "scale_x": scale_x,
            "scale_v": scale_v,
            "energy": float(fine.energy.kinetic.max()),
            "how": f"exprb42 at {step:.2g} s, {words}",
        }

    return _journalled(scene, bench, "own reference", computed)


def coarse_reference(scene: Scene, bench: Bench, good: float, limit_s: float) -> Reference:
    """By Verlet, until two solutions differ by `good` or take longer than limit_s: for bodies of
    so many particles that no tighter one can be had.  In the journal alone: who asks for a better
    one must not be given this."""

    def computed() -> Row:
        return asdict(tight.by_verlet(scene, limit_s, good))

    return _journalled(scene, bench, f"reference to {good:.0e}", computed)


def _journalled(scene: Scene, bench: Bench, name: str, computed: Callable[[], Row]) -> Reference:
    row = bench.row(f"{scene.name} {fingerprint(scene)[:8]}: {name}", computed)
    return Reference(**{**row, "x": np.array(row["x"]), "v": np.array(row["v"])})
