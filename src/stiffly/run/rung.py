"""A whole run that is compared with another one, of longer steps: a rung of auto's ladder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import inf, sqrt
from typing import Any, NamedTuple, cast

from ..contracts import Array, State, System
from ..errors import StiffWarning
from .loop import LOOKS, Loop


class Report(NamedTuple):
    """What is left of a run: x and v by time, and the lines that tell of it and of all before."""

    seen: dict[str, tuple[Array, Array]]
    lines: tuple[str, ...]


class Plan(NamedTuple):
    """method, step [s] and the line about them; omega: of the stiffest mode; below: the run
    before, None for the first."""

    method: Any  # an Integrator
    step: float
    line: str
    rtol: float = inf
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
        self.begin, self.far, self.fast, self.next_measure = state.x, 0.0, 0.0, 0.0
        self.seen: dict[str, tuple[Array, Array]] = {}
        self.before = (state.v,) * 4  # velocities of the last steps
        self.bent, self.looks = 0.0, 0

    @classmethod
    def resumed(cls, system: System, method: Any, tree: Callable[..., Any]) -> Rung:
        loop = cast("Rung", super().resumed(system, method, tree))
        loop.alone = True  # nobody climbs on
        return loop

    def _advance_fixed(self, target: float) -> bool:
        before = (*self.before[1:], self.state.v)
        landed = super()._advance_fixed(target)
        self.before = before
        if landed or self.state.t >= self.next_measure:
            self._measure()
        last = len(self.frames) - 1
        if landed and self.recorded in (last // 2, last):
            self.seen[_told(self.state.t)] = self.state.x.copy(), self.state.v.copy()
        return landed

    def _measure(self) -> None:
        way = self.state.x - self.begin
        far, fast = self.system.backend.dots([(way, way), (self.state.v, self.state.v)])
        self.far, self.fast = max(self.far, far), max(self.fast, fast)
        if self.steps > 3:
            a, b, c, d = self.before
            bend = a - 4.0 * b + 6.0 * c - 4.0 * d + self.state.v
            self.bent += self.system.backend.dots([(bend, bend)])[0]
            self.looks += 1
        self.next_measure = self.state.t + float(self.frames[-1]) / LOOKS

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
        """The error of the stiffest mode, relative, which two runs may have in common.

        Verlet turns it too fast, by (h w)^2/24 radians per radian, rk4 too slowly, by (h w)^4/120:
        so much of its size is wrong, and sqrt 2 where the phase is lost.  Fourth differences of v,
        (h w)^4 times that, tell of its size.
        """
        phase = (self.longest * self.plan.omega) ** 2
        turn = {"verlet": phase / 24.0, "rk4": phase**2 / 120.0}.get(self.plan.line.split()[1])
        if not turn or not self.looks * self.fast > 0.0:
            return 0.0
        wrong = min(turn * self.plan.omega * float(self.frames[-1]), sqrt(2.0))
        return wrong * sqrt(self.bent / self.looks / self.fast) / phase**2

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
                stacklevel=4,
            )
        super()._warn_of_energy()


def _told(t: float) -> str:
    return f"{t:.9g}"
