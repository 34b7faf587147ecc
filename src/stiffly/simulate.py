"""The one time loop: fixed or adaptive steps that land on frame times, with the energy ledger."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import ceil, isfinite
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .contracts import Array, Integrator, State, Step, System, Work
from .control import Controller, Tolerance
from .errors import (
    Diverged,
    InputError,
    NotConverged,
    SimulationFailure,
    StepTooSmall,
    StiffWarning,
)
from .integrators import integrator as find_integrator
from .kernels.cpu.compiled import announce
from .ledger import Ledger
from .recording.run import Run

DIVERGENCE = 20.0  # numerical error against every energy seen at earlier frames
FRAMES = 200  # recorded by default
BLAS_THREADS = 1000  # from this many coordinates on, BLAS may use its own threads
MOST_STEPS = 1e9
WORTH_A_WARNING = 0.05  # numerical error of fixed steps against the energy exchanged
SMALLEST = 1e-10  # of the duration: below this the controller gives up

Progress = Callable[[float, float, Work], None]  # t, duration, work so far


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
    loop = _Loop(bound, method, name, state, frames, h, tolerance, progress)
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


class _Loop:
    def __init__(
        self,
        system: System,
        method: Integrator,
        name: str,
        state: State,
        frames: Array,
        step: float | None,
        tolerance: Tolerance | None,
        progress: Progress | None,
    ) -> None:
        self.system, self.method, self.name = system, method, name
        self.state, self.frames, self.step = state, frames, step
        self.progress = progress
        self.ledger = Ledger(system)
        self.memory = method.start(system, state)
        self.work, self.steps = Work(), 0
        self.shortest, self.longest = np.inf, 0.0
        self.notes: Mapping[str, Any] = {}
        self.positions: list[Array] = []
        self.velocities: list[Array] = []
        self.controller: Controller | None = None
        self.began = time.perf_counter()
        if tolerance is not None:
            shape = np.asarray(system.positions(state))
            order = max(1, method.order - 1) if len(getattr(method, "nodes", ())) > 1 else 2
            self.controller = Controller.begin(tolerance, order, shape, state.x, frames[-1])
            self.h = step if step is not None else 1e-3 * float(frames[-1])

    def run(self) -> Run:
        self._record()
        advance = self._advance_fixed if self.controller is None else self._advance_adaptive
        try:
            with self._quiet():
                for target in self.frames[1:]:
                    advance(float(target))
                    self._record()
                    if self.progress is not None:
                        self.progress(self.state.t, float(self.frames[-1]), self.work)
        except SimulationFailure as failure:
            failure.run = self._result()
            raise
        result = self._result()
        self._warn(result)
        return result

    def _warn(self, result: Run) -> None:
        """Energy that a step of fixed size invented, or lost where the method should not."""
        # a body that only flies and spins exchanges nothing: then its motion is the yardstick
        exchanged = max(result.energy.exchanged, float(result.energy.kinetic.max()))
        numerical = result.energy.numerical
        damps = getattr(self.method, "dissipative", False)  # bdf1, bdf2: losing is their nature
        worst = float(numerical.max() if damps else np.abs(numerical).max())
        if self.controller is None and worst > WORTH_A_WARNING * exchanged:
            warnings.warn(
                f"{self.name}: numerical error up to {worst:.3g} J, {worst / exchanged:.0%} of the "
                f"energy exchanged; {self._remedy(self.longest)}",
                StiffWarning,
                stacklevel=4,
            )

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Overflow is judged by the loop itself; small dense algebra is faster on one thread."""
        threads = 1 if self.system.size < BLAS_THREADS else None
        with (
            warnings.catch_warnings(),
            np.errstate(over="ignore", invalid="ignore"),
            threadpool_limits(limits=threads, user_api="blas"),
        ):
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            yield

    def _advance_fixed(self, target: float) -> None:
        start = self.state.t
        span, regular = target - start, float(self.frames[1] - self.frames[0])
        if abs(span - regular) <= 1e-9 * regular:
            span = regular  # the same bits in every step: what is kept for a step size stays valid
        count = max(1, ceil(span / self.step * (1.0 - 1e-9)))  # type: ignore[operator]  # fixed
        h = span / count
        for i in range(count):
            taken = self._try(h)
            end = target if i == count - 1 else start + (i + 1) * h
            self._accept(taken, end)

    def _advance_adaptive(self, target: float) -> None:
        controller = self.controller
        assert controller is not None
        while self.state.t < target:
            left = target - self.state.t
            # land on the frame without leaving a sliver behind
            h = left if left <= 1.0001 * self.h else min(self.h, 0.5 * left)
            try:
                taken = self._try(h)
                assert taken.error is not None
                good, factor, controller = controller.judge(self.state, taken.state, taken.error)
                extra = Work(rejected_steps=0 if good else 1)
            except (Diverged, NotConverged):  # too far for the linearisation: undo, go shorter
                good, factor, taken, extra = False, 0.25, None, Work(rejected_steps=1)
            if good and taken is not None:
                self._accept(taken, target if h == left else taken.state.t)
                self.h = max(self.h, factor * h) if h < 0.9 * self.h else factor * h
            else:
                self.work += extra if taken is None else taken.work + extra
                self.h = factor * h
            if self.h < SMALLEST * self.frames[-1]:
                raise StepTooSmall(
                    f"the step fell below {self.h:.1e} s at t = {self.state.t:.4g} s: rtol cannot "
                    "be met; try a larger rtol, or check the forces for jumps"
                )
        self.controller = controller

    def _try(self, h: float) -> Step:
        try:
            taken = self.method.step(self.system, self.state, h, self.memory)
        except (ValueError, np.linalg.LinAlgError) as problem:
            # matrix functions refuse NaN as wrong input; inside a run it means the motion is lost
            if np.all(np.isfinite(self.system.force(self.state))):
                raise
            raise Diverged(
                f"the forces are no longer finite at t = {self.state.t:.4g} s; {self._remedy(h)}"
            ) from problem
        # one inner product sees every infinity and NaN in either vector (inf * 0 is NaN)
        if not isfinite(taken.state.x.dot(taken.state.v)):
            raise Diverged(
                f"step {h:.4g} s diverged at t = {self.state.t:.4g} s: positions are no longer "
                f"finite; {self._remedy(h)}"
            )
        return taken

    def _accept(self, taken: Step, end: float) -> None:
        new = taken.state
        if new.t != end:  # sums of h drift away from the frame times
            new = State(end, new.x, new.v)
        if not self.system.conservative:
            self.ledger.step(self.state, new)
        h = end - self.state.t
        memory = taken.memory
        if self.system.settles:
            settled = self.system.settle(new, h)
            self.ledger.settle(settled)
            new = settled.state
            if settled.added or settled.dissipated:  # other forces or velocities than remembered
                memory = self.method.start(self.system, new)
        if h < self.shortest:
            self.shortest = h
        if h > self.longest:
            self.longest = h
        self.state, self.memory, self.notes = new, memory, taken.notes
        self.work += taken.work
        self.steps += 1

    def _record(self) -> None:
        growth = self.ledger.frame(self.state)
        self.positions.append(np.array(self.system.positions(self.state)))
        self.velocities.append(np.array(self.system.velocities(self.state)))
        if growth > DIVERGENCE:
            h = self.longest
            raise Diverged(
                f"step {h:.4g} s diverged at t = {self.state.t:.4g} s: the numerical error is "
                f"{growth:.3g} times all honest energy before; {self._remedy(h)}"
            )

    def _remedy(self, h: float) -> str:
        if self.controller is None and self.method.adaptive:
            return f"try rtol=1e-3 (adaptive steps) or step={h / 4:.2g}"
        return f"try step={h / 4:.2g}, or pexprb43 with rtol=1e-3 (adaptive steps)"

    def _result(self) -> Run:
        stats: dict[str, Any] = {"steps": self.steps, **self.work._asdict()}
        if self.steps:
            stats["smallest_step"], stats["largest_step"] = (
                float(self.shortest),
                float(self.longest),
            )
        if "method" in self.notes:
            stats["matrix_functions"] = self.notes["method"]
        return Run(
            integrator=self.name,
            step=self.step,
            times=np.array(self.ledger.times),
            positions=np.array(self.positions),
            velocities=np.array(self.velocities),
            energy=self.ledger.history(),
            stats=stats,
            wall_seconds=time.perf_counter() - self.began,
        )
