"""The energy ledger: every joule is kinetic, stored, added, dissipated, or numerical error.

numerical(t) = total(t) - (total(0) + added(t) - dissipated(t)).  Added and dissipated energies are
integrals of power, summed step by step (see accounting.py), and what parts report between the
steps; for a conservative system they are zero and cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .accounting import work
from .contracts import Array, Power, Settled, State, System

ROUNDING = 1e-12  # of the energy moved: below this, earlier energies are no yardstick


@dataclass(frozen=True)
class EnergyHistory:
    """Energies [J] at the recorded frames; parts by name: `energy.kinetic`, `energy.gravity`..."""

    times: Array
    parts: dict[str, Array]
    added: Array
    dissipated: Array

    def __getattr__(self, name: str) -> Array:
        parts = self.__dict__.get("parts", {})
        if name in parts:
            return parts[name]
        raise AttributeError(f"no energy named {name}: this system has {', '.join(parts)}")

    @property
    def total(self) -> Array:
        return np.sum(list(self.parts.values()), axis=0)

    @property
    def numerical(self) -> Array:
        """What the integrator lost (-) or invented (+) since the start."""
        return self.total - (self.total[0] + self.added - self.dissipated)

    @property
    def exchanged(self) -> float:
        """The largest amount that moved between the parts: the yardstick for `numerical`."""
        moved = [np.ptp(part) for part in self.parts.values()]
        return float(max([*moved, np.ptp(self.added), np.ptp(self.dissipated)]))

    def summary(self) -> dict[str, float]:
        return {
            "initial": float(self.total[0]),
            "final": float(self.total[-1]),
            "added": float(self.added[-1]),
            "dissipated": float(self.dissipated[-1]),
            "numerical": float(self.numerical[-1]),
            "max_abs_drift": float(np.abs(self.numerical).max()),
            "exchanged": self.exchanged,
        }

    def rows(self) -> Iterator[tuple[str, float, float]]:
        """(name, first frame, last frame) for every line of the ledger, for printing."""
        for name, part in self.parts.items():
            yield name, float(part[0]), float(part[-1])
        yield "total", float(self.total[0]), float(self.total[-1])
        yield "added", 0.0, float(self.added[-1])
        yield "dissipated", 0.0, float(self.dissipated[-1])
        yield "numerical error", 0.0, float(self.numerical[-1])


class Ledger:
    """Grows with the run: `step` after every step, `frame` at every recorded frame."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.times: list[float] = []
        self.parts: dict[str, list[float]] = {}
        self.added_now = self.dissipated_now = 0.0
        self.added: list[float] = []
        self.dissipated: list[float] = []
        self.scale = 0.0  # largest honest energy at earlier frames, for noticing divergence

    def step(self, before: State, after: State, exchanged: Power | None = None) -> None:
        """Work between two states, unless the method has summed it; not needed for a conservative
        system."""
        moved = work(self.system, before, after) if exchanged is None else exchanged
        self.added_now += moved.added
        self.dissipated_now += moved.dissipated

    def settle(self, settled: Settled) -> None:
        """Energy that moved between two steps."""
        self.added_now += settled.added
        self.dissipated_now += settled.dissipated

    def frame(self, state: State) -> float:
        """Record a frame; how many times the numerical error exceeds all honest energy before."""
        parts = self.system.energy(state)
        self.times.append(state.t)
        for name, value in parts.items():
            self.parts.setdefault(name, []).append(float(value))
        self.added.append(self.added_now)
        self.dissipated.append(self.dissipated_now)
        total = sum(series[-1] for series in self.parts.values())
        start = sum(series[0] for series in self.parts.values())
        numerical = total - start - self.added_now + self.dissipated_now
        moved = max(abs(series[-1] - series[0]) for series in self.parts.values())
        seen = (parts["kinetic"], moved, abs(self.added_now), self.dissipated_now)
        if len(self.times) == 1:  # what is stored at the start can be released
            seen = (*seen, *(abs(v) for n, v in parts.items() if n != "gravity"))
        # a body at rest stores rounding errors, next to which everything is large
        rounding = ROUNDING * max(moved, sum(abs(value) for value in parts.values()))
        judged = self.scale > rounding
        if not judged or numerical <= 0.5 * max(seen):  # mostly invented energy is no yardstick
            self.scale = max(self.scale, *seen)
        growth = abs(numerical) / self.scale if judged and self.scale > 0.0 else 0.0
        return growth if np.isfinite(total) else np.inf

    def history(self) -> EnergyHistory:
        return EnergyHistory(
            np.array(self.times),
            {name: np.array(series) for name, series in self.parts.items()},
            np.array(self.added),
            np.array(self.dissipated),
        )
