"""Guided lessons: what the page sets up, what to look at, and what must come of it.

A lesson is one TOML file beside this one:

    title, summary, scene (its small variant)
    [[page]]  text: a few sentences; look: what to look at; settings: as in view.settings, the rest
              is the scene's own; claims: what a run of these settings shows
    [[page.claims]]  lane, after [s], quantity, and `most` or `least`

Quantities of a lane: "swing", the largest kinetic energy of the last second against that of the
first; "numerical", the energy that is neither stored nor accounted for, against the largest kinetic
energy; "stopped", the time at which the method gave up [s].  The last page says what to try.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from ...errors import require_name
from ..settings import Settings

ENDING = ".toml"
NAMES = ("backward-euler", "verlet", "exponential-step", "energy-tracking", "stiff-and-soft")


@dataclass(frozen=True)
class Page:
    text: str
    look: str
    settings: Mapping[str, Any]
    claims: tuple[Mapping[str, Any], ...] = ()

    def applied(self, own: Settings) -> Settings:
        """own: what the scene itself says."""
        return replace(own, **self.settings)


@dataclass(frozen=True)
class Lesson:
    name: str
    title: str
    summary: str
    scene: str
    pages: tuple[Page, ...]


def lesson(name: str) -> Lesson:
    """InputError, with the nearest name, where there is none."""
    require_name("lesson", name, NAMES)
    return _read(name)


@cache
def _read(name: str) -> Lesson:
    text = (files(__name__) / f"{name}{ENDING}").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    pages = tuple(
        Page(_joined(p["text"]), _joined(p["look"]), p["settings"], tuple(p.get("claims", ())))
        for p in found["page"]
    )
    return Lesson(name, found["title"], found["summary"], found["scene"], pages)


def _joined(text: str) -> str:
    return " ".join(text.split())
