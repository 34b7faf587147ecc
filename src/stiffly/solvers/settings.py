"""What solvers are told: checks, one line each with the cause and the remedy; and a budget of time:
work in pieces until it is up.  What is cut short is the number of pieces, never one."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from ..arrays import real_number
from ..errors import InputError

Clock = Callable[[], float]  # seconds, from any moment on
CLOCK: Clock = time.perf_counter
MOST = 10**12  # iterations


def check_tolerance(where: str, value: Any) -> None:
    """A number between 0 and 1, both excluded."""
    if not _is_share(value) or value == 0:
        raise InputError(f"{where}: tolerance = {_shown(value)}: give a number between 0 and 1")


def check_share(where: str, name: str, value: Any) -> None:
    """A number from 0 to below 1."""
    if not _is_share(value):
        raise InputError(f"{where}: {name} = {_shown(value)}: give a number from 0 to below 1")


def _is_share(value: Any) -> bool:
    kind: Any = Real  # which types say cannot be compared
    return isinstance(value, kind) and not isinstance(value, bool) and bool(0 <= value < 1)


def _shown(value: Any) -> str:
    """Python writes no integer of more than 4,300 digits."""
    huge = isinstance(value, Integral) and abs(int(value)) > MOST
    return f"more than {MOST:.0e}" if huge else repr(value)


def check_count(where: str, name: str, value: Any) -> None:
    """A whole number, 1 or more, and not more than a machine could count to."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= int(value) <= MOST:
        raise InputError(f"{where}: {name} = {_shown(value)}: give a whole number, 1 or more")


def check_solver(where: str, value: Any) -> None:
    """An object that solves equations, not its class or its name."""
    if isinstance(value, type) or not all(
        hasattr(value, name) for name in ("solve", "prefix", "remedy", "extrapolates")
    ):
        raise InputError(f"{where}: solver = {value!r}: give Newton() or LocalGlobal()")


def check_budget(where: str, seconds: Any) -> None:
    """None, or a positive number of seconds."""
    if seconds is None:
        return
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not (number and real_number(f"{where}: budget", seconds, "give seconds") > 0.0):
        raise InputError(f"{where}: budget = {seconds!r}: give seconds to compute, or None")


class Pace:
    """Runs from now on, for so many seconds (None: for ever, and no clock is looked at)."""

    def __init__(self, seconds: float | None, clock: Clock = CLOCK) -> None:
        self._seconds, self._clock = seconds, clock
        if seconds is not None:
            self._begin = self._last = clock()

    def left(self) -> float:
        """Seconds, below zero where they are used up."""
        if self._seconds is None:
            return float("inf")
        return self._seconds - (self._clock() - self._begin)

    def once(self) -> None:
        """What was done since the last piece will not come again."""
        if self._seconds is not None:
            self._last = self._clock()

    def more(self) -> bool:
        """A piece is done: is there time for another that takes as long?"""
        if self._seconds is None:
            return True
        now = self._clock()
        took, self._last = now - self._last, now
        return self._seconds - (now - self._begin) >= took
