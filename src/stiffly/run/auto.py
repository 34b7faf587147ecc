"""integrator="auto" without a step: a ladder of whole runs, the last of which is the run.

Consecutive runs are compared (rung.py); when two differ by less than rtol, the finer one is given.
Prices are counted, in forces, so that every machine climbs the same ladder.  The yardstick is what
Verlet needs at its stability limit: omega T / 2 forces, omega the frequency of the stiffest mode.

    linear            exprb2, which is exact, where eigenvectors are cheaper than that
    bear any step     energy-momentum, or bdf2 where forces depend on velocities: where trying them
                      costs a small share of it
    explicit          the first part of Verlet's run tells how fast what moves; by the phase that
                      methods lose at these frequencies, the cheapest one and its steps are forecast
"""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import ceil, inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array, Splitting, Tableau, Work
from ..errors import (
    Diverged,
    InputError,
    NotConverged,
    SimulationFailure,
    StiffWarning,
    levels_up,
)
from ..integrators import integrator
from ..integrators.auto import Auto, for_step, seconds, stiffest
from ..integrators.explicit import Verlet, amplification, scheme_of
from ..matfun import cost
from ..recording.notes import StepLog
from ..recording.sinks import Trial
from .rung import Plan, Rung, Spectrum

log = logging.getLogger("stiffly")

AIM = 0.5  # of rtol: what forecasts go for
SAFE = 0.95  # of limits: Verlet's, and rtol
ROUGH = 30.0  # times the forecast: errors where something acts between steps
SHARE = 0.1  # of a run that a trial may cost
FEWEST = 8  # steps of a run
RUNGS = 12  # of a ladder; half of them in vain are enough: they exploded, or came no nearer
TANGENT, PRODUCT, FACTOR = 3.0, 0.3, 100.0  # prices, in forces; a factor with its solves


def price(work: Work) -> float:
    """In forces."""
    algebra = TANGENT * work.tangents + FACTOR * work.factorizations
    return work.force_evaluations + algebra + PRODUCT * work.operator_products


class Way(NamedTuple):
    """A method, its order, as it is hoped for and as it is sure, the numbers by which it steps
    where it is explicit, and the forces that a step costs."""

    name: str
    method: Any  # an Integrator
    order: int
    sure: int
    scheme: Splitting | Tableau | None
    each: float

    @classmethod
    def of(cls, name: str, **options: Any) -> Way:
        own: Any = integrator(name)
        method: Any = replace(own, **options)
        scheme, each = scheme_of(method), 3.0 * (TANGENT + FACTOR)  # three iterations or so
        if scheme is not None:
            each = len(scheme.drifts) if isinstance(scheme, Splitting) else scheme.end
        return cls(name, method, method.order, method.order, scheme, each)

    @property
    def ratio(self) -> float:
        """Of the steps of two runs that are compared: then the difference is the error."""
        return 2.0 ** (1.0 / self.order)


def auto_run(
    bind: Any,
    auto: Auto,
    duration: float,
    step: float | None,
    every: float | None,
    run: Any,
    trial: Trial,
) -> Any:
    """bind() gives the system and its start; run(step, begin, again, rtol, auto) makes one whole
    run of the loop that begin(frames, recorder) gives; trial: the sink of what is only tried."""
    if step is None:
        return Ladder(bind, auto, duration, every, run, trial).climb()
    system, state = bind()
    method, line = for_step(system, state, step)
    log.warning(line)
    begin = partial(Rung, (system, state), plan=Plan(method, step, line))
    return run(step, begin, rtol=auto.rtol, auto=line)


