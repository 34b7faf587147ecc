"""Runs of the lab: bad steps are tried on purpose, and the result says how bad they were."""

from __future__ import annotations

import warnings
from math import inf
from typing import Any

from stiffly import Run, simulate
from stiffly.errors import SimulationFailure, StiffWarning
from stiffly.scenes import Scene

from .time_limit import OutOfTime, in_time, time_limit


def trial(problem: Any, **options: Any) -> Run:
    """As `simulate`, without its warnings of energy lost or invented."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        return simulate(problem, **options)


def attempt(
    scene: Scene, integrator: str, *, limit_s: float = inf, **options: Any
) -> tuple[Run | None, str | None]:
    """The run, or what there is of it, and why it stopped; limit_s: seconds it may take."""
    try:
        with time_limit(limit_s):
            return trial(scene, integrator=integrator, progress=in_time, **options), None
    except OutOfTime as late:  # the same words on every machine that is too slow
        return late.run, f"stopped: it took longer than {limit_s:g} s"
    except SimulationFailure as stopped:
        return stopped.run, str(stopped)
