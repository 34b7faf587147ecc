"""Checks of what solvers are told: one line with the cause and the remedy."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from ..errors import InputError


def check_tolerance(where: str, value: Any) -> None:
    """A number between 0 and 1, both excluded."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise InputError(f"{where}: tolerance = {value!r}: give a number between 0 and 1")


def check_count(where: str, name: str, value: Any) -> None:
    """A whole number, 1 or more."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(f"{where}: {name} = {value!r}: give a whole number, 1 or more")


def check_solver(where: str, value: Any) -> None:
    """An object that solves equations, not its class or its name."""
    if isinstance(value, type) or not all(
        hasattr(value, name) for name in ("solve", "prefix", "remedy", "extrapolates")
    ):
        raise InputError(f"{where}: solver = {value!r}: give Newton() or LocalGlobal()")
