"""Settings in an address: `?scene=cloth&small=1&integrators=realtime,bdf1&step=0.01`, and as a
command that gives them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ..errors import InputError, unknown_name
from ..integrators import options
from .settings import Settings

SCENE, SMALL, METHODS, NO_BUDGET = "scene", "small", "integrators", "none"
NUMBERS = tuple(field.name for field in fields(Settings) if field.name != METHODS)
KEYS = (SCENE, SMALL, METHODS, *NUMBERS)


class Wish(NamedTuple):
    """What an address asks for: a scene, its small variant or not, and values of settings."""

    scene: str
    small: bool
    values: Mapping[str, Any]

    def settings(self, own: Settings) -> Settings:
        """own: what the scene itself says."""
        return replace(own, **self.values)


def query(scene: str, small: bool, now: Settings, own: Settings) -> str:
    """The part of an address that asks for this; own: what the scene itself says."""
    pairs = {SCENE: scene, SMALL: str(int(small))}
    if now.integrators != own.integrators:
        pairs[METHODS] = ",".join(now.integrators)
    for name in NUMBERS:
        value = getattr(now, name)
        if value != getattr(own, name):
            pairs[name] = NO_BUDGET if value is None else repr(value)
    return urlencode(pairs, safe=":,")


def wish(pairs: Mapping[str, str]) -> Wish | None:
    """What the pairs of an address ask for; None where they name no scene.  InputError for what
    cannot be meant."""
    given = {key: value for key, value in pairs.items() if key in KEYS}
    if SCENE not in given:
        return None
    for key in pairs:
        if key not in (*KEYS, "token"):
            raise unknown_name("setting in the link", key, KEYS)
    small = given.get(SMALL, "0")
    if small not in ("0", "1"):
        raise InputError(f"small={small} in the link: give 1 or 0")
    values: dict[str, Any] = {name: _number(name, given[name]) for name in NUMBERS if name in given}
    if METHODS in given:
        values[METHODS] = tuple(given[METHODS].split(","))
    return Wish(given[SCENE], small == "1", values)


def _number(name: str, text: str) -> float | int | None:
    if name == "budget" and text == NO_BUDGET:
        return None
    try:
        return int(text) if name == "iterations" else float(text)
    except ValueError:
        raise InputError(f"{name}={text} in the link: give a number") from None


def command(scene: str, small: bool, now: Settings, own: Settings, device: str = "cpu") -> str:
    """`stiffly view ...` that begins with these settings."""
    words = ["stiffly", "view", scene, *["--small"] * small]
    if device != "cpu":
        words += ["--device", device]
    if now.integrators != own.integrators:
        words += [word for name in now.integrators for word in ("--integrator", name)]
    if now.step != own.step:
        words += ["--step", f"{now.step:.6g}"]
    if now.budget is not None and now.budget != own.budget:
        words += ["--budget", f"{1e3 * now.budget:.6g}"]
    known = frozenset().union(*map(options, now.integrators))
    for table, names in (
        ("adjust", ("stiffness", "damping", "gravity", "wind")),
        ("method", [name for name in ("tolerance", "iterations") if name in known]),
    ):
        for name in names:
            if getattr(now, name) != getattr(own, name):
                words += ["--set", f"{table}.{name}={getattr(now, name):.6g}"]
    return shlex.join(words)
