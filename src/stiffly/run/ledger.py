"""The energy ledger: every joule is kinetic, stored, added, dissipated, or numerical error.

numerical(t) = total(t) - (total(0) + added(t) - dissipated(t)).  Added and dissipated energies are
integrals of power, summed step by step (see accounting.py), and what parts report between the
steps; for a conservative system they are zero and cost nothing.
"""

from __future__ import annotations

import numpy as np

from ..accounting import ROUNDING, rounding_energy, work_between
from ..contracts import Power, Settled, State, System
from ..recording.run import EnergyHistory

NUMERICAL = "numerical"  # no part has this name


class Balance:
    """The books as they stand: `step` after every step, `look` at every frame and in between as
    often as one likes; never grows.

    now [J]: what each part held at the last look; start: at the first.
    low, high [J]: the extremes of every line of the ledger over all looks.
    """

    unsaved = ("system", "_ended")
    _ended: tuple[System, State, Power] | None = None  # the last step, and the power at its end

    def __init__(self, system: System) -> None:
        self.system = system
        self.start: dict[str, float] = {}
        self.now: dict[str, float] = {}
        self.added_now = self.dissipated_now = self.invented_now = 0.0
        self.low: dict[str, float] = {}
        self.high: dict[str, float] = {}
        self.scale = 0.0  # largest honest energy at earlier looks, for noticing divergence
        self.floor = 0.0  # below this, energies are rounding errors of the coordinates

    def step(self, before: State, after: State, exchanged: Power | None = None) -> None:
        """Work between two states, unless the method has summed it; not needed for a conservative
        system."""
        moved = self._work(before, after) if exchanged is None else exchanged
        self.added_now += moved.added
        self.dissipated_now += moved.dissipated

    def _work(self, before: State, after: State) -> Power:
        """The power at the start of a step is that at the end of the last one."""
        system, ended = self.system, self._ended
        if ended is None or ended[0] is not system or ended[1] is not before:
            ended = (system, before, system.power(before))
        self._ended = (system, after, system.power(after))
        return work_between(system, before, after, ended[2], self._ended[2])

    def settle(self, settled: Settled | Power) -> None:
        """Energy that moved between two steps."""
        self._ended = None  # at the same state other forces may act
        self.added_now += settled.added
        self.dissipated_now += settled.dissipated
        self.invented_now += getattr(settled, "invented", 0.0)  # a hand's Power has none

    @property
    def numerical(self) -> float:
        """What the integrator lost (-) or invented (+) from the first look to the last."""
        gained = sum(self.now.values()) - sum(self.start.values())
        return gained - self.added_now + self.dissipated_now

    @property
    def exchanged(self) -> float:
        """The largest amount that moved between the lines, or the largest motion: a body that only
        flies and spins exchanges nothing."""
        moved = [self.high[name] - self.low[name] for name in self.high if name != NUMERICAL]
        return max(*moved, self.high["kinetic"])

    def _widen(self) -> None:
        """The extremes, with the lines as they are now."""
        lines = {**self.now, "added": self.added_now, "dissipated": self.dissipated_now}
        lines[NUMERICAL] = self.numerical
        self.low, self.high = low, high = dict(self.low), dict(self.high)  # books are copied
        for name, value in lines.items():
            begun = self.start.get(name, 0.0)  # what came later began with nothing
            low[name] = min(low.get(name, begun), value)
            high[name] = max(high.get(name, begun), value)

    def frame(self, state: State) -> float:
        """A frame is here: a look, which kinds of books that keep their frames also write down."""
        return self.look(state)

    def look(self, state: State) -> float:
        """How many times the numerical error exceeds all honest energy before."""
        return self.judged({n: float(e) for n, e in self.system.energy(state).items()}, state)

    def judged(self, parts: dict[str, float], state: State) -> float:
        """The same of energies [J] that are known; state: the first one, for the first look."""
        first, before = not self.start, sum(abs(energy) for energy in self.now.values())
        self.now = parts
        if first:
            self.start, self.floor = parts, rounding_energy(self.system, state, sum(parts.values()))
        self._widen()
        # parts that came later began with nothing, those that are gone end with nothing
        moved = max(
            abs(parts.get(name, 0.0) - self.start.get(name, 0.0))
            for name in parts.keys() | self.start.keys()
        )
        seen = (parts["kinetic"], moved, abs(self.added_now), self.dissipated_now)
        if first:  # what is stored at the start can be released
            seen = (*seen, *(abs(v) for n, v in parts.items() if n != "gravity"))
        # a body at rest stores rounding errors, next to which everything is large
        rounding = ROUNDING * max(moved, sum(abs(value) for value in parts.values()))
        numerical = self.numerical
        invented = not numerical <= 0.5 * max(seen)  # mostly: that is no yardstick
        # energy that comes out of nothing within one frame does not make what was there rounding
        judged = self.scale > self.floor and (
            self.scale > rounding or (invented and self.scale > ROUNDING * before)
        )
        if not judged or not invented:
            self.scale = max(self.scale, *seen)
        if not np.isfinite(numerical):
            return np.inf
        if judged:
            return abs(numerical) / self.scale
        # nothing has moved yet: with all coordinates off by their own size, all is lost
        lost = max(self.floor / ROUNDING**2, before)
        return abs(numerical) / lost if abs(numerical) > lost > 0.0 and not first else 0.0


class Ledger(Balance):
    """Keeps what the books said at every frame of a run."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.times: list[float] = []
        self.parts: dict[str, list[float]] = {}
        self.added: list[float] = []
        self.dissipated: list[float] = []
        self.invented: list[float] = []

    def frame(self, state: State) -> float:
        """A look that is kept."""
        growth = self.look(state)
        self.times.append(state.t)
        for name, value in self.now.items():
            self.parts.setdefault(name, []).append(value)
        self.added.append(self.added_now)
        self.dissipated.append(self.dissipated_now)
        self.invented.append(self.invented_now)
        return growth

    def history(self) -> EnergyHistory:
        return EnergyHistory(
            np.array(self.times),
            {name: np.array(series) for name, series in self.parts.items()},
            np.array(self.added),
            np.array(self.dissipated),
            np.array(self.invented),
        )
