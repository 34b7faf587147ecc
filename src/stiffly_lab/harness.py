"""One work-precision harness: every method, every setting, one reference, one kind of record.

A problem is a scene.  A method is an object with a name and settings, called as
method(problem, setting) -> Outcome; integrators of this package and solvers of others are adapters
in `methods`.  A setting is a step size or, for solvers that choose their own, a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np

from stiffly.contracts import Array, State, Work
from stiffly.errors import InputError, SimulationFailure
from stiffly.scenes import Scene

from .bench import Bench, Row
from .trial import time_limit, timed

REFUSED = "refused"  # variant of a record: the method is not for this system


@dataclass(frozen=True)
class Outcome:
    """The end of one run: x, v as users see positions, what it took, and its energy error.

    drift: largest |numerical energy error| [J] at the frames looked at; nan where unknown.
    exchanged: the yardstick of `drift` [J], nan where only the ends of the run were seen.
    """

    x: Array
    v: Array
    steps: int
    work: Work
    drift: float = float("nan")
    exchanged: float = float("nan")


class Method(Protocol):
    """settings: step sizes, or tolerances where `kind` is 'rtol'; None: the experiment's steps."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def settings(self) -> Sequence[float] | None: ...

    def __call__(self, problem: Scene, setting: float) -> Outcome: ...


@dataclass(frozen=True)
class Record:
    """One run in numbers. Errors are maximum norms at the end; None where the run failed.

    relative: the error at the end by which methods are compared (see equal_error.py);
    energy_relative: energy_drift over the energy exchanged; spin: error of the angular momentum,
    relative; memory: peak of a few steps [bytes]; variant: which of several solvers, or in words
    what a reader should know of the setting.
    """

    method: str
    step: float  # the setting: a step size [s], or a tolerance
    kind: str = "step"
    error_x: float | None = None
    error_v: float | None = None
    error: float | None = None
    seconds: float | None = None
    force_evaluations: int = 0
    operator_products: int = 0
    factorizations: int = 0
    steps: int = 0
    energy_drift: float | None = None
    failure: str | None = None
    relative: float | None = None
    energy_relative: float | None = None
    spin: float | None = None
    memory: int | None = None
    variant: str = ""


def first_order(system: Any, start: State) -> tuple[Callable[[float, Array], Array], Array]:
    """u' = f(t, u) with u = (x, v), for solvers of other packages: f and u(0); system: bound."""
    n = start.x.size

    def f(t: float, u: Array) -> Array:
        v = u[n:]
        return np.concatenate((v, system.acceleration(start.moved(t, u[:n], v))))

    return f, np.concatenate((start.x, start.v))


def reference(problem: Scene) -> tuple[Array, Array]:
    """x, v at the end, by an independent method; cached (see references.py)."""
    from .references import solution  # which needs this module

    found = solution(problem, Bench())
    return found.x, found.v


def work_precision(
    problem: Scene,
    methods: Sequence[Method],
    steps: Sequence[float],
    *,
    reference: tuple[Array, Array],
    repeats: int = 1,
    bench: Bench | None = None,
    label: str = "",
    limit_s: float = inf,
) -> list[Record]:
    """Run every method at each of its settings (default: `steps`) and compare with `reference`.

    A method first runs for a moment that nobody times, so that compilation is not counted.
    label: sets these rows apart from others of the same experiment; limit_s: seconds of a run.
    """
    bench = bench or Bench()
    plan = [(m, s) for m in methods for s in (steps if m.settings is None else m.settings)]
    bench.plan(len(plan))
    records, warm = [], set()

    def measured(method: Method, setting: float) -> Row:
        if method.name not in warm:
            warm_up(problem, method, setting)
            warm.add(method.name)
        with time_limit(limit_s):
            return asdict(measure(problem, method, setting, reference, repeats)[0])

    for method, setting in plan:
        name = f"{label or problem.name}: {method.name}, {method.kind} {setting:.12g}"
        records.append(Record(**bench.row(name, partial(measured, method, setting))))
    return records


def warm_up(problem: Scene, method: Method, setting: float) -> None:
    moment = 2.0 * setting if method.kind == "step" else 1e-3 * problem.duration
    with suppress(SimulationFailure, InputError):  # the run proper will say so
        method(replace(problem, duration=min(problem.duration, moment)), setting)


def measure(
    problem: Scene, method: Method, setting: float, exact: tuple[Array, Array], repeats: int
) -> tuple[Record, Outcome | None]:
    """Median time of `repeats` runs, errors and counts; no outcome where the method fails."""
    blank = Record(method.name, setting, method.kind)
    try:
        outcome, seconds = timed(lambda: method(problem, setting), repeats)
    except SimulationFailure as failure:
        return replace(blank, failure=str(failure)), None
    except InputError as refusal:
        return replace(blank, failure=str(refusal), variant=REFUSED), None
    error_x, error_v = (
        float(np.abs(a - b).max()) for a, b in zip((outcome.x, outcome.v), exact, strict=True)
    )
    record = replace(
        blank,
        error_x=error_x,
        error_v=error_v,
        error=max(error_x, error_v),
        seconds=seconds,
        force_evaluations=outcome.work.force_evaluations,
        operator_products=outcome.work.operator_products,
        factorizations=outcome.work.factorizations,
        steps=outcome.steps,
        energy_drift=outcome.drift if isfinite(outcome.drift) else None,
    )
    return record, outcome


# ------------------------------------------------------------------ reading the records


def of_method(records: Iterable[Record], method: str) -> list[Record]:
    """The successful records of one method, largest setting first."""
    own = [r for r in records if r.method == method and r.error is not None]
    return sorted(own, key=lambda r: -r.step)


def slopes(
    records: Sequence[Record], *, smallest: float = 0.0, largest: float = np.inf
) -> dict[str, float]:
    """Measured order of every fixed-step method: the slope of log error over log step, fitted
    where smallest < error < largest (below lies rounding, above no order shows yet)."""
    found = {}
    for name in dict.fromkeys(r.method for r in records if r.kind == "step"):
        points = [(r.step, r.error) for r in of_method(records, name) if r.error is not None]
        points = [(h, e) for h, e in points if smallest < e < largest]
        if len(points) >= 2:
            h, e = np.log(points).T
            found[name] = float(np.polyfit(h, e, 1)[0])
    return found


def cost_at(
    records: Sequence[Record], method: str, error: float, cost: str = "seconds"
) -> float | None:
    """What the method pays for that error, interpolated in the log-log diagram; None outside."""
    points = [(r.error, float(getattr(r, cost))) for r in of_method(records, method) if r.error]
    points = sorted((e, c) for e, c in points if c > 0.0)
    if len(points) < 2 or not points[0][0] <= error <= points[-1][0]:
        return None
    e, c = np.log(points).T
    return float(np.exp(np.interp(np.log(error), e, c)))
