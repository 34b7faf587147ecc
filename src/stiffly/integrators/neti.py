"""neti and ceti: Gautschi-type integrators whose linear part follows the body; second order.

neti rebuilds the tangent at every step.  ceti keeps that of the rest shape and turns it with the
body, A -> R A R^T with per-vertex rotations R from the REST shape (functions of A are computed
once).  With the linear part taken about its own equilibrium r_n, where A (x - r_n) = -a(x), the
formulas of `gautschi` need no r_n, nor any other place: r + cos (x - r) = x + h^2 c_2 a.

    x+ = x + h c_1 v + h^2 c_2 a(x)                                     (c at h^2 A)
    v+ = c_0 v + h c_1 a(x) + h/2 psi_1 G(x*),                          x* = x + phi (x+ - x)
    two-step:  x+ = 2x - x- + 2 h^2 c_2 a(x) + h^2 psi G(x*),           x* = r_n + phi (x - r_n)
               v+ = v- + 2 h c_1 (a(x) + G(x*))

G(x*) = a(x*) - a(x) + A (x* - x) is the nonlinear remainder, filtered like g is there.  In two-step
form x* = x + (1 - phi)/A a averages the fast modes out; where phi = 1 nothing is left over, psi has
nothing to act on, and all such filters are one method, Gautschi's own.

The paper's ceti writes A (x - R r) about the rest shape r: where neighbours turn by different R,
that is a force which grows with the distance from the origin, and the remainder has to take it back
again.  Its secant form of neti (force = K(x) x) leaves the stiff direction of a nearly unstretched
spring out of A, see docs/decisions/0003.  Source: Michels, Sobottka & Weber (2014), Eqs. 8-12,
Algorithms 2 and 3; velocities of the two-step form: Hochbruck & Lubich (1999).

With a budget (time_budget.py) the one-step form happens in two small spaces of vectors: its first
line in that of v and a, where it conserves the linearised energy; x+ - x lies in it, and is
filtered in it.  G has a space of its own.  eti has no budget: its form splits a, which is small,
into two large parts, A y and g, which no small space can hold well enough for their difference; and
without the filter of that form, bodies that turn away from their constant A explode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..accounting import mean_work
from ..contracts import Array, Settled, State, Step, System, Work
from ..errors import InputError
from ..matfun.chooser import check_settings
from ..matfun.reduced import change, reduced
from ..matfun.scalar import StumpffMap
from ..matfun.tolerance import lengths
from ..solvers.settings import CLOCK, Clock, check_budget
from .filters import (
    ONE,
    SINC,
    SINC_HALF_SQUARED,
    argument_map,
    check_form,
    flow_map,
    rest_map,
    sum_map,
)
from .gautschi import Before, Move
from .restart import continues
from .time_budget import Ration, Spaces, smoother

LINEARISATIONS = ("tangent", "secant", "corotated")


@dataclass(frozen=True)
class Neti:
    """filter: see `filters.FILTERS`; form: 'one-step' or 'two-step'; linearisation: 'tangent', the
    paper's 'secant' (systems of springs), or 'corotated' (ceti); budget,
    max_products: as in ExponentialRosenbrock."""

    filter: str = "garcia-archilla"
    form: str = "one-step"
    linearisation: str = "tangent"
    tol: float = 1e-9
    method: str = "auto"
    budget: float | None = None
    clock: Clock = field(default=CLOCK, repr=False, compare=False)
    max_products: int | None = None
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self.tol, self.method, max_products=self.max_products)
        check_budget(self.name, self.budget)
        if self.linearisation not in LINEARISATIONS:
            raise InputError(
                f"linearisation {self.linearisation!r} is unknown: choose one of {LINEARISATIONS}"
            )
        pair = check_form(self.form, self.filter)
        if self.form == "two-step" and pair.phi == ONE and pair.psi != SINC_HALF_SQUARED:
            raise InputError(
                f"{self.name}: filter {self.filter} has nothing to act on in two-step form, "
                "where phi = 1 leaves no remainder: use filter='gautschi', or form='one-step'"
            )
        if self.budget is not None and not self.timed:
            raise InputError(
                f"{self.name}: a budget goes with form='one-step': leave one of them out"
            )

    @property
    def name(self) -> str:
        return "ceti" if self.linearisation == "corotated" else "neti"

    @property
    def timed(self) -> bool:
        """Can have a budget."""
        return self.form == "one-step"

    def start(self, system: System, state: State) -> None:
        if self.linearisation == "corotated":
            system.rotations(state)  # a system without a rest shape says so before the first step

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return None if memory is None else (None, None, memory[2])

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        """memory: the state it belongs to; x, v one step earlier and the step size between; gaps of
        a budget (Ration.gaps)."""
        end, before, gaps = memory or (None, None, (0.0, 0.0))
        ration = None if self.budget is None else Ration(self.budget, self.clock, gaps)
        before = before if continues(end, before, state, h) else None
        move = _Move(self, system, state, h, before)
        if ration is not None:
            new, notes = move.rationed(ration)
            gaps = ration.gaps()
        else:
            new = move.one_step() if self.form == "one-step" else move.two_step()
            notes = {"method": move.used}
        kept, moved = (new, (state.x, state.v, h), gaps), mean_work(system, state, new)
        return Step(new, kept, move.work, None, notes, moved)

    def _linearised(self, system: Any, state: State) -> tuple[Any, Array | None]:
        """A symmetric A in its own frame, and R from there to the world (None: I): what loads add
        to the tangent stays in the filtered remainder."""
        if self.linearisation == "corotated":
            return system.linear_part().tangent.stiffness, system.rotations(state)
        form = "elastic" if self.linearisation == "tangent" else "secant"
        if hasattr(system, form):
            return getattr(system, form)(state), None
        tangent = system.tangent(state)
        if form == "secant" or not tangent.symmetric:
            raise InputError(
                "neti needs a symmetric tangent (linearisation='tangent' of conservative forces): "
                "use pexprb43"
            )
        return tangent.stiffness, None


class _Move(Move):
    """With the acceleration a at the start; rotations: from the frame of A to the world."""

    def __init__(
        self, config: Neti, system: System, state: State, h: float, before: Before
    ) -> None:
        A, self._R = config._linearised(system, state)
        super().__init__(config, system, state, h, A, before)
        self.work += Work(tangents=int(self._R is None))
        self.a = self.acceleration(state.t, state.x, self.v_damped)

    def turn(self, w: Array) -> Array:
        if self._R is None:
            return w
        return np.einsum("nij,nj->ni", self._R, w.reshape(-1, 3)).ravel()

    def back(self, w: Array) -> Array:
        if self._R is None:
            return w
        return np.einsum("nji,nj->ni", self._R, w.reshape(-1, 3)).ravel()

    def apply(self, functions: StumpffMap, *columns: Array) -> Array:
        """To vectors of the world."""
        value = super().apply(functions, *map(self.back, columns))
        return np.array([self.turn(row) for row in value])

    def _kick(self) -> StumpffMap:
        """h/2 psi_1."""
        psi1 = self.filter.psi1
        assert psi1 is not None  # the one-step form asks for it
        return sum_map(((psi1, 0.5 * self.h),), self.h)

    def one_step(self) -> State:
        s, h = self.state, self.h
        dx, dv = self.apply(flow_map(h), s.v, self.a)
        moved, linear = self.apply(argument_map(self.config.filter, h), dx)
        remainder = self.acceleration(s.t + h, s.x + moved, dx / h) - self.a + linear
        (kick,) = self.apply(self._kick(), remainder)
        return s.moved(s.t + h, s.x + dx, s.v + dv + kick)

    def two_step(self) -> State:
        """From x- and v-; where there are none, half of the same, and the free flow of v."""
        s, h = self.state, self.h
        G = self._rest_remainder()
        if self.before is None:
            (dx, dv), share = self.apply(flow_map(h), s.v, self.a), 0.5
            x, v = s.x, s.v
        else:
            both = sum_map(((SINC_HALF_SQUARED, h * h), (SINC, 2.0 * h)), h)
            (dx, dv), share = self.apply(both, self.a), 1.0
            x, v = 2.0 * s.x - self.before[0], self.before[1]
        if G is not None:
            sums = ((self.filter.psi, share * h * h), (SINC, 2.0 * share * h))
            kick = self.apply(sum_map(sums, h), G)
            dx, dv = dx + kick[0], dv + kick[1]
        return s.moved(s.t + h, x + dx, v + dv)

    def _rest_remainder(self) -> Array | None:
        """G = a(x*) - phi a, since A (x* - x) = (1 - phi) a; None: where phi = 1, there is none."""
        s = self.state
        if self.filter.phi == ONE:
            return None
        moved, kept = self.apply(rest_map(self.config.filter, self.h), self.a)
        return self.acceleration(s.t, s.x + moved, self.v_damped) - kept

    def rationed(self, ration: Ration) -> tuple[State, dict[str, Any]]:
        """The step, and what the time was enough for."""
        s, h, A = self.state, self.h, self.A
        smooth, factorised = smoother(self.system.linear_part().tangent, h)
        spaces = Spaces(ration, smooth)
        v, a = self.back(s.v), self.back(self.a)
        # 1. the flow with a frozen force, and the argument of the remainder
        space = spaces.grown(A, (v, a))
        start = space.coordinates(v)
        ends, fewer = reduced(space, flow_map(h), (start, space.coordinates(a)))
        sizes = lengths(np.array([ends[0], start + ends[1]]))
        spaces.errors.append(change(ends, fewer, sizes))
        (moved, _), _ = reduced(space, argument_map(self.config.filter, h), (ends[0],))
        dx, dv, there = space.vectors(np.array([*ends, moved]))
        # 2. the remainder at the end, which the frozen force has missed
        end = self.acceleration(s.t + h, s.x + self.turn(there), self.turn(dx) / h)
        remainder = self.back(end - self.a) + A.apply(there)
        space = spaces.grown(A, (remainder,))
        kick, _ = reduced(space, self._kick(), (space.coordinates(remainder),))
        dv = dv + space.vectors(kick)[0]
        self.work += Work(operator_products=spaces.vectors + 1, factorizations=factorised)
        return s.moved(s.t + h, s.x + self.turn(dx), s.v + self.turn(dv)), spaces.notes()
