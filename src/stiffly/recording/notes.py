"""What steps say about themselves: one value per step in memory, one per frame in a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, nan
from typing import Any

import numpy as np

from ..contracts import Array

MEANS = ("alpha",)  # averaged over the steps of a frame; of everything else the largest is kept


class StepLog:
    """Numbers that steps say about themselves: one value per step, NaN where there was none."""

    unsaved = ()

    def __init__(self) -> None:
        self.times: list[float] = []
        self.series: dict[str, list[float]] = {}

    def add(self, t: float, notes: Mapping[str, Any], h: float = nan) -> None:
        count = len(self.times)
        self.times.append(t)
        for name, value in notes.items():
            if isinstance(value, str):
                continue
            series = self.series.setdefault(name, [])
            series.extend([nan] * (count - len(series)))
            series.append(float(value))

    def add_all(self, times: Sequence[float], notes: Mapping[str, Any], h: float) -> None:
        """Of many steps at once, which say together what the last one is noted to say."""
        self.times.extend(times[:-1])
        self.add(times[-1], notes, h)

    def frame(self) -> dict[str, float]:
        """Nothing is summed up: every step is kept."""
        return {}

    def unsolved(self) -> tuple[int, float]:
        """Steps whose equations were not solved well enough, and the largest residual of all."""
        count = self._counted("under_solved")
        return count, float(np.nanmax(self.series.get("residual", [nan]))) if count else nan

    def limited(self) -> int:
        """Steps that a stabiliser had to cut to the energy allowed."""
        return self._counted("limited")

    def _counted(self, name: str) -> int:
        return int(np.nansum(self.series[name])) if name in self.series else 0

    def arrays(self) -> dict[str, Array]:
        """t [s] at the end of each step, and every series in full length."""
        count = len(self.times)
        padded = {n: s + [nan] * (count - len(s)) for n, s in self.series.items()}
        return {"t": np.array(self.times), **{n: np.array(s) for n, s in padded.items()}}


class FrameLog:
    """The same, summed up from frame to frame: it does not grow with the number of steps.

    Of most numbers the one of largest size is kept, with its sign; `alpha` is averaged.
    """

    unsaved = ()

    def __init__(self) -> None:
        self._count, self._worst, self._limited = 0, 0.0, 0  # of the whole run
        self._begin()

    def _begin(self) -> None:
        self._shortest, self._longest = inf, 0.0
        self._largest: dict[str, float] = {}
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, t: float, notes: Mapping[str, Any], h: float = nan) -> None:
        self._shortest, self._longest = min(self._shortest, h), max(self._longest, h)
        for name, value in notes.items():
            if isinstance(value, str):
                continue
            number = float(value)
            if name in MEANS:
                total, count = self._sums.get(name, (0.0, 0))
                self._sums[name] = (total + number, count + 1)
            elif name not in self._largest or abs(number) > abs(self._largest[name]):
                self._largest[name] = number
        if notes.get("under_solved"):
            self._count += 1
        if notes.get("limited"):
            self._limited += 1
        self._worst = max(self._worst, float(notes.get("residual", 0.0)))

    def add_all(self, times: Sequence[float], notes: Mapping[str, Any], h: float) -> None:
        self.add(times[-1], notes, h)

    def frame(self) -> dict[str, float]:
        """Of the steps since the last call, which it forgets."""
        found = {"largest_step": self._longest, "smallest_step": self._shortest}
        if not self._longest:  # the first frame comes before any step
            found = dict.fromkeys(found, nan)
        found |= self._largest | {name: s / count for name, (s, count) in self._sums.items()}
        self._begin()
        return found

    def unsolved(self) -> tuple[int, float]:
        return self._count, self._worst

    def limited(self) -> int:
        return self._limited
