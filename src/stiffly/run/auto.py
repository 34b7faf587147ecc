"""integrator="auto" without a step: a ladder of whole runs, the last of which is the run.

Consecutive runs are compared (rung.py); when two differ by less than rtol, the finer one is given.
Steps shrink by 2^(1/p) from run to run: at order p the difference then is the error of the finer
one.  p is 2, and 1 where something acts between the steps.

Prices are counted, in forces, so that every machine climbs the same ladder.  The yardstick is what
Verlet needs at its stability limit: omega T / 2 forces, omega the frequency of the stiffest mode.

    linear            exprb2, which is exact, where eigenvectors are cheaper than that
    bear any step     energy-momentum, or bdf2 where forces depend on velocities: while all that
                      they are expected to need is a share of it
    explicit          Verlet at its limit, twice.  Verlet turns a mode of frequency w too fast by
                      (h w)^2/24, so what two runs differ by tells the w of the motion; rk4, which
                      turns it too slowly by (h w)^4/120, takes over where that is cheaper
    exponential       exprb42, in between, where all that needs many times the yardstick
"""

from __future__ import annotations

import logging
import warnings
from functools import partial
from math import ceil, inf, sqrt
from typing import Any, NamedTuple

from ..contracts import Array, State, System, Work
from ..errors import Diverged, NotConverged, SimulationFailure, StiffWarning
from ..integrators import Bdf2, EnergyMomentum, ExponentialRosenbrock, RungeKutta4, Verlet
from ..integrators.auto import Auto, Stiffest, for_step, seconds, stiffest
from ..matfun import cost
from .rung import Plan, Rung

log = logging.getLogger("stiffly")

MARGIN = 0.85  # of rtol is allowed, of that and of Verlet's limit is aimed at
FEWEST = 8  # steps of a run
RADIANS = 9e3  # of the stiffest mode in a run: below, explicit methods win (`stiffly lab map`)
SHARE = 0.4  # of explicit runs' price may go into others that could be cheaper
LONGEST = 4.0  # times as many steps, at most, in the next run
RUNGS = 12  # of a ladder; half of them in vain are enough
BROAD = 2.0  # times as many steps of rk4 as one frequency would need: spectra are broad
TANGENT, PRODUCT, FACTOR = 4.0, 0.5, 12.0  # prices, in forces; a factor with its solves


def price(work: Work) -> float:
    """In forces."""
    algebra = TANGENT * work.tangents + FACTOR * work.factorizations
    return work.force_evaluations + algebra + PRODUCT * work.operator_products


class Choice(NamedTuple):
    """A method, and how many steps it takes between frames (in all, if frames are not given)."""

    name: str
    method: Any  # an Integrator
    count: int


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
    plan = Plan(method, step, "", line, inf)
    begin = partial(Rung, (system, state))
    return run(step, lambda *given: begin(*given, plan), rtol=auto.rtol, auto=line)


