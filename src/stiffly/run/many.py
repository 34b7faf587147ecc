"""Many small systems through time together: one compiled call takes the steps of all, and each has
its own ledger, its own verdict and its own Run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, cast

from ..backends.cpu import announce
from ..contracts import State
from ..errors import Advice, InputError, levels_up
from ..integrators import Auto
from ..integrators.explicit import scheme_of
from ..recording.notebook import notebook_bar
from ..recording.run import Run
from ..recording.sinks import Memory, Progress
from ..system.joined import BoundTogether, Joined, naming
from .devices import bound_on
from .limit import require_stable
from .loop import steps_within
from .simulate import Given, Plan, completed, frame_times, planned
from .together import Apart, Together, named

LOOPS = "use verlet, symplectic-euler, rkn6, rk4 or forward-euler"


def simulate_many(
    systems: Sequence[Any],
    x0: Sequence[Any] | None = None,
    v0: Sequence[Any] | None = None,
    *,
    integrator: Any = None,
    step: float | None = None,
    duration: float | None = None,
    every: float | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
    precision: str = "double",
) -> list[Run]:
    """Move many small systems through the same time with the same fixed, explicit steps, in one
    compiled call for all of them; returns a Run for each, as `simulate` does (docs/many.md).

    systems: a list of what `simulate` takes; the same System may be in it many times.
    x0, v0: lists with the positions and velocities of each, where systems are no scenes.
    integrator: verlet, symplectic-euler, rkn6, rk4 or forward-euler; the rest as for `simulate`.

    A run that diverges ends there, as told by `run.stats["failure"]` and a warning; the others go
    on.  `wall_seconds` of each is its share of the whole.
    """
    scenes = [s if hasattr(s, "system") else None for s in _listed(systems)]
    owners = [
        s if scene is None else scene.system for s, scene in zip(systems, scenes, strict=True)
    ]
    starts = zip(_each("x0", x0, len(owners)), _each("v0", v0, len(owners)), strict=True)
    asked = (integrator, step, duration, every, None, 0.0)
    plan, places = _one_plan([Given(*own, *asked) for own in starts], scenes)
    if progress is not None and not callable(progress):
        raise InputError(
            f"progress must be a function, not {type(progress).__name__}: leave it out"
        )
    announce()
    joined = Joined(owners), *places, plan.method, plan.name
    bound, state = bound_on(device, *joined, precision=precision)
    assert plan.step is not None  # of a method with fixed steps
    frames = frame_times(plan.duration, plan.step, plan.every)
    _advise(bound, state, plan, float(frames[1]))
    loop = Together(bound, plan.method, plan.name, state, frames, plan.step)
    if not loop.stretches:
        raise InputError(f"{plan.name} goes {loop.way}: simulate these runs one by one")
    together = loop.run(Memory(), progress or notebook_bar())
    return Apart(loop, together, scenes, owners, places[0]).runs()


# ------------------------------------------------------------------ what is asked for


def _listed(systems: Any) -> list[Any]:
    if not isinstance(systems, list | tuple):
        kind = type(systems).__name__
        raise InputError(f"systems must be a list, not {kind}: write simulate_many([system, ...])")
    if not systems:
        raise InputError("there is nothing to simulate: give a list of systems or scenes")
    return [*cast("list[Any]", systems)]


def _each(name: str, values: Any, count: int) -> list[Any]:
    if values is None:
        return [None] * count
    try:
        length = len(values)
    except TypeError:
        kind = type(values).__name__
        raise InputError(f"{name} must be a list, one for each system, not {kind}") from None
    if length != count:
        raise InputError(
            f"{name} has {length} entries for {count} systems: give a list, one for each"
        )
    return list(values)


def _one_plan(given: list[Given], scenes: list[Any]) -> tuple[Plan, tuple[list[Any], list[Any]]]:
    """What all runs do, and where each begins."""
    plans: dict[Any, Plan] = {}
    first: tuple[tuple[str, Any], ...] = ()
    for run, (own, scene) in enumerate(zip(given, scenes, strict=True)):
        with naming(run):
            if scene is not None:
                own = given[run] = completed(own, scene)
            tuned = getattr(scene, "method", {})
            if own.x0 is None:
                raise InputError("x0 is missing: give the initial positions of each system")
            plain = all(isinstance(value, str | float | int | None) for value in own[2:])
            key = (*own[2:], repr(tuned)) if plain else run
            if key not in plans:
                plans[key] = _fixed(planned(own, tuned))
        told = _told(plans[key])
        for (name, mine), (_, other) in zip(told, first or told, strict=True):
            if mine != other:
                raise InputError(
                    f"run {run} has the {name} {mine}, run 0 {other}: all take the same steps; "
                    f"give one {name} for all, or simulate them one by one"
                )
        first = first or told
    return next(iter(plans.values())), ([own.x0 for own in given], [own.v0 for own in given])


def _told(plan: Plan) -> tuple[tuple[str, Any], ...]:
    times = (("step", plan.step), ("duration", plan.duration), ("every", plan.every))
    return (("integrator", repr(plan.method)), *times)


def _fixed(plan: Plan) -> Plan:
    if isinstance(plan.method, Auto) or scheme_of(plan.method) is None:
        raise InputError(
            f"{plan.name} has no loop that takes many runs through their steps: {LOOPS}, or "
            "simulate them one by one"
        )
    if plan.tolerance is not None:
        raise InputError(f"{plan.name} chooses its steps by rtol: give step= for all runs")
    return plan


def _advise(bound: BoundTogether, state: State, plan: Plan, every: float) -> None:
    """What steps of this size will not follow: as for one run, but nothing is refused, since the
    others may be well."""
    assert plan.step is not None
    told: dict[str, list[int]] = {}
    for run, (system, _) in enumerate(bound.own):
        for line in system.advice(plan.step):
            told.setdefault(line, []).append(run)
    for line, runs in told.items():
        warnings.warn(f"{named(runs)}: {line}", Advice, stacklevel=levels_up())
    taken = every / steps_within(every, plan.step)
    require_stable(bound, state, plan.method, plan.name, taken, plan.duration)
