"""The decorator of every kernel: it touches arrays only, so other Python threads run meanwhile.

A page that draws while the simulation computes would else wait for every kernel; letting go and
taking back costs 60 ns a call.  Two threads may compute at once, each on arrays of its own; numba's
last resort for teams of threads, `workqueue`, does not allow that and ends the program.

A team of threads pays 1.9x on two idle cores, but when other programs use the cores every parallel
region waits for a thread to be scheduled (16 ms measured, against 0.3 ms for the loop itself on
8000 particles).  So threads start where the serial loop takes about a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numba
from numba import prange

PARALLEL_ROWS = 16384  # particles or elements from which a loop is worth a team of threads

njit = partial(numba.njit, nogil=True, cache=True)
strict = partial(njit, error_model="numpy")  # 1/0 is infinite, without a test for it
inlined = partial(strict, forceinline=True)


def both(**options: Any) -> Callable[[FunctionType], Both]:
    """Compiles one body, a loop over `prange`, without threads and with them."""
    return partial(Both, options)


class Both:
    """kernel[threaded](...): with a team of threads where `threaded` is true."""

    def __init__(self, options: dict[str, Any], body: FunctionType) -> None:
        self.serial = njit(**options)(body)
        self.parallel = njit(**options, parallel=True)(copied(body, "parallel"))

    def __getitem__(self, threaded: Any) -> Any:
        return self.parallel if threaded else self.serial


def tasks(**options: Any) -> Callable[[FunctionType], Both]:
    """Of a body (task, ...): kernel[threaded](count, ...) does the tasks 0 .. count - 1.

    The body is compiled by itself, so that it has the same bits in both loops, also where
    multiply-adds are fused.  Arguments are arrays and numbers (numba takes no tuple in a tuple).
    """
    return partial(_tasks, options)


def _tasks(options: dict[str, Any], body: FunctionType) -> Both:
    label = f"{body.__module__}.{body.__qualname__}"
    loop = copied(_all, label, {"_one": njit(**options)(body)})
    return Both({"cache": options.get("cache", True)}, loop)


def _one(task: int, *arguments: Any) -> None: ...  # stands for the body


def _all(count: int, *arguments: Any) -> None:
    for task in prange(count):
        _one(task, *arguments)


def copied(function: FunctionType, label: str, names: dict[str, Any] | None = None) -> FunctionType:
    """The same function under another name, with `names` in place of its own global ones.

    numba's cache on disk tells functions apart by file, line and qualified name: two versions of
    one name would overwrite each other there.
    """
    seen = {**function.__globals__, **names} if names else function.__globals__
    copy = FunctionType(function.__code__, seen, function.__name__, function.__defaults__)
    copy.__qualname__ = f"{function.__qualname__}.{label}"
    return copy