class Ladder:
    """every: time between frames [s], where it is given; the others: see auto_run."""

    def __init__(
        self, bind: Any, rtol: float, duration: float, every: float | None, run: Any
    ) -> None:
        self.bind, self.run = bind, run
        self.rtol, self.duration, self.span = rtol, duration, every or duration
        system, state = bind()
        self.facts: Stiffest = stiffest(system, state)
        self.settles, self.braked = system.settles, system.velocity_dependent
        self.ratio = 2.0 if self.settles else sqrt(2.0)
        self.at_limit = duration / (MARGIN * self.facts.limit)  # steps of Verlet
        self.linear = self.facts.constant and _eigenvectors(system, state) < self.at_limit
        self.choices: list[Choice] = []
        self.rung: Rung | None = None
        self.result: Any = None
        self.failure: SimulationFailure | None = None
        self.said: list[warnings.WarningMessage] = []
        self.best, self.stuck = inf, 0

    def climb(self) -> Any:
        """The run; it warns where no two agreed."""
        met = self._any_step() or self._explicit()
        if self.failure is not None:
            raise self.failure
        assert self.rung is not None
        log.warning(self.rung.report.lines[0])
        for word in self.said:
            warnings.warn(word.message, word.category, stacklevel=3)
        if not met:
            falls = f"after {len(self.choices)} runs"
            why = "and differences no longer fall: this motion is sensitive"
            why = falls if self.stuck < 2 else why
            text = f"auto: rtol = {self.rtol:g} was not met, the last two runs differ by "
            text += f"{self.rung.error:.2g}, {why}; try a larger rtol or a shorter run"
            warnings.warn(text, StiffWarning, stacklevel=3)
        return self.result

    # ------------------------------------------------------------------ methods

    def _any_step(self) -> bool:
        """Methods that bear any step, where they promise to be cheaper than Verlet."""
        if self.linear:
            return self._climb("exprb2", ExponentialRosenbrock(nodes=(), tol=self._tol), 1)
        if self.settles or not (self.braked or self.facts.omega * self.duration > RADIANS):
            return False
        budget = self.at_limit * (1.0 / SHARE if self.braked else SHARE)
        name, method = ("bdf2", Bdf2()) if self.braked else ("energy-momentum", EnergyMomentum())
        return self._climb(name, method, self._count(FEWEST), budget)

    def _explicit(self) -> bool:
        verlet = "verlet", Verlet()
        if self._climb(*verlet, self._count(max(self.at_limit, FEWEST)), pair=True):
            return True
        if self.stuck >= RUNGS // 2 or len(self.choices) >= RUNGS:
            return False
        count, chosen = self._next(), verlet
        forces, steps = self._needed() * self.duration / self.span, self._rk4_steps()
        if 4.0 * steps < forces:
            count, chosen, forces = self._count(steps), ("rk4", RungeKutta4()), 4.0 * steps
        return self._exponential(SHARE * forces) or self._climb(*chosen, count)

    def _rk4_steps(self) -> float:
        """By the frequency that two runs of Verlet tell; infinite where something acts between
        steps."""
        assert self.rung is not None
        if self.settles:
            return inf
        T, h = self.duration, self.span / self.choices[-1].count
        w = (24.0 * self._error / (T * h * h)) ** (1.0 / 3.0)
        # at a ratio of sqrt 2 two runs of order 4 differ by 3 times the error of the finer
        step = (120.0 / 3.0 * self._aim / (T * w**5)) ** 0.25
        # beyond half of the limit, fast modes die
        return T / min(self.ratio / BROAD * step, 0.5 * self.facts.limit)

    def _exponential(self, budget: float) -> bool:
        """exprb42 in steps whose products are due to the phase as much as to anything else."""
        phase = cost.PRODUCTS[0] / cost.PRODUCTS[1]
        steps = self.duration * self.facts.omega / phase
        each = TANGENT + 2.0 * PRODUCT * cost.products(phase)
        if self.settles or (1.0 + self.ratio) * steps * each > budget:
            return False
        method = ExponentialRosenbrock(nodes=(3 / 4,), tol=self._tol)
        return self._climb("exprb42", method, self._count(steps), budget)

    # ------------------------------------------------------------------ runs

    def _climb(
        self, name: str, method: Any, count: int, budget: float = inf, pair: bool = False
    ) -> bool:
        """Runs of one method until two agree; False where they do not, or will need more than the
        budget; pair: until there are two to compare."""
        self.best, self.stuck, spent = inf, 0, 0.0
        while len(self.choices) < RUNGS:
            work = self._run(Choice(name, method, count))
            if self._error <= MARGIN * self.rtol:
                return True
            patience = RUNGS // 2 if budget == inf else 2
            if self.stuck >= patience or (pair and self._paired):
                return False
            count, spent = self._next(), spent + work
            if spent + work * max(count, self._needed()) / self.choices[-1].count > budget:
                return False
        return False

    def _run(self, choice: Choice) -> float:
        """Its price."""
        step = self.span / choice.count
        words = f"{choice.name} at {seconds(step)}"
        line = f"auto: {words}: h omega = {step * self.facts.omega:.2g}"
        below = None if self.rung is None else self.rung.report
        plan = Plan(choice.method, step, words, line, self.rtol, self.facts.omega, below)

        def begin(frames: Array, recorder: Any) -> Rung:
            self.rung = Rung(self.bind(), frames, recorder, plan)
            return self.rung

        again, self.failure = bool(self.choices), None
        with warnings.catch_warnings(record=True) as self.said:
            warnings.simplefilter("always")
            try:
                self.result = self.run(step, begin, again, rtol=self.rtol, auto=line)
            except (Diverged, NotConverged) as failure:
                self.failure = failure
        self.choices.append(choice)
        assert self.rung is not None
        falls = self._error < self.best / sqrt(2.0)
        self.best, self.stuck = min(self.best, self._error), 0 if falls else self.stuck + 1
        return price(self.rung.work)

    @property
    def _error(self) -> float:
        return inf if self.rung is None else self.rung.error

    @property
    def _aim(self) -> float:
        return MARGIN * MARGIN * self.rtol

    @property
    def _tol(self) -> float:
        """Of matrix functions: they must not be what limits."""
        return min(max(1e-3 * self.rtol, 1e-8), 1e-5)

    @property
    def _paired(self) -> bool:
        """The last two runs are of one method, and can be compared."""
        names = {choice.name for choice in self.choices[-2:]}
        return len(self.choices) > 1 and len(names) == 1 and self._error < inf

    def _needed(self) -> int:
        """Steps of a run that should agree with one of longer steps by the ratio: the last two
        differ by r^p - 1 times the error of the finer, where r is the ratio of their steps."""
        now = self.choices[-1]
        if not self._paired:
            return now.count
        order = 1 if self.settles else now.method.order
        finer = self._error / ((now.count / self.choices[-2].count) ** order - 1.0)
        return ceil(now.count * ((self.ratio**order - 1.0) * finer / self._aim) ** (1.0 / order))

    def _next(self) -> int:
        """Steps of the next run: a little more than now to compare, or far more, if that is what
        is needed; an odd number more, as implicit methods turn what is much faster than a step over
        in each of them."""
        count, needed = self.choices[-1].count, self._needed()
        if self.failure is not None:
            needed = ceil(LONGEST * count)
        elif self.stuck > 1:
            needed = 2 * count
        elif needed > 2 * count:
            needed = ceil(min(needed, LONGEST * count) / self.ratio)
        else:
            needed = ceil(self.ratio * count)
        return needed + (needed - count + 1) % 2

    def _count(self, steps: float) -> int:
        """Between frames, of so many in all."""
        return max(1, ceil(steps * self.span / self.duration))


def _eigenvectors(system: System, state: State) -> float:
    """Their price, in forces."""
    A = system.tangent(state).stiffness
    return cost.eigenbasis(A, 0) / (cost.product(A) / PRODUCT)
