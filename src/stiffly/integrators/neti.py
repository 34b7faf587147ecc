"""neti: the Gautschi-type integrator with the tangent rebuilt at every step; second order.

With the linear part taken about its own equilibrium r_n (where the linearised force vanishes)
the formulas of `gautschi` need no r_n: r + cos (x - r) = x + h^2 c_2 a because A (x - r) = -a.

    x+ = x + h c_1 v + h^2 c_2 a(x)                                     (c at h^2 A(x))
    v+ = c_0 v + h c_1 a(x) + h/2 psi_1 [a(x*) - a(x) + A (x* - x)],   x* = x + phi (x+ - x)
    two-step:  x+ = 2x - x- + 2 h^2 c_2 a(x),   v+ = v- + 2 h c_1 a(x)

The bracket is the nonlinear remainder at the end of the step, filtered like g is there.  The
secant form of the paper (force = K(x) x) leaves the stiff direction of a nearly unstretched spring
out of A, see docs/decisions/0003.  Source: Michels, Sobottka & Weber (2014), Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..accounting import mean_work
from ..contracts import Array, Settled, State, Step, System, Work
from ..errors import InputError
from ..matfun.auto import check_settings, evaluate
from ..solvers.pace import CLOCK, Clock, check_budget
from .filters import filter_pair
from .gautschi_maps import argument_map, flow_map, sum_map, two_step_map
from .rationed_gautschi import rationed
from .rations import Ration, Spaces, smoother
from .restart import continues


def _same(w: Array) -> Array:
    return w


@dataclass(frozen=True)
class Neti:
    """filter: one with a psi_1 (see `filters.FILTERS`); form: 'one-step' or 'two-step';
    linearisation: 'tangent', or the paper's 'secant' (systems of springs); budget: as in
    ExponentialRosenbrock."""

    filter: str = "garcia-archilla"
    form: str = "one-step"
    linearisation: str = "tangent"
    tol: float = 1e-9
    method: str = "auto"
    budget: float | None = None
    clock: Clock = field(default=CLOCK, repr=False, compare=False)
    name: ClassVar[str] = "neti"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self.tol, self.method)
        check_budget("neti", self.budget)
        if self.form not in ("one-step", "two-step"):
            raise InputError(f"form {self.form!r} is unknown: choose 'one-step' or 'two-step'")
        if self.linearisation not in ("tangent", "secant"):
            raise InputError(
                f"linearisation {self.linearisation!r} is unknown: choose 'tangent' or 'secant'"
            )
        pair = filter_pair(self.filter)
        if self.form == "one-step" and pair.psi1 is None:
            raise InputError(
                f"filter {self.filter} has poles in one-step form: use form='two-step', "
                "or the default filter garcia-archilla"
            )
        if self.budget is not None and not self.timed:
            raise InputError("neti: a budget goes with form='one-step': leave one of them out")

    @property
    def timed(self) -> bool:
        """Can have a budget."""
        return self.form == "one-step"

    def start(self, system: System, state: State) -> None:
        return None

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return None if memory is None else (None, None, memory[2])

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        """memory: the state it belongs to; x, v one step earlier and the step size between; gaps of
        a budget (Ration.gaps)."""
        end, before, gaps = memory or (None, None, (0.0, 0.0))
        ration = None if self.budget is None else Ration(self.budget, self.clock, gaps)
        memory = before if continues(end, before, state, h) else None
        A = self._linearised(system, state)
        # damping enters through the filtered velocity (x_n - x_(n-1))/h, as in the paper
        v_damped = state.v if memory is None else (state.x - memory[0]) / h
        a = system.acceleration(State(state.t, state.x, v_damped))
        if ration is not None:
            return self._rationed(system, state, h, A, a, ration)
        if self.form == "two-step" and memory is not None:
            action = evaluate(A, two_step_map(h), (a,), tol=self.tol, method=self.method)
            dx, dv = action.value
            new = State(state.t + h, 2.0 * state.x - memory[0] + dx, memory[1] + dv)
            work = Work(1, 1, action.products)
        else:
            new, work, action = self._one_step(system, state, h, A, a)
        kept = (new, (state.x, state.v, h), gaps)
        moved = mean_work(system, state, new)
        return Step(new, kept, work, None, {"method": action.method}, moved)

    def _rationed(
        self, system: System, state: State, h: float, A: Any, a: Array, ration: Ration
    ) -> Step:
        smooth, factorised = smoother(system.linear_part().tangent, h)
        spaces = Spaces(ration, smooth)
        frame = (_same, _same)
        new, spent = rationed(system, state, h, a, spaces, A=A, filter=self.filter, frame=frame)
        work = spent + Work(tangents=1, factorizations=factorised)
        kept = (new, (state.x, state.v, h), ration.gaps())
        return Step(new, kept, work, None, spaces.notes(), mean_work(system, state, new))

    def _linearised(self, system: Any, state: State) -> Any:
        """A symmetric A: what loads add to the tangent stays in the filtered remainder."""
        form = "elastic" if self.linearisation == "tangent" else "secant"
        if hasattr(system, form):
            return getattr(system, form)(state)
        tangent = system.tangent(state)
        if form == "secant" or not tangent.symmetric:
            raise InputError(
                "neti needs a symmetric tangent (linearisation='tangent' of conservative forces): "
                "use pexprb43"
            )
        return tangent.stiffness

    def _one_step(self, system: System, state: State, h: float, A: Any, a: Array):
        options = {"tol": self.tol, "method": self.method}
        action = evaluate(A, flow_map(h), (state.v, a), **options)
        dx, dv = action.value
        psi1 = filter_pair(self.filter).psi1
        work = Work(2, 1, action.products)
        if psi1 is None:  # first step of a two-step filter: the flow alone
            return State(state.t + h, state.x + dx, state.v + dv), work, action
        argument = evaluate(A, argument_map(self.filter, h), (dx,), **options)
        moved, linear = argument.value
        there = State(state.t + h, state.x + moved, dx / h)
        remainder = system.acceleration(there) - a + linear
        kick = evaluate(A, sum_map(((psi1, 0.5 * h),), h), (remainder,), **options)
        work += Work(operator_products=argument.products + kick.products)
        new = State(state.t + h, state.x + dx, state.v + dv + kick.value[0])
        return new, work, action
