"""V-IMEX: Verlet for the slow force, implicit midpoint for the stiff linear part; second order.

Stern and Grinspun, Implicit-explicit variational integration of highly oscillatory problems,
SIAM Multiscale Model. Simul. 7 (2009).  A step is half a kick by the slow force
f + K (x - r) + D v, implicit midpoint for M x'' = -K (x - r) - D x', and half a kick.  With
constant K and D all products with K cancel; B = M + (h/2) D + (h^2/4) K is factorised once per h:

    x+ = x + h B^-1 (M v + (h/2) g),   v+ = v + (h/2) M^-1 (g + g+) - M^-1 D (x+ - x)

with g = f(t, x, v) + D v.  Without damping this is the two-step form
B (x+ - 2x + x-) = h^2 f(x), symplectic and time-reversible, stable at any step for the linear part.
Velocity dependence that D does not hold is taken at v* = v + h (g - D v), which keeps the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..accounting import mean_work
from ..contracts import Array, LinearPart, Rayleigh, State, Step, System, Tangent, Work
from ..errors import NotConverged
from ..matfun.first_order import damped
from ..solvers.failures import FactorisationError, NotPositiveDefinite
from ..solvers.linear import Factor, factorise, is_symmetric
from .restart import same_state


class VimexMemory(NamedTuple):
    """The linear part, B's factorisation with its h, and M^-1 g of the state a step ended in."""

    linear: LinearPart
    factor: Factor | None = None
    h: float = 0.0
    state: State | None = None
    slow: Array | None = None


@dataclass(frozen=True)
class VImex:
    name: ClassVar[str] = "vimex"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> VimexMemory:
        return VimexMemory(system.linear_part())

    def step(self, system: System, state: State, h: float, memory: VimexMemory) -> Step:
        tangent = memory.linear.tangent
        drags = tangent.damping is not None
        factor, factorizations = memory.factor, 0
        if factor is None or abs(memory.h - h) > 1e-12 * h:
            factor, factorizations = _factorise(tangent, h, state.t), 1
        slow, forces = memory.slow, 1
        if slow is None or memory.state is None or not same_state(system, memory.state, state):
            slow, forces = system.acceleration(state), 2
            slow = slow + damped(tangent, state.v) if drags else slow

        before = factor.products
        moved = h * factor.solve(system.mass.apply(state.v + (0.5 * h) * slow))
        drag = damped(tangent, moved) if drags else 0.0
        x, t = state.x + moved, state.t + h
        v_star = state.v + h * slow - drag
        slow_new = system.acceleration(state.moved(t, x, v_star))
        if drags:
            slow_new = slow_new + damped(tangent, v_star)
        new = state.moved(t, x, state.v + (0.5 * h) * (slow + slow_new) - drag)
        work = Work(
            force_evaluations=forces,
            operator_products=factor.products - before + (1 + forces) * _cost(tangent),
            factorizations=factorizations,
            linear_solves=1,
        )
        moved = mean_work(system, state, new)
        memory = VimexMemory(memory.linear, factor, h, new, slow_new)
        return Step(new, memory, work, exchanged=moved)


def _factorise(tangent: Tangent, h: float, t: float) -> Factor:
    matrix = tangent.matrix(1.0, 0.25 * h * h, 0.5 * h)
    symmetric = tangent.symmetric and (
        tangent.damping is None or isinstance(tangent.damping, Rayleigh) or is_symmetric(matrix)
    )
    try:
        try:
            return factorise(matrix, symmetric=symmetric)
        except NotPositiveDefinite:  # an unstable linear part, which midpoint can still follow
            return factorise(matrix, symmetric=False)
    except FactorisationError as failure:
        raise NotConverged(
            f"V-IMEX cannot factorise M + h^2/4 K at t = {t:.6g} s ({failure}): "
            "try a different step, or integrator midpoint"
        ) from None


def _cost(tangent: Tangent) -> int:
    """Products with A (or D) that one `damped` takes."""
    damping = tangent.damping
    return 0 if damping is None or (isinstance(damping, Rayleigh) and damping.beta == 0.0) else 1
