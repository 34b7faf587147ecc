"""Kernels written once for all materials and compiled for each.

A kernel calls a material's functions by the slots below; `kernel[material]` is that kernel with
the slots filled, and with it every such kernel that it calls.  Functions go in as code, inlined:
a material costs no branch and no call, and loops over lanes stay vectorised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from types import FunctionType
from typing import Any

from .jit import copied, inlined, njit


class Slot:
    """Stands for a function that each material brings: the attribute of it at this path."""

    def __init__(self, path: str) -> None:
        self.of = attrgetter(path)

    def __call__(self, *_: Any) -> Any:
        raise TypeError("a slot is filled by kernel[material]")


energy, stress, tangent = Slot("energy"), Slot("stress"), Slot("tangent")
piola = Slot("piola")


class Choice(Slot):
    """Stands for the kernel that a material chooses."""

    def __init__(self, of: Callable[[Any], Any]) -> None:
        self.of = of


def for_material(make: Any = njit, **options: Any) -> Callable[[FunctionType], Template]:
    """make: `jit.both` and `jit.tasks` have threads, kernel[material][threaded](...)."""
    return partial(Template, make, options)


class Template:
    changing = ("_made",)  # no part of what a system is known by

    def __init__(self, make: Any, options: dict[str, Any], body: FunctionType) -> None:
        self._compile, self._options, self._body = make, options, body
        self._made: dict[Any, Any] = {}

    def __getitem__(self, material: Any) -> Any:
        if material not in self._made:
            self._made[material] = self._make(material)
        return self._made[material]

    def __call__(self, *_: Any) -> Any:
        raise TypeError("a kernel for materials is called as kernel[material]")

    def _make(self, material: Any) -> Any:
        known = self._body.__globals__
        open_names = [
            name
            for name in self._body.__code__.co_names
            if isinstance(known.get(name), Slot | Template)
        ]
        names = {name: _filled(known[name], material) for name in open_names}
        body = copied(self._body, material.name, names)
        # what others wrote may change without the cache's notice (see compiled.discard_stale)
        options = {"error_model": "numpy", "cache": material.built_in, **self._options}
        return self._compile(**options)(body)


def _filled(open_name: Slot | Template, material: Any) -> Any:
    found = open_name.of(material) if isinstance(open_name, Slot) else open_name
    if isinstance(found, Template):
        return found[material]
    return _inlined(found) if isinstance(found, FunctionType) else found


@cache
def _inlined(function: FunctionType) -> Any:
    return inlined(cache=False)(function)
