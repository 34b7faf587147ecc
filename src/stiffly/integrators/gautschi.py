"""Gautschi-type exponential integrators: eti and ceti (neti has its own file); second order.

x'' = -A (x - r) + g(x): the linear part is solved exactly by cos and sinc of h sqrt(A), the
remainder g enters through filters (psi, phi), so that stiff modes cannot resonate with the step.

    x+ = r + cos y + h sinc v + h^2/2 psi g(r + phi y)                       (y = x - r)
    v+ = -h A sinc y + cos v + h/2 (psi_0 g(r + phi y) + psi_1 g(r + phi y+))
    two-step:  y+ = 2 cos y - y- + h^2 psi g(r + phi y)

eti: A constant, about the rest shape.  ceti: A -> R A R^T with per-vertex rotations R from the
REST shape to the current one, y = R^T x - r (functions of A are still computed once).
g = acceleration + A y is the true force minus the linear part, so both integrate the same equation.
Damping enters through the filtered velocity (x_n - x_(n-1))/h at no extra cost (first order in the
damping, as in the paper).  Positions are second order at any h omega; velocities are where stiff
and slow modes are weakly coupled or h omega < 1, else first (Hairer, Lubich & Wanner, XIII.4).

Source: Michels, Sobottka & Weber, Exponential integrators for stiff elastodynamic problems
(2014), Eqs. 8-12, Algorithms 2 and 3.  Velocities of the two-step form where psi_1 does not exist:
v+ = v- + 2 h sinc (g - A y), Hochbruck & Lubich, A Gautschi-type method (1999).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..accounting import mean_work
from ..contracts import Array, LinearPart, Settled, State, Step, System, Work
from ..errors import InputError
from ..matfun.auto import check_settings, evaluate
from ..matfun.stumpff import StumpffMap
from ..solvers.pace import CLOCK, Clock, check_budget
from .filters import SINC, Filter, filter_pair
from .gautschi_maps import argument_map, cos_map, free_map, sum_map
from .rationed_gautschi import rationed
from .rations import Ration, Spaces, smoother
from .restart import continues

_LINEAR = ("constant", "corotated")


class _Frame:
    """The linear part of one step: A, its reference r, and the rotations R (None: identity)."""

    def __init__(self, A: Any, reference: Array, rotations: Array | None) -> None:
        self.A, self.reference, self.R = A, reference, rotations

    def turn(self, w: Array) -> Array:
        if self.R is None:
            return w
        return np.einsum("nij,nj->ni", self.R, w.reshape(-1, 3)).ravel()

    def back(self, w: Array) -> Array:
        if self.R is None:
            return w
        return np.einsum("nji,nj->ni", self.R, w.reshape(-1, 3)).ravel()

    def local(self, x: Array) -> Array:
        return self.back(x) - self.reference

    def world(self, y: Array) -> Array:
        return self.turn(self.reference + y)


@dataclass(frozen=True)
class GautschiMemory:
    """linear: constant stiffness. state: the one that the rest belongs to.
    before: x, v and step size one step earlier.
    g: local remainder at the end of the last step, reusable while A and h stay the same.
    gaps: of a budget (Ration.gaps)."""

    linear: LinearPart
    state: State | None = None
    before: tuple[Array, Array, float] | None = None
    g: Array | None = None
    gaps: tuple[float, ...] = (0.0, 0.0)


@dataclass(frozen=True)
class Gautschi:
    """linear: 'constant' (eti) or 'corotated' (ceti); form: 'one-step' or 'two-step';
    filter: see `filters.FILTERS`; tol, method, budget: as in ExponentialRosenbrock; ceti with a
    budget has the form of rationed_gautschi.py."""

    linear: str = "constant"
    filter: str = "garcia-archilla"
    form: str = "one-step"
    tol: float = 1e-9
    method: str = "auto"
    budget: float | None = None
    clock: Clock = field(default=CLOCK, repr=False, compare=False)
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self.tol, self.method)
        check_budget("Gautschi", self.budget)
        pair = filter_pair(self.filter)
        if self.linear not in _LINEAR:
            raise InputError(f"linear part {self.linear!r} is unknown: choose one of {_LINEAR}")
        if self.form not in ("one-step", "two-step"):
            raise InputError(f"form {self.form!r} is unknown: choose 'one-step' or 'two-step'")
        if self.form == "one-step" and pair.psi1 is None:
            raise InputError(
                f"filter {self.filter} has poles in one-step form: use form='two-step', "
                "or the default filter garcia-archilla"
            )
        if self.budget is not None and not self.timed:
            raise InputError("a budget goes with ceti in form='one-step', or take exprb2")

    @property
    def timed(self) -> bool:
        """Can have a budget: with a constant A and few vectors, bodies that turn would explode."""
        return self.linear == "corotated" and self.form == "one-step"

    def start(self, system: System, state: State) -> GautschiMemory:
        if self.linear == "corotated":
            system.rotations(state)  # a system without a rest shape says so before the first step
        return GautschiMemory(system.linear_part())

    def resume(
        self, system: System, state: State, memory: GautschiMemory, settled: Settled
    ) -> GautschiMemory:
        return GautschiMemory(system.linear_part(), gaps=memory.gaps)

    def step(self, system: System, state: State, h: float, memory: GautschiMemory) -> Step:
        if not continues(memory.state, memory.before, state, h):
            memory = GautschiMemory(memory.linear, gaps=memory.gaps)
        if self.budget is not None:
            return self._rationed(system, state, h, memory)
        move = _Move(self, system, state, h, memory)
        if self.form == "two-step" and memory.before is not None:
            x, v = move.two_step()
        else:
            x, v = move.one_step()
        new = State(state.t + h, x, v)
        kept = GautschiMemory(memory.linear, new, (state.x, state.v, h), move.g_end)
        moved = mean_work(system, state, new)
        return Step(new, kept, move.work, None, {"method": move.used}, moved)

    def _rationed(self, system: System, state: State, h: float, memory: GautschiMemory) -> Step:
        ration = Ration(self.budget or 0.0, self.clock, memory.gaps)
        smooth, factorised = smoother(memory.linear.tangent, h)
        spaces = Spaces(ration, smooth)
        move = _Move(self, system, state, h, memory)
        a = system.acceleration(State(state.t, state.x, move.velocity_for_damping()))
        frame = (move.frame.turn, move.frame.back)
        new, spent = rationed(
            system, state, h, a, spaces, A=move.frame.A, filter=self.filter, frame=frame
        )
        kept = replace(memory, state=new, before=(state.x, state.v, h), gaps=ration.gaps())
        work, moved = spent + Work(factorizations=factorised), mean_work(system, state, new)
        return Step(new, kept, work, None, spaces.notes(), moved)


class _Move:
    """One step: the frame, the functions applied in it, and what they cost."""

    def __init__(
        self, config: Gautschi, system: System, state: State, h: float, memory: GautschiMemory
    ) -> None:
        self.config, self.system, self.state, self.h = config, system, state, h
        self.before = memory.before
        self.filter: Filter = filter_pair(config.filter)
        self.work, self.used = Work(), ""
        self.frame = self._frame(memory)
        self.g_start = memory.g
        self.g_end: Array | None = None

    def _frame(self, memory: GautschiMemory) -> _Frame:
        linear = memory.linear
        A, reference = linear.tangent.stiffness, linear.reference
        if self.config.linear == "constant":
            return _Frame(A, reference, None)
        return _Frame(A, reference, self.system.rotations(self.state))

    def _apply(self, functions: StumpffMap, *columns: Array) -> Any:
        action = evaluate(
            self.frame.A, functions, columns, tol=self.config.tol, method=self.config.method
        )
        self.work += Work(operator_products=action.products)
        self.used = action.method
        return action.value

    def _remainder(self, t: float, y: Array, v: Array) -> Array:
        """g in the frame at the filtered argument: R^T (acceleration) + A phi y."""
        filtered, linear = self._apply(argument_map(self.config.filter, self.h), y)
        a = self.system.acceleration(State(t, self.frame.world(filtered), v))
        self.work += Work(force_evaluations=1)
        return self.frame.back(a) + linear

    def velocity_for_damping(self) -> Array:
        """The filtered velocity (x_n - x_(n-1))/h; at the first step the velocity itself."""
        if self.before is None:
            return self.state.v
        return (self.state.x - self.before[0]) / self.h

    def _start_remainder(self, y: Array) -> Array:
        if self.g_start is not None:
            return self.g_start
        return self._remainder(self.state.t, y, self.velocity_for_damping())

    def _finish_velocity(self, vh: Array, y_end: Array, x_end: Array) -> Array:
        """h/2 psi_1 g at the end of the step, added to vh; both in the frame."""
        end = (x_end - self.state.x) / self.h
        g_end = self._remainder(self.state.t + self.h, y_end, end)
        if self.config.linear == "constant":
            self.g_end = g_end
        psi1 = self.filter.psi1
        assert psi1 is not None
        (kick,) = self._apply(sum_map(((psi1, 0.5 * self.h),), self.h), g_end)
        return vh + kick

    def one_step(self) -> tuple[Array, Array]:
        h, frame, pair = self.h, self.frame, self.filter
        y, w = frame.local(self.state.x), frame.back(self.state.v)
        xh, vh = self._apply(free_map(h), y, w)
        g = self._start_remainder(y)
        if pair.psi0 is None:  # first step of a filter that exists in two-step form only
            sums = ((pair.psi, 0.5 * h * h), (SINC, h))
        else:
            sums = ((pair.psi, 0.5 * h * h), (pair.psi0, 0.5 * h))
        dx, dv = self._apply(sum_map(sums, h), g)
        y_end = xh + dx
        x_end = frame.world(y_end)
        v_end = vh + dv
        if pair.psi1 is not None:
            v_end = self._finish_velocity(v_end, y_end, x_end)
        return x_end, frame.turn(v_end)

    def two_step(self) -> tuple[Array, Array]:
        h, frame, pair = self.h, self.frame, self.filter
        assert self.before is not None
        y, y_before = frame.local(self.state.x), frame.local(self.before[0])
        g = self._start_remainder(y)
        (cos_y,) = self._apply(cos_map(h), y)
        (kick,) = self._apply(sum_map(((pair.psi, h * h),), h), g)
        y_end = 2.0 * cos_y - y_before + kick
        x_end = frame.world(y_end)
        if pair.psi0 is None:
            # sinc commutes with A: sinc (g - A y) needs one product and one function
            force = g - frame.A.apply(y)
            self.work += Work(operator_products=1)
            (dv,) = self._apply(sum_map(((SINC, 2.0 * h),), h), force)
            return x_end, self.before[1] + frame.turn(dv)
        _, vh = self._apply(free_map(h), y, frame.back(self.state.v))
        (dv,) = self._apply(sum_map(((pair.psi0, 0.5 * h),), h), g)
        return x_end, frame.turn(self._finish_velocity(vh + dv, y_end, x_end))
