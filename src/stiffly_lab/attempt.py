"""A run that may fail, as far as it came: the row of an energy diagram."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from stiffly import Run
from stiffly.errors import SimulationFailure
from stiffly.scenes import Scene

from .time_limit import OutOfTime, in_time, time_limit
from .trial import trial


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


def energy_row(
    scene: Scene, integrator: str, step: float, *, limit_s: float = inf, **options: Any
) -> dict[str, Any]:
    """Times, energy error [J] over time, and a Record's fields: {'record': ...}."""
    run, failure = attempt(scene, integrator, step=step, limit_s=limit_s, **options)
    row: dict[str, Any] = {"method": integrator, "step": step, "failure": failure}
    record = dict(row)
    if run is None:
        return {**row, "times": [], "error": [], "worst": None, "record": record}
    error = run.energy.numerical
    worst = float(np.abs(error).max())
    counts = ("steps", "force_evaluations", "operator_products", "factorizations")
    record |= {"seconds": run.wall_seconds, "energy_drift": worst}
    record |= {name: run.stats[name] for name in counts}
    return {
        **row,
        "times": run.times,
        "error": error,
        "kinetic": run.energy.kinetic,
        "worst": worst,
        "energy": float(run.energy.total[0]),
        "exchanged": run.energy.exchanged,
        "record": record,
    }
