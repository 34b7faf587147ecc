"""`auto`: what the stiffest mode of a system is, and the method for a step that is given.

How run/auto.py finds the step as well is said there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import real_number
from ..contracts import Array, Integrator, Rayleigh, Settled, State, Step, System
from ..errors import InputError
from ..matfun.bounds import estimate, largest_ritz_value
from .energy_momentum import EnergyMomentum
from .explicit import Verlet
from .exponential_rosenbrock import ExponentialRosenbrock
from .restart import resumed

RTOL, LEAST = 1e-2, 1e-15  # below, two runs would have to agree to the last bit
MOST_STEPS = 1e9  # of a run, whichever method takes them
PRODUCTS = 16  # for the largest frequency: Lanczos or power steps


class Chosen(NamedTuple):
    """The method that was taken, its own memory, and why it was."""

    method: Integrator
    memory: Any
    line: str


@dataclass(frozen=True)
class Auto:
    """rtol: wanted relative error at the end of the motion, of positions and of velocities.
    max_steps: of one run of its ladder; where stability alone asks for more, it is refused.

    `simulate` finds the step as well (run/auto.py); in a loop that has its own step, the method is
    chosen at the first one, and kept.
    """

    rtol: float = RTOL
    max_steps: float = MOST_STEPS

    name: ClassVar[str] = "auto"
    order: ClassVar[int] = 2  # at least
    adaptive: ClassVar[bool] = True  # takes an rtol

    def __post_init__(self) -> None:
        if not 0.0 < real_number("auto: rtol", self.rtol, "try 1e-2") < 1.0:
            raise InputError(f"auto: rtol must lie between 0 and 1, got {self.rtol}: try 1e-2")
        if self.rtol < LEAST:
            raise InputError(f"auto: rtol = {self.rtol:g} is less than rounding: try 1e-2")
        if not real_number("auto: max_steps", self.max_steps, "try 1e6") >= 1.0:
            raise InputError(f"auto: max_steps must be 1 or more, got {self.max_steps}: try 1e6")

    def start(self, system: System, state: State) -> None:
        return None

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        if memory is None:
            return None
        own = resumed(memory.method, system, state, memory.memory, settled)
        return memory._replace(memory=own)

    def step(self, system: System, state: State, h: float, memory: Chosen | None) -> Step:
        if memory is None:
            method, line = for_step(system, state, h)
            memory = Chosen(method, method.start(system, state), line)
        taken = memory.method.step(system, state, h, memory.memory)
        kept = memory._replace(memory=taken.memory)
        return Step(taken.state, kept, taken.work, None, taken.notes, taken.exchanged)


class Stiffest(NamedTuple):
    """omega: largest frequency [1/s]; limit: Verlet's longest stable step [s]; constant: the
    stiffness is."""

    omega: float
    limit: float
    constant: bool


def stiffest(system: System, state: State) -> Stiffest:
    """At this state, by a tangent and a few products."""
    tangent = system.tangent(state)
    stiffness, damping = tangent.stiffness, tangent.damping
    if tangent.symmetric and hasattr(stiffness, "dot"):
        omega = sqrt(max(estimate(stiffness, PRODUCTS)[0].high, 0.0))
    else:
        omega = sqrt(_largest(stiffness, system.size))
    if isinstance(damping, Rayleigh):
        rate = abs(damping.alpha) + abs(damping.beta) * omega**2
    else:
        rate = 0.0 if damping is None else max(_largest(damping, system.size), viscous_rate(system))
    return Stiffest(omega, verlet_limit(omega, rate), bool(tangent.constant))


def verlet_limit(omega: float, rate: float) -> float:
    """Verlet's longest stable step h [s] for x'' = -omega^2 x - rate x'.  Forces of velocity are
    taken at a predicted one: (h omega / 2)^2 + h rate = 1."""
    found = rate + hypot(rate, omega)
    return 2.0 / found if found > 0.0 else inf


def viscous_rate(system: Any) -> float:
    """The largest rate [1/s] at which Rayleigh's damping takes velocities, or a little less."""
    viscosity = getattr(system, "viscosity", None)
    if viscosity is None or not system.damping.beta:
        return 0.0 if viscosity is None else system.damping.alpha
    return largest_ritz_value(viscosity.operator(), PRODUCTS)


def _largest(operator: Any, size: int) -> float:
    """The largest |eigenvalue|, by power iteration from a start that favours none."""
    b: Array = np.cos(np.arange(1.0, size + 1.0))
    for _ in range(PRODUCTS + 1):
        norm = float(np.sqrt(np.sum(b * b)))
        if not 0.0 < norm < inf:
            return 0.0
        b = np.asarray(operator.apply(b / norm))
    return norm


def for_step(system: System, state: State, h: float) -> tuple[Integrator, str]:
    """The method for a step h [s], by the radians of the stiffest mode in it, and why."""
    found = stiffest(system, state)
    name: str = "energy-momentum"
    method: Any = EnergyMomentum()
    if found.constant:
        name, method = "exprb2", ExponentialRosenbrock(nodes=())
    elif h <= 0.5 * found.limit:  # what gets stiffer on the way, up to four times, stays stable
        name, method = "verlet", Verlet()
    return method, f"auto: {name} at {seconds(h)}: h omega = {h * found.omega:.2g}"


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
