"""Which particles the local/global solver's matrix takes for touching: a set that changes rarely.

A change of the matrix costs a factorisation, as much as several steps.  So when something touches
that was not expected to, what will follow within the next few steps is taken in with it, and what
has left is dropped; without such an occasion, particles are dropped only when most have left.  One
that is taken for touching and does not touch is hardly moved by a solver that iterates a few times
only, since the matrix holds it: the set must not be much larger than what touches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..contracts import Array
from ..kernels.names import TOUCHED

WINDOW = 10  # evaluations of the force: about one step of a local/global solver
AHEAD = 2.0  # windows: what touches by then, if it keeps its pace, is near
STALE = 0.5  # of the set: if so many have left, they are dropped
# Marks fade by one with every window: TOUCHED - 1 at the end of the window of the last touch
LEFT = TOUCHED - 3  # has not touched for two windows
GONE = 1  # nor for three

# The four numbers were chosen by trial on cloths that fall on a ball: fewer windows cost more
# factorisations, more windows leave larger residuals.


class Near:
    """marks (m,) of the particles of one shape: 0 far; TOUCHED or fading from it: near."""

    def __init__(self, count: int) -> None:
        self.marks = np.zeros(count, dtype=np.int64)
        self._clock = 0
        self._gaps: list[tuple[int, Array]] = []  # at the ends of the last two windows

    def learnt(self) -> dict[str, Any]:
        return {"marks": self.marks, "clock": self._clock, "gaps": self._gaps}

    def recall(self, learnt: Mapping[str, Any]) -> None:
        self.marks[:], self._clock, self._gaps = learnt["marks"], learnt["clock"], learnt["gaps"]

    def seen(self, newcomers: int, gaps: Callable[[], Array]) -> bool:
        """After an evaluation in which `newcomers` touched that were far; gaps() (m,) [m] gives
        the distances from where contact begins.  True where the set has changed."""
        self._clock += 1
        if newcomers:
            self._take_in(gaps())
        ends = self._clock % WINDOW == 0
        return (ends and self._end_window(gaps())) or newcomers > 0

    def _take_in(self, now: Array) -> None:
        self.marks[self.marks == GONE] = 0
        if self._gaps:
            clock, then = self._gaps[0]
            with np.errstate(invalid="ignore"):  # inf - inf: out of reach, then and now
                pace = (then - now) / (self._clock - clock)
                self.marks[now < AHEAD * WINDOW * pace] = TOUCHED

    def _end_window(self, now: Array) -> bool:
        """True where particles were dropped: most have left, or none has touched at all."""
        self._gaps = [*self._gaps[-1:], (self._clock, now)]
        self.marks[self.marks > GONE] -= 1
        near = self.marks > 0
        left = near & (self.marks <= LEFT)
        if not np.any(self.marks == TOUCHED - 1):
            left = near
        drops = bool(np.count_nonzero(left) > STALE * np.count_nonzero(near))
        if drops:
            self.marks[left] = 0
        return drops
