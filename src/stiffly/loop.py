"""The one time loop: steps that land on frame times, the energy ledger, and what went wrong."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil, isfinite, nan
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
from .integrators.restart import resumed
from .kernels.cpu import column_dot
from .ledger import Ledger
from .recording.run import Run

DIVERGENCE = 20.0  # numerical error against every energy seen at earlier frames
BLAS_THREADS = 1000  # from this many coordinates on, BLAS may use its own threads
WORTH_A_WARNING = 0.05  # numerical error of fixed steps against the energy exchanged
SMALLEST = 1e-10  # of the duration: below this the controller gives up

Progress = Callable[[float, float, Work], None]  # t, duration, work so far


class StepLog:
    """Numbers that steps say about themselves: one value per step, NaN where there was none."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.series: dict[str, list[float]] = {}

    def add(self, t: float, notes: Mapping[str, Any]) -> None:
        count = len(self.times)
        self.times.append(t)
        for name, value in notes.items():
            if isinstance(value, str):
                continue
            series = self.series.setdefault(name, [])
            series.extend([nan] * (count - len(series)))
            series.append(float(value))

    def arrays(self) -> dict[str, Array]:
        """t [s] at the end of each step, and every series in full length."""
        count = len(self.times)
        padded = {n: s + [nan] * (count - len(s)) for n, s in self.series.items()}
        return {"t": np.array(self.times), **{n: np.array(s) for n, s in padded.items()}}


class Loop:
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
        self.log = StepLog()
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
        self._warn_of_energy(result)
        self._warn_of_solves()

    def _warn_of_energy(self, result: Run) -> None:
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
                stacklevel=5,
            )

    def _warn_of_solves(self) -> None:
        """Steps whose equations were left unsolved by more than the method thinks right."""
        count = int(np.nansum(self.log.series.get("under_solved", [0.0])))
        if count:
            worst = np.nanmax(self.log.series.get("residual", [nan]))
            remedy = getattr(self.method, "remedy", "try a smaller step")
            warnings.warn(
                f"{self.name}: {count} of {self.steps} steps were not solved well enough "
                f"(relative residual up to {worst:.2g}); {remedy}",
                StiffWarning,
                stacklevel=5,
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
        if not isfinite(column_dot(taken.state.x, taken.state.v)):
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
            self.ledger.step(self.state, new, taken.exchanged)
        h = end - self.state.t
        memory = taken.memory
        if self.system.settles:
            settled = self.system.settle(new, h)
            self.ledger.settle(settled)
            if settled.changed:
                memory = resumed(self.method, self.system, settled.state, memory, settled)
            new = settled.state
        if h < self.shortest:
            self.shortest = h
        if h > self.longest:
            self.longest = h
        self.state, self.memory, self.notes = new, memory, taken.notes
        self.work += taken.work
        self.steps += 1
        self.log.add(new.t, {**taken.notes, **self.system.diagnostics(new)})

    def _record(self) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            growth = self.ledger.frame(self.state)
        if self.steps == 0 and not isfinite(growth):
            raise InputError(
                "the energy at the start is not finite: check the size of x0 and v0, and potentials"
            )
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
        return f"try energy-momentum, step={h / 4:.2g}, or pexprb43 with rtol=1e-3 (adaptive steps)"

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
            diagnostics=self.log.arrays(),
            wall_seconds=time.perf_counter() - self.began,
        )
