"""integrator="auto" without a step: a ladder of whole runs, the last of which is the run.

Consecutive runs are compared (rung.py); when two differ by less than rtol, the finer one is given.
In the last two steps shrink by 2^(1/p): at order p the difference then is the error of the finer
one.  Two runs tell how long the steps of the next two may be.

Prices are counted, in forces, so that every machine climbs the same ladder.  The yardstick is what
Verlet needs at its stability limit: omega T / 2 forces, omega the frequency of the stiffest mode.

    linear            exprb2, which is exact, where eigenvectors are cheaper than that
    bear any step     energy-momentum, or bdf2 where forces depend on velocities: where trying them
                      costs a small share of it
    explicit          Verlet at its limit, twice; then rk4, unless Verlet needs less than rk4's
                      first run, in steps that keep the stiffest mode in phase
    exponential       exprb42, where trying it costs a small share of what rk4 will
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from functools import partial
from math import ceil, inf, sqrt
from typing import Any, NamedTuple

from ..contracts import Array, State, System, Work
from ..errors import Diverged, NotConverged, SimulationFailure, StiffWarning
from ..integrators import integrator
from ..integrators.auto import Auto, for_step, seconds, stiffest
from ..matfun import cost
from .rung import Plan, Rung

log = logging.getLogger("stiffly")

MARGIN = 0.85  # of rtol is allowed
SPARE = 1.3  # times as many steps as forecast: forecasts fall short
SAFE = 0.95  # of Verlet's limit
FEWEST = 8  # steps of a run
SHARE = 0.15  # of a price may go into trying another method
RETREAT = 4.0  # times as many steps after a run that exploded
ORDER = 1.9  # that counts as 2
RUNGS = 12  # of a ladder; half of them in vain are enough
TANGENT, PRODUCT, FACTOR = 3.0, 0.2, 12.0  # prices, in forces; a factor with its solves


def price(work: Work) -> float:
    """In forces."""
    algebra = TANGENT * work.tangents + FACTOR * work.factorizations
    return work.force_evaluations + algebra + PRODUCT * work.operator_products


class Choice(NamedTuple):
    """A method, how many steps it takes between frames (in all, if frames are not given), and the
    ratio of steps whose runs are compared."""

    name: str
    method: Any  # an Integrator
    steps: int
    ratio: float

    @property
    def coarser(self) -> Choice:
        """The run that this one will be compared with."""
        return self._replace(steps=ceil(self.steps / self.ratio))

    @property
    def pair(self) -> float:
        """Steps of this run and of the finer one that it will be compared with."""
        return (1.0 + self.ratio) * self.steps


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
        self.at_limit = max(FEWEST, duration / (SAFE * self.facts.limit))  # steps of Verlet
        self.linear = self.facts.constant and _eigenvectors(system, state) < self.at_limit
        self.choices: list[Choice] = []
        self.differences: list[float] = []  # of each from the one before
        self.rung: Rung | None = None
        self.result: Any = None
        self.failure: SimulationFailure | None = None
        self.said: list[warnings.WarningMessage] = []
        self.best, self.stuck, self.price = inf, 0, 0.0

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
            why = f"after {len(self.choices)} runs"
            if self.stuck > 1:
                why = "and differences no longer fall: this motion is sensitive"
            text = f"auto: rtol = {self.rtol:g} was not met, the last two runs differ by "
            text += f"{self.rung.error:.2g}, {why}; try a larger rtol or a shorter run"
            warnings.warn(text, StiffWarning, stacklevel=3)
        return self.result

    # ------------------------------------------------------------------ methods

    def _any_step(self) -> bool:
        """Methods that bear any step, where trying them is cheap beside a run of Verlet."""
        if self.linear:
            return self._climb(self._choice("exprb2", 1, tol=self._tol))
        verlet = self._choice("verlet", self.at_limit)
        name, budget, most = "energy-momentum", 0.5 * verlet.steps, SHARE * verlet.steps
        if self.braked:  # steps of explicit methods are the shorter for it
            name, budget, most = "bdf2", verlet.pair, verlet.pair
        first = self._choice(name, FEWEST)
        # a step is three iterations or so, each with a tangent and its factor
        trial = 3.0 * (TANGENT + FACTOR) * first.pair
        return not self.settles and trial < most and self._climb(first, budget)

    def _explicit(self) -> bool:
        if self._climb(self._choice("verlet", self.at_limit), pair=True):
            return True
        rk4 = self._choice("rk4", self._in_phase).coarser
        go_on = self._paired and self._forecast() < 4.0 * rk4.steps
        if go_on and self._climb(self._next(), 4.0 * rk4.pair):
            return True
        if self._climb(rk4, pair=True):
            return True
        rk4 = self._next()
        return self._exponential(self._forecast()) or self._climb(rk4)

    @property
    def _in_phase(self) -> float:
        """Steps of rk4 that turn the stiffest mode too slowly by a radian in all: (h omega)^4/120
        per radian."""
        radians = self.facts.omega * self.duration
        return max(2.0 * self.at_limit, radians * (radians / 120.0) ** 0.25)

    def _exponential(self, budget: float) -> bool:
        """exprb42 in steps two thirds of whose products are due to the phase."""
        phase = 2.0 * cost.PRODUCTS[0] / cost.PRODUCTS[1]
        first = self._choice("exprb42", self.duration * self.facts.omega / phase, tol=self._tol)
        each = 2.0 + TANGENT + 2.0 * PRODUCT * cost.products(phase)
        if self.settles or each * first.pair > SHARE * budget:
            return False
        return self._climb(first, budget)

    # ------------------------------------------------------------------ runs

    def _climb(self, choice: Choice, budget: float = inf, pair: bool = False) -> bool:
        """Runs of one method until two agree; False where they do not.  budget: until more will be
        needed; pair: until two were compared; both: until one explodes."""
        if not self.choices or self.choices[-1].name != choice.name:
            self.best, self.stuck = inf, 0
        spent, patience = 0.0, RUNGS // 2 if budget == inf else 2
        while len(self.choices) < RUNGS:
            spent += self._run(choice)
            if self._agree:
                return True
            if self.stuck >= patience or (pair and self._paired):
                return False
            if self.failure is not None and (pair or budget < inf):
                return False
            if spent + self._forecast() > budget:
                return False
            choice = self._next()
        return False

    def _run(self, choice: Choice) -> float:
        """Its price, between two frames."""
        step = self.span / choice.steps
        line = f"auto: {choice.name} at {seconds(step)}: h omega = {step * self.facts.omega:.2g}"
        below = None if self.rung is None else self.rung.report
        plan = Plan(choice.method, step, line, self.rtol, self.facts.omega, below)

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
        assert self.rung is not None
        self.choices.append(choice)
        self.differences.append(self.rung.error)
        if self.rung.error < self.best / sqrt(2.0):
            self.stuck = 0
        elif self.failure is not None or self._paired:
            self.stuck += 1
        self.best = min(self.best, self.rung.error)
        self.price = price(self.rung.work) * self.span / self.duration
        return self.price

    def _choice(self, name: str, steps: float, **options: Any) -> Choice:
        """steps: in all; where something acts between them, no method is trusted beyond order 2."""
        method: Any = integrator(name)
        count = ceil(steps * self.span / self.duration)
        order = min(method.order, 2) if self.settles else method.order
        return Choice(name, replace(method, **options), max(1, count), 2.0 ** (1.0 / order))

    @property
    def _tol(self) -> float:
        """Of matrix functions: they must not be what limits."""
        return min(max(1e-3 * self.rtol, 1e-8), 1e-5)

    def _runs_back(self, count: int) -> bool:
        """The last so many differences are those of one method's runs."""
        names = [choice.name for choice in self.choices[-count - 1 :]]
        known = max(self.differences[-count:], default=inf) < inf
        return len(names) == count + 1 and known and len(set(names)) == 1

    @property
    def _paired(self) -> bool:
        return self._runs_back(1)

    # ------------------------------------------------------------------ steps

    @property
    def _agree(self) -> bool:
        """The last two runs differ by less than is allowed: at order q, steps shorter by r make a
        difference of r^q - 1 times the error.  Where something acts between steps, q is 1 until
        three runs have shown ORDER."""
        order = self.choices[-1].method.order
        if self.settles:
            order = ORDER if self._order_seen else 1
        share = min(1.0, self._ratio**order - 1.0) if self._paired else 1.0
        return self.differences[-1] <= share * MARGIN * self.rtol

    @property
    def _order_seen(self) -> bool:
        if not self._runs_back(2):
            return False
        a, b, c = (choice.steps**-ORDER for choice in self.choices[-3:])
        return (b - c) * self.differences[-2] >= (a - b) * self.differences[-1]

    @property
    def _ratio(self) -> float:
        """Of the steps of the last two runs."""
        return self.choices[-1].steps / self.choices[-2].steps if len(self.choices) > 1 else 1.0

    def _needed(self) -> float:
        """Steps of a run whose error will be small enough."""
        now = self.choices[-1]
        if not self._paired or self.rung is None:
            return now.steps
        order, allowed = now.method.order, MARGIN * self.rtol
        error = self.rung.difference / (self._ratio**order - 1.0)
        by_difference = SPARE * (error / allowed) ** (1.0 / order)
        return now.steps * max(by_difference, (self.rung.unseen / allowed) ** (1.0 / order))

    def _forecast(self) -> float:
        """The price of that run and of the one before it, by that of the last."""
        now = self.choices[-1]
        return self.price / now.steps * (1.0 + 1.0 / now.ratio) * self._needed()

    def _next(self) -> Choice:
        """The next run of this method: one that should agree with the last, or the first of two; by
        an odd number of steps, as implicit methods turn what is much faster over in each."""
        now, needed = self.choices[-1], self._needed()
        count = ceil(now.ratio * now.steps)
        if self.failure is not None:
            count = ceil(RETREAT * now.steps)
        elif self.stuck > 1:
            count = 2 * now.steps
        elif needed > now.ratio * count:
            count = ceil(needed / now.ratio)
        return now._replace(steps=count + (count - now.steps + 1) % 2)


def _eigenvectors(system: System, state: State) -> float:
    """Their price, in forces."""
    A = system.tangent(state).stiffness
    return cost.eigenbasis(A) / (cost.product(A) / PRODUCT)
