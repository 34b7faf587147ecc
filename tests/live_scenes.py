"""Small scenes for the live simulation, and what tests of it have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stiffly import Gravity, Springs, System, scenes
from stiffly.scenes import Scene
from stiffly.view.settings import Settings
from stiffly.view.stage import Stage


def little_cloth(**parameters: Any) -> Scene:
    """7 x 7 particles hang from two corners, one of which is shaken."""
    return scenes.load("cloth", resolution=7, **parameters)


def made_up(system: System, x0: Any, v0: Any = None, **options: Any) -> Scene:
    """A scene of a system of the test's own."""
    x0 = np.asarray(x0, dtype=float)
    v0 = np.zeros_like(x0) if v0 is None else np.asarray(v0, dtype=float)
    given = {"step": 0.01, "duration": 10.0, "integrator": "energy-momentum", **options}
    return Scene("made-up", "", "", system, x0, v0, **given)


def pendulum(mass: float = 2.0, stiffness: float = 300.0, g: float = 9.81, **options: Any) -> Scene:
    """A mass on a spring of 1 m, held sideways at first."""
    parts = [Springs([[0, 1]], stiffness, 1.0), Gravity((0.0, 0.0, -g))]
    system = System(np.full(2, mass), parts, fixed=[0])
    return made_up(system, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], **options)


def drifting(mass: float = 2.0, **options: Any) -> Scene:
    """A single mass that nothing pulls at."""
    return made_up(
        System(np.array([mass]), [Gravity((0.0, 0.0, 0.0))]), np.zeros((1, 3)), **options
    )


def staged(scene: Scene, *integrators: str, **settings: Any) -> Stage:
    given = {**({"integrators": integrators} if integrators else {}), **settings}
    return Stage(scene, replace(Settings.of(scene), **given))


def frames(stage: Stage, count: int) -> list[Any]:
    return [stage.advance() for _ in range(count)]


def state(stage: Stage, lane: int = 0) -> Any:
    return stage.lanes[lane].stepper.state
