"""Any integrator, kept at the energy it should have.

Dinev, Liu, Kavan 2018, Algorithm 1, which does this for implicit midpoint.  After a step of the
base method, the energy is compared with the target H_total = initial + added - dissipated:

    too high:  x+ = (1 - a) x_base + a x_BE,   v+ alike,   backward Euler started from the base
    too low:   x+ = (1 - a) x_base + a x_FE,   v+ alike,   forward Euler

with the share a that brings |E + K - H_total| below `tolerance` times the energy that is free to
move (and what a body at rest holds by rounding).  alpha = a above, -a below; 0 where the base is
good as it is.  What is promised, whatever the three methods return (numbers or none), is that no
step ends more than that above the target:

- where backward Euler overshoots too, or nothing converges, the step is taken in halves, HALVINGS
  deep (and while a budget lasts);
- where that does not help, as much of it is taken as what is stored allows, and the velocities
  are scaled to what is left (blend.py).  Such steps are counted (`limited`).

What a few local/global iterations leave unsolved, and so lose, is not put back: it would go into
the stiffest modes and never come out again.  Where a base is so far off that no share of it is
worth keeping (its error exceeds the free energy, and it says itself that it is unsolved), the step
is backward Euler's, and what that loses is given up: the target is lowered.

The yardstick differs from the paper's, H itself at the start of the step: with gravity, H has no
zero, and a share of it means nothing.  Here it is the kinetic energy plus, for every part, what it
stores above the least it ever stored (docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..accounting import Target, rounding_energy
from ..arrays import real_number
from ..contracts import Integrator, Settled, State, Step, System
from ..errors import InputError, NotConverged, require
from ..solvers.local_global import LocalGlobal
from ..solvers.newton import Newton
from ..solvers.settings import CLOCK, Clock, check_budget
from .correction import Correction, iterates
from .halving import clear, halves
from .restart import resumed
from .runge_kutta import ForwardEuler
from .spin import Spin
from .stage import Bdf1, Midpoint

HALVINGS = 3  # an eighth of the step: what is not found there is not sought any further
PASSES = 10  # of one local/global iteration each, until the energy is low enough
LOOSE = 1e-6  # residual of backward Euler: what it lowers is measured afterwards


class StabilisedMemory(NamedTuple):
    """Memories of the three methods, the target, and the least energy each part has stored.

    spin: of bodies that nothing holds; None elsewhere.
    energies: of the state the last step ended in; None where it has changed since.
    reserve: of a budget, the seconds to keep for what comes after the base; None: not yet known.
    rounding: what a body at rest may hold [J], which is nothing to be corrected.
    """

    base: Any
    dissipate: Any
    inject: Any
    target: Target
    lowest: Mapping[str, float]
    energies: Mapping[str, float] | None
    spin: Spin | None
    reserve: float | None = None
    rounding: float = 0.0


@dataclass(frozen=True)
class Stabilised:
    """base: an integrator or its name; dissipate: lowers the energy; inject: raises it.

    tolerance: of the energy free to move (see above); smaller follows the target more closely.
    spin: bodies that nothing holds keep their angular momentum (spin.py), not so in the paper.
    Without `dissipate`, backward Euler with the solver of the base: Newton, or one local/global
    iteration.
    budget: seconds that a step may take, where the base iterates (local/global): see `Timing`.
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
            object.__setattr__(self, name, _as_integrator(name, getattr(self, name)))
        if isinstance(self.base, Stabilised):
            raise InputError("the base is stabilised already: give the method inside it")
        if self.dissipate is None:
            object.__setattr__(self, "dissipate", _backward_euler(self.base))
        if not 0.0 < real_number("stabiliser tolerance", self.tolerance, "try 0.01") <= 1.0:
            raise InputError(
                f"stabiliser tolerance {self.tolerance} is outside (0, 1]: try 0.01 (one percent)"
            )
        check_budget("stabiliser", self.budget)

    @property
    def name(self) -> str:
        words = [] if self.spin else ["no-spin"]
        return ":".join(
            ["stabilised", *words, getattr(self.base, "name", type(self.base).__name__)]
        )

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
        rounding = rounding_energy(system, state)
        return StabilisedMemory(
            base, dissipate, inject, target, energies, energies, spin, rounding=rounding
        )

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
        def take(state: State, part: float, memory: StabilisedMemory) -> Step:
            seconds = None if self.budget is None else self.budget * part / h
            last = part <= h * 0.5**HALVINGS
            return Correction(self, system, state, part, memory, seconds).run(halve=not last)

        try:
            taken = Correction(self, system, state, h, memory, self.budget).run(halve=True)
            return clear(system, state, taken)
        except NotConverged as failure:
            return halves(failure, take, system, state, h, memory, HALVINGS)


def _backward_euler(base: Integrator) -> Bdf1:
    """With the base's solver; from a good start one local/global iteration is enough (Sec. 4.2)."""
    if iterates(base):
        quick = base.solver.accelerate  # type: ignore[attr-defined]  # just asked
        # an accelerated base can overshoot by more than one plain iteration takes back
        return Bdf1(solver=LocalGlobal(3, accelerate=True) if quick else LocalGlobal(1))
    return Bdf1(solver=Newton(tolerance=LOOSE))


def _as_integrator(role: str, given: Any) -> Any:
    if isinstance(given, str):
        from . import integrator  # names are known one floor up

        return integrator(given)
    if given is None and role == "dissipate":
        return None
    if not (hasattr(given, "step") or hasattr(given, "start")):
        raise InputError(
            f"stabiliser: {role} {given!r} is no integrator: give a name such as 'midpoint', or "
            "an integrator"
        )
    require(given, Integrator, f"stabiliser: {role}")
    return given
