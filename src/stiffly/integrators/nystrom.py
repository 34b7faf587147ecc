"""Explicit Nyström pairs for x'' = a(t, x, v): stages of accelerations, an estimate of the error,
and the states within a step.

    x_i = x + c_i h v + h^2 sum_j Abar_ij a_j,   v_i = v + h sum_j A_ij a_j,
    a_i = a(t + c_i h, x_i, v_i),   x+ = x_s,   v+ = v + h sum_j b_j a_j

The last stage is the end of the step (c_s = 1), whose acceleration opens the next one.  Every
Runge-Kutta method on u' = (v, a) is such a method, with Abar = A A: it is written so here, because
then only accelerations are kept, and v_i need not be known where forces do not depend on it.
Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), Sec. II.14.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial, hypot, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from ..backends.sums import norms
from ..contracts import Array, Between, ErrorEstimate, State, Step, System, Tableau, Work
from ..errors import InputError
from .explicit import EndAcceleration, opening


def require_no_velocities(system: System, name: str) -> None:
    """InputError, naming the method, where forces depend on velocities."""
    if system.velocity_dependent:
        raise InputError(
            f"{name} is for forces of time and positions, but this system has damping, drag or "
            "other forces of velocities: use dop853, which takes them"
        )


def fill(system: System, state: State, h: float, table: Tableau, a: Array, first: int) -> State:
    """Accelerations a (m, n) of the stages from the first on, up to the end of the step or, behind
    it, of all; the last stage."""
    last = len(table.c) - 1 if first > table.end else table.end
    stretcher: Any = getattr(system, "laid_out", None)
    stages = getattr(stretcher, "stages", None)
    if stages is not None:
        stages(table, state, h, a, first, last)
        return _at_stage(system, state, h, table, a, last)
    new = state
    for i in range(first, last + 1):
        new = _at_stage(system, state, h, table, a, i)
        a[i] = system.acceleration(new)
    return new


def _at_stage(system: System, state: State, h: float, table: Tableau, a: Array, i: int) -> State:
    """Where stage i looks at the forces; velocities only where somebody asks for them."""
    weigh, c, v = system.backend.xp.einsum, float(table.c[i]), state.v
    if system.velocity_dependent or i == table.end:
        v = v + h * weigh("j,jn->n", table.A[i, :i], a[:i])
    way = (c * h) * state.v + (h * h) * weigh("j,jn->n", table.Abar[i, :i], a[:i])
    return state.moved(state.t + c * h, state.x + way, v)


@dataclass(frozen=True)
class NystromPair:
    """estimate: also compute the embedded error."""

    estimate: bool = False

    adaptive: ClassVar[bool] = True
    dense: ClassVar[bool] = True
    order: ClassVar[int]
    tableau: ClassVar[Tableau]

    def controlled(self, rtol: float) -> Self:
        return replace(self, estimate=True)

    def start(self, system: System, state: State) -> Any:
        return None

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        table = self.tableau
        a = system.backend.xp.empty((len(table.c), state.x.size))
        a[0], forces = opening(system, state, memory)
        new = fill(system, state, h, table, a, 1)
        return Step(
            new,
            EndAcceleration(new, a[table.end].copy(), new.v),
            Work(force_evaluations=table.end + forces),
            error=self._error(system, h, a) if self.estimate else None,
            between=lambda: self.between(system, state, new, h, a),
        )

    def _error(self, system: System, h: float, a: Array) -> ErrorEstimate:
        """Of one estimate itself; of two, HNW Eq. II.10.17: the first, diminished where the second
        says that the step is far below its limit."""
        end = self.tableau.end + 1
        weights = np.array([[h * h], [h]]) * self.tableau.errors[:, :, :end]
        found = system.backend.xp.einsum("kpj,jn->kpn", weights, a[:end])
        x, v = found[0]
        if len(found) > 1:
            shares = norms(system.backend, x, found[1, 0], v, found[1, 1])
            x, v = x * _share(*shares[:2]), v * _share(*shares[2:])
        return ErrorEstimate(x, v)

    def between(self, system: System, before: State, after: State, h: float, a: Array) -> Between:
        """The states within a step whose stages had the accelerations a (m, n)."""
        raise NotImplementedError  # each pair has its own polynomial

    def first_step(
        self, system: System, state: State, rtol: float, length: float, velocity: float
    ) -> float | None:
        """A step to begin with [s], by two forces; None where nothing moves yet.

        As HNW, Sec. II.4, 'Starting step size', it looks how fast rates change in a short step, in
        which the body moves by a hundredth of its size.  rtol: the error allowed, relative to
        length and velocity (rms).
        """
        v, root = state.v, sqrt(state.x.size)
        a = system.acceleration(state)
        speed, push = (size / root for size in norms(system.backend, v, a))
        if not length * max(speed, push) > 0.0:
            return None
        short = 0.01 * length / max(speed, sqrt(0.005 * length * push))
        later = state.moved(
            state.t + short, state.x + short * v + (0.5 * short**2) * a, v + short * a
        )
        bend = system.acceleration(later) - a
        found = (size / root for size in norms(system.backend, later.v, later.v - v, bend))
        faster, gain, change = found
        velocity = max(velocity, faster)
        rate, turn = hypot(speed / length, push / velocity), hypot(gain / length, change / velocity)
        longest = 100.0 * short
        if not turn * longest > rate * short:
            return longest
        period = short * rate / turn  # in which rates become others
        power = self.order + 1
        allowed = factorial(power) * rtol / (rate * period)  # by the first term that it leaves out
        return min(longest, period * allowed ** (1.0 / power))


def _share(first: float, second: float) -> float:
    """|first| / sqrt(|first|^2 + 0.01 |second|^2)."""
    whole = hypot(first, 0.1 * second)
    return first / whole if whole > 0.0 else 0.0
