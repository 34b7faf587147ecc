"""What a user may turn at a method without building it: iterations, tolerance, budget, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .stabilised import Stabilised
from .wrapped import iterates


def offered(method: Any) -> frozenset[str]:
    """Which of 'iterations', 'tolerance', 'budget' and 'max_products' the method has."""
    if isinstance(method, Stabilised):
        # a correction by Newton's method takes as long as it takes
        timed = iterates(method.base) and iterates(method.dissipate)
        inner = {name for name in offered(method.base) if name != "budget"}
        return frozenset(["tolerance", *inner, *["budget"] * timed])
    if iterates(method):
        return frozenset(["iterations", "budget"])
    limited = ["max_products"] * hasattr(method, "max_products")
    return frozenset([*["budget"] * getattr(method, "timed", False), *limited])


def configured(method: Any, **given: Any) -> Any:
    """The method with these options, where it has them; None leaves one as it is."""
    wanted = {k: v for k, v in given.items() if v is not None and k in offered(method)}
    if not wanted:
        return method
    if isinstance(method, Stabilised):
        names = ("iterations", "max_products")
        inner = {name: wanted.pop(name) for name in names if name in wanted}
        return replace(method, base=configured(method.base, **inner), **wanted)
    if iterates(method):
        return replace(method, solver=replace(method.solver, **wanted))
    return replace(method, **wanted)
