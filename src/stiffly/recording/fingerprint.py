"""Whether two systems are the same one: a digest of everything that they were given.

Arrays count by their bytes, objects by class and attributes, functions by name: what a function
does is not looked at.  Attributes that are computed on demand do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property, partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

NAMED = (FunctionType, BuiltinFunctionType, type)


def fingerprint(system: Any) -> str:
    """Of `system.given` (a System) or `system.equations` (a SecondOrder); of others only the class
    and the size are looked at."""
    digest, seen = hashlib.sha256(), set()
    others = (type(system), system.size)
    found: Any = getattr(system, "given", getattr(system, "equations", others))
    if hasattr(found, "backend"):
        found = found._replace(backend=found.backend.name)  # it may count, or keep what was asked
    _add(digest, seen, found)
    return digest.hexdigest()


def _add(digest: Any, seen: set[int], value: Any) -> None:
    value = getattr(value, "py_func", value)  # numba's functions
    digest.update(type(value).__name__.encode() + b":")
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        digest.update(
            f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        )
    elif value is None or isinstance(value, (bool, int, float, str, bytes)):
        digest.update(repr(value).encode() + b";")
    elif isinstance(value, NAMED):
        digest.update(f"{value.__module__}.{value.__qualname__};".encode())
    elif id(value) not in seen:
        seen.add(id(value))  # all of them stay alive while their system does
        for name, item in _contents(value):
            digest.update(name.encode() + b"=")
            _add(digest, seen, item)


def _contents(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(repr(key), item) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [(str(k), item) for k, item in enumerate(value)]
    if isinstance(value, partial):
        return [("func", value.func), ("args", value.args), ("keywords", value.keywords)]
    if isinstance(value, MethodType):
        return [("self", value.__self__), ("func", value.__func__)]
    kinds = type(value).__mro__
    slots = [name for kind in kinds for name in getattr(kind, "__slots__", ())]
    names = sorted({*getattr(value, "__dict__", {}), *slots})
    return [(n, getattr(value, n, None)) for n in names if not _computed(type(value), n)]


def _computed(kind: type, name: str) -> bool:
    changing = getattr(kind, "changing", ())  # what a run writes: orders of a hand
    return name in changing or isinstance(getattr(kind, name, None), cached_property)
