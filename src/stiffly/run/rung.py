"""A whole run that is compared with another one, of longer steps: a rung of auto's ladder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from math import inf, sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.optimize import nnls  # pyright: ignore

from ..contracts import Array, Splitting, State, System, Tableau
from ..errors import StiffWarning, levels_up
from ..integrators.explicit import Verlet, phase_error, scheme_of
from ..recording.sinks import Sink
from .control import Tolerance
from .loop import WORTH_A_WARNING, Interval, Loop

SAMPLES = 25  # of the spectrum, in a run
DIFFERENCES = 7  # of velocities in consecutive steps, from none to the sixth


class Spectrum(NamedTuple):
    """How fast what moves: omega (m,) [1/s], and the share (m,) of the largest |v|^2 that swings
    with each."""

    omega: Array
    share: Array

    @classmethod
    def of(cls, squares: Array, h: float) -> Spectrum:
        """From the squares (DIFFERENCES,) of differences of velocities over the largest |v|^2: in
        Verlet's steps the k-th of what swings with omega is exactly (h omega)^k times as large as
        it is.  All lie below its limit, 2."""
        z = 2.0 * sqrt(0.5) ** np.arange(18)
        known = squares > 0.0
        powers = z ** (2.0 * np.arange(DIFFERENCES)[known, None]) / squares[known, None]
        largest = powers.max(axis=0)
        found = cast("Array", nnls(powers / largest, np.ones(len(powers)), maxiter=1000)[0])
        return cls(z / h, found / largest)

    def error(self, scheme: Splitting | Tableau, h: Array, duration: float) -> Array:
        """Of velocities at the end, relative, for steps h (n,): by what each frequency loses."""
        return np.sqrt(self.share @ self._lost(scheme, h, duration) ** 2)

    def unseen(self, scheme: Splitting | Tableau, h: float, duration: float) -> float:
        """The same of what has lost its phase altogether: two runs may agree there by chance."""
        lost = self._lost(scheme, np.array([h]), duration)[:, 0]
        return sqrt(2.0 * float(np.sum(self.share[lost > 1.0])))

    def _lost(self, scheme: Splitting | Tableau, h: Array, duration: float) -> Array:
        return np.minimum(phase_error(scheme, self.omega[:, None] * h) * duration / h, sqrt(2.0))


class Report(NamedTuple):
    """What is left of a run: x and v by time, and the lines that tell of it and of all before."""

    seen: dict[str, tuple[Array, Array]]
    lines: tuple[str, ...]


class Plan(NamedTuple):
    """method, step [s] or tolerance and the line about them; below: the run before, None for the
    first; spectrum: of the motion, as Verlet's last run saw it."""

    method: Any  # an Integrator
    step: float | None
    line: str
    tolerance: Tolerance | None = None
    rtol: float = inf
    below: Report | None = None
    spectrum: Spectrum | None = None


