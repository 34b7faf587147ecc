"""What damping takes and loads add along the linear flow of one step, at any h omega.

The flow of an exponential Rosenbrock step, M v' = c - K y - D v + t f' with y = x - x_n and
c = M a + D v_n, turns many times within a step: no rule on a few points sees its v^T D v.  But its
energy Q = v^T M v/2 + y^T K y/2 - c.y balances exactly,

    integral of v^T D v = Q(0) - Q(h) + integral of t f'.v

so the ends alone tell what was taken.  Where loads make K unsymmetric, Q has the potentials' K_p
and p = v^T D v + v^T (K - K_p) y takes the place of v^T D v: the loads' power, linearised.  What
nonlinear damping and the correction of the step change is the difference of powers, summed by
Simpson's rule at 0, h/2, h.  A sum of p itself by that rule which is right beyond the error of the
matrix functions is preferred: then that error stays visible in the ledger.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..contracts import Array, Power, State, System
from ..matfun.first_order import damped

CENTRE = 0.5  # a node of the flow for the books alone
GROWTH = 0.125  # of the correction by then, which grows as t^3


class Flow(NamedTuple):
    """Changes of x and v along the linear flow by h/2 and by h, and what the step adds at its end;
    a, rate: acceleration and its rate at the start; growth: of the correction by the middle."""

    middle: tuple[Array, Array]
    end: tuple[Array, Array]
    correction: tuple[Array, Array] | None
    a: Array
    rate: Array | None
    growth: float = GROWTH


def flow_work(
    system: System, s: State, h: float, tangent: Any, flow: Flow, error: float
) -> tuple[Power, int]:
    """Energies [J] added and dissipated in the step from s, and the products that it took."""
    states = _states(s, h, flow)
    powers = [system.power(state) for state in states]
    added = _simpson(h, *(power.added for power in powers))
    taken = _simpson(h, *(power.dissipated for power in powers))
    potentials = tangent.stiffness if tangent.symmetric else _elastic(system, s)
    if potentials is None or tangent.damping is None:
        return Power(added, taken), 0
    sampled, exact, products = _linear_work(system, s, h, tangent, flow, potentials, error)
    # beside a decay that is over before h/2 the samples say too much, and so does their difference
    share = min(1.0, exact / sampled) if sampled > 0.0 else 1.0
    return Power(added, max(0.0, exact + share * (taken - sampled))), products


def _states(s: State, h: float, flow: Flow) -> tuple[State, State, State]:
    """Start, middle and end of the step, corrections included."""
    (mx, mv), (ex, ev) = flow.middle, flow.end
    if flow.correction is not None:
        cx, cv = flow.correction
        mx, mv, ex, ev = mx + flow.growth * cx, mv + flow.growth * cv, ex + cx, ev + cv
    middle = s.moved(s.t + CENTRE * h, s.x + mx, s.v + mv)
    return s, middle, s.moved(s.t + h, s.x + ex, s.v + ev)


def _simpson(h: float, first: float, centre: float, last: float) -> float:
    return h / 6.0 * (first + 4.0 * centre + last)


def _elastic(system: System, s: State) -> Any:
    """M^-1 K of the potentials, where the system can tell it from the loads'."""
    known = getattr(system, "elastic", None)
    return None if known is None else known(s)


def _linear_work(
    system: System, s: State, h: float, tangent: Any, flow: Flow, potentials: Any, error: float
) -> tuple[float, float, int]:
    """The integral of the power p of the linear flow: by Simpson's rule; from the ends of the flow,
    or from samples where that is as good; and the products that it took."""
    drag: Any = damped(tangent, s.v)  # M^-1 D v at the start
    points = [(y, s.v + dv) for y, dv in (flow.middle, flow.end)]
    pairs = [(s.v, drag), *((v, damped(tangent, v)) for _, v in points)]
    products, loads = 4, not tangent.symmetric
    if loads:
        products += 4
        pairs += [(v, tangent.stiffness.apply(y) - potentials.apply(y)) for y, v in points]
    y, v = points[-1]
    ends = [(s.v, s.v), (v, v), (y, potentials.apply(y)), (flow.a + drag, y)]
    if flow.rate is not None:
        path = h / 6.0 * (4.0 * flow.middle[0] + y)  # the integral of y
        ends.append((flow.rate, h * y - path))
    sums = system.mass.dots(pairs + ends)
    first, middle, last = sums[:3]
    if loads:
        middle, last = middle + sums[3], last + sums[4]
    factors = (0.5, -0.5, -0.5, 1.0, 1.0)
    terms = [f * q for f, q in zip(factors, sums[len(pairs) :], strict=False)]
    sampled = _simpson(h, first, middle, last)
    exact = max(0.0, sum(terms))
    # the trapezoidal rule may agree with Simpson's by chance: both have to agree with the balance
    unsure = max(abs(sampled - 0.5 * h * (first + last)), abs(sampled - exact))
    good = unsure <= error * sum(abs(term) for term in terms)
    return sampled, sampled if good else exact, products