class Ladder:
    """every: time between frames [s], where it is given; the others: see auto_run."""

    rung: Rung
    result: Any

    def __init__(
        self,
        bind: Any,
        auto: Auto,
        duration: float,
        every: float | None,
        run: Any,
        trial: Trial | None = None,
    ) -> None:
        self.bind, self.run, self.duration = bind, run, duration
        self.rtol, self.most = auto.rtol, auto.max_steps
        self.trial = trial or Trial()
        self.spans = duration / (every or duration)
        self.system, self.state = bind()
        self.facts = stiffest(self.system, self.state)
        self.fastest = 2.0 / (SAFE * self.facts.limit)  # that explicit steps have to bear [1/s]
        self.spectrum: Spectrum | None = None
        self.gain = 0.0  # of the error over what is forecast
        self.count, self.lost = 0, 0  # runs, and those that exploded, in a row
        self.last: Way | None = None
        self.steps = 0  # of the last run between frames; in all, if frames are not given
        self.least: dict[str, float] = {}  # steps of a method's next run
        self.failure: SimulationFailure | None = None
        self.said: list[warnings.WarningMessage] = []

    @property
    def at_limit(self) -> float:
        """Steps of Verlet."""
        return max(FEWEST, 0.5 * self.duration * self.fastest)

    def climb(self) -> Any:
        """The run; it warns where no two agreed."""
        met = self._any_step() or self._explicit()
        if self.failure is not None:
            raise self.failure
        log.warning(self.rung.lines[0])
        for word in self.said:
            warnings.warn(word.message, word.category, stacklevel=levels_up())
        if not met:
            text = f"auto: rtol = {self.rtol:g} was not met, the last of {self.count} runs differ "
            text += f"by {self.rung.error:.2g}; try a larger rtol, or a shorter run: the motion "
            warnings.warn(text + "may be sensitive", StiffWarning, stacklevel=levels_up())
        return self.result

    # ------------------------------------------------------------------ methods

    def _any_step(self) -> bool:
        """Methods that bear any step, where trying them is cheap beside a run of Verlet."""
        if self.facts.constant:
            A = self.system.tangent(self.state).stiffness
            if cost.eigenbasis(A) * PRODUCT < cost.product(A) * self.at_limit:
                tol = min(max(1e-3 * self.rtol, 1e-8), 1e-5)  # it must not be what limits
                return self._search([Way.of("exprb2", tol=tol)])
        own = Way.of("bdf2" if self.system.velocity_dependent else "energy-momentum")
        if self.system.settles or self._offer(own)[0] > SHARE * self.at_limit:
            return False
        return self._search([own], budget=0.5 * self.at_limit)

    def _explicit(self) -> bool:
        """Where something acts between steps, nothing is smooth: rk4, and little trust in it."""
        if not self._affordable(self.at_limit):
            return False
        self._probe()
        self.gain = ROUGH if self.system.settles else 1.0
        if self.system.settles:
            return self._search([Way.of("rk4")._replace(order=2, sure=1)])
        braked = self.system.velocity_dependent
        names = ("verlet", "rk4", "dop853") if braked else ("verlet", "rkn6", "rkn86")
        return self._search([Way.of(name) for name in names])

    def _probe(self) -> None:
        """The spectrum, by the first part of Verlet's run; of shorter steps where it explodes."""
        frames = np.array([0.0, SHARE * self.duration])
        for _ in range(RUNGS // 2):
            plan = Plan(Verlet(), self.duration / self.at_limit, "", pace=self._pace)
            rung = Rung((self.system, self.state), frames, StepLog(), plan)
            with warnings.catch_warnings(), suppress(Diverged):
                warnings.simplefilter("ignore")
                rung.run(self.trial)
            self.spectrum = rung.spectrum
            if rung.sound:
                return
            self.fastest *= sqrt(2.0)

    @property
    def _pace(self) -> float:
        """Of the steps that tell the spectrum: far from the limit, as bodies may stiffen [s]."""
        return 0.5 * self.duration / self.at_limit

    # ------------------------------------------------------------------ runs

    def _search(self, among: list[Way], budget: float = inf) -> bool:
        """Runs of the method that promises to be the cheapest, until two agree; False where they do
        not, or where more than the budget will be needed."""
        best, vain = inf, 0
        while self.count < RUNGS and vain < max(1, RUNGS // 2):
            offers = [(*self._offer(own), own) for own in among]
            needed, steps, own = min(offers, key=lambda offer: offer[0])
            if (self.count > 1 and needed >= budget) or not self._affordable(steps * self.spans):
                break
            if self._run(own, steps):
                return True
            if self.lost and budget < inf:
                break
            budget -= price(self.rung.work)
            compared = self.lost or self.rung.difference < inf
            nearer = self.rung.error < best / sqrt(2.0)
            vain = 0 if nearer else vain + bool(compared)
            best = min(best, self.rung.error)
        return False

    def _affordable(self, steps: float) -> bool:
        """Of a run; without any other to give instead, too many are refused."""
        if steps <= self.most:
            return True
        if self.count:
            return False
        raise InputError(
            f"auto: {steps:.2g} steps are needed, more than max_steps = {self.most:g}, as the "
            f"fastest oscillation has {self.facts.omega / (2.0 * np.pi):.3g} Hz: shorten the run, "
            "give a method and its step, or a larger max_steps"
        )

    def _run(self, own: Way, steps: int) -> bool:
        """Whether it agrees with the run before."""
        step = self.duration / self.spans / steps
        line = f"auto: {own.name} at {seconds(step)}: h omega = {step * self.facts.omega:.2g}"
        plan = Plan(own.method, step, line, self.rtol, inf if own.scheme is None else self._pace)
        if self.count:
            plan = plan._replace(before=self.rung.seen, lines=self.rung.lines)

        def begin(frames: Array, recorder: Any) -> Rung:
            self.rung = Rung(self.bind(), frames, recorder, plan)
            return self.rung

        again, self.failure = self.count > 0, None
        with warnings.catch_warnings(record=True) as self.said:
            warnings.simplefilter("always")
            try:
                self.result = self.run(step, begin, again, rtol=self.rtol, auto=line)
            except (Diverged, NotConverged) as failure:
                self.failure = failure
        ratio = steps / self.steps if self.last is own else None
        self.last, self.steps, self.count = own, steps, self.count + 1
        if self.failure is not None or not self.rung.sound:
            self.lost += 1
            self.least[own.name] = sqrt(2.0) ** self.lost * steps
            if own.scheme is not None:
                self.fastest = sqrt(2.0) ** self.lost * max(self.fastest, 2.0 / step)
            return False
        self.lost, self.least[own.name] = 0, sqrt(2.0) ** (1.0 / own.sure) * steps
        self.spectrum = self.rung.spectrum or self.spectrum
        return self._agree(own, ratio) and not self.rung.energy_missed

    def _agree(self, own: Way, ratio: float | None) -> bool:
        """The last two runs differ by less than is allowed: at order q, steps shorter by r make a
        difference of r^q - 1 times the error.  ratio: r, None where they are of two methods."""
        share = 1.0
        if ratio is not None and self.rung.difference < inf:
            share = min(1.0, ratio**own.sure - 1.0)
            told = float(self._forecast(own, np.array([self.steps * self.spans]))[0])
            found = self.rung.difference / (ratio**own.order - 1.0)
            self.gain = max(float(own.scheme is not None), found / told if told > 0.0 else 0.0)
        return self.rung.error <= SAFE * share * self.rtol

    # ------------------------------------------------------------------ steps

    def _forecast(self, own: Way, steps: Array) -> Array:
        """Errors of runs of so many steps, but for `gain`: by what the frequencies of the motion
        lose, or by the order."""
        if own.scheme is None:
            return steps ** -float(own.order)
        if self.spectrum is None:
            return np.zeros_like(steps)
        return self.spectrum.error(own.scheme, self.duration / steps, self.duration)

    def _offer(self, own: Way) -> tuple[float, int]:
        """The price of the runs that are left, in forces, and the steps of the next: of one that
        should agree with the last, or of the first of two, which must not explode.  By an odd
        number, as implicit methods turn what is much faster than a step over in each."""
        before = self.steps if self.last is own else 0
        pair = before > 0 and not self.lost
        steps = FEWEST * 2.0 ** (np.arange(400) / 16.0)
        good = self.gain * self._forecast(own, steps) <= AIM * self.rtol
        if own.scheme is not None:
            z = self.fastest * self.duration / steps * (1.0 if pair else own.ratio)
            good &= steps * (amplification(own.scheme, z) - 1.0) < 1.0
        needed = float(steps[good][0]) / self.spans if good.any() else inf
        each = price(self.rung.work) / before if before else own.each * self.spans
        pair = pair and needed <= own.ratio**1.5 * before
        total = each * needed * (1.0 if pair else 1.0 + 1.0 / own.ratio)
        if needed == inf:  # out of reach, which two runs will tell
            needed = self.at_limit / self.spans
        count = needed if pair else needed / own.ratio
        count = ceil(max(count, FEWEST / self.spans, self.least.get(own.name, 0.0)))
        return total, count + (count - before + 1) % 2 if own.scheme is None and before else count
