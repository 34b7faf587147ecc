"""How much exports, plots and films take on: counted, and told before anything is written."""

from __future__ import annotations

from typing import Any

from ..arrays import real_number
from ..errors import InputError


def checked(name: str, most: Any) -> float:
    """A limit that a user gives: a number from 1 on."""
    found = real_number(name, most, "try 1e9")
    if not found >= 1.0:
        raise InputError(f"{name} must be 1 or more, got {found:g}: leave it out for the usual one")
    return found


def require_within(name: str, most: Any, count: float, what: str, remedy: str) -> None:
    """what: that comes to `count`; remedy: instead of a larger limit."""
    limit = checked(name, most)
    if count > limit:
        option = name.replace("_", "-")
        raise InputError(
            f"{what}: more than {name} = {limit:,.0f}; {remedy}, or give a larger one "
            f"(--{option}, {name}=)"
        )


def points(recording: Any) -> int:
    """Of all frames: particles, and those of a surface that is embedded in them."""
    skin = getattr(getattr(recording, "mesh", None), "skin", None)
    each = recording.positions.shape[1] + (0 if skin is None else len(skin.corners))
    return int(len(recording.times) * each)
