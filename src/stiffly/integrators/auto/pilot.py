"""Short runs on the user's own system: what a method's step costs, and how wrong it is.

Nothing that happens between steps (contact, yielding, moved attachments) takes place here: it would
leave traces in the system.  A step is compared with two of half its size; what they differ by is
the error of the longer one, up to a factor 2^p/(2^p - 1) for order p.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from ...contracts import Array, Integrator, State, Step, System
from ...errors import SimulationFailure
from ..runge_kutta import RungeKutta4
from ..verlet import Verlet
from .content import UNRELATED, Content, Scales, relative

BLOWN = 1e3  # times the size of the accelerations before: the step is unstable
WARY = 2.5  # times the error of rk4
FAILURES = (SimulationFailure, ValueError, ArithmeticError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Trial:
    """error_x, error_v: of one step of size h; seconds: of computing it; moved, speed: how far it
    goes and how fast it is; drift: phase that the method loses in a step where most of its error
    is, 0 where it is not known."""

    h: float
    error_x: float
    error_v: float
    seconds: float
    moved: float = 0.0
    speed: float = 0.0
    drift: float = 0.0

    def rates(self, horizon: float) -> tuple[float, float]:
        """Errors of x and v per second, where they come together over `horizon` seconds."""
        steps = horizon / self.h
        # a mode that has lost its phase is as wrong as it can be
        grown = min(1.0, UNRELATED / (self.drift * steps)) if self.drift > 0.0 else 1.0
        return grown * self.error_x / self.h, grown * self.error_v / self.h

    def error(self, horizon: float, scales: Scales) -> float:
        """Relative error to be expected after `horizon` seconds."""
        x, v = (horizon * rate for rate in self.rates(horizon))
        return relative((x, v), (max(scales[0], self.moved), max(scales[1], self.speed)))


def trial(system: System, method: Integrator, state: State, h: float) -> Trial:
    """One step against two halves; infinite errors where it fails."""
    lost = Trial(h, inf, inf, inf)
    try:
        with np.errstate(all="ignore"):
            whole, seconds = timed(lambda: one(system, method, state, h))
            first = one(system, method, state, 0.5 * h)
            half, again = timed(lambda: method.step(system, first.state, 0.5 * h, first.memory))
    except FAILURES:
        return lost
    share = 2.0**method.order / (2.0**method.order - 1.0)
    end, fine = whole.state, half.state
    off_x, off_v = (float(np.linalg.norm(a)) for a in (end.x - fine.x, end.v - fine.v))
    if not isfinite(off_x + off_v):
        return lost
    moved, speed = float(np.linalg.norm(fine.x - state.x)), float(np.linalg.norm(fine.v))
    speed = max(speed, float(np.linalg.norm(state.v)))
    drift = 0.0
    if isinstance(method, RungeKutta4):
        drift = (h * frequency(system, state, end.v - fine.v)) ** 5 / 120.0
    errors = share * off_x, share * off_v
    return Trial(h, *errors, min(seconds, again), moved, speed, drift)


def wary(method: Integrator) -> float:
    """rk4 loses energy, and with it its phase ever faster."""
    return WARY if isinstance(method, RungeKutta4) else 1.0


def apart(a: State, b: State, scales: Scales) -> float:
    """How much two states differ, relative."""
    off_x, off_v = (float(np.linalg.norm(d)) for d in (a.x - b.x, a.v - b.v))
    return relative((off_x, off_v), scales)


def frequency(system: System, state: State, w: Array) -> float:
    """At which w would swing, by its Rayleigh quotient [1/s]; 0 where that is negative."""
    square = float(np.dot(w, w))
    if not square > 0.0:
        return 0.0
    return sqrt(max(float(np.dot(w, system.tangent(state).stiffness.apply(w))) / square, 0.0))


def one(system: System, method: Integrator, state: State, h: float) -> Step:
    return method.step(system, state, h, method.start(system, state))


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = job()
    return result, time.perf_counter() - began


def explore(system: System, state: State, h: float, count: int) -> tuple[Content, float] | None:
    """What `count` steps of Verlet see of the motion, seconds per step; None where they explode."""
    method, memory, content = Verlet(), None, Content(state.x)
    accelerations: list[Any] = [system.acceleration(state)]
    states, total, most = [state], 0.0, 0.0
    with np.errstate(all="ignore"):
        for _ in range(count):
            began = time.perf_counter()
            taken = method.step(system, states[-1], h, memory)
            total += time.perf_counter() - began
            memory = taken.memory
            states = [*states[-1:], taken.state]
            accelerations = [*accelerations[-2:], memory.acceleration]
            size = float(np.dot(accelerations[-1], accelerations[-1]))
            if not isfinite(size) or (most > 0.0 and size > BLOWN**2 * most):
                return None
            most = max(most, size)
            if len(accelerations) == 3:
                content.add(states[0].x, states[0].v, accelerations, h, h)
    return content, total / count


def verlet_step(
    content: Content, limit: float, span: float, horizon: float, allowed: float, scales: Scales
) -> float:
    """The largest step up to `limit` whose error in `span` is expected to stay below `allowed`."""
    low, high = 1e-6 * limit, limit
    given = span, horizon, scales, content.modes()
    if content.verlet_error(high, *given) <= allowed:
        return high
    while high > 1.02 * low:
        middle = sqrt(low * high)
        if content.verlet_error(middle, *given) <= allowed:
            low = middle
        else:
            high = middle
    return low
