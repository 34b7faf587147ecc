"""One step after another: take it, judge it, book it, settle it; what all time loops share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from math import inf, isfinite
from typing import Any, cast

import numpy as np
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]

from ..accounting import work_within
from ..contracts import (
    Array,
    Away,
    Integrator,
    Power,
    Settled,
    Splitting,
    State,
    Step,
    System,
    Tableau,
    Work,
)
from ..errors import Diverged, InputError
from ..integrators.explicit import scheme_of, stretch
from ..integrators.halving import clear_step
from ..integrators.own import step_of
from ..integrators.restart import resumed
from ..kernels.cuda.crowd import Crowded
from ..recording.notes import FrameLog, StepLog
from ..recording.words import times
from .ledger import Balance

DIVERGENCE = 20.0  # numerical error against every energy seen at earlier frames
SHORT_STEPS = 4  # the order up to which steps are so short that Simpson's rule sums their work


@cache
def _pools() -> Any:
    """Of BLAS's threads; to look for them takes a millisecond, as long as a short run."""
    import_module("scipy.linalg")  # it has a BLAS of its own, which is found only once it is loaded
    return ThreadpoolController()


@contextmanager
def quiet() -> Generator[None]:
    """Overflow is judged by the stepper itself; BLAS has one thread.

    More of them slow the narrow products of a step down (exprb42 on 24,000 coordinates and 16
    cores: 0.154 s instead of 0.100 s), and an eigenbasis, which would gain, has other last digits
    with every number of them.
    """
    with (
        warnings.catch_warnings(),
        np.errstate(over="ignore", invalid="ignore"),
        _pools().limit(limits=1, user_api="blas"),
    ):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


