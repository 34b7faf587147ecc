"""One work-precision harness: every method, every setting, one reference, one kind of record.

A problem is a scene.  A method is an object with a name and settings, called as
method(problem, setting) -> Outcome; integrators of this package and solvers of others are adapters
in `methods`.  A setting is a step size or, for solvers that choose their own, a tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from statistics import median
from typing import Protocol

import numpy as np
from scipy.integrate import solve_ivp

from ..contracts import Array, State, Work
from ..errors import NotConverged, SimulationFailure
from ..scenes import Scene

REFERENCE_TOLERANCE = 1e-13
SLOW = 5.0  # a run of this many seconds is timed once: repeating it would tell nothing new

Progress = Callable[[int, int, str], None]  # runs done, runs in all, what is running


def silent(done: int, total: int, text: str) -> None:
    """Progress for nobody."""


@dataclass(frozen=True)
class Outcome:
    """The end of one run: x, v as users see positions, what it took, and its energy error.

    drift: largest |numerical energy error| [J] at the frames looked at; nan where unknown.
    """

    x: Array
    v: Array
    steps: int
    work: Work
    drift: float = float("nan")


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
    """One run in numbers. Errors are maximum norms at the end; None where the run failed."""

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


@dataclass
class _Cache:
    """References of this process. Systems are kept alive, so that an id names one of them."""

    solutions: dict[tuple, tuple[Array, Array]] = field(default_factory=dict)
    systems: list = field(default_factory=list)


_CACHE = _Cache()


def first_order(problem: Scene) -> tuple[Callable[[float, Array], Array], Array]:
    """u' = f(t, u) with u = (x, v), for solvers of other packages: f and u(0)."""
    system, start = problem.system.bind(problem.x0, problem.v0)
    n = start.x.size

    def f(t: float, u: Array) -> Array:
        v = u[n:]
        return np.concatenate((v, system.acceleration(State(t, u[:n], v))))

    return f, np.concatenate((start.x, start.v))


def reference(problem: Scene) -> tuple[Array, Array]:
    """x, v at the end, by DOP853 at 1e-13; computed once per process."""
    key = (id(problem.system), problem.x0.tobytes(), problem.v0.tobytes(), problem.duration)
    if key not in _CACHE.solutions:
        f, u0 = first_order(problem)
        tol = REFERENCE_TOLERANCE
        scale = float(np.abs(u0).max())
        solution = solve_ivp(f, (0.0, problem.duration), u0, "DOP853", rtol=tol, atol=tol * scale)
        if not solution.success:
            raise NotConverged(f"no reference for {problem.name}: {solution.message}")
        _CACHE.solutions[key] = users_view(problem, solution.y[:, -1])
        _CACHE.systems.append(problem.system)
    return _CACHE.solutions[key]


def users_view(problem: Scene, u: Array) -> tuple[Array, Array]:
    """Positions and velocities as a Run holds them, from u = (x, v)."""
    system, start = problem.system.bind(problem.x0, problem.v0)
    n = start.x.size
    end = State(problem.duration, u[:n], u[n:])
    return np.array(system.positions(end)), np.array(system.velocities(end))


def work_precision(
    problem: Scene,
    methods: Sequence[Method],
    steps: Sequence[float],
    *,
    reference: tuple[Array, Array],
    repeats: int = 1,
    progress: Progress = silent,
) -> list[Record]:
    """Run every method at each of its settings (default: `steps`) and compare with `reference`.

    A method first runs for a moment that nobody times, so that compilation is not counted.
    """
    plan = [(m, s) for m in methods for s in (steps if m.settings is None else m.settings)]
    records, warm = [], set()
    for done, (method, setting) in enumerate(plan):
        progress(done, len(plan), f"{method.name}, {method.kind} {setting:.3g}")
        if method.name not in warm:
            _warm_up(problem, method, setting)
            warm.add(method.name)
        records.append(_measure(problem, method, setting, reference, repeats))
    progress(len(plan), len(plan), "done")
    return records


def _warm_up(problem: Scene, method: Method, setting: float) -> None:
    moment = 2.0 * setting if method.kind == "step" else 1e-3 * problem.duration
    with suppress(SimulationFailure):  # the run proper will say so
        method(replace(problem, duration=min(problem.duration, moment)), setting)


def _measure(
    problem: Scene, method: Method, setting: float, exact: tuple[Array, Array], repeats: int
) -> Record:
    times: list[float] = []
    blank = Record(method.name, setting, method.kind)
    while True:
        began = time.perf_counter()
        try:
            outcome = method(problem, setting)
        except SimulationFailure as failure:
            return replace(blank, failure=str(failure))
        times.append(time.perf_counter() - began)
        if len(times) >= repeats or times[0] > SLOW:
            break
    error_x, error_v = (
        float(np.abs(a - b).max()) for a, b in zip((outcome.x, outcome.v), exact, strict=True)
    )
    return replace(
        blank,
        error_x=error_x,
        error_v=error_v,
        error=max(error_x, error_v),
        seconds=median(times),
        force_evaluations=outcome.work.force_evaluations,
        operator_products=outcome.work.operator_products,
        factorizations=outcome.work.factorizations,
        steps=outcome.steps,
        energy_drift=outcome.drift if isfinite(outcome.drift) else None,
    )


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
