"""What one step of a method costs on a scene, apart from what is computed once."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import pairwise
from statistics import median
from typing import Any

from stiffly.contracts import Integrator
from stiffly.errors import InputError, SimulationFailure
from stiffly.scenes import Scene

from .bench import Row
from .trial import OutOfTime, in_time, time_limit, trial

STEPS = 12  # of the run whose later steps are the price of a step
ENOUGH, FEW = 20.0, 3  # seconds after which so many steps have to do
COUNTS = ("force_evaluations", "operator_products", "factorizations")


def step_cost(
    scene: Scene, method: str | Integrator, limit_s: float, like: Scene | None = None
) -> Row:
    """Processor's seconds and counts of a step, the median of those after the first, and what the
    first took beyond, which comes once.

    like: a smaller body of the same kind, on which everything is compiled.
    """
    found: Row = {"particles": len(scene.x0), "step": scene.step, "failure": None}
    try:
        with suppress(SimulationFailure):  # the run proper will say so
            _ends(like or scene, method, 1, limit_s)
        ends = _ends(scene, method, STEPS, limit_s)
    except (InputError, SimulationFailure) as stopped:
        return {**found, "failure": str(stopped).split(":")[0]}
    steps = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(ends)]
    first, *later = steps
    seconds, *counts = (median(values) for values in zip(*(later or steps), strict=True))
    named = dict(zip(("forces", "products", "factorizations"), counts, strict=True))
    return {**found, "seconds": seconds, "once": max(first[0] - seconds, 0.0), **named}


def _ends(
    scene: Scene, method: str | Integrator, count: int, limit_s: float
) -> list[tuple[float, ...]]:
    """Seconds and counts so far, at the start and at the end of every step."""
    began = time.process_time()
    ends: list[tuple[float, ...]] = [(0.0, *(0 for _ in COUNTS))]

    def look(report: Any) -> None:
        spent = time.process_time() - began
        if report.steps >= len(ends):
            ends.append((spent, *(getattr(report.work, name) for name in COUNTS)))
        in_time()
        if spent > ENOUGH and len(ends) > FEW:
            raise OutOfTime("enough is known")

    options = {"step": scene.step, "duration": count * scene.step, "every": scene.step}
    try:
        with time_limit(limit_s):
            trial(scene, integrator=method, progress=look, **options)
    except SimulationFailure:  # too late, or too long a step: what was taken has its price
        if len(ends) <= FEW:
            raise
    return ends
