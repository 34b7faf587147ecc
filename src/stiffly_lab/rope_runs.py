"""The rope at a method's largest step that keeps strain and energy: the rows of rope_cost.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.errors import SimulationFailure
from stiffly.integrators import FastProjection

from .bench import Row
from .energy_history import COUNTS
from .harness import Outcome
from .measures import rope_strains
from .methods import CvodeMethod
from .time_limit import OutOfTime, in_time, time_limit
from .timing import SLOW
from .trial import trial

LADDER = [1 / n for n in (30, 60, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)]
FINER = [1 / n for n in (50_000, 100_000, 200_000)]  # for explicit steps
TOLERANCES = [10.0**-n for n in range(2, 10)]
BAND = 0.05  # energy error against the energy exchanged
DURATION = 1.0
FAST, ANY = "fast-projection", "fast-projection, any energy"
GRANTED_S = 60.0  # for one run of the ladder


def accurate(scene: scenes.Scene) -> Row:
    """Where the free end is after the motion, and the energy exchanged [J]."""
    run = trial(scene, integrator="energy-momentum", step=2e-4, every=DURATION / 100)
    return {"end": run.positions[-1, -1], "exchanged": run.energy.exchanged}


def cheapest(scene: scenes.Scene, exact: Row, name: str) -> Row:
    """The run with the largest setting that keeps strain and energy; exact: from `accurate`."""
    outside = name.startswith("CVODE ")
    attempt = _outside if outside else _inside
    ladder = TOLERANCES if outside else [*LADDER, *FINER] if name == "verlet" else LADDER
    permitted, band = scene.parameters["strain"], inf if name == ANY else BAND
    row = {"method": name, "particles": len(scene.x0), "strain": permitted}
    row["kind"] = "rtol" if outside else "step"
    attempt(replace(scene, duration=1e-3), name, exact, 1e-3)  # compiles
    for setting in ladder:
        try:
            found = attempt(scene, name, exact, setting)
        except OutOfTime:
            return {**row, "setting": setting, "failure": f"took longer than {GRANTED_S:g} s"}
        if found and found["largest"] <= permitted and abs(found["lost"]) <= band:
            if found["seconds"] < SLOW:  # of two readings the one less disturbed
                again = attempt(scene, name, exact, setting) or found
                found["seconds"] = min(found["seconds"], again["seconds"])
            return {**row, "setting": setting, "failure": None, **found}
    return {**row, "setting": ladder[-1], "failure": "keeps neither strain nor energy at any step"}


def _timed(job: Callable[[], Any]) -> tuple[Any, float] | None:
    """What the job returns and its CPU seconds; None where it fails.  OutOfTime: it took too long,
    and finer settings would take longer."""
    began = time.process_time()
    try:
        with time_limit(GRANTED_S):
            return job(), time.process_time() - began
    except OutOfTime:
        raise
    except SimulationFailure:
        return None


def _inside(scene: scenes.Scene, name: str, exact: Row, step: float) -> Row | None:
    """A run with a frame for every step, so that no strain is missed."""
    fast = name in (FAST, ANY)
    method = FastProjection(strain=scene.parameters["strain"]) if fast else name
    job = partial(trial, scene, integrator=method, step=step, every=step, progress=in_time)
    timed = _timed(job)
    if timed is None:
        return None
    run, seconds = timed
    numerical = run.energy.numerical / run.energy.exchanged
    return {
        "seconds": seconds,
        "largest": float(rope_strains(run.positions).max()),
        "lost": float(-numerical[np.abs(numerical).argmax()]),
        "error_mm": _distance(run.positions[-1], exact),
        "iterations": run.stats["newton_iterations"],
        "counts": {count: run.stats[count] for count in COUNTS},
    }


def _outside(scene: scenes.Scene, name: str, exact: Row, rtol: float) -> Row | None:
    timed = _timed(partial(CvodeMethod(name.removeprefix("CVODE ")), scene, rtol))
    if timed is None:
        return None
    end: Outcome = timed[0]
    return {
        "seconds": timed[1],
        "largest": float(rope_strains(end.x).max()),
        "lost": end.drift / exact["exchanged"],
        "error_mm": _distance(end.x, exact),
        "iterations": 0,
        "counts": {
            "steps": end.steps,
            **{count: getattr(end.work, count) for count in COUNTS if count != "steps"},
        },
    }


def _distance(positions: Any, exact: Row) -> float:
    return float(1e3 * np.linalg.norm(positions[-1] - np.array(exact["end"])))
