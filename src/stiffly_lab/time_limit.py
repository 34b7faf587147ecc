"""A limit on the seconds that a run of the lab may take; who computes asks now and then.

with time_limit(60.0):
    trial(problem, ..., progress=in_time)        # OutOfTime when they are over

What a limit stops depends on the machine and on what else it does.  STIFFLY_LAB_UNLIMITED=1 stops
nothing: the same runs everywhere, for those who can wait.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

from stiffly.errors import SimulationFailure

UNLIMITED = "STIFFLY_LAB_UNLIMITED"

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=inf)


class OutOfTime(SimulationFailure):
    """The run took longer than the experiment grants."""


def granted(seconds: float) -> float:
    """So many, or all the time there is."""
    return inf if os.environ.get(UNLIMITED) else seconds


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within, `in_time` fails after so many seconds; a limit outside of it stays in force."""
    token = _DEADLINE.set(min(_DEADLINE.get(), time.perf_counter() + granted(seconds)))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def in_time(*_: object) -> None:
    """Takes whatever a progress callback is given, and ignores it."""
    if time.perf_counter() > _DEADLINE.get():
        raise OutOfTime("stopped: it took longer than the time limit")


def seconds_left() -> float:
    """Of the limit in force."""
    return _DEADLINE.get() - time.perf_counter()
