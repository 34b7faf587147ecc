"""A limit on the seconds that a run of the lab may take; who computes asks now and then.

with time_limit(60.0):
    trial(problem, ..., progress=in_time)        # OutOfTime when they are over
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

from ..errors import SimulationFailure

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=inf)


class OutOfTime(SimulationFailure):
    """The run took longer than the experiment grants."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within, `in_time` fails after so many seconds; a limit outside of it stays in force."""
    token = _DEADLINE.set(min(_DEADLINE.get(), time.perf_counter() + seconds))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def in_time(*_: object) -> None:
    """Takes whatever a progress callback is given, and ignores it."""
    if time.perf_counter() > _DEADLINE.get():
        raise OutOfTime("stopped: it took longer than the time limit")


def seconds_left() -> float:
    return _DEADLINE.get() - time.perf_counter()
