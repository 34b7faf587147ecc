"""The ledger of a run: what every part held at every frame, what was lost and what invented."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..contracts import Array


@dataclass(frozen=True)
class EnergyHistory:
    """Energies [J] at the recorded frames; parts by name: `energy.kinetic`, `energy.gravity`..."""

    times: Array
    parts: dict[str, Array]
    added: Array
    dissipated: Array
    invented: Array  # by contact between the steps: the part of `numerical` whose cause is known

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
            "contact": float(self.invented[-1]),
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
        if self.invented[-1] != 0.0:
            yield "of it contact", 0.0, float(self.invented[-1])
