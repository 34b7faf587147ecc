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

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from ..contracts import Array, State, Step, System, Work
from ..errors import InputError
from ..matfun.auto import check_settings, evaluate
from ..matfun.stumpff import StumpffMap, Term
from .filters import filter_pair
from .gautschi import argument_map, sum_map
from .restart import continues


@lru_cache(maxsize=64)
def _flow_map(h: float) -> StumpffMap:
    """(v, a) -> h c_1 v + h^2 c_2 a,  (c_0 - 1) v + h c_1 a = -h^2 A c_2 v + h c_1 a."""
    terms = (
        Term(0, 0, 1, h, h),
        Term(0, 1, 2, h, h * h),
        Term(1, 0, 2, h, -h * h, 1),
        Term(1, 1, 1, h, h),
    )
    return StumpffMap(2, 2, terms)


@lru_cache(maxsize=64)
def _two_step_map(h: float) -> StumpffMap:
    """a -> 2 h^2 c_2 a,  2 h c_1 a."""
    return StumpffMap(2, 1, (Term(0, 0, 2, h, 2 * h * h), Term(1, 0, 1, h, 2 * h)))


@dataclass(frozen=True)
class Neti:
    """filter: one with a psi_1 (see `filters.FILTERS`); form: 'one-step' or 'two-step';
    linearisation: 'tangent', or the paper's 'secant' (systems of springs)."""

    filter: str = "garcia-archilla"
    form: str = "one-step"
    linearisation: str = "tangent"
    tol: float = 1e-9
    method: str = "auto"
    name: ClassVar[str] = "neti"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self.tol, self.method)
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

    def start(self, system: System, state: State) -> None:
        return None

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        """memory: the state it belongs to, then x, v one step earlier and the step size between."""
        end, before = memory or (None, None)
        memory = before if continues(end, before, state, h) else None
        A = self._linearised(system, state)
        # damping enters through the filtered velocity (x_n - x_(n-1))/h, as in the paper
        v_damped = state.v if memory is None else (state.x - memory[0]) / h
        a = system.acceleration(State(state.t, state.x, v_damped))
        if self.form == "two-step" and memory is not None:
            action = evaluate(A, _two_step_map(h), (a,), tol=self.tol, method=self.method)
            dx, dv = action.value
            new = State(state.t + h, 2.0 * state.x - memory[0] + dx, memory[1] + dv)
            work = Work(1, 1, action.products)
        else:
            new, work, action = self._one_step(system, state, h, A, a)
        return Step(new, (new, (state.x, state.v, h)), work, None, {"method": action.method})

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
        action = evaluate(A, _flow_map(h), (state.v, a), **options)
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
