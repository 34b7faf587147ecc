"""A whole run that is compared with the one before, of longer steps: a rung of auto's ladder."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf, sqrt
from typing import Any, NamedTuple, cast

import numpy as np

from ..contracts import Array, Splitting, State, System, Tableau
from ..integrators.explicit import Verlet, phase_error, scheme_of
from ..recording.sinks import Sink
from .loop import WORTH_A_WARNING, Loop

SAMPLES = 10  # of the spectrum, in a run
DIFFERENCES = 7  # of velocities in consecutive steps, from none to the sixth


class Spectrum(NamedTuple):
    """How fast what moves: omega (m,) [1/s], and the share (m,) of the largest |v|^2 that swings
    with each."""

    omega: Array
    share: Array

    @classmethod
    def of(cls, squares: Array, h: float) -> Spectrum:
        """From the squares (DIFFERENCES,) of differences of velocities over the largest |v|^2: in
        Verlet's steps the k-th of what swings with omega is (h omega)^k times as large as it is.
        All lie below its limit, 2."""
        from scipy.optimize import nnls  # pyright: ignore  # slow to load, and for auto alone

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


class Plan(NamedTuple):
    """method, step [s] and the line about them; pace: of the steps in which the spectrum is looked
    at [s]; before, lines: x and v by time of the run before, and all that was said."""

    method: Any  # an Integrator
    step: float
    line: str
    rtol: float = inf
    pace: float = inf
    before: dict[str, tuple[Array, Array]] | None = None
    lines: tuple[str, ...] = ()


class Rung(Loop):
    """Remembers how far and how fast the body went, and tells what it differs by from the run
    before."""

    def __init__(
        self, start: tuple[System, State], frames: Array, recorder: Any, plan: Plan
    ) -> None:
        system, state = start
        super().__init__(system, plan.method, "auto", state, frames, plan.step, None, recorder)
        self.plan, self.alone = plan, False
        self.begin, self.far, self.fast = state.x, 0.0, 0.0
        self.seen: dict[str, tuple[Array, Array]] = {}
        self.squares, self.samples = np.zeros(DIFFERENCES), 0

    @classmethod
    def resumed(cls, system: System, method: Any, tree: Callable[..., Any]) -> Rung:
        loop = cast("Rung", super().resumed(system, method, tree))
        loop.alone = True  # nobody climbs on
        return loop

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
        due = (self.samples + 1) / SAMPLES * float(self.frames[-1])
        if self.plan.pace < inf and state.t >= (1.0 - 1e-9) * due:
            self._sample(state)

    def _sample(self, state: State) -> None:
        """Differences of the velocities in a few steps of Verlet, which are not part of the run."""
        memory: Any = None
        rows: list[Array] = [state.v]
        for _ in range(DIFFERENCES - 1):
            taken = Verlet().step(self.system, state, self.plan.pace, memory)
            state, memory = taken.state, taken.memory
            rows.append(state.v)
        firsts: list[Array] = [rows[0]]
        while len(rows) > 1:
            rows = [b - a for a, b in pairwise(rows)]
            firsts.append(rows[0])
        self.squares += self.system.backend.dots([(d, d) for d in firsts])
        self.samples += 1

    @property
    def sound(self) -> bool:
        """The energy of explicit steps is about right: else they tell nothing."""
        books, explicit = self.ledger, scheme_of(self.method) is not None
        allowed = max(WORTH_A_WARNING * books.exchanged, books.floor)
        return not explicit or abs(books.numerical) <= allowed

    @property
    def spectrum(self) -> Spectrum | None:
        if not self.samples or not 0.0 < self.fast < inf or not self.sound:
            return None
        return Spectrum.of(self.squares / (self.samples * self.fast), self.plan.pace)

    @property
    def error(self) -> float:
        """What it differs by, or what runs of an explicit method may have wrong alike, if that is
        more."""
        scheme, spectrum = scheme_of(self.method), self.spectrum
        if scheme is None or spectrum is None:
            return self.difference
        return max(self.difference, spectrum.unseen(scheme, self.longest, float(self.frames[-1])))

    @property
    def difference(self) -> float:
        """Of x over the longest way, of v over the largest |v|: the largest, at the end, and at the
        middle frame where both have it; infinite where one failed.  Beyond second order, energy
        that the books miss is a difference, too."""
        other, end = self.plan.before or {}, _told(float(self.frames[-1]))
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
    def lines(self) -> tuple[str, ...]:
        """What was taken and what it differs by, of this run and of all before."""
        line, before = self.plan.line, self.plan.lines
        if before and self.error < inf:
            line += f", differs by {self.error:.2g} from {before[0].split(': ')[1]}"
        return (line, *before)

    def stats(self) -> dict[str, Any]:
        compared = {} if self.plan.before is None else {"compared_error": self.error}
        return {**super().stats(), "auto": list(self.lines), **compared}

    def _warn_of_energy(self) -> None:
        if self.alone and self.error > self.plan.rtol:
            self._warn(
                f"rtol = {self.plan.rtol:g} is not known to be met, no other run agrees with this "
                "one at its end; run it again from the start"
            )
        super()._warn_of_energy()


def _told(t: float) -> str:
    return f"{t:.9g}"
