"""The decorator of every kernel: it touches arrays only, so other Python threads run meanwhile.

A page that draws while the simulation computes would else wait for every kernel; letting go and
taking back costs 60 ns a call.  Two threads may compute at once, each on arrays of its own; numba's
last resort for teams of threads, `workqueue`, does not allow that and ends the program.

A team of threads pays 1.9x on two idle cores, from loops of 10 us on.  But when other programs use
the cores every parallel region waits for a thread to be scheduled (10 to 16 ms measured, against
0.2 ms for the loop itself on 8000 particles).  So loops that are entered hundreds of times a step
are watched (`Both.watched`): what threads lose against the loop without them is added up, and they
rest for so long that this stays a small share of the run.  All others have threads only where the
serial loop takes about a millisecond.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from math import inf
from time import perf_counter
from types import FunctionType
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_name
from numba import config, prange
from numba.core.codegen import get_host_cpu_features

PARALLEL_ROWS = 16384  # particles or elements from which a loop is worth a team of threads
WATCHED_ROWS = 2048  # ... where somebody watches what they lose: 50 us of serial work
CHUNK = 128  # rows of a task
PATIENCE = 5e-3  # seconds lost to threads before they rest ...
REST = 20.0  # ... that many times as long: they cost at most a twentieth

njit = partial(numba.njit, nogil=True, cache=True)


def _of_this_process() -> bool:
    """Whether kernels are kept for this process alone: where neither the folder of these files nor
    the user's can be written to, numba refuses to compile what is to be kept."""
    try:
        njit(_one)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="stiffly-kernels-")
        config.CACHE_DIR = folder  # type: ignore[attr-defined]
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return True
    return False


def _one(task: int, *arguments: Any) -> None: ...  # stands for the body of a loop over tasks


FLEETING = _of_this_process()
strict = partial(njit, error_model="numpy")  # 1/0 is infinite, without a test for it
inlined = partial(strict, forceinline=True)


def both(**options: Any) -> Callable[[FunctionType], Both]:
    """Compiles one body, a loop over `prange`, without threads and with them."""
    return partial(Both, options)


class Both:
    """kernel[threaded](...): with a team of threads where `threaded` is true.

    kernel.watched(rows, passes, ...): with threads while they gain.  Only for bodies that have the
    same bits either way, since a clock decides.
    """

    def __init__(self, options: dict[str, Any], body: FunctionType) -> None:
        self.serial = njit(**options)(body)
        self.parallel = njit(**options, parallel=True)(copied(body, "parallel"))
        self._tried, self._loaded = 0, False  # calls without threads; whether one had them
        self._pace, self._lost, self._rests_until = inf, 0.0, 0.0

    def __getitem__(self, threaded: Any) -> Any:
        return self.parallel if threaded else self.serial

    def watched(self, rows: int, passes: int, *arguments: Any) -> None:
        """rows: dealt to threads in every one of so many passes."""
        if rows < WATCHED_ROWS:
            self.serial(*arguments)
            return
        work, start = rows * passes, perf_counter()
        threaded = self._tried > 1 and start >= self._rests_until
        (self.parallel if threaded else self.serial)(*arguments)
        took = perf_counter() - start
        if not threaded:  # the first time it is loaded; later systems may have longer rows
            self._tried += 1
            self._pace = min(1.1 * self._pace, took / work)
        elif self._loaded:
            self._judge(start + took, took - self._pace * work)
        self._loaded = self._loaded or threaded

    def _judge(self, now: float, lost: float) -> None:
        self._lost = max(0.0, self._lost + lost)
        if self._lost > PATIENCE:
            self._rests_until, self._lost = now + REST * self._lost, 0.0


@njit
def chunks(rows):
    """How many tasks of CHUNK rows there are."""
    return (rows + CHUNK - 1) // CHUNK


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


@cache
def processor() -> str:
    """What kernels are compiled for, as numba's cache tells: vectors and fused multiply-adds decide
    in which order sums are made, and virtual machines of one processor may hide some of them."""
    kind, features = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    features = get_host_cpu_features() if features is None else features
    digest = hashlib.sha256(features.encode()).hexdigest()[:8]
    return f"{kind or get_host_cpu_name()} (features {digest})"
