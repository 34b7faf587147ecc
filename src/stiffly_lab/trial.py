"""Runs of the lab: bad steps are tried on purpose, and the result says how bad they were.

A limit on the seconds that one may take is asked for now and then by who computes:

    with time_limit(60.0):
        trial(problem, ..., progress=in_time)        # OutOfTime when they are over

Seconds are the processor's, of limits and of stopwatches: what else a machine does decides nothing,
but how fast it is does.  STIFFLY_LAB_UNLIMITED=1 stops nothing: the same runs everywhere, for those
who can wait.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from statistics import median
from typing import Any, TypeVar

from stiffly import Run, simulate
from stiffly.contracts import Integrator
from stiffly.errors import Advice, SimulationFailure, StiffWarning
from stiffly.scenes import Scene

UNLIMITED = "STIFFLY_LAB_UNLIMITED"
SECONDS = "processor_seconds"
SLOW = 5.0  # a run of this many seconds is timed once: repeating it would tell nothing new

Found = TypeVar("Found")
_DEADLINE: ContextVar[float] = ContextVar("deadline", default=inf)


def trial(problem: Any, **options: Any) -> Run:
    """As `simulate`, without its warnings of long steps and of energy lost or invented, and with
    the processor's seconds in `stats`."""
    with warnings.catch_warnings():
        for told in (Advice, StiffWarning):
            warnings.simplefilter("ignore", told)
        began = time.process_time()
        run = simulate(problem, **options)
    run.stats[SECONDS] = time.process_time() - began
    return run


def attempt(
    scene: Scene, integrator: str | Integrator, *, limit_s: float = inf, **options: Any
) -> tuple[Run | None, str | None]:
    """The run, or what there is of it, and why it stopped; limit_s: seconds it may take."""
    try:
        with time_limit(limit_s):
            return trial(scene, integrator=integrator, progress=in_time, **options), None
    except OutOfTime as late:  # the same words on every machine that is too slow
        return late.run, f"stopped: it took longer than {limit_s:g} s"
    except SimulationFailure as stopped:
        return stopped.run, str(stopped)


# ------------------------------------------------------------------ seconds


def seconds_of(run: Run) -> float:
    """The processor's; those on the wall of a run that was stopped."""
    return run.stats.get(SECONDS, run.wall_seconds)


class OutOfTime(SimulationFailure):
    """The run took longer than the experiment grants."""


def processor_seconds() -> float:
    """Of this process, from any moment on."""
    return time.process_time()


def unlimited() -> bool:
    return bool(os.environ.get(UNLIMITED))


def granted(seconds: float) -> float:
    """So many, or all the time there is."""
    return inf if unlimited() else seconds


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within, `in_time` fails after so many seconds; a limit outside of it stays in force."""
    token = _DEADLINE.set(min(_DEADLINE.get(), processor_seconds() + granted(seconds)))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def in_time(*_: object) -> None:
    """Takes whatever a progress callback is given, and ignores it."""
    if processor_seconds() > _DEADLINE.get():
        raise OutOfTime("stopped: it took longer than the time limit")


def seconds_left() -> float:
    """Of the limit in force."""
    return _DEADLINE.get() - processor_seconds()


def timed(
    job: Callable[[], Found],
    repeats: int,
    slow: float = SLOW,
    clock: Callable[[], float] = processor_seconds,
) -> tuple[Found, float]:
    """What the last job() gave, and the median seconds of `repeats` of them: the one stopwatch of
    the lab and, with a clock on the wall, of the benchmarks."""
    times: list[float] = []
    while True:
        began = clock()
        found = job()
        times.append(clock() - began)
        if len(times) >= repeats or times[0] > slow:
            return found, median(times)
