"""What one step of a method costs on a scene, apart from what is computed once."""

from __future__ import annotations

from contextlib import suppress

from stiffly import Run
from stiffly.errors import InputError, SimulationFailure
from stiffly.scenes import Scene

from .bench import Row
from .trial import attempt, seconds_of

MORE = 12  # steps of the run whose difference to one step is the price of a step
SLOW = 1.0  # seconds of the first step from which on one step more has to do


class _Stopped(SimulationFailure):
    """The method refuses the scene, or does not get through."""


def step_cost(
    scene: Scene, method: str, limit_s: float, repeats: int = 1, like: Scene | None = None
) -> Row:
    """Seconds and counts of a step, and what comes once, from runs of one and of more steps.

    Of quick runs the fastest of `repeats` counts: the others had to share the machine.
    like: a smaller body of the same kind, on which everything is compiled.
    """
    found: Row = {"particles": len(scene.x0), "step": scene.step, "failure": None}
    try:
        _compiled(like or scene, method, limit_s)
        before = _run(scene, method, 1, limit_s)
        slow = seconds_of(before) > SLOW
        tries = 1 if slow else repeats
        before = min(
            [before, *(_run(scene, method, 1, limit_s) for _ in range(tries - 1))], key=seconds_of
        )
        more = 2 if slow else MORE
        after = min((_run(scene, method, more, limit_s) for _ in range(tries)), key=seconds_of)
    except _Stopped as stopped:
        return {**found, "failure": str(stopped)}
    steps = after.stats["steps"] - before.stats["steps"]

    def per_step(key: str) -> float:
        return (after.stats[key] - before.stats[key]) / steps

    seconds = (seconds_of(after) - seconds_of(before)) / steps
    if seconds <= 0.0:  # lost in the noise of what comes once: an upper bound instead
        seconds = seconds_of(after) / after.stats["steps"]
    return {
        **found,
        "seconds": seconds,
        "once": max(seconds_of(before) - seconds, 0.0),
        "forces": per_step("force_evaluations"),
        "products": per_step("operator_products"),
        "factorizations": per_step("factorizations"),
    }


def _compiled(scene: Scene, method: str, limit_s: float) -> None:
    with suppress(_Stopped):  # the run proper will say so
        _run(scene, method, 1, limit_s)


def _run(scene: Scene, method: str, count: int, limit_s: float) -> Run:
    duration = count * scene.step
    try:
        run, failure = attempt(
            scene, method, limit_s=limit_s, step=scene.step, duration=duration, every=duration
        )
    except InputError as refusal:
        raise _Stopped(str(refusal)) from None
    if run is None or failure:
        raise _Stopped((failure or "").split(":")[0])
    return run
