"""The one equation that every implicit method here solves.

    M a = force(t, X, V),   X = p + alpha a,   V = q + beta a

with known predictors p, q (n,) and weights alpha [s^2], beta [s] that make the method: backward
Euler has (h^2, h), BDF2 (g^2, g) with g = 2h/3, implicit midpoint (h^2/4, h/2), Newmark
(beta h^2, gamma h).  Newton runs on the displacement d = alpha a, which keeps the digits that
X - p would lose:

    r(d) = M d - alpha force(t, p + d, q + (beta/alpha) d),   J = M + alpha K + beta D

The residual is measured against |M d| + |M h v|, v being the velocity that the step starts with: a
relative residual of 1e-9 leaves the new velocity right to about nine digits.  The force at the
predictor is no part of the scale: where a stiff spring turns it is huge and means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..contracts import Array, Rayleigh, State, System, Tangent, Work
from ..solvers.linear import is_symmetric
from ..solvers.newton import Kept, newton, norm

TOLERANCE = 1e-9
MAX_ITERATIONS = 100


@dataclass(frozen=True, slots=True)
class StageMemory:
    """From one solve to the next: the factorisation with its weights, and the last a (a guess)."""

    kept: Kept = field(default_factory=Kept)
    weights: tuple[float, float] = (0.0, 0.0)
    acceleration: Array | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """The solution: a, X, V, with the evidence."""

    a: Array
    x: Array
    v: Array
    memory: StageMemory
    work: Work
    notes: dict[str, Any]


class _StageTangent:
    """J + tau M = (1 + tau) M + alpha K + beta D of one tangent, assembled on request."""

    def __init__(self, tangent: Tangent, alpha: float, beta: float) -> None:
        self._tangent, self._alpha, self._beta = tangent, alpha, beta
        self.constant = tangent.constant
        self.symmetric = tangent.symmetric
        if self.symmetric and not isinstance(tangent.damping, Rayleigh | None):
            # K is symmetric, but a damping operator may hold gyroscopic terms
            self.symmetric = is_symmetric(self.matrix(0.0))
        bounds = tangent.stiffness.bounds() if tangent.symmetric and not self.constant else None
        # A constant tangent is tried once in a run; one that changes has to prove its sign.
        self.definite = self.constant or (
            bounds is not None and bounds.certain and 1.0 + alpha * bounds.low > 0.0
        )

    def matrix(self, shift: float) -> Any:
        return self._tangent.matrix(1.0 + shift, self._alpha, self._beta)


def solve_stage(
    system: System,
    t: float,
    p: Array,
    q: Array,
    alpha: float,
    beta: float,
    travel: Array,
    memory: StageMemory,
    *,
    tolerance: float,
    max_iterations: int,
) -> Stage:
    """Solve the stage at time t; travel (n,) is h v, the distance that sets the scale."""
    mass, ratio = system.mass, beta / alpha
    covered = norm(mass.apply(travel))

    def state(d: Array) -> State:
        return State(t, p + d, q + ratio * d)

    def residual(d: Array) -> Array:
        return mass.apply(d) - alpha * system.force(state(d))

    result = newton(
        residual,
        lambda d: _StageTangent(system.tangent(state(d)), alpha, beta),
        alpha * memory.acceleration if memory.acceleration is not None else 0.0 * p,
        tolerance=tolerance,
        scale=lambda d: norm(mass.apply(d)) + covered,
        max_iterations=max_iterations,
        origin=p,
        kept=_usable(memory, alpha, beta),
        time=t,
    )
    d, a = result.x, result.x / alpha
    memory = StageMemory(result.kept, (alpha, beta), a)
    notes = {"residual": result.residual, "rounding": result.rounding}
    return Stage(a, p + d, q + ratio * d, memory, result.work, notes)


def _usable(memory: StageMemory, alpha: float, beta: float) -> Kept:
    """The factorisation if it has these weights; steps that differ in their last digits share."""
    old_alpha, old_beta = memory.weights
    if abs(old_alpha - alpha) <= 1e-9 * alpha and abs(old_beta - beta) <= 1e-9 * beta:
        return memory.kept
    return replace(memory.kept, solver=None, constant=False)
