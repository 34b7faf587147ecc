"""Energy-momentum method: second order, symmetric, and conserves energy and both momenta.

    x+ = x + (h/2) (v + v+),   M (v+ - v) = h F(x, x+)

F is the mean force of a discrete gradient, F.(x+ - x) = E(x) - E(x+), without resultant and
without torque about (x + x+)/2 where the forces are internal; loads and damping act as at the
middle of the step, but for damping in proportion to mass (see below).  Then the change of kinetic
energy, (v+ - v).M (v + v+)/2 = F.(x+ - x), is minus that of the stored energy at any step size,
and sum m_i v_i and sum m_i x_i cross v_i stay.
Simo, Tarnow (1992), J. Appl. Math. Phys. 43; Gonzalez (1996), J. Nonlinear Sci. 6.

With d = x+ - x - h v the new velocity is v + 2 d/h, and the step is a stage (see stage.py) of the
mean force with alpha = h^2/2 and beta = h:

    r(d) = M d - (h^2/2) F,   energy left over = (2/h^2) r.(x+ - x)

so the residual is all that is ever lost: at a relative residual of 1e-11, a share of 1e-11 of the
kinetic energy per step at worst.

Damping D = a M brakes every velocity alike, by exp(-a t).  So it is taken out of the step, and
velocities are braked by exp(-a h/2) before it and after it (Strang 1968, SIAM J. Numer. Anal. 5).
At the middle of a step there is nothing left of vibrations that it does not resolve, and a force
there damps them by a share 1/(1 + (omega h/2)^2) of what it should: bristles that were let go went
on to tremble.  The energy that braking takes is that of the motion before less that after it.
Only as much is split off as a step resolves, a h <= 1: where damping is stronger, motion is a
balance of force and damping, and the rest acts at the middle.

Stability is not convergence: where stiff springs turn far within one step, Newton may fail.  The
step is then taken as two halves, each of which conserves as well, and so on down to h/4096; every
halving is counted in the notes and as a rejected step.  Bodies that are independent are solved
one by one, and halve their steps one by one (system/bodywise.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import exp
from typing import Any, ClassVar

from ..accounting import middle_work
from ..backends.sums import dot
from ..contracts import Bodies, BodyProblem, Power, State, Step, System
from ..errors import NotConverged
from ..solvers.equation import Solver
from ..solvers.iteration import BODY_BY_BODY
from ..solvers.local_global import LocalGlobal
from ..solvers.newton import Newton
from ..solvers.shifted_newton import ShiftedNewton, Unsolved
from .halving import HALVINGS, clear, exchange, halves
from .stage import Implicit, StageEquation, StageMemory, bodies_of


@dataclass(frozen=True)
class EnergyMomentum(Implicit):
    """solver: ShiftedNewton() converges or halves the step; LocalGlobal() iterates a fixed number
    of times with one factorisation, for real time: what it leaves unsolved, it does not conserve.
    """

    solver: Solver = field(default_factory=ShiftedNewton)

    family: ClassVar[str] = "energy-momentum"
    order: ClassVar[int] = 2

    def step(self, system: System, state: State, h: float, memory: StageMemory) -> Step:
        decay = min(getattr(system, "decay", 0.0), 1.0 / abs(h))
        calm: Any = system
        if decay:
            calm = system.less_damped(decay)  # type: ignore[attr-defined]  # it has a decay
        share = exp(-0.5 * decay * h)
        start, before = _braked(system, state, share)
        try:
            try:
                taken = clear(calm, start, self._solve(calm, start, h, memory))
            except NotConverged as failure:
                taken = halves(failure, partial(self._solve, calm), calm, start, h, memory)
        except NotConverged as failure:
            raise NotConverged(
                f"{self.name} found no solution at t = {state.t:.6g} s, not even for steps of "
                f"{h / 2**HALVINGS:.2g} s ({failure}): try a smaller step, or check the forces "
                "for jumps and poles (1/r^2), and gradients of potentials for their sign"
            ) from None
        if not decay:
            return taken
        end, after = _braked(system, taken.state, share)
        moved = exchange(calm, start, taken) + before + after
        return replace(taken, state=end, exchanged=moved)

    def _solve(self, system: System, state: State, h: float, memory: StageMemory) -> Step:
        if isinstance(self.solver, ShiftedNewton):
            bodies = bodies_of(system, state)
            if bodies is not None:
                return _body_by_body(bodies, self.solver, system, state, h, memory)
        mean: Any = _Mean(system, state)  # as much of a System as a stage needs
        x, v, weights = state.x, state.v, (0.5 * h * h, h)
        equation = StageEquation(mean, state, state.t + h, h, x + h * v, v, weights)
        # Newton begins at x itself: there F is the force and J its tangent, so that its first
        # iteration is a linearised step, while at x + h v stiff springs that turn are stretched,
        # and mislead it.  A few local/global iterations would hardly leave x, and the motion would
        # die: they begin at x + h v.
        guess = None if isinstance(self.solver, LocalGlobal) else x
        stage = self.solve_stage(equation, memory, guess)
        notes, moved = {**stage.notes, "halvings": 0}, middle_work(system, state, stage.end)
        return Step(stage.end, stage.memory, stage.work, notes=notes, exchanged=moved)


def _braked(system: System, s: State, share: float) -> tuple[State, Power]:
    """All velocities reduced to a share, and the energy that takes."""
    if share == 1.0:
        return s, Power()
    twice = dot(system.backend, system.mass.apply(s.v), s.v)  # of the energy of motion
    end = s.moved(s.t, s.x, share * s.v)
    return end, Power(dissipated=0.5 * (1.0 - share * share) * twice)


def _body_by_body(
    bodies: Bodies, solver: Newton, system: System, state: State, h: float, memory: StageMemory
) -> Step:
    x, v, stop = state.x, state.v, (solver.tolerance, solver.max_iterations)
    stage = (state, state.t + h, h, x + h * v, v, (0.5 * h * h, h))
    found = bodies.solve(BodyProblem(*stage, -h * v, True, *stop, HALVINGS))
    if found.failed is not None:
        raise Unsolved(f"no solution for the body of particle {found.failed}", found.work)
    notes = {
        "residual": found.residual,
        "rounding": found.residual > solver.tolerance,
        "halvings": found.halvings,
        "solver": BODY_BY_BODY,
    }
    end = state.moved(state.t + h, found.x, found.v)
    # bodies that took shorter steps were damped in each of them; led ones take none
    moved = Power(dissipated=found.dissipated)
    if system.time_dependent:
        moved = middle_work(system, state, end)
    return Step(end, memory, found.work, notes=notes, exchanged=moved)


class _Mean:
    """A system whose force at s1 is the mean force between s0 and s1."""

    def __init__(self, system: System, s0: State) -> None:
        self._system, self.mass, self.backend = system, system.mass, system.backend
        self.force = partial(system.mean_force, s0)
        self.tangent = partial(system.mean_tangent, s0)
        self.global_layout = system.global_layout
        self.clear_share = getattr(system, "clear_share", None)
        self.pressed = getattr(system, "pressed", None)

    def global_matrix(self, alpha: float, beta: float, layout: Any) -> Any:
        """A mean force changes half as much as a force: M + (h^2/4) L + (h/2) D."""
        return self._system.global_matrix(0.5 * alpha, 0.5 * beta, layout)
