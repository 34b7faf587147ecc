"""The fifteen test cases of Michels, Sobottka & Weber (2014), Table II, and our scenes for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.scenes import Scene

from . import references
from .bench import Bench, Row
from .tight import Reference


@dataclass(frozen=True)
class GautschiCase:
    """A row: the paper's particles and seconds (None: it could not measure), and ours.

    method: which of the paper's integrators it used; size: parameters of its size, or as near as
    an experiment can afford; small: those of the body on which all methods meet the same error,
    for `duration` [s]; level: the error that the paper asks for, or the least that can be judged.
    """

    number: str
    model: str
    particles: int
    precomputed: float | None
    exponential: float
    implicit: float | None
    method: str
    scene: str
    duration: float
    size: Mapping[str, Any] = field(default_factory=dict)
    small: Mapping[str, Any] = field(default_factory=dict)
    level: float = 1e-4

    @property
    def name(self) -> str:
        return f"{self.number} {self.model}"

    def at_size(self, quick: bool) -> Scene:
        return self.reduced() if quick else scenes.load(self.scene, **self.size)

    def reduced(self) -> Scene:
        given = {**self._model(), **self.small, "duration": self.duration}
        return scenes.load(self.scene, small=True, **given)

    def _model(self) -> Row:
        """What of `size` is not a size: the law of springs, the model of elasticity."""
        return {k: v for k, v in self.size.items() if k in ("model", "law")}


def truth(case: GautschiCase, scene: Scene, bench: Bench, limit_s: float) -> Reference:
    """Independent of all methods; the pair of oscillators has a formula.

    limit_s: for one solution; Verlet, which stands in where there is contact, refines its steps
    until its time is over, and a tenth of that does.
    """
    limit_s = limit_s / 10.0 if scene.system.settles else limit_s
    if scene.solution is None:
        return references.solution(scene, bench, limit_s=limit_s)
    x, v = scene.solution(scene.duration)
    size, mass = float(np.linalg.norm(scene.x0)), scene.parameters["mass"]
    speed = size * float(np.sqrt(scene.parameters["ka"] / mass))
    return Reference(x, v, 1e-12, size, speed, 0.5 * mass * speed**2, "the analytic solution")


CASES = (
    GautschiCase("1", "Fermi-Pasta-Ulam", 2, 0.0, 0.0, 0.0, "eti", "oscillator-pair", 0.1),
    GautschiCase("2", "Electricity Pylon", 278, 0.185, 0.001, 0.160, "eti", "pylon", 0.5),
    GautschiCase(
        "3", "Spring", 1167, 0.702, 0.007, 0.679, "eti", "coil-spring", 0.5,
        {"vertices": 1164, "section": "3x4", "stiffness": 1e8}, {"vertices": 192},
    ),
    GautschiCase(
        "4", "Dome", 930, 0.637, 0.006, 0.576, "eti", "dome", 0.5, {},
        {"rings": 4, "around": 12, "border": 1e9},  # 1e12 leaves no digits to judge by
    ),
    GautschiCase(
        "5", "Armadillo", 14038, 7.183, 0.350, 38.332, "eti", "squats", 0.5, {},
        {"vertices": 150},
    ),
    GautschiCase(
        "6", "Dragon (NL)", 100_000, None, 3.916, 604.019, "neti", "dragon", 0.2,
        {"vertices": 12_000, "law": "cubic"}, level=1e-2,
    ),
    GautschiCase("7", "Twisting Beam (NL)", 650, None, 0.002, 0.084, "neti", "twisting-beam", 0.05),
    GautschiCase(
        "8", "Torus (NL)", 689, None, 0.002, 0.363, "neti", "tori", 0.045, {},
        {"drop": 0.005, "sections": 8}, level=1e-2,  # contact leaves no digits to judge 1e-4 by
    ),
    GautschiCase("9", "Rope", 80, 0.031, 0.0, 0.059, "eti", "rope", 0.25),
    GautschiCase(
        "10a", "Textile Hemisphere", 10_000, 4.180, 0.241, 32.362, "eti", "textile", 0.1, {},
        {"resolution": 10},
    ),
    GautschiCase(
        "10b", "Spinning Buddha (NL)", 10_000, None, 0.364, 35.598, "neti", "statue", 0.1, {},
        {"resolution": 10},
    ),
    GautschiCase("10c", "Aluminium Foil", 100, 0.046, 0.0, 0.062, "eti", "foil", 0.02),
    GautschiCase(
        "11", "Steel sphere", 954, None, 0.021, None, "neti", "steel-sphere", 0.0125, {},
        {"rings": 5, "segments": 8, "drop": 0.0005},
    ),
    GautschiCase(
        "12a", "Eiffeltower", 5000, 3.029, 0.127, None, "eti", "tower", 0.1,
        {"model": "linear"}, {"leg_levels": 3, "column_levels": 6},
    ),
    GautschiCase(
        "12b", "Eiffeltower (COROT)", 5000, 3.029, 0.382, None, "ceti", "tower", 0.1,
        {"model": "corotated"}, {"leg_levels": 3, "column_levels": 6},
    ),
)  # fmt: skip
