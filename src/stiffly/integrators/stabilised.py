"""Any integrator, kept at the energy it should have.

Dinev, Liu, Kavan 2018, Algorithm 1, which does this for implicit midpoint.  After a step of the
base method, the energy is compared with the target H_total = initial + added - dissipated:

    too high:  x+ = (1 - a) x_base + a x_BE,   v+ alike,   backward Euler started from the base
    too low:   x+ = (1 - a) x_base + a x_FE,   v+ alike,   forward Euler

with the share a that brings |E + K - H_total| below `tolerance` times the energy that is free to
move.  alpha = a above, -a below; 0 where the base is good as it is.  If backward Euler overshoots
as well, the lower of the two is taken and the surplus leaves in later steps.  A step in which a
solver does not converge is halved; one whose end is not finite is a step of backward Euler.  What a
few local/global iterations leave unsolved, and so lose, is not put back: it would go into the
stiffest modes and never come out again.

The yardstick differs from the paper's, H itself at the start of the step: with gravity, H has no
zero, and a share of it means nothing.  Here it is the kinetic energy plus, for every part, what it
stores above the least it ever stored (docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..accounting import Target, middle_work, work
from ..contracts import Power, Settled, State, Step, System, Work
from ..errors import Diverged, InputError, NotConverged
from ..kernels.cpu import column_dot
from ..solvers.pace import CLOCK, Clock, check_budget
from .bdf import Bdf1
from .blend import Candidate, search
from .euler import ForwardEuler
from .halving import exchange, halved
from .midpoint import Midpoint
from .restart import resumed
from .spin import Spin
from .wrapped import Timing, as_integrator, backward_euler, iterates

HALVINGS = 10
PASSES = 10  # of one local/global iteration each, until the energy is low enough


class StabilisedMemory(NamedTuple):
    """Memories of the three methods, the target, and the least energy each part has stored.

    spin: of bodies that nothing holds; None elsewhere.
    energies: of the state the last step ended in; None where it has changed since.
    reserve: of a budget, the seconds to keep for what comes after the base; None: not yet known.
    """

    base: Any
    dissipate: Any
    inject: Any
    target: Target
    lowest: Mapping[str, float]
    energies: Mapping[str, float] | None
    spin: Spin | None
    reserve: float | None = None


@dataclass(frozen=True)
class Stabilised:
    """base: an integrator or its name; dissipate: lowers the energy; inject: raises it.

    tolerance: of the energy free to move (see above); smaller follows the target more closely.
    spin: bodies that nothing holds keep their angular momentum (spin.py), not so in the paper.
    Without `dissipate`, backward Euler with the solver of the base: Newton, or one local/global
    iteration.
    budget: seconds that a step may take, where the base iterates (local/global): see wrapped.py.
    """

    base: Any = field(default_factory=Midpoint)
    dissipate: Any = None
    inject: Any = field(default_factory=ForwardEuler)
    tolerance: float = 0.01
    spin: bool = True
    budget: float | None = None
    clock: Clock = field(default=CLOCK, repr=False, compare=False)

    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("base", "dissipate", "inject"):
            object.__setattr__(self, name, as_integrator(name, getattr(self, name)))
        if isinstance(self.base, Stabilised):
            raise InputError("the base is stabilised already: give the method inside it")
        if self.dissipate is None:
            object.__setattr__(self, "dissipate", backward_euler(self.base))
        if not 0.0 < self.tolerance <= 1.0:
            raise InputError(
                f"stabiliser tolerance {self.tolerance} is outside (0, 1]: try 0.01 (one percent)"
            )
        check_budget("stabiliser", self.budget)

    @property
    def name(self) -> str:
        return f"stabilised:{getattr(self.base, 'name', type(self.base).__name__)}"

    @property
    def order(self) -> int:
        return self.base.order

    @property
    def passes(self) -> int:
        """One iteration of backward Euler is enough for most steps; where not, there are more."""
        return PASSES if iterates(self.dissipate) else 1

    @property
    def remedy(self) -> str:
        return getattr(self.base, "remedy", "try a smaller step")

    def start(self, system: System, state: State) -> StabilisedMemory:
        methods = (self.base, self.dissipate, self.inject)
        target = Target.start(system, state, self.name)
        base, dissipate, inject = (method.start(system, state) for method in methods)
        energies = system.energy(state)
        spin = Spin.of(system, state) if self.spin else None
        return StabilisedMemory(base, dissipate, inject, target, energies, energies, spin)

    def resume(
        self, system: System, state: State, memory: StabilisedMemory, settled: Settled
    ) -> StabilisedMemory:
        """The target moves with what happened between the steps."""
        return memory._replace(
            base=resumed(self.base, system, state, memory.base, settled),
            dissipate=resumed(self.dissipate, system, state, memory.dissipate, settled),
            inject=resumed(self.inject, system, state, memory.inject, settled),
            target=memory.target.moved(settled),
            energies=None,
            spin=Spin.of(system, state) if self.spin else None,
        )

    def step(self, system: System, state: State, h: float, memory: StabilisedMemory) -> Step:
        def take(state: State, part: float, memory: StabilisedMemory, last: bool) -> Step:
            seconds = None if self.budget is None else self.budget * part / h
            return _Correction(self, system, state, part, memory, seconds).run(give_up=last)

        return halved(take, system, state, h, memory, HALVINGS)


class _Correction:
    """One step: the base, its energy, and the blend that mends it."""

    def __init__(
        self,
        method: Stabilised,
        system: System,
        state: State,
        h: float,
        memory: StabilisedMemory,
        seconds: float | None,
    ) -> None:
        self.method, self.system, self.state, self.h = method, system, state, h
        self.memory, self.work = memory, Work()
        self.timing = Timing(seconds, method.clock, memory.reserve)
        self.evaluations, self.band = 0, 0.0
        self.target, self.moved, self.measure = memory.target, Power(), work
        self.lowest = state  # where backward Euler went, before its spin was restored

    def run(self, give_up: bool) -> Step:
        """give_up: the base may be left out where it does not converge."""
        base = self._base(give_up)
        if base is None:  # what forces would have done along it is unknown: the target stays
            return self._finish(self._backward(None), 1.0, {"base_failed": True})
        self.moved = exchange(self.system, self.state, base)
        self.measure = work if base.exchanged is None else middle_work
        self.target = self.memory.target.moved(self.moved)
        first = self._candidate(base.state)
        notes = dict(base.notes)
        self.band = band = self.method.tolerance * self._free_energy(first)
        if abs(first.error) <= band:
            return self._finish(first, 0.0, notes)
        if not first.error <= 0.0:  # also where it is not a number
            return self._finish(*self._lower(first, band), notes)
        if notes.get("under_solved", False):  # the solver has lost it, not the base
            return self._finish(first, 0.0, notes)
        return self._finish(*self._raise(first, band), notes)

    def _base(self, give_up: bool) -> Step | None:
        """None where the base cannot take this step at all."""
        base = self.timing.base(self.method.base)
        try:
            taken = base.step(self.system, self.state, self.h, self.memory.base)
        except NotConverged:
            if give_up:
                return None
            raise
        except (Diverged, np.linalg.LinAlgError):
            return None
        except ValueError:  # matrix functions refuse what is not finite
            if np.all(np.isfinite(self.system.force(self.state))):
                raise
            return None
        self.timing.base_done()
        self.work += taken.work
        if not np.isfinite(column_dot(taken.state.x, taken.state.v)):
            return None
        self.memory = self.memory._replace(base=taken.memory)
        return taken

    def _backward(self, guess: State | None) -> Candidate:
        dissipate, memory = self.method.dissipate, self.memory.dissipate
        extra = {"guess": guess} if isinstance(dissipate, Bdf1) else {}
        taken = dissipate.step(self.system, self.state, self.h, memory, **extra)
        self.work += taken.work
        self.memory = self.memory._replace(dissipate=taken.memory)
        self.lowest = taken.state
        return self._candidate(taken.state)

    def _lower(self, first: Candidate, band: float) -> tuple[Candidate, float]:
        """Too much energy: towards backward Euler."""
        # from far off, backward Euler would find another of its solutions, as far off
        near = first.error * self.method.tolerance <= band
        last = self._backward(first.state if near else None)
        for _ in range(self.method.passes - 1):
            if last.error <= band:
                break
            last = self._backward(last.state)
        if last.error > band and last.state is not self.lowest:  # the spin has to wait
            slower = self._candidate(self.lowest, spin=False)
            if slower.error <= band:
                return self._blend(last, slower, band, spin=False)[0], 1.0
            last = slower
        if last.error > band:  # both overshoot: later steps take the rest
            return (last, 1.0) if not last.error > first.error else (first, 0.0)
        if not np.isfinite(first.error):
            return last, 1.0
        return self._blend(first, last, band)

    def _raise(self, first: Candidate, band: float) -> tuple[Candidate, float]:
        """Too little: towards forward Euler."""
        taken = self.method.inject.step(self.system, self.state, self.h, self.memory.inject)
        self.work += taken.work
        last = self._candidate(taken.state)
        if last.error < -band:  # neither has enough
            best, share = (last, 1.0) if last.error > first.error else (first, 0.0)
        else:
            best, share = self._blend(first, last, band)
        return best, -share

    def _candidate(self, s: State, spin: bool = True) -> Candidate:
        self.evaluations += 1
        if spin and self.memory.spin is not None:
            s = self.memory.spin.restored(s)
        energies = self.system.energy(s)
        return Candidate(s, energies, float(sum(energies.values())) - self.target.value)

    def _free_energy(self, first: Candidate) -> float:
        """Kinetic energy before the step, and what the parts stored above their least; what was
        too much then is not counted."""
        now = self.memory.energies
        if now is None:
            now = self.system.energy(self.state)
        surplus = float(sum(now.values())) - self.memory.target.value
        total = now["kinetic"] - max(surplus, 0.0)
        for name, value in now.items():
            if name != "kinetic":
                total += value - min(self.memory.lowest.get(name, value), value,
                                     _finite(first.energies[name], value))  # fmt: skip
        return max(total, 0.0)

    def _blend(
        self, first: Candidate, last: Candidate, band: float, spin: bool = True
    ) -> tuple[Candidate, float]:
        """The share of `last` at which the error is within the band."""
        a, b = first.state, last.state

        def at(share: float) -> Candidate:
            x = (1.0 - share) * a.x + share * b.x
            return self._candidate(State(a.t, x, (1.0 - share) * a.v + share * b.v), spin)

        return search(at, first, last, band)

    def _finish(self, best: Candidate, alpha: float, notes: dict[str, Any]) -> Step:
        lowest = {
            name: min(_finite(value, np.inf), self.memory.lowest.get(name, np.inf))
            for name, value in best.energies.items()
        }
        if alpha != 0.0:  # the work of forces along the accepted step, not the base's
            self.moved = self.measure(self.system, self.state, best.state)
        target = self.memory.target.moved(self.moved)
        memory = self.memory._replace(
            target=target, lowest=lowest, energies=best.energies, reserve=self.timing.reserve()
        )
        notes = {
            **notes,
            "alpha": alpha,
            "energy_error": float(sum(best.energies.values())) - target.value,
            "energy_band": self.band,
            "energy_evaluations": self.evaluations,
        }
        return Step(best.state, memory, self.work, notes=notes, exchanged=self.moved)


def _finite(value: float, otherwise: float) -> float:
    return value if np.isfinite(value) else otherwise
