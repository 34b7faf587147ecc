"""Threads that meet again and again inside of one compiled call.

A parallel loop of numba's wakes a team and puts it to sleep, which takes as long as the steps of
ten thousand springs.  Here the threads stay awake: each adds one to a counter when it arrives, and
looks at the counter until all have.  Whoever waits long lets others have the core, so that a busy
machine is slowed down but not stopped.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from .jit import njit
from .quads import intrinsic

_PATIENCE = 2000  # looks at the counter before others may have the core: some microseconds
_busy = Lock()
_GIVE_WAY = "SwitchToThread" if os.name == "nt" else "sched_yield"


def _pointer(context, builder, kind, array):
    return context.make_array(kind)(context, builder, array).data


@intrinsic
def arrive(typing, counter):
    """Adds one to counter[0] and returns what it was; what was written before is there for all who
    see it."""

    def generate(context, builder, signature, arguments):
        data = _pointer(context, builder, signature.args[0], arguments[0])
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(counter), generate


@intrinsic
def _seen(typing, counter):
    def generate(context, builder, signature, arguments):
        data = _pointer(context, builder, signature.args[0], arguments[0])
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counter), generate


@intrinsic
def _give_way(typing):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, _GIVE_WAY), [])
        return context.get_dummy_value()

    return types.void(), generate


@njit
def await_all(counter, target):
    """Until counter[0] has reached the target."""
    looks = 0
    while _seen(counter) < target:
        looks += 1
        if looks > _PATIENCE:
            _give_way()


@cache
def _team(size):
    return ThreadPoolExecutor(size, thread_name_prefix="stiffly")


def _begin_anew():
    """In a process that was forked: threads stay behind, and a lock may be held by one of them."""
    global _busy
    _team.cache_clear()
    _busy = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def team_size(tasks):
    """How many threads may share that many tasks."""
    return 1 if tasks <= 1 else min(numba.get_num_threads(), tasks)


def together(function, size, *arguments):
    """function(thread, size, counter, *arguments) in `size` threads at once; it lets go of the
    interpreter.  Bits do not depend on `size`: where the team is at work for somebody else, whose
    members would wait for each other with ours, it is done alone."""
    counter = np.zeros(1, dtype=np.int64)
    if size == 1 or not _busy.acquire(blocking=False):
        function(0, 1, counter, *arguments)
        return
    futures = []
    try:
        for thread in range(1, size):
            futures.append(_team(size - 1).submit(function, thread, size, counter, *arguments))
        function(0, size, counter, *arguments)
    except BaseException:
        counter[0] = 1 << 62  # nobody waits for who does not come
        raise
    finally:
        for future in futures:
            future.exception()
        _busy.release()
    for future in futures:
        future.result()