class Rung(Loop):
    """Remembers how far and how fast the body went, and tells what it differs by from `below`."""

    def __init__(
        self, start: tuple[System, State], frames: Array, recorder: Any, plan: Plan
    ) -> None:
        (system, state), how = start, (plan.step, plan.tolerance)
        super().__init__(system, plan.method, "auto", state, frames, *how, recorder)
        self.plan, self.below, self.alone = plan, plan.below, False
        self.begin, self.far, self.fast = state.x, 0.0, 0.0
        self.seen: dict[str, tuple[Array, Array]] = {}
        self.row: list[Array] = []  # velocities of consecutive steps
        self.squares, self.samples, self.next_sample = np.zeros(DIFFERENCES), 0, 0.0

    @classmethod
    def resumed(cls, system: System, method: Any, tree: Callable[..., Any]) -> Rung:
        loop = cast("Rung", super().resumed(system, method, tree))
        loop.alone = True  # nobody climbs on
        return loop

    @property
    def _samples_now(self) -> bool:
        return isinstance(self.method, Verlet) and self.state.t >= self.next_sample

    def _at_once(self, now: Interval) -> int:
        return 1 if self._samples_now else super()._at_once(now)

    def _advance_fixed(self, target: float) -> bool:
        before = self.steps
        landed = super()._advance_fixed(target)
        self.row = [*self.row[1 - DIFFERENCES :], self.state.v] if self.steps == before + 1 else []
        if self._samples_now and len(self.row) == DIFFERENCES:
            self._sample()
        return landed

    def _look(self) -> None:
        super()._look()
        self._measure(self.state)

    def _record(self, sink: Sink, state: State) -> None:
        last = len(self.frames) - 1
        kept = self.recorded in (last // 2, last)
        super()._record(sink, state)
        self._measure(state)
        if kept and self.sound:
            self.seen[_told(state.t)] = state.x.copy(), state.v.copy()

    def _measure(self, state: State) -> None:
        way = state.x - self.begin
        far, fast = self.system.backend.dots([(way, way), (state.v, state.v)])
        self.far, self.fast = max(self.far, far), max(self.fast, fast)

    def _sample(self) -> None:
        rows, differences = self.row, [self.row[0]]
        for _ in range(DIFFERENCES - 1):
            rows = [b - a for a, b in pairwise(rows)]
            differences.append(rows[0])
        self.squares += self.system.backend.dots([(d, d) for d in differences])
        self.samples += 1
        self.row, self.next_sample = [], self.state.t + float(self.frames[-1]) / SAMPLES

    @property
    def sound(self) -> bool:
        """The energy of explicit steps is about right: else they tell nothing."""
        books, own = self.ledger, scheme_of(self.method)
        return own is None or abs(books.numerical) <= max(
            WORTH_A_WARNING * books.exchanged, books.floor
        )

    @property
    def spectrum(self) -> Spectrum | None:
        if not self.samples or not 0.0 < self.fast < inf or not self.sound:
            return self.plan.spectrum
        return Spectrum.of(self.squares / (self.samples * self.fast), self.longest)

    @property
    def error(self) -> float:
        """What it differs by, or what both runs may have wrong, if that is more."""
        return max(self.difference, self.unseen)

    @property
    def difference(self) -> float:
        """|x - below| over the longest way, |v - below| over the largest |v|: the largest, at the
        end, and at the middle frame where both have it; infinite where one failed.  Beyond second
        order, energy that the books miss is a difference, too."""
        other, end = {} if self.below is None else self.below.seen, _told(float(self.frames[-1]))
        if end not in self.seen or end not in other:
            return inf
        books, worst = self.ledger, 0.0
        if self.method.order > 2 and self.system.conservative and books.exchanged > books.floor:
            worst = abs(books.numerical) / books.exchanged
        for when in self.seen.keys() & other.keys():
            offs = [new - old for new, old in zip(self.seen[when], other[when], strict=True)]
            squares = self.system.backend.dots([(off, off) for off in offs])
            for square, scale in zip(squares, (self.far, self.fast), strict=True):
                worst = max(worst, sqrt(square / scale) if scale > 0.0 else 0.0)
        return worst

    @property
    def unseen(self) -> float:
        """The error that two runs of an explicit method may have in common, relative."""
        scheme, spectrum = scheme_of(self.method), self.spectrum
        if scheme is None or spectrum is None or not self.steps:
            return 0.0
        return spectrum.unseen(scheme, self.state.t / self.steps, float(self.frames[-1]))

    @property
    def report(self) -> Report:
        line, lines = self.plan.line, () if self.below is None else self.below.lines
        if lines and self.error < inf:
            line += f", differs by {self.error:.2g} from {lines[0].split(': ')[1]}"
        return Report(self.seen, (line, *lines))

    def stats(self) -> dict[str, Any]:
        own = {"auto": list(self.report.lines)}
        compared = {} if self.below is None else {"compared_error": self.error}
        return {**super().stats(), **own, **compared}

    def _warn_of_energy(self) -> None:
        if self.alone and self.error > self.plan.rtol:
            warnings.warn(
                f"auto: rtol = {self.plan.rtol:g} is not known to be met, no other run agrees with "
                "this one at its end; run it again from the start",
                StiffWarning,
                stacklevel=levels_up(),
            )
        super()._warn_of_energy()


def _told(t: float) -> str:
    return f"{t:.9g}"
