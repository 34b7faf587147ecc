"""A whole run that is compared with another one, of longer steps: a rung of auto's ladder."""

from __future__ import annotations

import warnings
from math import inf, sqrt
from typing import Any, NamedTuple

from ..contracts import Array, State, System
from ..errors import StiffWarning
from ..integrators import Verlet
from .loop import LOOKS, Loop


class Report(NamedTuple):
    """What is left of a run: x and v by share of the duration, its own words, and the lines that
    tell of it and of all runs before."""

    seen: dict[float, tuple[Array, Array]]
    words: str
    lines: tuple[str, ...]


class Plan(NamedTuple):
    """method and step [s], both in words, and the line about them; omega: of the stiffest mode;
    below: the run before, None for the first."""

    method: Any  # an Integrator
    step: float
    words: str
    line: str
    rtol: float
    omega: float = 0.0
    below: Report | None = None


class Rung(Loop):
    """Remembers how far and how fast the body went, and tells what it differs by from `below`."""

    def __init__(
        self, start: tuple[System, State], frames: Array, recorder: Any, plan: Plan
    ) -> None:
        (system, state), step = start, plan.step
        super().__init__(system, plan.method, "auto", state, frames, step, None, recorder)
        self.plan, self.below, self.alone = plan, plan.below, False
        self.origin, self.far, self.fast, self.next_measure = state.x, 0.0, 0.0, 0.0
        self.seen: dict[float, tuple[Array, Array]] = {}
        self.before = state.v, state.v  # velocities of the last two steps
        self.bent, self.looks = 0.0, 0

    def __setstate__(self, saved: dict[str, Any]) -> None:
        super().__setstate__(saved)
        self.alone = True  # resumed: nobody climbs on

    def _advance_fixed(self, target: float) -> bool:
        before = self.before[1], self.state.v
        landed = super()._advance_fixed(target)
        self.before = before
        if landed or self.state.t >= self.next_measure:
            self._measure()
        last = len(self.frames) - 1
        if landed and self.recorded in (1, last // 2, last):
            when = round(self.state.t / float(self.frames[-1]), 9)
            self.seen[when] = self.state.x.copy(), self.state.v.copy()
        return landed

    def _measure(self) -> None:
        way = self.state.x - self.origin
        far, fast = self.system.backend.dots([(way, way), (self.state.v, self.state.v)])
        self.far, self.fast = max(self.far, far), max(self.fast, fast)
        if self.steps > 1:
            bend = self.before[0] - 2.0 * self.before[1] + self.state.v
            self.bent += self.system.backend.dots([(bend, bend)])[0]
            self.looks += 1
        self.next_measure = self.state.t + float(self.frames[-1]) / LOOKS

    @property
    def error(self) -> float:
        """|x - below| over the longest way, |v - below| over the largest |v|: the largest, at the
        end, and at the first and the middle frame where both have it; infinite where one failed."""
        other = {} if self.below is None else self.below.seen
        if 1.0 not in self.seen or 1.0 not in other:
            return inf
        worst = self.unseen
        for when in self.seen.keys() & other.keys():
            offs = [new - old for new, old in zip(self.seen[when], other[when], strict=True)]
            squares = self.system.backend.dots([(off, off) for off in offs])
            for square, scale in zip(squares, (self.far, self.fast), strict=True):
                worst = max(worst, sqrt(square / scale) if scale > 0.0 else 0.0)
        return worst

    @property
    def unseen(self) -> float:
        """Errors that two runs may have in common, relative.

        Verlet turns the stiffest mode too fast, by (h w)^2/24 radians per radian.  Where its phase
        is lost, it is wrong by sqrt 2 of its size, of which second differences of v, (h w)^2 times
        that, tell.  Beyond second order, energy that the books miss is an error, too.
        """
        books, phase = self.ledger, (self.longest * self.plan.omega) ** 2
        if isinstance(self.method, Verlet):
            lost = phase / 24.0 * self.plan.omega * float(self.frames[-1]) > sqrt(2.0)
            known = lost and self.looks * self.fast > 0.0
            return sqrt(2.0 * self.bent / self.looks / self.fast) / phase if known else 0.0
        if self.method.order > 2 and self.system.conservative and books.exchanged > books.floor:
            return abs(books.numerical) / books.exchanged
        return 0.0

    @property
    def report(self) -> Report:
        line, lines = self.plan.line, () if self.below is None else self.below.lines
        if self.below is not None and self.error < inf:
            line += f", differs by {self.error:.2g} from {self.below.words}"
        return Report(self.seen, self.plan.words, (line, *lines))

    def stats(self) -> dict[str, Any]:
        own = {"auto": list(self.report.lines)}
        compared = {} if self.below is None else {"compared_error": self.error}
        return {**super().stats(), **own, **compared}

    def _warn_of_energy(self) -> None:
        if self.alone and self.error > self.plan.rtol:
            warnings.warn(
                f"auto: rtol = {self.plan.rtol:g} is not known to be met, this run was stopped "
                "before the last of its ladder; run it again",
                StiffWarning,
                stacklevel=4,
            )
        super()._warn_of_energy()
