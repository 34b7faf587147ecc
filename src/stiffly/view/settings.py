"""What the user of a live page can change while a simulation runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from ..contracts import Integrator
from ..errors import InputError
from ..integrators import integrator, options
from ..scenes import Scene
from ..scenes.adjust import adjusted, own_damping, own_gravity, own_wind

FRAMES = 30  # per second of real time
MOST_LANES = 3
MOST_STEPS = 100_000  # of one frame
LONGEST = 3600.0  # [s] of real time until the next frame
BUDGETS = 1e-6, 1e3  # [s]
LASTS = 10.0  # [s] of real time, for scenes that are over in less than a second,
SMOOTH = 15  # where that leaves so many frames per second: a frame is a step at least


@dataclass(frozen=True)
class Settings:
    """integrators: 1 to 3 names, one lane each; step [s].

    speed: simulated seconds per real second.  stiffness: times the scene's own.  damping:
    Rayleigh's beta [s].  gravity [m/s^2] and wind [m/s], along the scene's own direction, 0 where
    it has none.  tolerance: of stabilised methods.  iterations: of local/global solves.  budget
    [s]: of physics for one frame; None: as long as it takes.
    """

    integrators: tuple[str, ...]
    step: float
    speed: float = 1.0
    stiffness: float = 1.0
    damping: float = 0.0
    gravity: float = 9.81
    wind: float = 0.0
    tolerance: float = 0.01
    iterations: int = 10
    budget: float | None = None

    def __post_init__(self) -> None:
        names = self.integrators
        if not isinstance(names, (tuple, list)) or not 1 <= len(names) <= MOST_LANES:
            raise InputError(f"give 1 to {MOST_LANES} integrators, one for each lane")
        object.__setattr__(self, "integrators", tuple(map(str, names)))
        for name in ("step", "speed", "stiffness"):
            _require(name, getattr(self, name), strictly=True)
        for name in ("damping", "gravity", "wind"):
            _require(name, getattr(self, name))
        _require("tolerance", self.tolerance, strictly=True, most=1.0)
        _require("iterations", self.iterations, strictly=True, most=1e6)
        if self.iterations != int(self.iterations):
            raise InputError(f"iterations = {self.iterations}: give a whole number, such as 10")
        object.__setattr__(self, "iterations", int(self.iterations))
        if self.budget is not None:
            _require("budget", self.budget, *BUDGETS)
        self._check_frames()

    def _check_frames(self) -> None:
        """Neither too many steps in a frame, nor a step that nobody would wait for."""
        if self.speed / FRAMES / self.step > MOST_STEPS:
            raise InputError(
                f"step {self.step:g} s at speed {self.speed:g} means more than {MOST_STEPS:,} "
                "steps in a frame: choose a larger step, or a lower speed"
            )
        if self.step / self.speed > LONGEST:
            raise InputError(
                f"step {self.step:g} s at speed {self.speed:g} means that a frame stays for more "
                "than an hour: choose a smaller step, or a higher speed"
            )

    @classmethod
    def of(cls, scene: Scene) -> Settings:
        """What the scene itself says."""
        method = dict(scene.method)
        budget = method.pop("budget", None)  # of a step
        own = cls(
            integrators=(scene.integrator,),
            step=scene.step,
            speed=_own_speed(scene),
            damping=own_damping(scene),
            gravity=own_gravity(scene),
            wind=own_wind(scene),
            **method,
        )
        return own if budget is None else replace(own, budget=budget * own.steps)

    @property
    def steps(self) -> int:
        """Of one frame, at full speed."""
        return max(1, round(self.speed / FRAMES / self.step))

    @property
    def frame_time(self) -> float:
        """Simulated seconds of one frame."""
        return self.step * self.steps

    @property
    def options(self) -> dict[str, Any]:
        """Of methods: iterations, tolerance, and the budget [s] of one step in one lane."""
        share = None if self.budget is None else self.budget / self.steps / len(self.integrators)
        return {"iterations": self.iterations, "tolerance": self.tolerance, "budget": share}

    def adjusted(self, scene: Scene) -> Scene:
        """The scene with this stiffness, damping, gravity and wind; itself where they are its
        own."""
        return adjusted(scene, self.stiffness, self.damping, self.gravity, self.wind)

    def options_of(self, name: str) -> dict[str, Any]:
        """Those that the method has: lanes share the controls."""
        known = options(name)
        return {k: v for k, v in sorted(self.options.items()) if k in known and v is not None}

    def method(self, name: str) -> Integrator:
        """The integrator of that name, as these settings want it."""
        return integrator(name, **self.options_of(name))


def _own_speed(scene: Scene) -> float:
    if scene.duration >= 1.0:
        return 1.0
    return min(1.0, max(scene.duration / LASTS, SMOOTH * scene.step))


def _require(
    name: str, value: Any, least: float = 0.0, most: float = inf, *, strictly: bool = False
) -> None:
    limit = f"more than {least:g}" if strictly else f"{least:g} or more"
    limit += "" if most == inf else f", at most {most:g}"
    wrong = InputError(f"{name} = {value}: give a number, {limit}")
    if isinstance(value, (str, bool)):
        raise wrong
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    low = number <= least if strictly else number < least
    if not isfinite(number) or low or number > most:
        raise wrong
