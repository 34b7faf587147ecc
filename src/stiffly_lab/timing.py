"""The one stopwatch of the lab and the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

SLOW = 5.0  # a run of this many seconds is timed once: repeating it would tell nothing new

Found = TypeVar("Found")


def timed(job: Callable[[], Found], repeats: int, slow: float = SLOW) -> tuple[Found, float]:
    """What the last job() gave, and the median wall-clock seconds of `repeats` of them."""
    times: list[float] = []
    while True:
        began = time.perf_counter()
        found = job()
        times.append(time.perf_counter() - began)
        if len(times) >= repeats or times[0] > slow:
            return found, median(times)
