"""Shapes for `Scene.add`: `shapes.cloth(30, 30, spacing=0.02)` is the table

    shape = { kind = "cloth", nx = 30, ny = 30, spacing = 0.02 }

of a scene file, checked when it is made.  The functions are those of `stiffly.meshes`, and
`shapes.particles(positions, edges=())`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from ..errors import InputError, unknown_name
from .schema.errors import translated
from .schema.shapes import KINDS, ROOTS, SEGMENTS, Shape, function_of, signature_of
from .schema.source import Source

NAMES = tuple(kind.replace("-", "_") for kind in KINDS)


def plain(value: Any) -> Any:
    """What TOML has: lists, numbers, texts; NumPy's own and tuples become those."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return {key: plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def _particles(positions: Any, edges: Any = ()) -> None:
    """Particles one by one, and pairs of them, counted from 0."""


@cache
def _maker(kind: str) -> Callable[..., Shape]:
    function = _particles if kind == "particles" else function_of(kind)
    known, name = signature_of(function), f"shapes.{kind.replace('-', '_')}"

    @wraps(function)
    def make(*args: Any, **keys: Any) -> Shape:
        more = {SEGMENTS: keys.pop(SEGMENTS)} if kind in ROOTS and SEGMENTS in keys else {}
        try:
            given = {**known.bind(*args, **keys).arguments, **more}
        except TypeError as problem:
            raise InputError(f"{name}: {problem}: it takes {', '.join(known.parameters)}") from None
        data = {"kind": kind, **plain(given)}
        try:
            return KINDS[kind].model_validate(data)
        except ValidationError as problem:
            raise translated(Source(Path(name), "", data), KINDS[kind], problem) from None

    return make


def __getattr__(name: str) -> Callable[..., Shape]:
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in NAMES:
        raise AttributeError(str(unknown_name("shape", name, NAMES)))
    return _maker(name.replace("_", "-"))


def __dir__() -> list[str]:
    return sorted(NAMES)
