"""integrator="auto" without a step: a ladder of whole runs, the last of which is the run.

Consecutive runs are compared (rung.py); when two differ by less than rtol, the finer one is given.
In the last two steps shrink by 2^(1/p): at order p the difference then is the error of the finer
one.

Prices are counted, in forces, so that every machine climbs the same ladder.  The yardstick is what
Verlet needs at its stability limit: omega T / 2 forces, omega the frequency of the stiffest mode.

    linear            exprb2, which is exact, where eigenvectors are cheaper than that
    bear any step     energy-momentum, or bdf2 where forces depend on velocities: where trying them
                      costs a small share of it
    explicit          Verlet at its limit, which also tells how fast what moves; the phase that a
                      method loses at these frequencies tells which one will be the cheapest, and
                      in which steps
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from functools import partial
from math import ceil, inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array, Splitting, State, System, Tableau, Work
from ..errors import Diverged, NotConverged, SimulationFailure, StepTooSmall, StiffWarning
from ..integrators import integrator
from ..integrators.auto import Auto, for_step, seconds, stiffest
from ..integrators.explicit import amplification, scheme_of
from ..matfun import cost
from .control import Tolerance
from .rung import Plan, Rung, Spectrum

log = logging.getLogger("stiffly")

MARGIN = 0.85  # of rtol is allowed
SPARE = 1.15  # times as many steps as forecast: forecasts fall short
SAFE = 0.95  # of Verlet's limit
FEWEST = 8  # steps of a run
SHARE = 0.1  # of a price may go into trying another method
ORDER = 1.9  # that counts as 2
RUNGS = 16  # of a ladder; a quarter of them in vain are enough
TANGENT, PRODUCT, FACTOR = 3.0, 0.3, 100.0  # prices, in forces; a factor with its solves


def price(work: Work) -> float:
    """In forces."""
    algebra = TANGENT * work.tangents + FACTOR * work.factorizations
    return work.force_evaluations + algebra + PRODUCT * work.operator_products


class Candidate(NamedTuple):
    """A method, the order that it is trusted to have, forces that a step costs, and the steps of
    its first run (infinite: not before the spectrum is known)."""

    name: str
    method: Any  # an Integrator
    order: int
    each: float
    first: float

    @property
    def scheme(self) -> Splitting | Tableau | None:
        return scheme_of(self.method)

    @property
    def adaptive(self) -> bool:
        """Its steps are those that a tolerance makes: twice as many where that is 2^-p of it."""
        return bool(getattr(self.method, "estimate", False))

    @property
    def ratio(self) -> float:
        """Of the steps of two runs that are compared."""
        return 2.0 ** (1.0 / self.order)


class Climbed(NamedTuple):
    """A run: by which method, in how many steps between frames (in all, if frames are not given),
    its price, whether it
    exploded, and what it differs by from the one before; error: or may be wrong by."""

    name: str
    steps: int
    price: float
    lost: bool
    difference: float
    error: float


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
        self.bind, self.run = bind, run
        self.rtol, self.duration, self.span = rtol, duration, every or duration
        system, state = bind()
        self.facts = stiffest(system, state)
        self.settles, self.braked = system.settles, system.velocity_dependent
        self.fastest = 2.0 / (SAFE * self.facts.limit)  # that explicit steps have to bear [1/s]
        self.linear = self.facts.constant and _eigenvectors(system, state) < self.at_limit
        self.runs: list[Climbed] = []
        self.rung: Rung | None = None
        self.result: Any = None
        self.failure: SimulationFailure | None = None
        self.said: list[warnings.WarningMessage] = []
        self.best, self.stuck = inf, 0
        self.gain = 1.0  # of the error over what the spectrum tells

    @property
    def _spectrum(self) -> Spectrum | None:
        return None if self.rung is None else self.rung.spectrum

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
            warnings.warn(word.message, word.category, stacklevel=3)
        if not met:
            why = f"after {len(self.runs)} runs"
            if len(self.runs) < RUNGS:
                why = "and differences no longer fall: this motion is sensitive"
            text = f"auto: rtol = {self.rtol:g} was not met, the last two runs differ by "
            text += f"{self.rung.error:.2g}, {why}; try a larger rtol or a shorter run"
            warnings.warn(text, StiffWarning, stacklevel=3)
        return self.result

    # ------------------------------------------------------------------ methods

    def _any_step(self) -> bool:
        """Methods that bear any step, where trying them is cheap beside a run of Verlet."""
        if self.linear:
            tol = min(max(1e-3 * self.rtol, 1e-8), 1e-5)  # it must not be what limits
            return self._search([self._candidate("exprb2", 1.0, 1.0, tol=tol)])
        # a step is three iterations or so, each with a tangent and its factor
        name, each = "bdf2" if self.braked else "energy-momentum", 3.0 * (TANGENT + FACTOR)
        own = self._candidate(name, each, FEWEST)
        trial = self._cost(own)
        return (
            not self.settles
            and trial < SHARE * self.at_limit
            and self._search([own], budget=0.5 * self.at_limit)
        )

    def _explicit(self) -> list[Candidate]:
        if self.settles:  # nothing is smooth enough for high orders
            return [self._candidate(name, 0.0, inf) for name in ("verlet", "rk4")]
        names = ("rk4", "dop853") if self.braked else ("rkn6", "rkn86")
        fixed = [self._candidate(name, 0.0, inf) for name in ("verlet", names[0])]
        return [*fixed, self._candidate(names[1], 0.0, inf, estimate=True)]

    def _candidate(self, name: str, each: float, first: float, **options: Any) -> Candidate:
        """Where something acts between steps, no method is trusted beyond order 2."""
        method: Any = replace(integrator(name), **options)  # type: ignore[type-var]
        scheme = scheme_of(method)
        if scheme is not None:
            each = len(scheme.drifts) if isinstance(scheme, Splitting) else scheme.end
        order = min(method.order, 2) if self.settles else method.order
        return Candidate(name, method, order, each, first)

    # ------------------------------------------------------------------ runs

    def _search(self, among: list[Candidate], budget: float = inf) -> bool:
        """Runs of the candidate that promises to be the cheapest, until two agree; False where they
        do not, or where more than the budget will be needed."""
        while len(self.runs) < RUNGS and self.stuck < max(1, RUNGS // 4):
            prices = [self._cost(each) for each in among]
            own = among[int(np.argmin(prices))]
            if min(prices) > budget:
                break
            budget -= self._run(own, self._next(own))
            if self._agree(own):
                return True
            if self.failure is not None and budget < inf:
                break
        return False

    def _run(self, own: Candidate, steps: int) -> float:
        """Its price."""
        step, tolerance = self.span / steps, None
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

        if not self.runs or self.runs[-1].name != own.name:
            self.best, self.stuck = inf, 0
        again, self.failure = bool(self.runs), None
        with warnings.catch_warnings(record=True) as self.said:
            warnings.simplefilter("always")
            try:
                self.result = self.run(step, begin, again, rtol=self.rtol, auto=line)
            except (Diverged, NotConverged, StepTooSmall) as failure:
                self.failure = failure
        assert self.rung is not None
        paid, found = price(self.rung.work), (self.rung.difference, self.rung.error)
        lost = self.failure is not None or self.rung.energy_missed > 0.0
        self.runs.append(Climbed(own.name, steps, paid, lost, *found))
        self._judge(own)
        return paid

    def _judge(self, own: Candidate) -> None:
        """What the last run tells about the next ones."""
        assert self.rung is not None
        if self.runs[-1].lost and own.scheme is not None:
            self.fastest = max(self.fastest, 2.0 * self.runs[-1].steps / self.span) * self._retreat
        if not self._compared(own):
            return
        self.stuck = 0 if self.rung.error < self.best / sqrt(2.0) else self.stuck + 1
        self.best = min(self.best, self.rung.error)
        if own.scheme is not None and self._spectrum is not None and not own.adaptive:
            h = np.array([self.duration / self.rung.steps])
            told = float(self._spectrum.error(own.scheme, h, self.duration)[0])
            found = self.runs[-1].difference / (self._ratio**own.order - 1.0)
            self.gain = max(1.0, found / told) if told > 0.0 else 1.0

    def _compared(self, own: Candidate, count: int = 1) -> bool:
        """The last so many differences are those of this method's runs."""
        last = self.runs[-count - 1 :]
        known = all(run.difference < inf for run in last[1:])
        return len(last) == count + 1 and known and all(run.name == own.name for run in last)

    # ------------------------------------------------------------------ steps

    def _agree(self, own: Candidate) -> bool:
        """The last two runs differ by less than is allowed: at order q, steps shorter by r make a
        difference of r^q - 1 times the error.  Where something acts between steps, q is 1 until
        three runs have shown ORDER."""
        order = own.order
        if self.settles:
            order = ORDER if self._order_seen(own) else 1
        share = min(1.0, self._ratio**order - 1.0) if self._compared(own) else 1.0
        return self.runs[-1].error <= share * MARGIN * self.rtol

    def _order_seen(self, own: Candidate) -> bool:
        if not self._compared(own, 2):
            return False
        a, b, c = (run.steps**-ORDER for run in self.runs[-3:])
        return (b - c) * self.runs[-2].difference >= (a - b) * self.runs[-1].difference

    @property
    def _ratio(self) -> float:
        """Of the steps of the last two runs."""
        return self.runs[-1].steps / self.runs[-2].steps if len(self.runs) > 1 else 1.0

    def _needed(self, own: Candidate) -> float:
        """Steps, in all, of a run whose error will be small enough."""
        allowed, last = MARGIN * self.rtol, self.runs[-1] if self.runs else None
        if last is not None and last.name == own.name:
            steps = last.steps * self.duration / self.span
            if last.lost:
                return self._retreat * steps
            if self._compared(own):
                # where something acts between steps, the first two are taken at their word
                order = own.order if self._compared(own, 2) else own.method.order
                found = last.difference / (self._ratio**order - 1.0)
                return SPARE * steps * (max(found, self.rung.unseen) / allowed) ** (1.0 / order)
        if own.scheme is None:
            return own.first
        if self._spectrum is None:
            return self.at_limit if own.name == "verlet" else inf
        steps = FEWEST * 2.0 ** (np.arange(400) / 16.0)
        h = self.duration / steps
        longest = h * own.ratio / SPARE  # of the run before
        grown = steps * (amplification(own.scheme, longest * self.fastest) - 1.0)
        errors = self.gain * self._spectrum.error(own.scheme, h, self.duration)
        good = (grown < 1.0) & (errors <= allowed)
        return SPARE * float(steps[good][0]) if good.any() else inf

    @property
    def _retreat(self) -> float:
        """Times as many steps after a run that exploded."""
        return 2.0 if [run.lost for run in self.runs[-2:]] == [True, True] else sqrt(2.0)

    def _serves(self, own: Candidate) -> bool:
        """The last run may be compared with the next, which is the last that is needed."""
        return (
            bool(self.runs)
            and not self.runs[-1].lost
            and self.runs[-1].name == own.name
            and self._needed(own) * self.span / self.duration
            <= own.ratio**1.5 * self.runs[-1].steps
        )

    def _cost(self, own: Candidate) -> float:
        """Of the runs that are left, in forces; twice as much after each run in vain."""
        runs, each = 1.0 if self._serves(own) else 1.0 + 1.0 / own.ratio, own.each
        known = [run for run in self.runs if run.name == own.name and run.error < inf]
        if known:
            each = known[-1].price * self.span / self.duration / known[-1].steps
        if self.runs and self.runs[-1].name == own.name:
            runs *= 2.0**self.stuck
        return each * self._needed(own) * runs

    def _next(self, own: Candidate) -> int:
        """Steps of the next run: one that should agree with the last, or the first of two; by an
        odd number of steps, as implicit methods turn what is much faster over in each."""
        last = self.runs[-1].steps if self.runs and self.runs[-1].name == own.name else 0
        needed = self._needed(own) * self.span / self.duration
        if self._serves(own):
            count = ceil(max(needed, sqrt(own.ratio) * last))
        else:
            whole = self._spectrum is None or (last and self.runs[-1].lost)
            count = ceil(needed / (1.0 if whole else own.ratio))
        count = max(count, last + 1, 1)
        return count + (count - last + 1) % 2 if own.scheme is None and last else count


def _eigenvectors(system: System, state: State) -> float:
    """Their price, in forces."""
    A = system.tangent(state).stiffness
    return cost.eigenbasis(A) / (cost.product(A) / PRODUCT)
