"""A function of Python's that a compiled loop calls on its way."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import types

from .quads import intrinsic

_NOTHING = ctypes.CFUNCTYPE(None)


@contextmanager
def callable_as(function: Callable[[], None] | None) -> Generator[int]:
    """The address for `call`, 0 where there is no function.  What it raises is raised at the end:
    until then it is called as often as if nothing were wrong, since others wait for it."""
    if function is None:
        yield 0
        return
    failures: list[BaseException] = []

    def called() -> None:
        try:
            function()
        except BaseException as failure:
            failures.append(failure)

    kept = _NOTHING(called)
    yield ctypes.cast(kept, ctypes.c_void_p).value or 0
    if failures:
        raise failures[0]


@intrinsic
def call(typing: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(builder.inttoptr(arguments[0], ir.PointerType(kind)), [])
        return context.get_dummy_value()

    return types.void(types.int64), generate
