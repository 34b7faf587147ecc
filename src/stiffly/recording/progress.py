"""How far a run is, told after every frame and now and then in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

from ..contracts import Work

PATIENCE = 0.5  # seconds without a sign of life, where steps allow it


class ProgressReport(NamedTuple):
    """How far a run is: time t of end [s], frames of of_frames recorded, steps and work so far.

    numerical, exchanged [J]: the energy error and its yardstick at the last frame.
    """

    t: float
    end: float
    frames: int
    of_frames: int
    steps: int
    work: Work
    numerical: float
    exchanged: float


Progress = Callable[[ProgressReport], None]


class Reporter:
    """Calls `progress` after every frame, and now and then in between."""

    def __init__(self, progress: Progress, loop: Any) -> None:
        self._progress, self._loop = progress, loop
        self._last, self._seen = time.perf_counter(), 0
        self._ranges: dict[str, tuple[float, float]] = {}

    def __call__(self, landed: bool) -> None:
        now = time.perf_counter()
        if not landed and now - self._last < PATIENCE:
            return
        self._last, loop = now, self._loop
        self._progress(
            ProgressReport(
                loop.state.t,
                float(loop.frames[-1]),
                loop.recorded,
                len(loop.frames),
                loop.steps,
                loop.work,
                *self._balance(),
            )
        )

    def _balance(self) -> tuple[float, float]:
        """Numerical error and energy exchanged at the last frame, from frames not seen before."""
        ledger = self._loop.ledger
        series = {**ledger.parts, "added": ledger.added, "dissipated": ledger.dissipated}
        for name, values in series.items():
            low, high = self._ranges.get(name, (inf, -inf))
            new = values[self._seen :]
            self._ranges[name] = min([low, *new]), max([high, *new])
        self._seen = len(ledger.times)
        total, start = (sum(values[k] for values in ledger.parts.values()) for k in (-1, 0))
        numerical = total - start - ledger.added[-1] + ledger.dissipated[-1]
        return numerical, max(high - low for low, high in self._ranges.values())
