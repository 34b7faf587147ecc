"""Where a run comes from: versions, machine, options; and numbers as JSON can hold them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, BinaryIO

import numpy as np

from ..backends.cpu import processor
from ..errors import InputError
from .sums import renamed

PACKAGES = ("stiffly", "numpy", "scipy", "numba")
NAMED = (FunctionType, BuiltinFunctionType, type)


def versions(*more: str) -> dict[str, str]:
    """Of what decides about the last digits of a run, and of more packages."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    found["processor"] = processor()
    for package in (*PACKAGES, *more):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def provenance(given: Mapping[str, Any] | None, **known: Any) -> dict[str, Any]:
    """What a recording says about its origin; `given` by the user comes last, and so wins."""
    here = {
        "versions": versions(),
        "platform": platform.platform(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    try:
        return as_json({**known, **here, **(given or {})})
    except RecursionError:
        raise InputError("provenance is nested too deeply: give texts and numbers") from None


def as_json(value: Any) -> Any:
    """Plain lists and numbers; what is not finite becomes null, what JSON cannot hold its name."""
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [as_json(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def write_json(path: Path, content: Any) -> None:
    """All of it or nothing: a reader never sees half a file."""
    write_atomic(path, (json.dumps(as_json(content), indent=1) + "\n").encode())


def write_atomic(path: Path, *content: bytes) -> None:
    with replacing(path) as file:
        for piece in content:
            file.write(piece)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, and to read again: beside it first, onto the disk, then renamed in one
    go."""
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)  # of a kill; or a pipe, which would be waited for
    with open(beside, "x+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    renamed(beside, path)


# ------------------------------------------------------------------ the same system or another


def fingerprint(system: Any) -> str:
    """A digest of everything that a system was given: `system.given` (a System) or
    `system.equations` (a SecondOrder); of a piece, what it was built from; of others only the
    class and the size are looked at.

    Arrays count by their bytes, objects by class and attributes, functions by name: what a function
    does is not looked at.  Attributes that are computed on demand do not count.
    """
    if hasattr(system, "recipe"):
        return recipe_digest(system.recipe)
    others = (type(system), system.size)
    found: Any = getattr(system, "given", getattr(system, "equations", others))
    if hasattr(found, "backend"):
        found = found._replace(backend=found.backend.name)  # it may count, or keep what was asked
    return digest(found)


def digest(value: Any) -> str:
    """Of arrays, numbers, texts, and objects that are made of them."""
    found = hashlib.sha256()
    _add(found, set(), value)
    return found.hexdigest()


def recipe_digest(recipe: str) -> str:
    """Of a scene that is the same whether it is built in pieces or not; "" where none is told."""
    return hashlib.sha256(recipe.encode()).hexdigest() if recipe else ""


def _add(digest: Any, seen: set[int], value: Any) -> None:
    value = getattr(value, "py_func", value)  # numba's functions
    digest.update(type(value).__name__.encode() + b":")
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).ravel().view(np.uint8))  # no copy of it
    elif value is None or isinstance(value, (bool, int, float, str, bytes)):
        digest.update(repr(value).encode() + b";")
    elif isinstance(value, NAMED):
        digest.update(f"{value.__module__}.{value.__qualname__};".encode())
    elif isinstance(value, ModuleType):  # SciPy's splines keep the one of their arrays
        digest.update(f"{value.__name__};".encode())
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
    slots = [name for kind in kinds for name in vars(kind).get("__slots__", ())]
    names = sorted({*getattr(value, "__dict__", {}), *slots})
    return [(n, getattr(value, n, None)) for n in names if not _computed(type(value), n)]


def _computed(kind: type, name: str) -> bool:
    changing = getattr(kind, "changing", ())  # what a run writes: orders of a hand
    return name in changing or isinstance(getattr(kind, name, None), cached_property)
