"""What a simulation leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from ..contracts import Array
from .energy_history import EnergyHistory


@dataclass(repr=False)
class Run:
    """What a simulation leaves behind; frames are at `times` [s].

    diagnostics: (steps,) arrays with one value per step, by name: `t` [s] at its end; and, where
    the method or the system has them, `residual` (of the solve, relative), `alpha` (of a
    stabiliser), `energy_error` [J], `halvings`, `under_solved`, `penetration` [m], `contacts`.
    """

    integrator: str
    step: float | None
    times: Array
    positions: Array  # (frames, particles, 3), or (frames, n) for SecondOrder
    velocities: Array
    energy: EnergyHistory
    stats: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Array] = field(default_factory=dict)
    wall_seconds: float = 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._facts()})"

    def _facts(self) -> str:
        numerical = float(self.energy.numerical[-1]) if len(self.times) else 0.0
        return (
            f"{self.integrator}, {len(self.times)} frames of shape {self.positions.shape[1:]}, "
            f"{self.stats.get('steps', 0)} steps, {self.wall_seconds:.3g} s; "
            f"numerical {numerical:.3g} of {self.energy.exchanged:.3g} J exchanged"
        )

    def _repr_html_(self) -> str:
        """The ledger as a small table, for notebooks."""
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{start:.4g}</td><td>{end:.4g}</td></tr>"
            for name, start, end in self.energy.rows()
        )
        head = "<tr><th>energy [J]</th><th>start</th><th>end</th></tr>"
        return f"<div><p>{escape(self._facts())}</p><table>{head}{cells}</table></div>"

    def plot_energy(self, path: str | None = None) -> Any:
        """Figure of the ledger over time; written to `path` when given."""
        from .plots import plot_energy

        return plot_energy(self, path)

    def summary(self) -> dict[str, Any]:
        return {
            "integrator": self.integrator,
            "step": self.step,
            "steps": self.stats.get("steps", 0),
            "duration": float(self.times[-1]) if len(self.times) else 0.0,
            "wall_seconds": self.wall_seconds,
            "energy": self.energy.summary(),
            "stats": self.stats,
        }