class Stepper:
    """A method on a system, where it stands, and the books of its energy."""

    def __init__(
        self,
        system: System,
        method: Integrator,
        name: str,
        state: State,
        ledger: Balance,
        log: StepLog | FrameLog,
    ) -> None:
        self.system, self.method, self.name, self.state = system, method, name, state
        self.ledger, self.log = ledger, log
        self._lay_out()
        self.memory = method.start(system, state)
        self.work: Work = Work()
        self.steps = 0
        self.shortest, self.longest = inf, 0.0
        self.notes: Mapping[str, Any] = {}

    def _lay_out(self) -> None:
        """The body for the compiled loops, where the method has such: their last digits differ."""
        if scheme_of(self.method) is not None:
            getattr(self.system, "stretcher", None)

    @property
    def fixed(self) -> bool:
        """Steps have the size that was asked for; no controller chooses them."""
        return True

    def take(self, h: float, end: float) -> None:
        """One step of h seconds, which ends at `end`; a method that fails leaves no trace."""
        self._accept(self._try(h), [end])

    def _try(self, h: float) -> Step:
        try:
            if getattr(self.system, "guarded", False):
                taken = clear_step(self.method, self.system, self.state, h, self.memory)
            else:
                taken = step_of(self.method)(self.system, self.state, h, self.memory)
        except (ValueError, np.linalg.LinAlgError) as problem:
            # matrix functions refuse NaN as wrong input; inside a run it means the motion is lost
            if np.all(np.isfinite(self.system.force(self.state))):
                raise
            raise Diverged(
                f"the forces are no longer finite at t = {self.state.t:.4g} s; {self._remedy(h)}"
            ) from problem
        for own in (taken.state.x, taken.state.v):  # copies of other ranks' rows, to the last digit
            self.system.backend.halo(own)
        self._require_finite(taken, h)
        return taken

    def _require_finite(self, taken: Step, h: float) -> None:
        # one inner product sees every infinity and NaN in either vector (inf * 0 is NaN)
        new = taken.state
        product = new.kept.product() if isinstance(new, Away) else None
        if product is None:
            product = self.system.backend.dots([(new.x, new.v)])[0]
        if not isfinite(product):
            raise Diverged(self.lost(h, self.state.t))

    @cached_property
    def _chosen(self) -> tuple[Splitting | Tableau | None, str]:
        """What the method does, where it and the system both allow many steps at once; how steps
        are taken, for people."""
        scheme = scheme_of(self.method)
        if scheme is None:
            return None, "step by step"
        able: Any = getattr(self.system, "stretcher", "the equations are the user's own")
        if not hasattr(able, "steps"):
            return None, f"step by step: {able}"
        if self.fixed and (self.system.conservative or self.method.order <= SHORT_STEPS):
            return scheme, f"compiled stretches: {able.words}"
        return None, f"compiled steps: {able.words}"

    @property
    def way(self) -> str:
        return self._chosen[1]

    def take_all(self, h: float, ends: Array) -> None:
        """A step of h to each of the times `ends`, in one call; there is such a scheme."""
        scheme = cast("Splitting | Tableau", self._chosen[0])
        self._obey()
        try:
            taken = stretch(self.system, scheme, self.state, self.memory, h, ends)
        except Crowded:  # steps to be cut short, as only single ones are
            self._one_by_one(h, ends)
            return
        self._require_finite(taken, h)
        self.ledger.settle(cast("Power", taken.exchanged))
        self.shortest, self.longest = min(self.shortest, h), max(self.longest, h)
        self.state, self.memory, self.notes = taken.state, taken.memory, taken.notes
        self.work += taken.work
        self.steps += len(ends)
        self.log.add_all(ends.tolist(), taken.notes, h)

    def _one_by_one(self, h: float, ends: Array) -> None:
        if isinstance(self.state, Away):
            here = self.state.as_saved()
            saved = self.memory.as_saved()._replace(state=here)
            self.state, self.memory = here, saved
        for end in ends.tolist():
            self.take(h, end)

    def _obey(self) -> None:
        """What a user has asked for since the last steps."""
        obey = getattr(self.system, "obey", None)
        settled: Settled | None = None if obey is None else obey(self.state)
        if settled is not None:
            self.ledger.settle(settled)
            self.memory = resumed(self.method, self.system, settled.state, self.memory, settled)
            self.state = settled.state

    def _accept(self, taken: Step, ends: Sequence[float]) -> None:
        """ends: of every step that it stands for."""
        new, end = taken.state, ends[-1]
        # sums of h drift away from the frame times; what parts remember is not the method's
        if new.t != end or new.parts is not self.state.parts:
            new = self.state.moved(end, new.x, new.v)
        h = (end - self.state.t) / len(ends)
        if taken.exchanged is not None or not self.system.conservative:
            self.ledger.step(self.state, new, self._exchanged(taken, h))
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
        self.steps += len(ends)
        self.log.add_all(ends, {**taken.notes, **self.system.diagnostics(new)}, h)

    def _exchanged(self, taken: Step, h: float) -> Power | None:
        """What the method has summed, or what is seen on its way; None where it tells neither."""
        if taken.exchanged is not None or taken.between is None:
            return taken.exchanged
        within = taken.between()
        self.work += within.work
        return work_within(self.system, within.state, self.state.t, self.state.t + h)

    def book(self, state: State | None = None) -> float:
        """The energies of a frame; how many times the numerical error exceeds all before.

        state: one within a step, where it is not the one that the last step ended in.
        """
        growth = self.looked(self.ledger.frame, state)
        if self.steps == 0 and not isfinite(growth):
            raise InputError(
                "the energy at the start is not finite: check the size of x0 and v0, and potentials"
            )
        return growth

    def looked(self, look: Callable[[State], float], state: State | None = None) -> float:
        """What the books say to the state as it is, or to this one."""
        with np.errstate(over="ignore", invalid="ignore"):
            return look(self.state if state is None else state)

    def judge(self, growth: float) -> None:
        """Diverged, where the numerical error has left everything honest behind."""
        if growth > DIVERGENCE:
            raise Diverged(self.grown(growth, self.state.t))

    def lost(self, h: float, t: float) -> str:
        return (
            f"step {h:.4g} s diverged at t = {t:.4g} s: positions are no longer finite; "
            f"{self._remedy(h)}"
        )

    def grown(self, growth: float, t: float) -> str:
        h = self.longest
        return (
            f"step {h:.4g} s diverged at t = {t:.4g} s: the numerical error is {times(growth)} all "
            f"the energy there was before; {self._remedy(h)}"
        )

    def _remedy(self, h: float) -> str:
        if not self.fixed:
            return "try a smaller rtol, or energy-momentum with a fixed step"
        if self.method.adaptive:
            return f"try rtol=1e-3 (adaptive steps) or step={h / 4:.2g}"
        return f"try energy-momentum, step={h / 4:.2g}, or pexprb43 with rtol=1e-3 (adaptive steps)"
