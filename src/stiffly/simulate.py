"""The door to the time loop: reads and checks what the user asks for."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, isfinite
from typing import Any

import numpy as np

from .contracts import Array, Integrator
from .control import Tolerance
from .errors import InputError
from .integrators import integrator as find_integrator
from .kernels.cpu.compiled import announce
from .loop import Loop, Progress
from .recording.run import Run

FRAMES = 200  # recorded by default
MOST_STEPS = 1e9


def _number(name: str, value: Any, remedy: str = "give a number") -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, got {value!r}: {remedy}") from None


def _positive(name: str, value: Any, remedy: str) -> float:
    number = _number(name, value, remedy)
    if not isfinite(number) or number <= 0.0:
        raise InputError(f"{name} must be positive and finite, got {value}: {remedy}")
    return number


def _frame_times(duration: float, every: float) -> Array:
    count = max(1, int(duration / every * (1.0 + 1e-12)))
    times = np.arange(count + 1) * every
    if duration - times[-1] > 1e-9 * duration:
        times = np.append(times, duration)
    times[-1] = duration
    return times


def simulate(
    system: Any,
    x0: Any = None,
    v0: Any = None,
    *,
    integrator: str | Integrator | None = None,
    step: float | None = None,
    duration: float | None = None,
    every: float | None = None,
    rtol: float | None = None,
    atol: float = 0.0,
    progress: Progress | None = None,
) -> Run:
    """Move a system from x0, v0 through `duration` seconds.

    system: a System, a SecondOrder, or a scene (which brings x0, v0, step, duration, integrator).
    integrator: a name from `integrators.NAMES` or an integrator object; default exprb42.
    step: size of a fixed step [s]; frames are met exactly, so the step taken is the largest one
    not above `step` that divides the time between frames.
    rtol: choose the step by the embedded error instead (exprb32, exprb42, pexprb43, epirk4s3);
    `step` is then the first one tried, and no step is longer than the time between frames.
    every: seconds between recorded frames; default: about 200 frames.
    Raises InputError before any work, Diverged / NotConverged / StepTooSmall with `.run` holding
    the frames up to there.
    """
    if hasattr(system, "system"):  # a scene
        scene = system
        system = scene.system
        x0 = scene.x0 if x0 is None else x0
        v0 = scene.v0 if v0 is None else v0
        step = scene.step if step is None and rtol is None else step
        duration = scene.duration if duration is None else duration
        integrator = scene.integrator if integrator is None else integrator
    name = integrator if isinstance(integrator, str) else None
    method = find_integrator("exprb42" if integrator is None else integrator)
    name = name or ("exprb42" if integrator is None else _label(method))
    if duration is None:
        raise InputError("duration is missing: give the seconds to simulate, e.g. duration=10")
    total = _positive("duration", duration, "give the seconds to simulate, e.g. duration=10")
    h = None if step is None else _positive("step", step, "try step=0.01")
    if h is not None and total / h > MOST_STEPS:
        raise InputError(f"step {h:g} s means {total / h:.1e} steps: choose a larger one")
    tolerance = None
    if rtol is not None:
        tolerance = Tolerance(_number("rtol", rtol, "try 1e-3"), _number("atol", atol))
    if every is not None:
        every = min(total, _positive("every", every, "try every=1/30"))
    method = _configured(method, name, h, tolerance)
    if not hasattr(system, "bind"):
        raise InputError(
            f"{type(system).__name__} is no system: give a stiffly.System, a SecondOrder or a scene"
        )
    if x0 is None:
        raise InputError("x0 is missing: give the initial positions")
    announce()
    bound, state = system.bind(x0, v0)
    if every is None:
        # whole steps between frames: the step that was asked for is the step that is taken
        steps = FRAMES if h is None else max(1, ceil(total / h * (1.0 - 1e-12)))
        every = ceil(steps / FRAMES) * total / steps
    frames = _frame_times(total, every)
    loop = Loop(bound, method, name, state, frames, h, tolerance, progress)
    return loop.run()


def _label(method: Integrator) -> str:
    return str(getattr(method, "name", None) or type(method).__name__)


def _configured(
    method: Integrator, name: str, step: float | None, tolerance: Tolerance | None
) -> Integrator:
    if tolerance is None:
        if step is None:
            raise InputError("step is missing: give step=0.01 (fixed) or rtol=1e-3 (adaptive)")
        return method
    if not method.adaptive:
        raise InputError(
            f"{name} has no error estimate: rtol works with exprb32, exprb42, pexprb43, epirk4s3; "
            "give step= instead"
        )
    # the matrix functions must not be what limits the accuracy
    tol = min(getattr(method, "tol", 1e-8), 1e-2 * tolerance.rtol)
    # adaptive integrators are dataclasses with these fields, which the protocol does not say
    return replace(method, estimate=True, tol=max(tol, 1e-12))  # type: ignore[type-var]
