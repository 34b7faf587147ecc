"""Two methods of others that hold the energy at its target, to be compared with.

energy-budget: implicit midpoint, then velocities scaled so that the total energy is right.

    K' = max(0, H_total - E(x+)),   v+ <- sqrt(K' / K) v+

Su, Sheth, Fedkiw, Energy conservation for the simulation of deformable bodies (2013), in the
simplest form that Dinev, Liu, Kavan 2018 compare with (Fig. 5).  Positions are left alone, so what
midpoint stores in deformation by mistake can only be met by less motion; where it exceeds H_total
nothing is left to take: the energy then stays too high, and `energy_error` says by how much.
Scaling all velocities alike keeps no momentum (the authors' own software, PhysBAM, corrects them by
impulses along springs, which do).  A body at rest (K = 0) has no direction to scale.

energy-lagrange: the trapezoidal rule with a Lagrange multiplier that makes the energy right.  The
stage of stage.py with the weights of Newmark's average acceleration, alpha = h^2/4, beta = h/2, is
stationary for an incremental potential; the multiplier mu adds the condition H = H_total:

    r(d) + mu G(d) = 0,   c(d) = H(X, V) - H_total = 0,   X = p + d,   V = q + (2/h) d
    r = M d - alpha f(X, V),   G = alpha dH/dd = (h/2) M V - alpha f(X, V)

Hughes, Caughey, Liu, Finite-element methods for nonlinear elastodynamics which conserve energy
(1978).  Since dr/dd = dG/dd = J = M + alpha K + beta D, Newton's bordered matrix is (1 + mu) J
with the column and row G: two solves with one factorisation of J,

    J u = r + mu G,   J w = G,   dmu = ((1 + mu) alpha c - G.u) / G.w,   dd = -(u + w dmu)/(1 + mu)

Where forcing and damping act, H_total moves with the step by their work, as at its middle, and f is
the whole force: then G is not quite the derivative of c, and the iteration is a quasi-Newton one.
Where it fails, the step is taken as two halves, and so on.

A state of the right energy always exists: the present one with v turned round.  Where the iteration
is caught in a valley that lies too high, it starts again from there.  So the energy is exact and
the step bounded, but neither says that the motion is right: stiff cloth gets stuck and trembles
(Dinev, Liu, Kavan 2018, Fig. 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..accounting import Target, middle_work
from ..backends.sums import dot, norms
from ..contracts import Array, Power, Settled, State, Step, System, Work
from ..errors import InputError, NotConverged
from ..solvers.failures import FactorisationError, NotPositiveDefinite
from ..solvers.iteration import ROUNDING, relative
from ..solvers.linear import Factor, factorise
from ..solvers.newton import ARMIJO
from ..solvers.settings import check_count, check_tolerance
from ..solvers.shifted_newton import Unsolved
from .halving import clear, halves
from .stage import Midpoint, StageEquation

HALVINGS = 8  # of one step, one within the other
BACKTRACKS = 30
NEAR = 1e-3  # residual below which an indefinite J leads to the solution, not away from it
LEAST_SHARE = 0.1  # of 1 + mu: what keeps the bordered matrix positive
PENALTY = 1.5


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
            new = new.moved(new.t, new.x, math.sqrt(free / kinetic) * new.v)
            total += free - kinetic
            moved = middle_work(system, state, new)  # of the velocities that were kept
            target = memory.target.moved(moved)
        notes = {**taken.notes, "energy_error": total - target.value}
        memory = BudgetMemory(taken.memory, target)
        return Step(new, memory, taken.work, notes=notes, exchanged=moved)


class _Point(NamedTuple):
    """d and mu, with R = r + mu G, G and the energy error c [J]; errors relative to their scales.

    merit: the larger of |R| / scale and |c| / (energy in motion), each over the tolerance: 1 is
    good enough.
    """

    d: Array
    mu: float
    R: Array
    G: Array
    c: float
    moved: Power
    residual: float
    merit: float
    conserving: bool


@dataclass(frozen=True)
class EnergyLagrange:
    """tolerance: relative, of the equations and of the energy in motion."""

    tolerance: float = 1e-9
    max_iterations: int = 100

    name: ClassVar[str] = "energy-lagrange"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_tolerance(self.name, self.tolerance)
        check_count(self.name, "max_iterations", self.max_iterations)

    def start(self, system: System, state: State) -> Target:
        return Target.start(system, state, self.name)

    def resume(self, system: System, state: State, memory: Target, settled: Settled) -> Target:
        return memory.moved(settled)

    def step(self, system: System, state: State, h: float, memory: Target) -> Step:
        try:
            return clear(system, state, self._solve(system, state, h, memory))
        except NotConverged as failure:
            take = partial(self._solve, system)
            return halves(failure, take, system, state, h, memory, HALVINGS)

    def _solve(self, system: System, state: State, h: float, memory: Target) -> Step:
        solve = _Solve(self, system, state, h, memory)
        point = solve.run()
        notes = {
            "residual": point.residual,
            "under_solved": point.merit > 1.0,
            "multiplier": point.mu,
            "energy_error": point.c,
        }
        end, target = solve.equation.state(point.d), memory.moved(point.moved)
        return Step(end, target, solve.work, notes=notes, exchanged=point.moved)


class _Solve:
    """One step: the bordered Newton iteration."""

    def __init__(
        self, method: EnergyLagrange, system: System, state: State, h: float, target: Target
    ) -> None:
        self._method, self._system, self._state, self._h = method, system, state, h
        self._target = target
        self._before = system.energy(state)
        a = system.acceleration(state)
        self._alpha = 0.25 * h * h
        x, v = state.x, state.v
        p, q = x + h * v + self._alpha * a, v + (0.5 * h) * a
        weights = self._alpha, 0.5 * h
        self.equation = StageEquation(system, state, state.t + h, h, p, q, weights)
        # as if the acceleration stayed what it is; the state itself with its velocity turned round,
        # which has the right energy for certain
        self._starts = (self._alpha * a, state.x - self.equation.origin)
        self.work = Work(force_evaluations=1)

    def run(self) -> _Point:
        ends = []
        for first in self._starts:
            point = self._iterate(first)
            if point.merit <= 1.0:
                return point
            ends.append(point)
        # the equations may be left unsolved, and the step says so; the energy may not
        best = min(ends, key=lambda point: (not point.conserving, point.residual))
        if not best.conserving:
            raise self._failure(f"residual {best.residual:.0e}, energy error {best.c:.1e} J")
        return best

    def _iterate(self, first: Array) -> _Point:
        point = self._evaluate(first, 0.0)
        for _ in range(self._method.max_iterations):
            if point.merit <= 1.0:
                break
            if not math.isfinite(point.merit):
                raise self._failure("a force that is not finite")
            exact = point.residual < NEAR
            better = self._advance(point, *self._direction(point, exact))
            if better is None and exact:
                better = self._advance(point, *self._direction(point, False))
            if better is None:
                break
            point = better
        return point

    def _evaluate(self, d: Array, mu: float) -> _Point:
        system, equation, target = self._system, self.equation, self._target
        self.work += Work(force_evaluations=1)
        new, r = equation.state(d), equation.residual(d)
        M_d, M_v = system.mass.apply(d), system.mass.apply(new.v)
        G = r - M_d + (0.5 * self._h) * M_v
        R = r + mu * G
        energies = system.energy(new)
        moved = middle_work(system, self._state, new)
        target = target.moved(moved)
        c = float(sum(energies.values())) - target.value
        swing = sum(abs(value - self._before[name]) for name, value in energies.items())
        # below this, sums of the energies are rounding
        noise = ROUNDING * sum(abs(value) for value in energies.values())
        allowed = self._method.tolerance * (energies["kinetic"] + swing) + noise
        # the new motion counts too: from rest to where springs relax, d and h v both vanish
        speed, size = norms(system.backend, M_v, R)
        residual = relative(size, equation.scale(d) + self._h * speed)
        excess = abs(c) / allowed if c != 0.0 else 0.0
        merit = max(residual / self._method.tolerance, excess)
        return _Point(d, mu, R, G, c, moved, residual, merit, excess <= 1.0)

    def _direction(self, point: _Point, exact: bool) -> tuple[Array, float]:
        """The step in d and mu of Newton's method."""
        border = np.stack([point.R, point.G], axis=1)
        try:
            u, w = np.ascontiguousarray(self._factor(point.d, exact).solve(border).T)
        except FactorisationError as failure:
            raise self._failure(f"a tangent that cannot be factorised ({failure})") from None
        self.work += Work(tangents=1, factorizations=1, linear_solves=2, newton_iterations=1)
        share = max(1.0 + point.mu, LEAST_SHARE)
        Gw, Gu = self._system.backend.dots([(point.G, w), (point.G, u)])
        wanted = share * self._alpha * point.c - Gu
        dmu = wanted / Gw if Gw != 0.0 else 0.0  # nothing moves: nothing to enforce
        return -(u + dmu * w) / share, dmu

    def _factor(self, d: Array, exact: bool) -> Factor:
        """J; less its negative stiffness where it is indefinite, far off, and the system can."""
        tangent = self.equation.linearise(d)
        if not tangent.symmetric or (exact and not tangent.definite):
            return factorise(tangent.matrix(0.0), symmetric=False)
        try:
            return factorise(tangent.matrix(0.0))
        except NotPositiveDefinite:
            convex = tangent.convex()
            if convex is None:
                return factorise(tangent.matrix(0.0), symmetric=False)
            return factorise(convex.matrix(0.0))

    def _advance(self, point: _Point, dd: Array, dmu: float) -> _Point | None:
        """The first of full, half, quarter, ... steps that makes progress; None if none does.

        Progress: a lower merit, or less of Phi + nu |c|, Phi being the incremental potential whose
        change is taken from its slopes r.dd at both ends (see solvers/newton.py).  With nu above
        |mu| the step descends on that sum (Nocedal, Wright, Numerical Optimization, Sec. 18.4).
        """
        nu = PENALTY * max(abs(point.mu + dmu), abs(point.mu)) * self._alpha
        backend, share = self._system.backend, 1.0
        slope = dot(backend, point.R - point.mu * point.G, dd)
        for _ in range(BACKTRACKS):
            trial = self._evaluate(point.d + share * dd, point.mu + share * dmu)
            if trial.merit < point.merit:
                return trial
            ahead = dot(backend, trial.R - trial.mu * trial.G, dd)
            rise = 0.5 * share * (slope + ahead) + nu * (abs(trial.c) - abs(point.c))
            if rise <= ARMIJO * share * min(slope - nu * abs(point.c), 0.0):
                return trial
            share *= 0.5
        return None

    def _failure(self, cause: str) -> NotConverged:
        return Unsolved(
            f"energy-lagrange stopped at {cause} after {self.work.newton_iterations} iterations at "
            f"t = {self.equation.time:.6g} s: no state nearby has the energy asked for; try a "
            "smaller step",
            self.work,
        )
