"""Where a lane is computed: on the host, or on a card, which takes Verlet's steps in the place of
`realtime`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

from ..bodies import System
from ..contracts import Integrator, Splitting, State
from ..errors import InputError
from ..integrators.explicit import Verlet
from ..run.devices import check_device, on_card
from ..run.limit import longest_step
from ..scenes import Scene
from .settings import Settings

CHOOSE = ("realtime", "realtime-midpoint", "auto")  # methods that find out how to step themselves
SAFE = 0.7  # of the longest stable step, which is found to a few percent, on a body that moves

log = logging.getLogger("stiffly.view")


@dataclass(frozen=True)
class Substeps(Verlet):
    """What `realtime` is on a card: Verlet's steps, as many to each step of the page as are stable.

    A card takes a hundred of them in the time that a processor needs to solve one equation."""

    splitting: ClassVar[Splitting] = Verlet.splitting

    def within(self, system: Any, state: State, h: float) -> int:
        """How many to a step of h [s]."""
        return max(1, ceil(h / (SAFE * longest_step(system, state))))


def started(
    scene: Scene, name: str, settings: Settings, device: str
) -> tuple[System, State, Integrator]:
    """The body at the scene's start, and what takes its steps, where the device is; auto: on the
    CPU where a card cannot.  InputError where there are no particles in space to show."""
    if not isinstance(scene.system, System):
        raise InputError(
            f"{scene.name} has no particles in space to show: use stiffly run {scene.name}, then "
            "stiffly plot"
        )
    if device != "cpu":
        method: Any = Substeps() if name in CHOOSE else settings.method(name)
        try:
            check_device(device)
            bound, state = on_card(device, scene.system, scene.x0, scene.v0, method, name)
            return bound, state, method
        except InputError as lack:
            if device != "auto":
                raise
            log.warning(f"device auto: {name} on the CPU, since {lack}")
    return *scene.system.bind(scene.x0, scene.v0), settings.method(name)
