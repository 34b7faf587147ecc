"""integrator="auto" without a step: a ladder of whole runs, the last of which is the run.

Consecutive runs are compared (rung.py); when two differ by less than rtol, the finer one is given.
Prices are counted, in forces, so that every machine climbs the same ladder.  The yardstick is what
Verlet needs at its stability limit: omega T / 2 forces, omega the frequency of the stiffest mode.

    linear            exprb2, which is exact, where eigenvectors are cheaper than that
    bear any step     energy-momentum, or bdf2 where forces depend on velocities: where trying them
                      costs a small share of it
    explicit          Verlet at its limit, which also tells how fast what moves; by the phase that
                      methods lose at these frequencies, the cheapest one and its steps are forecast
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from functools import partial
from math import ceil, inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array, Splitting, Work
from ..errors import (
    Diverged,
    NotConverged,
    SimulationFailure,
    StepTooSmall,
    StiffWarning,
    levels_up,
)
from ..integrators import integrator
from ..integrators.auto import Auto, for_step, seconds, stiffest
from ..integrators.explicit import amplification, scheme_of
from ..matfun import cost
from .control import Tolerance
from .rung import DIFFERENCES, Plan, Rung, Spectrum

log = logging.getLogger("stiffly")

SPARE = 1.15  # times as many steps as forecast, and rtol over what is allowed
SAFE = 0.95  # of Verlet's limit
SHARE = 0.1  # of a price may go into trying another method
ORDER = 1.9  # that counts as 2
RUNGS = 16  # of a ladder; a quarter of them in vain are enough
TANGENT, PRODUCT, FACTOR = 3.0, 0.3, 100.0  # prices, in forces; a factor with its solves
FEWEST = DIFFERENCES + 1  # steps of a run


def price(work: Work) -> float:
    """In forces."""
    algebra = TANGENT * work.tangents + FACTOR * work.factorizations
    return work.force_evaluations + algebra + PRODUCT * work.operator_products


class Candidate(NamedTuple):
    """A method, the order that it is trusted to have, its scheme where it is explicit, and forces
    that a step costs.  adaptive: a tolerance makes the steps, 2^-p of it twice as many."""

    name: str
    method: Any  # an Integrator
    order: int
    scheme: Any
    each: float
    adaptive: bool

    @property
    def ratio(self) -> float:
        """Of the steps of two runs that are compared: then the difference is the error."""
        return 2.0 ** (1.0 / self.order)


class Climbed(NamedTuple):
    """A run: its method, steps between frames (in all, if frames are not given), price, whether it
    exploded, what it differs by from the one before, and what both may have wrong."""

    name: str
    steps: int
    price: float
    lost: bool
    difference: float
    unseen: float

    @property
    def error(self) -> float:
        return max(self.difference, self.unseen)


def auto_run(
    bind: Any, auto: Auto, duration: float, step: float | None, every: float | None, run: Any
) -> Any:
    """bind() gives the system and its start; run(step, begin, again, rtol, auto) makes one whole
    run of the loop that begin(frames, recorder) gives."""
    if step is None:
        return Ladder(bind, auto.rtol, duration, every, run).climb()
    system, state = bind()
    method, line = for_step(system, state, step)
    log.warning(line)
    begin = partial(Rung, (system, state), plan=Plan(method, step, line))
    return run(step, begin, rtol=auto.rtol, auto=line)


class Ladder:
    """every: time between frames [s], where it is given; the others: see auto_run."""

    def __init__(
        self, bind: Any, rtol: float, duration: float, every: float | None, run: Any
    ) -> None:
        self.bind, self.run, self.rtol, self.duration = bind, run, rtol, duration
        self.spans = duration / (every or duration)
        system, state = bind()
        self.facts = stiffest(system, state)
        self.settles, self.braked = system.settles, system.velocity_dependent
        self.fastest = 2.0 / (SAFE * self.facts.limit)  # that explicit steps have to bear [1/s]
        self.linear = False
        if self.facts.constant:  # are eigenvectors cheaper than Verlet?
            A = system.tangent(state).stiffness
            self.linear = cost.eigenbasis(A) * PRODUCT < cost.product(A) * self.at_limit
        self.runs: list[Climbed] = []
        self.rung: Rung | None = None
        self.result: Any = None
        self.failure: SimulationFailure | None = None
        self.said: list[warnings.WarningMessage] = []
        self.best, self.stuck = inf, 0
        self.gain = 1.0  # of the error over what the spectrum tells

    @property
    def at_limit(self) -> float:
        """Steps of Verlet."""
        return max(FEWEST, 0.5 * self.duration * self.fastest)

    def climb(self) -> Any:
        """The run; it warns where no two agreed."""
        met = self._any_step() or self._search(self._explicit())
        if self.failure is not None:
            raise self.failure
        assert self.rung is not None
        log.warning(self.rung.report.lines[0])
        for word in self.said:
            warnings.warn(word.message, word.category, stacklevel=levels_up())
        if not met:
            why = f"after {len(self.runs)} runs"
            if len(self.runs) < RUNGS:
                why = "and differences no longer fall: this motion is sensitive"
            text = f"auto: rtol = {self.rtol:g} was not met, the last two runs differ by "
            text += f"{self.rung.error:.2g}, {why}; try a larger rtol or a shorter run"
            warnings.warn(text, StiffWarning, stacklevel=levels_up())
        return self.result

    # ------------------------------------------------------------------ methods

    def _any_step(self) -> bool:
        """Methods that bear any step, where trying them is cheap beside a run of Verlet."""
        if self.linear:
            tol = min(max(1e-3 * self.rtol, 1e-8), 1e-5)  # it must not be what limits
            return self._search([self._candidate("exprb2", tol=tol)])
        own = self._candidate("bdf2" if self.braked else "energy-momentum")
        small = not self.settles and self._cost(own) < SHARE * self.at_limit
        return small and self._search([own], budget=0.5 * self.at_limit)

    def _explicit(self) -> list[Candidate]:
        names = ("rk4", "dop853") if self.braked or self.settles else ("rkn6", "rkn86")
        fixed = [self._candidate(name) for name in ("verlet", names[0])]
        # where something acts between steps, nothing is smooth enough for high orders
        return fixed if self.settles else [*fixed, self._candidate(names[1], estimate=True)]

    def _candidate(self, name: str, **options: Any) -> Candidate:
        """Where something acts between steps, no method is trusted beyond order 2."""
        own: Any = integrator(name)
        method: Any = replace(own, **options)
        scheme, adaptive = scheme_of(method), "estimate" in options
        each = 3.0 * (TANGENT + FACTOR)  # three iterations or so
        if scheme is not None:
            each = len(scheme.drifts) if isinstance(scheme, Splitting) else scheme.end
        order = min(method.order, 2) if self.settles else method.order
        return Candidate(name, method, order, scheme, each, adaptive)

    # ------------------------------------------------------------------ runs

    def _search(self, among: list[Candidate], budget: float = inf) -> bool:
        """Runs of the candidate that promises to be the cheapest, until two agree; False where they
        do not, or where more than the budget will be needed."""
        while len(self.runs) < RUNGS and self.stuck < max(1, RUNGS // 4):
            if sum(run.lost for run in self.runs) >= RUNGS // 2 + 1:
                break
            prices = [self._cost(each) for each in among]
            own = among[int(np.argmin(prices))]
            if min(prices) > budget:
                break
            self._run(own, self._next(own))
            budget -= self.runs[-1].price
            if self._agree(own) and not (self.rung and self.rung.energy_missed):
                return True
            if self.failure is not None and budget < inf:
                break
        return False

    def _run(self, own: Candidate, steps: int) -> None:
        step, tolerance = self.duration / self.spans / steps, None
        line = f"auto: {own.name} at {seconds(step)}: h omega = {step * self.facts.omega:.2g}"
        if own.adaptive:  # the tolerance that its first run has is half of rtol
            before = next((run.steps for run in self.runs if run.name == own.name), steps)
            tolerance, step = Tolerance(0.5 * self.rtol * (before / steps) ** own.order), None
            line = f"auto: {own.name} at rtol {tolerance.rtol:.2g}: adaptive steps"
        below = None if self.rung is None else self.rung.report
        plan = Plan(own.method, step, line, tolerance, self.rtol, below, self._spectrum)

        def begin(frames: Array, recorder: Any) -> Rung:
            self.rung = Rung(self.bind(), frames, recorder, plan)
            return self.rung

        if self._last(own) is None:
            self.best, self.stuck = inf, 0
        again, self.failure = bool(self.runs), None
        with warnings.catch_warnings(record=True) as self.said:
            warnings.simplefilter("always")
            try:
                self.result = self.run(step, begin, again, rtol=self.rtol, auto=line)
            except (Diverged, NotConverged, StepTooSmall) as failure:
                self.failure = failure
        rung: Any = self.rung
        lost = self.failure is not None or not rung.sound
        found = price(rung.work), lost, rung.difference, rung.unseen
        self.runs.append(Climbed(own.name, steps, *found))
        self._learn(own)

    def _learn(self, own: Candidate) -> None:
        """What the last run tells about the next ones."""
        now = self.runs[-1]
        if now.lost and own.scheme is not None:
            tried = 2.0 * now.steps * self.spans / self.duration
            self.fastest = max(self.fastest, tried) * self._retreat
        if not self._compared(own):
            return
        self.stuck = 0 if now.error < self.best / sqrt(2.0) else self.stuck + 1
        self.best = min(self.best, now.error)
        if own.scheme is not None and self._spectrum is not None and not own.adaptive:
            h = np.array([self.duration / (now.steps * self.spans)])
            told = float(self._spectrum.error(own.scheme, h, self.duration)[0])
            found = now.difference / (self._ratio**own.order - 1.0)
            self.gain = max(1.0, found / told) if told > 0.0 else 1.0

    def _last(self, own: Candidate) -> Climbed | None:
        """The last run, if it was this method's."""
        return self.runs[-1] if self.runs and self.runs[-1].name == own.name else None

    def _compared(self, own: Candidate, count: int = 1) -> bool:
        """The last so many differences are those of this method's runs."""
        last = self.runs[-count - 1 :]
        known = all(run.difference < inf for run in last[1:])
        return len(last) == count + 1 and known and all(run.name == own.name for run in last)

    @property
    def _spectrum(self) -> Spectrum | None:
        return None if self.rung is None else self.rung.spectrum

    # ------------------------------------------------------------------ steps

    def _agree(self, own: Candidate) -> bool:
        """The last two runs differ by less than is allowed: at order q, steps shorter by r make a
        difference of r^q - 1 times the error.  Where something acts between steps, q is 1 until
        three runs have shown ORDER."""
        order: float = own.order
        if self.settles:
            order = 1.0
            if self._compared(own, 2):
                a, b, c = (run.steps**-ORDER for run in self.runs[-3:])
                fall = (b - c) * self.runs[-2].difference, (a - b) * self.runs[-1].difference
                order = ORDER if fall[0] >= fall[1] else 1.0
        share = min(1.0, self._ratio**order - 1.0) if self._compared(own) else 1.0
        return self.runs[-1].error <= share * self.rtol / SPARE

    @property
    def _ratio(self) -> float:
        """Of the steps of the last two runs."""
        return self.runs[-1].steps / self.runs[-2].steps if len(self.runs) > 1 else 1.0

    @property
    def _retreat(self) -> float:
        """Times as many steps after a run that exploded; more if those before it did, too."""
        return sqrt(2.0) ** sum(run.lost for run in self.runs[-4:])

    def _needed(self, own: Candidate) -> float:
        """Steps between frames of a run whose error will be small enough."""
        allowed, last = self.rtol / SPARE, self._last(own)
        if last is not None and last.lost:
            return self._retreat * last.steps
        if last is not None and self._compared(own):
            # first runs fall faster than the order that is trusted
            order = 0.5 * (own.order + own.method.order)
            error = max(last.difference / (self._ratio**order - 1.0), last.unseen)
            return SPARE * last.steps * (error / allowed) ** (1.0 / order)
        if own.scheme is None:
            return FEWEST / self.spans
        if self._spectrum is None:
            return (self.at_limit if own.name == "verlet" else inf) / self.spans
        steps = FEWEST * 2.0 ** (np.arange(400) / 16.0)
        h = self.duration / steps
        longest = h if last is not None else h * own.ratio / SPARE  # of the run before
        grown = steps * (amplification(own.scheme, longest * self.fastest) - 1.0)
        errors = self.gain * self._spectrum.error(own.scheme, h, self.duration)
        good = (grown < 1.0) & (errors <= allowed)
        tried = max(
            (own.ratio * run.steps for run in self.runs if run.name == own.name), default=0.0
        )
        forecast = SPARE * float(steps[good][0]) / self.spans if good.any() else inf
        return forecast if last is not None else max(forecast, tried)

    def _serves(self, own: Candidate) -> bool:
        """The last run may be compared with the next, which is the last that is needed."""
        last = self._last(own)
        if last is None or last.lost:
            return False
        return self._needed(own) <= own.ratio**1.5 * last.steps

    def _cost(self, own: Candidate) -> float:
        """Of the runs that are left, in forces; twice as much after each run in vain."""
        known = [run.price / run.steps for run in self.runs if run.name == own.name]
        each = known[-1] if known else own.each * self.spans
        runs = 1.0 if self._serves(own) else 1.0 + 1.0 / own.ratio
        return each * self._needed(own) * runs * 2.0 ** (self.stuck if self._last(own) else 0)

    def _next(self, own: Candidate) -> int:
        """Steps of the next run: one that should agree with the last, or the first of two; by an
        odd number of steps, as implicit methods turn what is much faster over in each."""
        last, needed = self._last(own), self._needed(own)
        before = 0 if last is None else last.steps
        if self._serves(own):
            count = ceil(max(needed, sqrt(own.ratio) * before))
        else:
            whole = self._spectrum is None or (last is not None and last.lost)
            count = ceil(needed if whole else needed / own.ratio)
        count = max(count, before + 1)
        return count + (count - before + 1) % 2 if own.scheme is None and before else count
