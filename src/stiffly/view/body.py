"""The body of a lane: a system bound to a scene's start, or one that goes on where another was.

A changed system (stiffer, heavier, more damped) takes over positions, velocities and time, and
what its parts remember: springs that have yielded, points that are tied, contacts.  Supports and
attachments that move go on where they are at that time, since they start from the scene's own
positions.
"""

from __future__ import annotations

from ..bodies import System
from ..contracts import State
from ..errors import InputError
from ..scenes import Scene


def begun(scene: Scene) -> tuple[System, State]:
    """At the scene's start; InputError where there are no particles in space to show."""
    if not isinstance(scene.system, System):
        raise InputError(
            f"{scene.name} has no particles in space to show: use stiffly run {scene.name}, then "
            "stiffly plot"
        )
    return scene.system.bind(scene.x0, scene.v0)


def continued(scene: Scene, state: State) -> tuple[System, State]:
    """The scene's system, in the state that another one is in now."""
    body, _ = begun(scene)
    return body, body.taken_over(state)
