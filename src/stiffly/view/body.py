"""The body of a lane: a system bound to a scene's start, or one that goes on where another was.

A changed system (stiffer, heavier, more damped) takes over positions, velocities and time, and
what its parts remember: springs that have yielded, points that are tied, contacts.  Supports and
attachments that move go on where they are at that time, since they start from the scene's own
positions.  What a part cannot take over it finds again, as at the beginning of a run: where
shapes are, and what is near them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..bodies import System
from ..contracts import State
from ..errors import InputError
from ..scenes import Scene
from ..system.assembly import Assembly


def begun(scene: Scene) -> tuple[System, State]:
    """At the scene's start; InputError where there are no particles in space to show."""
    if not isinstance(scene.system, System):
        raise InputError(
            f"{scene.name} has no particles in space to show: use stiffly run {scene.name}, then "
            "stiffly plot"
        )
    return scene.system.bind(scene.x0, scene.v0)


def continued(scene: Scene, old: System, state: State) -> System:
    """The scene's system, in the state that the old one is in now."""
    body, _ = begun(scene)
    x, v = body.positions(state), body.velocities(state)
    for part, before in _pairs(body.assembly, old.assembly):
        if before is not None and hasattr(part, "take_over"):
            part.take_over(before)
        elif hasattr(part, "begin"):
            part.begin(state.t, x, v)
    return body


def remember(memory: Assembly | None, assembly: Assembly) -> Assembly | None:
    """A copy of what the parts remember, into an older copy where there is one; None: nothing."""
    if memory is None:
        if not any(hasattr(part, "take_over") for _, part in assembly.parts):
            return None
        memory = assembly.fresh()
    for part, now in _pairs(memory, assembly):
        if hasattr(part, "take_over"):
            part.take_over(now)
    return memory


def _pairs(new: Assembly, old: Assembly) -> Iterator[tuple[Any, Any]]:
    """Every prepared part, and the same one in the old assembly (None: there was none)."""
    before: list[Any] = list(old.parts)
    for name, part in new.parts:
        same = (i for i, (n, p) in enumerate(before) if n == name and type(p) is type(part))
        place = next(same, None)
        yield part, None if place is None else before.pop(place)[1]
