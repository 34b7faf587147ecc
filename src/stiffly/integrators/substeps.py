"""Several equal steps of a base method in one: the usual answer to instability, at its price.

The yardstick of Dinev, Liu, Kavan 2018, Table 2, who substep implicit midpoint.  Frames, damping
between the steps and contact detection see one step of size h; forces are evaluated all along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..contracts import Integrator, Power, Settled, State, Step, System, Work
from ..errors import InputError
from ..solvers.settings import check_count
from .halving import exchange, joined
from .restart import resumed


@dataclass(frozen=True)
class Substeps:
    """base: any integrator with steps of fixed size; count: of its steps in one of these."""

    base: Integrator
    count: int

    adaptive = False

    def __post_init__(self) -> None:
        if not (hasattr(self.base, "step") and hasattr(self.base, "start")):
            raise InputError(f"substeps: base {self.base!r} is no integrator: give e.g. Midpoint()")
        check_count("substeps", "count", self.count)

    @property
    def name(self) -> str:
        return f"{getattr(self.base, 'name', type(self.base).__name__)} x {self.count}"

    @property
    def order(self) -> int:
        return self.base.order

    @property
    def dissipative(self) -> bool:
        return getattr(self.base, "dissipative", False)

    @property
    def remedy(self) -> str:
        return getattr(self.base, "remedy", "give more substeps")

    def start(self, system: System, state: State) -> Any:
        return self.base.start(system, state)

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return resumed(self.base, system, state, memory, settled)

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        end, work, moved, notes = state.t + h, Work(), Power(), {}
        for left in reversed(range(self.count)):
            taken = self.base.step(system, state, h / self.count, memory)
            moved += exchange(system, state, taken)
            state, memory = taken.state, taken.memory
            if left == 0 and state.t != end:  # sums of h drift
                state = state.moved(end, state.x, state.v)
            work += taken.work
            notes = joined(notes, taken.notes)
        return Step(state, memory, work, exchanged=moved, notes=notes)
