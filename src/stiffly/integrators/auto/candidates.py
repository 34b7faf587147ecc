"""Methods that could be cheaper than Verlet, by what the system is: the rules before the pilot."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from ..energy_momentum import EnergyMomentum
from ..exponential_rosenbrock import ExponentialRosenbrock
from ..midpoint import Midpoint
from ..runge_kutta import RungeKutta4
from .look import Look

ACCURATE = 0.5  # of Verlet's limit: below this its step is a matter of accuracy
RK4_LIMIT = 1.25  # of Verlet's limit: 2.83/omega against 2/omega, less a margin
LAP = 4e-10  # seconds times n^3: eigenvectors of a matrix of n rows
ONCE = 1000  # coordinates of a constant stiffness whose eigenvectors are computed once


@dataclass(frozen=True)
class Candidate:
    """worth: steps that a whole run must allow for, or a trial costs more than it can save;
    seconds of a step, where they are known; after: only if this one did well; limit: of its
    step [s]; ahead: share of the best cost that it must not exceed."""

    name: str
    method: Any  # an Integrator
    worth: int = 32
    seconds: float | None = None
    after: str | None = None
    limit: float = inf
    ahead: float = 1.0


def candidates(
    facts: Look, rtol: float, verlet: float, cost: float, seconds: float
) -> list[Candidate]:
    """verlet: its step [s]; cost, seconds: of its run and of its step, to compute."""
    tol = min(max(1e-3 * rtol, 1e-8), 1e-5)  # of matrix functions: they must not be what limits
    exprb42 = ExponentialRosenbrock(nodes=(3 / 4,), tol=tol)
    pexprb43 = ExponentialRosenbrock(nodes=(1 / 3, 3 / 4), tol=tol)
    if facts.constant:
        exprb2 = ExponentialRosenbrock(nodes=(), tol=tol)
        if facts.size <= ONCE and LAP * facts.size**3 > cost:
            return []
        return [Candidate("exprb2", exprb2, 10), Candidate("exprb42", exprb42, 16)]
    if verlet >= ACCURATE * facts.limit:
        # at its stability limit Verlet has one force where a Krylov space needs two products and
        # Runge-Kutta three forces
        return []
    return [
        Candidate("rk4", RungeKutta4(), 0, 4.0 * seconds, None, RK4_LIMIT * facts.limit),
        # in the beginning Verlet looks worse than it is, and these cannot be watched as well
        Candidate("exprb42", exprb42, ahead=0.6),
        Candidate("pexprb43", pexprb43, after="exprb42"),
    ]


def last_resorts() -> list[Candidate]:
    """Methods that take any step."""
    return [
        Candidate("energy-momentum", EnergyMomentum()),
        Candidate("midpoint", Midpoint()),
    ]
