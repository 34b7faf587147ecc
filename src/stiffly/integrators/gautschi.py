"""eti, neti and ceti, the Gautschi-type exponential integrators; second order.

x'' = -A (x - r) + g(x): the linear part is solved exactly by cos and sinc of h sqrt(A), the
remainder g enters through filters (psi, phi), so that stiff modes cannot resonate with the step.

    x+ = r + cos y + h sinc v + h^2/2 psi g(r + phi y)                       (y = x - r)
    v+ = -h A sinc y + cos v + h/2 (psi_0 g(r + phi y) + psi_1 g(r + phi y+))
    two-step:  y+ = 2 cos y - y- + h^2 psi g(r + phi y)

In eti, A is constant, that of the rest shape: its functions are computed once.  g = acceleration +
A y is the true force minus the linear part, so that the true equation is integrated.  r is where
the linear part rests under its load b, the acceleration at the rest shape r_0 (gravity):
A (r - r_0) = b.  So gravity is integrated exactly.  About r_0, as in the paper (reference='rest'),
it is part of g, and what the filters leave of it is too little for stiff modes: these swing about
another place than where they would rest.  r need not exist (a body that falls freely), since with
y = x - r_0

    r + cos (x - r) = r_0 + cos y + h^2 c_2 b,      -h A sinc (x - r) = -h A sinc y + h c_1 b,
    r + phi (x - r) = r_0 + phi y + (1 - phi)/A b,  g there - b = acceleration + A phi y - phi b

are functions of A alone (docs/decisions/0044).

Damping enters through the filtered velocity (x_n - x_(n-1))/h at no extra cost (first order in the
damping, as in the paper).  Positions are second order at any h omega; velocities are where stiff
and slow modes are weakly coupled or h omega < 1, else first (Hairer, Lubich & Wanner, XIII.4).

Source: Michels, Sobottka & Weber, Exponential integrators for stiff elastodynamic problems
(2014), Eqs. 8-10.  Velocities of the two-step form where psi_1 does not exist:
v+ = v- + 2 h sinc (g - A y), Hochbruck & Lubich, A Gautschi-type method (1999).

The linear part of neti and ceti follows the body.  neti rebuilds the tangent at every step.  ceti
keeps that of the rest shape and turns it with the body, A -> R A R^T with per-vertex rotations R
from the REST shape (functions of A are computed once).  With the linear part taken about its own
equilibrium r_n, where A (x - r_n) = -a(x), the formulas above need no r_n, nor any other place:
r + cos (x - r) = x + h^2 c_2 a.

    x+ = x + h c_1 v + h^2 c_2 a(x)                                     (c at h^2 A)
    v+ = c_0 v + h c_1 a(x) + h/2 psi_1 G(x*),                          x* = x + phi (x+ - x)
    two-step:  x+ = 2x - x- + 2 h^2 c_2 a(x) + h^2 psi G(x*),           x* = r_n + phi (x - r_n)
               v+ = v- + 2 h c_1 (a(x) + G(x*))
    with argument filter:  A is that at x*, which is then filtered again with it

G(x*) = a(x*) - a(x) + A (x* - x) is the nonlinear remainder, filtered like g is there.  In two-step
form x* = x + (1 - phi)/A a averages the fast modes out; where phi = 1 nothing is left over, psi has
nothing to act on, and all such filters are one method, Gautschi's own.  The argument filter is line
3 of the paper's Algorithm 2: stiffness, too, is then seen without the fast oscillation.

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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..accounting import mean_work
from ..arrays import truth
from ..contracts import Array, LinearPart, Settled, State, Step, System, Work
from ..errors import InputError, require_name
from ..matfun.chooser import check_settings, evaluate
from ..matfun.reduced import change, reduced
from ..matfun.scalar import StumpffMap
from ..matfun.tolerance import lengths
from ..solvers.settings import CLOCK, Clock, check_budget
from .filters import (
    COS,
    DEFAULT,
    ONE,
    SINC,
    SINC_HALF_SQUARED,
    argument_map,
    check_form,
    filter_pair,
    flow_map,
    form_words,
    free_map,
    rest_map,
    sum_map,
)
from .restart import continues
from .time_budget import Ration, Spaces, smoother

REFERENCES = ("loaded", "rest")
LINEARISATIONS = ("tangent", "secant", "corotated")
Before = tuple[Array, Array, float] | None


class Move:
    """One step of a Gautschi-type method: functions of A applied in it, and what it costs.

    before: x, v and step size one step earlier.
    """

    def __init__(
        self, config: Any, system: System, state: State, h: float, A: Any, before: Before
    ) -> None:
        self.config, self.system, self.state, self.h = config, system, state, h
        self.A, self.before, self.filter = A, before, filter_pair(config.filter)
        # damping enters through the filtered velocity; at the first step the velocity itself
        self.v_damped = state.v if before is None else (state.x - before[0]) / h
        self.work, self.used = Work(), ""

    def acceleration(self, t: float, x: Array, v: Array) -> Array:
        self.work += Work(force_evaluations=1)
        return self.system.acceleration(self.state.moved(t, x, v))

    def apply(self, functions: StumpffMap, *columns: Array) -> Array:
        config = self.config
        settings = {"tol": config.tol, "method": config.method, "max_products": config.max_products}
        action = evaluate(self.A, functions, columns, **settings)
        self.work += Work(operator_products=action.products)
        self.used = action.method
        return action.value


class Load(NamedTuple):
    """What a constant acceleration b does in a step of h: h^2 c_2 b and h c_1 b to x and v,
    (1 - phi)/A b to the argument of the remainder, and phi b, which is no part of that."""

    h: float
    dx: Array
    dv: Array
    argument: Array
    kept: Array


@dataclass(frozen=True)
class GautschiMemory:
    """linear: constant stiffness. b: the load [m/s^2], None where there is none. load: what it did
    in the last step. state: the one that the rest belongs to. before: x, v and step size one step
    earlier. g: remainder at the end of the last step, reusable while h stays the same."""

    linear: LinearPart
    b: Array | None
    load: Load | None = None
    state: State | None = None
    before: Before = None
    g: Array | None = None


@dataclass(frozen=True)
class Gautschi:
    """form: 'one-step' or 'two-step'; filter: see `filters.FILTERS`; reference: 'loaded', where the
    linear part rests under gravity, or the paper's 'rest'; tol, method, max_products: as in
    ExponentialRosenbrock."""

    filter: str = DEFAULT
    form: str = "one-step"
    tol: float = 1e-9
    method: str = "auto"
    max_products: int | None = None
    reference: str = "loaded"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self.tol, self.method, max_products=self.max_products)
        check_form("eti", self.form, self.filter)
        if not isinstance(self.reference, str) or self.reference not in REFERENCES:
            raise InputError(f"reference {self.reference!r} is unknown: choose 'loaded' or 'rest'")

    @property
    def name(self) -> str:
        words = ["rest"] if self.reference == "rest" else []
        return ":".join(["eti", *form_words(self.filter, self.form), *words])

    def start(self, system: System, state: State) -> GautschiMemory:
        b = system.rest_load() if self.reference == "loaded" else None
        if b is not None and system.backend.every(not b.any()):
            b = None
        return GautschiMemory(system.linear_part(), b)

    def step(self, system: System, state: State, h: float, memory: GautschiMemory) -> Step:
        if not continues(system, memory.state, memory.before, state, h):
            memory = GautschiMemory(memory.linear, memory.b, memory.load)
        move = _EtiMove(self, system, state, h, memory)
        if self.form == "two-step" and memory.before is not None:
            x, v = move.two_step()
        else:
            x, v = move.one_step()
        new = state.moved(state.t + h, x, v)
        before = (state.x, state.v, h)
        kept = GautschiMemory(memory.linear, memory.b, move.load, new, before, move.g_end)
        moved = mean_work(system, state, new)
        return Step(new, kept, move.work, None, {"method": move.used}, moved)


class _EtiMove(Move):
    def __init__(
        self, config: Gautschi, system: System, state: State, h: float, memory: GautschiMemory
    ) -> None:
        linear = memory.linear
        super().__init__(config, system, state, h, linear.tangent.stiffness, memory.before)
        self.r, self.g_start = linear.reference, memory.g
        self.g_end: Array | None = None
        self.load = memory.load
        if memory.b is not None and (self.load is None or self.load.h != h):
            self.load = self._loaded(memory.b)

    def _loaded(self, b: Array) -> Load:
        dx, dv = self.apply(flow_map(self.h), np.zeros_like(b), b)
        return Load(self.h, dx, dv, *self.apply(rest_map(self.config.filter, self.h), b))

    def _free(self, y: Array, v: Array) -> Array:
        """The motion without the remainder."""
        free = self.apply(free_map(self.h), y, v)
        return free if self.load is None else free + np.array([self.load.dx, self.load.dv])

    def _remainder(self, t: float, y: Array, v: Array) -> Array:
        """g at the filtered argument, without the load: acceleration + A phi y - phi b."""
        filtered, linear = self.apply(argument_map(self.config.filter, self.h), y)
        if self.load is None:
            return self.acceleration(t, self.r + filtered, v) + linear
        filtered, linear = filtered + self.load.argument, linear - self.load.kept
        return self.acceleration(t, self.r + filtered, v) + linear

    def _start_remainder(self, y: Array) -> Array:
        if self.g_start is not None:
            return self.g_start
        return self._remainder(self.state.t, y, self.v_damped)

    def _finish_velocity(self, vh: Array, y_end: Array, x_end: Array) -> Array:
        """h/2 psi_1 g at the end of the step, added to vh."""
        end = (x_end - self.state.x) / self.h
        self.g_end = self._remainder(self.state.t + self.h, y_end, end)
        psi1 = self.filter.psi1
        assert psi1 is not None
        (kick,) = self.apply(sum_map(((psi1, 0.5 * self.h),), self.h), self.g_end)
        return vh + kick

    def one_step(self) -> tuple[Array, Array]:
        h, pair = self.h, self.filter
        y = self.state.x - self.r
        xh, vh = self._free(y, self.state.v)
        g = self._start_remainder(y)
        if pair.psi0 is None:  # first step of a filter that exists in two-step form only
            sums = ((pair.psi, 0.5 * h * h), (SINC, h))
        else:
            sums = ((pair.psi, 0.5 * h * h), (pair.psi0, 0.5 * h))
        dx, dv = self.apply(sum_map(sums, h), g)
        y_end = xh + dx
        x_end, v_end = self.r + y_end, vh + dv
        if pair.psi1 is not None:
            v_end = self._finish_velocity(v_end, y_end, x_end)
        return x_end, v_end

    def two_step(self) -> tuple[Array, Array]:
        h, pair = self.h, self.filter
        assert self.before is not None
        y, y_before = self.state.x - self.r, self.before[0] - self.r
        g = self._start_remainder(y)
        (cos_y,) = self.apply(sum_map(((COS, 1.0),), h), y)
        (kick,) = self.apply(sum_map(((pair.psi, h * h),), h), g)
        y_end = 2.0 * cos_y - y_before + kick
        if self.load is not None:
            y_end += 2.0 * self.load.dx
        x_end = self.r + y_end
        if pair.psi0 is None:
            # sinc commutes with A: sinc (g - A y) needs one product and one function
            force = g - self.A.apply(y)
            self.work += Work(operator_products=1)
            (dv,) = self.apply(sum_map(((SINC, 2.0 * h),), h), force)
            if self.load is not None:
                dv += 2.0 * self.load.dv
            return x_end, self.before[1] + dv
        _, vh = self._free(y, self.state.v)
        (dv,) = self.apply(sum_map(((pair.psi0, 0.5 * h),), h), g)
        return x_end, self._finish_velocity(vh + dv, y_end, x_end)


@dataclass(frozen=True)
class Neti:
    """filter: see `filters.FILTERS`; form: 'one-step' or 'two-step'; linearisation: 'tangent', the
    paper's 'secant' (systems of springs), or 'corotated' (ceti); argument_filter: linearised where
    the remainder is taken (see above); budget, max_products: as in ExponentialRosenbrock."""

    filter: str = DEFAULT
    form: str = "one-step"
    linearisation: str = "tangent"
    tol: float = 1e-9
    method: str = "auto"
    budget: float | None = None
    clock: Clock = field(default=CLOCK, repr=False, compare=False)
    max_products: int | None = None
    argument_filter: bool = False
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_name("linearisation", self.linearisation, LINEARISATIONS)
        truth("argument_filter", self.argument_filter)
        check_settings(self.tol, self.method, max_products=self.max_products)
        check_budget(self.family, self.budget)
        pair = check_form(self.family, self.form, self.filter)
        if self.form == "two-step" and pair.phi == ONE and pair.psi != SINC_HALF_SQUARED:
            raise InputError(
                f"filter {self.filter} has nothing to act on in two-step form of {self.family}, "
                "where phi = 1 leaves no remainder: use filter='gautschi' "
                f"({self.family}:gautschi:two-step), or form='one-step'"
            )
        if self.budget is not None and not self.timed:
            raise InputError(
                f"{self.family}: a budget goes with form='one-step': leave one of them out"
            )
        if self.argument_filter and (self.form == "one-step" or pair.phi == ONE):
            raise InputError(
                "the argument filter needs the two-step form, of a filter with phi other than 1: "
                f"use {self.family}:two-step:argument-filter"
            )

    @property
    def family(self) -> str:
        return "ceti" if self.linearisation == "corotated" else "neti"

    @property
    def name(self) -> str:
        words = ["argument-filter"] * self.argument_filter
        words += ["secant"] * (self.linearisation == "secant")
        return ":".join([self.family, *form_words(self.filter, self.form), *words])

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
        before = before if continues(system, end, before, state, h) else None
        move = _NetiMove(self, system, state, h, before)
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


class _NetiMove(Move):
    """With the acceleration a at the start; rotations: from the frame of A to the world."""

    def __init__(
        self, config: Neti, system: System, state: State, h: float, before: Before
    ) -> None:
        A, self._R = config._linearised(system, state)
        super().__init__(config, system, state, h, A, before)
        self.work += Work(tangents=int(self._R is None))
        self.a = self.acceleration(state.t, state.x, self.v_damped)
        if config.argument_filter:
            moved, _ = self.apply(rest_map(config.filter, h), self.a)
            there = state.moved(state.t, state.x + moved, state.v)
            self.A, self._R = config._linearised(system, there)
            self.work += Work(tangents=int(self._R is None))

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
