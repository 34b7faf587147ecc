"""A run that is under way, watched: what it has cost in accuracy so far, and what is to come."""

from __future__ import annotations

import time
from math import isfinite, sqrt

import numpy as np

from ...contracts import State, System
from ..exponential_rosenbrock import ExponentialRosenbrock
from ..runge_kutta import RungeKutta4
from ..verlet import Verlet
from .bunch import Recent
from .candidates import ACCURATE
from .content import Content, Pair, Scales, relative
from .decide import MARGIN, SAFETY, longest_step
from .look import look
from .offer import Decision, Offer
from .pilot import BLOWN, trial, verlet_step, wary

CHECKS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)  # shares of the duration
SOON = 0.01  # of it, after something unexpected
WAIT = 0.3  # of it: until then the scales of the motion may still be to come
EARLY, LATE = 0.15, 0.7  # of it: before and after, nothing is a reason for longer steps
LEAST = 0.25  # of the tolerance is always left for what is to come
KEEP = (0.85, 1.4)  # a step that should be changed by less stays: every change has its own error
JUMP = 3.0  # of the fourth derivative, between one stretch and all before
UNFAIR = 2.0  # times its share of the tolerance: a stretch is taken back
MUCH = 0.3  # of the tolerance, at once
EXPLODES, SURPRISE = "the accelerations explode", "the motion has changed"
GROW, SHRINK = 2.0, 0.2  # of the step, at one check
TRIALS = 0.03  # of the steps to come: so many may be tried again on the way, at three steps each
WHOLE = 8  # steps, from which on there is one at least
RANDOM = 2.0  # times the root of their number: how local errors in fast modes come together
LOOKS, APART = 0.05, 0.15  # of the seconds of a run may go into looks at the tangent; of its time
# between two of them
UNSTABLE = 2.0  # exponent, from which on small errors may grow to large ones
KICK = 10.0  # times the largest speed so far, in one step: no impact does that


