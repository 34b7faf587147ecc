"""Implicit midpoint, then velocities scaled so that the total energy is what it should be.

    K' = max(0, H_total - E(x+)),   v+ <- sqrt(K' / K) v+

Su, Sheth, Fedkiw, Energy conservation for the simulation of deformable bodies (2013), in the
simplest form that Dinev, Liu, Kavan 2018 compare with (Fig. 5).  Positions are left alone, so what
midpoint stores in deformation by mistake can only be met by less motion; where it exceeds H_total
nothing is left to take: the energy then stays too high, and `energy_error` says by how much.
Scaling all velocities alike keeps no momentum.  A body at rest (K = 0) has no direction to scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, ClassVar, NamedTuple

from ..accounting import Target, middle_work
from ..contracts import Settled, State, Step, System
from ..errors import InputError
from .implicit import Midpoint


class BudgetMemory(NamedTuple):
    midpoint: Any
    target: Target


@dataclass(frozen=True)
class EnergyBudget:
    """midpoint: with the solver of your choice."""

    midpoint: Midpoint = field(default_factory=Midpoint)

    name: ClassVar[str] = "energy-budget"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.midpoint, Midpoint):
            raise InputError(f"energy-budget: midpoint = {self.midpoint!r}: give Midpoint(), with "
                             "the solver of your choice")  # fmt: skip

    @property
    def remedy(self) -> str:
        return self.midpoint.remedy

    def start(self, system: System, state: State) -> BudgetMemory:
        target = Target.start(system, state, self.name)
        return BudgetMemory(self.midpoint.start(system, state), target)

    def resume(
        self, system: System, state: State, memory: BudgetMemory, settled: Settled
    ) -> BudgetMemory:
        midpoint = self.midpoint.resume(system, state, memory.midpoint, settled)
        return BudgetMemory(midpoint, memory.target.moved(settled))

    def step(self, system: System, state: State, h: float, memory: BudgetMemory) -> Step:
        taken = self.midpoint.step(system, state, h, memory.midpoint)
        new = taken.state
        energies = system.energy(new)
        kinetic, total = energies["kinetic"], sum(energies.values())
        moved = middle_work(system, state, new)
        target = memory.target.moved(moved)
        # what is free for motion is the rest; computed from the excess, small against both
        free = max(0.0, kinetic - (total - target.value))
        if kinetic > 0.0:
            new = new.moved(new.t, new.x, sqrt(free / kinetic) * new.v)
            total += free - kinetic
            moved = middle_work(system, state, new)  # of the velocities that were kept
            target = memory.target.moved(moved)
        notes = {**taken.notes, "energy_error": total - target.value}
        memory = BudgetMemory(taken.memory, target)
        return Step(new, memory, taken.work, notes=notes, exchanged=moved)
