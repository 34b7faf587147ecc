"""eti, the Gautschi-type exponential integrator; second order (ceti and neti: see neti.py).

x'' = -A (x - r) + g(x): the linear part is solved exactly by cos and sinc of h sqrt(A), the
remainder g enters through filters (psi, phi), so that stiff modes cannot resonate with the step.

    x+ = r + cos y + h sinc v + h^2/2 psi g(r + phi y)                       (y = x - r)
    v+ = -h A sinc y + cos v + h/2 (psi_0 g(r + phi y) + psi_1 g(r + phi y+))
    two-step:  y+ = 2 cos y - y- + h^2 psi g(r + phi y)

A is constant, about the rest shape r: its functions are computed once.  g = acceleration + A y is
the true force minus the linear part, so that the true equation is integrated.  Damping enters
through the filtered velocity (x_n - x_(n-1))/h at no extra cost (first order in the damping, as in
the paper).  Positions are second order at any h omega; velocities are where stiff and slow modes
are weakly coupled or h omega < 1, else first (Hairer, Lubich & Wanner, XIII.4).

Source: Michels, Sobottka & Weber, Exponential integrators for stiff elastodynamic problems
(2014), Eqs. 8-10.  Velocities of the two-step form where psi_1 does not exist:
v+ = v- + 2 h sinc (g - A y), Hochbruck & Lubich, A Gautschi-type method (1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..accounting import mean_work
from ..contracts import Array, LinearPart, State, Step, System, Work
from ..matfun.chooser import check_settings, evaluate
from ..matfun.scalar import StumpffMap
from .filters import COS, SINC, argument_map, check_form, filter_pair, free_map, sum_map
from .restart import continues

Before = tuple[Array, Array, float] | None


@dataclass(frozen=True)
class GautschiMemory:
    """linear: constant stiffness. state: the one that the rest belongs to.
    before: x, v and step size one step earlier.
    g: remainder at the end of the last step, reusable while h stays the same."""

    linear: LinearPart
    state: State | None = None
    before: Before = None
    g: Array | None = None


@dataclass(frozen=True)
class Gautschi:
    """form: 'one-step' or 'two-step'; filter: see `filters.FILTERS`; tol, method,
    max_products: as in ExponentialRosenbrock."""

    filter: str = "garcia-archilla"
    form: str = "one-step"
    tol: float = 1e-9
    method: str = "auto"
    max_products: int | None = None
    name: ClassVar[str] = "eti"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self.tol, self.method, max_products=self.max_products)
        check_form(self.form, self.filter)

    def start(self, system: System, state: State) -> GautschiMemory:
        return GautschiMemory(system.linear_part())

    def step(self, system: System, state: State, h: float, memory: GautschiMemory) -> Step:
        if not continues(memory.state, memory.before, state, h):
            memory = GautschiMemory(memory.linear)
        move = _Move(self, system, state, h, memory)
        if self.form == "two-step" and memory.before is not None:
            x, v = move.two_step()
        else:
            x, v = move.one_step()
        new = state.moved(state.t + h, x, v)
        kept = GautschiMemory(memory.linear, new, (state.x, state.v, h), move.g_end)
        moved = mean_work(system, state, new)
        return Step(new, kept, move.work, None, {"method": move.used}, moved)


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


class _Move(Move):
    def __init__(
        self, config: Gautschi, system: System, state: State, h: float, memory: GautschiMemory
    ) -> None:
        linear = memory.linear
        super().__init__(config, system, state, h, linear.tangent.stiffness, memory.before)
        self.r, self.g_start = linear.reference, memory.g
        self.g_end: Array | None = None

    def _remainder(self, t: float, y: Array, v: Array) -> Array:
        """g at the filtered argument: acceleration + A phi y."""
        filtered, linear = self.apply(argument_map(self.config.filter, self.h), y)
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
        xh, vh = self.apply(free_map(h), y, self.state.v)
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
        x_end = self.r + y_end
        if pair.psi0 is None:
            # sinc commutes with A: sinc (g - A y) needs one product and one function
            force = g - self.A.apply(y)
            self.work += Work(operator_products=1)
            (dv,) = self.apply(sum_map(((SINC, 2.0 * h),), h), force)
            return x_end, self.before[1] + dv
        _, vh = self.apply(free_map(h), y, self.state.v)
        (dv,) = self.apply(sum_map(((pair.psi0, 0.5 * h),), h), g)
        return x_end, self._finish_velocity(vh + dv, y_end, x_end)