class Watch:
    """For one run: `see` after every step, `due` before the next; `check` tells the right step.

    spent: errors of x and v that have come together so far, as far as it can be told; lost: of
    modes whose phase is lost anyway.
    """

    unsaved = ()

    def __init__(self, decision: Decision, state: State, duration: float) -> None:
        self.rtol, self.start, self.hoped = decision.rtol, state.x, decision.scales
        self._longest = longest_step(decision.facts, decision.rtol, duration)
        self.begin, self.end, self.horizon = state.t, state.t + duration, duration
        self.spent, self.lost, self.scales = (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)
        self.taken = 0.0  # relative error of stretches for which only the pilot's word is known
        self.growth, self._looked, self._looking = 0.0, state.t, 0.0  # exponent; when; seconds
        self._began, self._glance = time.perf_counter(), decision.facts.seconds
        self._falling = decision.facts.falling
        self.checks = [state.t + share * duration for share in CHECKS]
        self.content, self._window = Content(state.x), Content(state.x)  # of all the run; new
        self.latest, self._most, self._first = self._window, 0.0, decision.offer.step
        self.follow(decision.offer, state)

    def soon(self, state: State) -> None:
        """Something has happened: look at it again before the next regular check."""
        self.checks.insert(0, state.t + SOON * self.horizon)
        self.checks.sort()

    def doubtful(self, state: State) -> bool:
        """Verlet's step is short for accuracy's sake: rk4 may do better."""
        short = self.offer.step < ACCURATE * self._limit
        return self._verlet and short and self.latest.time > 0.0 and self._free(state)

    def follow(self, offer: Offer, state: State) -> None:
        """From here on this method at this step; what was spent until now is booked."""
        if self._window.time > 0.0 and self._verlet:
            span = state.t - self.since
            self._book(*self._window.verlet_errors(self.offer.step, span, self.horizon))
        self.content.join(self._window)
        self.offer, self.since, self._limit = offer, state.t, offer.limit
        self._rates: Pair | None = None
        self._past: list[float] = []  # relative rates of a step of one second, from check to check
        self._verlet = isinstance(offer.method, Verlet)
        self._random = isinstance(offer.method, ExponentialRosenbrock)
        self._telling = self._verlet or isinstance(offer.method, RungeKutta4)
        self._window = Content(self.start)
        left = max(self.end - state.t, 0.0)
        self._spacing = left / (self._trials(left / offer.step) + 1.0)
        self._next = state.t + self._spacing

    def _trials(self, steps: float) -> int:
        """How many there may be.  Implicit methods have none: what they do to fast modes looks
        like an error that grows, and a whole run has judged them before."""
        if not (self._telling or self._random):
            return 0
        return max(int(TRIALS * steps), int(steps >= WHOLE))

    @property
    def error(self) -> float:
        """Relative, up to now."""
        return self.taken + self._relative(self.scales)

    @property
    def telling(self) -> bool:
        """The method is one whose every step tells of the motion."""
        return self._telling

    @property
    def sensitive(self) -> bool:
        """Small errors grow to large ones, more than can be done about."""
        return self.growth > UNSTABLE

    def _relative(self, scales: Scales) -> float:
        both = self.spent[0] + self.lost[0], self.spent[1] + self.lost[1]
        return relative(both, scales)

    def allowed(self, scales: Scales | None = None) -> float:
        """What the rest of the run may add, relative."""
        wanted = SAFETY * self.rtol
        return max(wanted - self._relative(scales or self.scales), LEAST * wanted)

    # ------------------------------------------------------------------ after every step

    def see(self, system: System, state: State, memory: Recent, h: float, span: float) -> str:
        """Steps of h over `span` seconds: what is wrong with them, or nothing."""
        x, v = self.scales
        far, fast = np.linalg.norm(state.x - self.start), np.linalg.norm(state.v)
        if not isfinite(far + fast):
            return EXPLODES
        if not self._telling or len(memory.accelerations) < 3 or memory.middle is None:
            self.scales = max(x, float(far)), max(v, float(fast))
            return ""
        middle, sample = memory.middle, Content(self.start)
        sample.add(middle.x, middle.v, memory.accelerations, h, span)
        square = float(sample.moments[1]) / span
        blown = self._most > 0.0 and square > BLOWN**2 * self._most
        if not isfinite(square) or (blown and h * sqrt(square) > KICK * max(v, self.hoped[1])):
            return EXPLODES
        if self._surprised(system, sample, middle, h, span):
            return SURPRISE
        self._most = max(self._most, square)
        self._window.join(sample)
        self.scales = max(x, float(far)), max(v, float(fast))
        return ""

    def _surprised(
        self, system: System, sample: Content, middle: State, h: float, span: float
    ) -> bool:
        """The motion has changed, and these steps alone use up more than their share."""
        before = self._window if self._window.time > 0.0 else self.content
        jump = JUMP**2 * before.moments[3] * span
        if before.time == 0.0 or sample.moments[3] * before.time <= jump:
            return False
        scales = sample.expected(0.0, self._expected())
        allowed = self.allowed(scales)
        share = UNFAIR * span / max(self.end - self.since, span) * allowed
        if self._verlet:
            grown, lost = sample.verlet_errors(h, span, self.horizon)
            return relative(grown, scales) > share or relative(lost, scales) > MUCH * allowed
        tried = trial(system, self.offer.method, middle, h)
        return span / self.horizon * tried.error(self.horizon, scales) > share

    def _expected(self) -> Scales:
        """Scales seen, and in the beginning those hoped for."""
        young = self.since - self.begin < WAIT * self.horizon
        x, v = self.hoped if young else (0.0, 0.0)
        return max(self.scales[0], x), max(self.scales[1], v)

    # ------------------------------------------------------------------ from time to time

    def due(self, state: State) -> bool:
        """Time for a check; a run that was made in the pilot is over, and has been judged."""
        return bool(self.checks) and state.t >= self.checks[0] and not self.offer.made

    def check(self, system: System, state: State) -> float:
        """Books the error since the last check; the step [s] that is right for what is left."""
        while self.checks and state.t >= self.checks[0]:
            self.checks.pop(0)
        left, own = max(self.end - state.t, 0.0), self.offer.step
        self._look(system, state)
        step = (self._by_content if self._verlet else self._by_trial)(system, state, left)
        self.content.join(self._window)
        self.latest = self._livelier()
        self._window, self.since = Content(self.start), state.t
        low, high = KEEP
        if low <= step / own <= high or (step > own and not self._free(state)):
            return own
        return min(max(step, SHRINK * own), GROW * own)

    def finish(self, state: State) -> None:
        """Books what has come together since the last check; nothing is tried any more."""
        span = state.t - self.since
        if self._looked == self.begin:
            self.growth = self._falling * self.horizon
        if not self._verlet:
            self._book_as_before(span)
        elif self._window.time > 0.0:
            self._book(*self._window.verlet_errors(self.offer.step, span, self.horizon))

    def _look(self, system: System, state: State) -> None:
        """At the largest frequency, and at directions in which the motion is unstable, where that
        costs little of the run."""
        gone = time.perf_counter() - self._began
        share = LOOKS * gone * self.horizon / max(state.t - self.begin, 1e-300)
        if self._looking + self._glance > share or state.t - self._looked < APART * self.horizon:
            return
        began = time.perf_counter()
        found = look(system, state)
        self._looking += time.perf_counter() - began
        self.growth += found.falling * (state.t - self._looked)
        self._looked = state.t
        if self._verlet:
            self._limit = min(MARGIN * found.limit, self._longest)

    def _book_as_before(self, span: float) -> None:
        """Without a new trial: at the rates of the last one, or as the pilot has it."""
        if self._rates is None:
            self.taken += self.offer.error * span / self.horizon
        else:
            self._book((span * self._rates[0], span * self._rates[1]), (0.0, 0.0))

    def _livelier(self) -> Content:
        """The last stretch, or all of the motion: what has the larger fourth derivatives."""
        last, all_of_it = self._window, self.content
        if last.moments[3] * all_of_it.time > all_of_it.moments[3] * last.time:
            return last
        copy = Content(self.start)
        copy.join(all_of_it)
        return copy

    def _free(self, state: State) -> bool:
        """To take longer steps: enough has been seen, and enough is left to be gained; or they
        were longer at first."""
        if self.offer.step < 0.5 * self._first:
            return True
        return EARLY <= (state.t - self.begin) / self.horizon <= LATE

    def _by_content(self, system: System, state: State, left: float) -> float:
        window, h = self._window, self.offer.step
        if window.time == 0.0:
            return h
        self._book(*window.verlet_errors(h, state.t - self.since, self.horizon))
        step = self._right(window, left)
        if step > h:  # only what holds for all of the motion is a reason for longer steps
            window = Content(self.start)
            window.join(self.content)
            window.join(self._window)
            step = max(h, self._right(window, left))
        return step

    def _right(self, content: Content, left: float) -> float:
        scales = content.expected(left, self._expected())
        allowed = self.allowed(scales)
        return verlet_step(content, self._limit, left, self.horizon, allowed, scales)

    def _by_trial(self, system: System, state: State, left: float) -> float:
        method, h, span = self.offer.method, self.offer.step, state.t - self.since
        if state.t < self._next or left < h:
            self._book_as_before(span)
            return h
        self._next = state.t + self._spacing
        now = trial(system, method, state, h).rates(self.horizon)
        if not isfinite(sum(now)):
            return SHRINK * h
        share = wary(method)
        if self._random:  # errors in fast modes, whose phases turn, do not add up
            share = min(RANDOM * sqrt(h / self.horizon), 1.0)
        now = share * now[0], share * now[1]
        before = self._rates or now
        mean_x, mean_v = 0.5 * (now[0] + before[0]), 0.5 * (now[1] + before[1])
        self._book((span * mean_x, span * mean_v), (0.0, 0.0))
        self._rates = now
        scales = self._expected()
        self._past.append(relative(now, scales) / h**method.order)
        # one moment may be a quiet one: the mean of all counts, and for longer steps the worst
        mean, worst = sum(self._past) / len(self._past), max(self._past)
        right = [
            (self.allowed(scales) / max(rate * left, 1e-300)) ** (1.0 / method.order)
            for rate in (max(mean, self._past[-1]), worst)
        ]
        return min(right[0] if right[0] < h else max(h, right[1]), self._limit)

    def _book(self, grown: Pair, lost: Pair) -> None:
        self.spent = self.spent[0] + grown[0], self.spent[1] + grown[1]
        self.lost = max(self.lost[0], lost[0]), max(self.lost[1], lost[1])
