"""Exponential Rosenbrock methods: exprb2, exprb32, exprb42, pexprb43(c2, c3), EPIRK4s3.

The force is linearised at every step, the linear part is solved exactly by phi functions, and
the remainder D_i = F(U_i) - F(u) - J (U_i - u) is sampled at the nodes c_i:

    U_i = u + c_i h phi_1(c_i h J) F(u)
    u+  = u + h phi_1(h J) F(u) + h sum_i b_i(h J) D_i
    no node:   exprb2, order 2 (exponential Rosenbrock-Euler)
    one node:  b = 2/c^2 phi_3; order 3, and order 4 exactly at c = 3/4 (exprb42, superconvergent)
    two nodes: b_2 = (2 c3 phi_3 - 6 phi_4)/(c2^2 (c3 - c2)), b_3 likewise; order 4 (pexprb43)

The stages do not use one another, so all of them and the Euler part come from ONE basis.  For a
force that depends on t, phi_2 terms carry dF/dt.  Error estimates: two nodes, the phi_4 part
(an embedded third-order method); one node, the whole correction (embedded exprb2).

Sources: Luan & Michels, Efficient exponential time integration for simulating nonlinear coupled
oscillators (2021), Eqs. 3.8, 3.19, 3.20; Michels, Luan & Tokman, A stiffly accurate integrator for
elastodynamic problems (2017), Eq. 20, which is pexprb43(1/8, 1/9).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from ..arrays import real_number
from ..backends.sums import norms
from ..contracts import Array, ErrorEstimate, Rayleigh, Settled, State, Step, System, Work
from ..errors import InputError
from ..matfun.action import ROOT, SKEW, Pair, PhiRequest, phi_pairs
from ..matfun.chooser import check_settings
from ..matfun.cost import SMALL
from ..matfun.first_order import FirstOrderFlow
from ..matfun.tolerance import lost_to_rounding
from ..solvers.settings import CLOCK, Clock, check_budget
from .flow_work import CENTRE, Flow, flow_work
from .time_budget import Ration, ReducedFlow, Spaces, smoother

_SUPERCONVERGENT = 0.75
COMPILED = {"method": "dense eigenbasis (small, compiled steps)"}


@dataclass(frozen=True)
class Weights:
    """b_i = sum_k coefficients[i][k] phi_k; `embedded` is what the lower-order method drops."""

    coefficients: tuple[dict[int, float], ...]
    dropped: tuple[dict[int, float], ...]
    order: int


@lru_cache(maxsize=64)
def weights(nodes: tuple[float, ...]) -> Weights:
    """The b_i that satisfy the stiff order conditions for the given nodes."""
    if len(nodes) == 0:
        return Weights((), (), 2)
    if len(nodes) == 1:
        own = {3: 2.0 / nodes[0] ** 2}
        return Weights((own,), (own,), 4 if nodes[0] == _SUPERCONVERGENT else 3)
    c2, c3 = nodes
    scale2, scale3 = c2**2 * (c3 - c2), c3**2 * (c2 - c3)
    b2 = {3: 2.0 * c3 / scale2, 4: -6.0 / scale2}
    b3 = {3: 2.0 * c2 / scale3, 4: -6.0 / scale3}
    return Weights((b2, b3), ({4: b2[4]}, {4: b3[4]}), 4)


@lru_cache(maxsize=64)
def _tables(nodes: tuple[float, ...]) -> tuple[Array, Array]:
    """Nodes (s,), and the weights of phi_3 and phi_4 in b_i (s, 2)."""
    own = weights(nodes).coefficients
    table = [[b.get(3, 0.0), b.get(4, 0.0)] for b in own]
    return np.array(nodes, dtype=np.float64), np.array(table, dtype=np.float64).reshape(-1, 2)


def _check_nodes(nodes: tuple[float, ...]) -> None:
    if not isinstance(nodes, tuple):
        raise InputError(f"nodes must be a tuple, not {type(nodes).__name__}: try (1/3, 3/4)")
    given = [real_number("node", c, "try (1/3, 3/4)") for c in nodes]
    if len(nodes) > 2 or any(not 0.0 < c <= 1.0 for c in given):
        raise InputError(f"nodes {nodes} must be at most two numbers in (0, 1]: try (1/3, 3/4)")
    if len(nodes) == 2 and nodes[0] == nodes[1]:
        raise InputError(f"nodes c2 = c3 = {nodes[0]} coincide: choose two different ones")
    try:
        usable = bool(np.isfinite(_tables(nodes)[1]).all())
    except ZeroDivisionError:  # c^2 is zero in floating point
        usable = False
    if not usable:
        raise InputError(f"nodes {nodes} have weights without bound: try (1/3, 3/4)")


@lru_cache(maxsize=256)
def _linear_requests(
    nodes: tuple[float, ...], h: float, parts: str, rate: bool
) -> tuple[PhiRequest, ...]:
    def euler(tau: float, parts: str) -> PhiRequest:
        terms = ((1, tau, 0),) + (((2, tau * tau, 1),) if rate else ())
        return PhiRequest(tau, terms, parts)

    return (*(euler(c * h, parts) for c in nodes), euler(h, "xv"))


@lru_cache(maxsize=256)
def _remainder_requests(
    nodes: tuple[float, ...], h: float, estimate: bool
) -> tuple[PhiRequest, ...]:
    def combine(table: tuple[dict[int, float], ...]) -> PhiRequest:
        terms = tuple((k, h * b, i) for i, own in enumerate(table) for k, b in own.items())
        return PhiRequest(h, terms)

    w = weights(nodes)
    if estimate and w.dropped != w.coefficients:
        return combine(w.coefficients), combine(w.dropped)
    return (combine(w.coefficients),)


@dataclass(frozen=True)
class ExponentialRosenbrock:
    """nodes () exprb2, (1,) exprb32, (3/4,) exprb42, (c2, c3) pexprb43, (1/8, 1/9) epirk4s3.

    tol: relative accuracy of the matrix functions; method: evaluator name (see matfun.EVALUATORS,
    'skew' with basis=m for a fixed number of vectors that conserves the linear energy, and 'root',
    through the square root of the tangent as the papers have it, small bodies only);
    estimate: also compute the embedded error.
    max_products: of the tangent with one vector in one evaluation of matrix functions, beyond
    which a step is NotConverged (default: what takes about ten seconds).
    budget: seconds that a step may take; matrix functions are then taken in a small space of
    vectors (time_budget.py), which conserves the linearised energy, and no two runs are alike.
    """

    nodes: tuple[float, ...] = (1 / 3, 3 / 4)
    tol: float = 1e-8
    method: str = "auto"
    basis: int | None = None
    estimate: bool = False
    budget: float | None = None
    clock: Clock = field(default=CLOCK, repr=False, compare=False)
    max_products: int | None = None

    def __post_init__(self) -> None:
        _check_nodes(self.nodes)
        check_settings(self.tol, self.method, also=(SKEW, ROOT), max_products=self.max_products)
        check_budget("exponential Rosenbrock", self.budget)

    timed: ClassVar[bool] = True  # can have a budget

    @property
    def order(self) -> int:
        return weights(self.nodes).order

    @property
    def adaptive(self) -> bool:
        return len(self.nodes) > 0

    @property
    def error_order(self) -> int:
        return max(1, self.order - 1) if len(self.nodes) > 1 else 2

    def controlled(self, rtol: float) -> ExponentialRosenbrock:
        """With estimates, and matrix functions that are not what limits the accuracy."""
        return replace(self, estimate=True, tol=max(min(self.tol, 1e-2 * rtol), 1e-12))

    def start(self, system: System, state: State) -> Any:
        return None

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return memory  # how long things take, nothing of the state

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        if self.budget is not None:
            return self._rationed(system, state, h, memory)
        taken = self.stretch(system, state, h, 1)
        if taken is not None and taken[1]:
            return taken[0]
        tangent = system.tangent(state)
        return self._step(system, state, h, tangent, flow_of(self, tangent))

    def stretch(self, system: Any, state: State, h: float, count: int) -> tuple[Step, int] | None:
        """Of a few coordinates with compiled functions: what is left of Python then is nothing."""
        own = getattr(system, "own", None)
        if own is None or self.estimate or self.method != "auto" or self.budget is not None:
            return None
        x, v = state.x.copy(), state.v.copy()
        nodes, table = _tables(self.nodes)
        done = system.backend.kernels.rosenbrock_steps(*own, nodes, table, h, count, x, v)
        if done == 0:
            return None
        stages = len(self.nodes)
        work = Work(done * (1 + stages), done, done * stages)
        new = state.moved(state.t + done * h, x, v)
        return Step(new, None, work, None, COMPILED), done

    def _rationed(self, system: System, state: State, h: float, memory: Any) -> Step:
        """memory: seconds that the last step needed besides its spaces (Ration.gaps)."""
        count = 1 if not self.nodes else 2
        ration = Ration(self.budget or 0.0, self.clock, memory or (0.0,) * count)
        smooth, factorised = smoother(system.linear_part().tangent, h)
        spaces = Spaces(ration, smooth)
        exact = replace(self, budget=None, method="dense")
        tangent = system.tangent(state)
        flow = ReducedFlow(tangent, spaces, partial(flow_of, exact), self.tol)
        taken = self._step(system, state, h, tangent, flow)
        work = taken.work + Work(factorizations=factorised)
        return replace(taken, memory=ration.gaps(), notes=spaces.notes(), work=work)

    def _step(self, system: System, state: State, h: float, tangent: Any, flow: Any) -> Step:
        x, v, t = state.x, state.v, state.t
        a = system.acceleration(state)
        rate = system.acceleration_rate(state, h) if system.time_dependent else None
        # 1. every stage and the Euler part: u + tau phi_1(tau J) F + tau^2 phi_2(tau J) F_t
        booked = system.velocity_dependent or system.time_dependent
        nodes = (*self.nodes, CENTRE) if booked else self.nodes
        stages, (dx, dv) = flow.linear(nodes, h, v, a, rate, booked)
        # 2. remainders at the nodes: they have no position part
        remainders = []
        for c, (sx, sv) in zip(self.nodes, stages, strict=False):
            at = t + c * h, x + sx, v if sv is None else v + sv
            d = system.acceleration(state.moved(*at)) - a - flow.tangent_force(sx, sv)
            del at  # of millions of coordinates, every array counts
            remainders.append(d if rate is None else d - (c * h) * rate)
            del d
        path = Flow(stages[-1], (dx, dv), None, a, rate) if booked else None
        del a, rate, stages
        # 3. their contribution, unless it drowns in the tolerance
        correction, missed, error, size, negligible = None, None, None, 0.0, False
        if remainders and (self.estimate or flow.large):
            far, fast, *sizes = norms(system.backend, dx, dv, *remainders)
            size = max(sizes)
            negligible = flow.large and self._negligible(size, h, far, fast)
        if remainders and not negligible:
            w = weights(self.nodes)
            correction, missed = flow.remainder(w, h, remainders, dx, dv, self.estimate)
        if self.estimate:
            ex, ev = missed or (np.zeros_like(x), np.zeros_like(v))
            error = ErrorEstimate(ex, ev, remainder=h * size)
        moved, work = None, Work(1 + len(remainders), 1, flow.products)
        if path is not None:
            path = path._replace(correction=correction)
            moved, products = flow_work(system, state, h, tangent, path, flow.error)
            work += Work(operator_products=products)
        if correction is None:
            new = state.moved(t + h, x + dx, v + dv)
        else:
            new = state.moved(t + h, _sum(dx, correction[0], x), _sum(dv, correction[1], v))
        return Step(new, None, work, error, {"method": flow.used}, moved)

    def _negligible(self, size: float, h: float, far: float, fast: float) -> bool:
        """|h b_i D_i| <= h |D| for every method here: far below what is asked of dx and dv."""
        share = 1e-3 * self.tol
        return h * size <= share * fast and h * h * size <= share * far


def _sum(a: Array, b: Array, c: Array) -> Array:
    """a + b + c, with one new array."""
    total = a + b
    total += c
    return total


def half_size(tangent: Any) -> bool:
    """Whether its phi functions are those of one symmetric matrix: D = 0 or Rayleigh."""
    return tangent.symmetric and isinstance(tangent.damping, Rayleigh | None)


def flow_of(config: Any, tangent: Any) -> Any:
    """phi functions of the tangent, as a method with tol, method, basis and max_products asks."""
    if not half_size(tangent):
        return FirstOrderFlow(tangent, config.tol, config.max_products)
    return _HalfSize(config, tangent.stiffness, tangent.damping)


class _HalfSize:
    """phi functions through the symmetric A."""

    def __init__(self, config: Any, A: Any, damping: Rayleigh | None) -> None:
        self.config, self.A, self.damping = config, A, damping
        self.large = A.backend.count(A.size) > SMALL  # below, saving work costs more than it saves
        self.products, self.used = 0, ""
        self.error = 0.0  # the largest so far, relative

    def rows(
        self, requests: tuple[PhiRequest, ...], vectors: list[Pair], scale: Array | None = None
    ) -> Any:
        """Rows of the requests; vectors: F = (v, a), F_t and D_i = (0, .)."""
        config = self.config
        names = ("tol", "method", "basis", "max_products")
        options: Any = {name: getattr(config, name) for name in names}
        action = phi_pairs(self.A, self.damping, requests, vectors, scale=scale, **options)
        # of the stiffest modes; below, and in large systems, slow ones keep digits enough
        undamped = self.damping is None and config.method == "auto"
        if action.error > 1.0 and undamped and not self.large:
            raise lost_to_rounding(action.error)
        self.products += action.products
        self.used = action.method
        self.error = max(self.error, action.error)
        return action.value

    def linear(self, nodes, h, v, a, rate, with_velocity):
        parts = "xv" if with_velocity else "x"
        requests = _linear_requests(nodes, h, parts, rate is not None)
        rows = self.rows(requests, [(v, a)] if rate is None else [(v, a), (None, rate)])
        if with_velocity:
            stages = [(rows[2 * i], rows[2 * i + 1]) for i in range(len(nodes))]
        else:
            stages = [(rows[i], None) for i in range(len(nodes))]
        return stages, (rows[-2], rows[-1])

    def tangent_force(self, sx: Array, sv: Array | None) -> Array:
        """-A sx - D sv, the part of the force that the linear flow already has."""
        self.products += 1
        f = -self.A.apply(sx)
        if self.damping is not None and sv is not None:
            f -= self.damping.alpha * sv
            if self.damping.beta:
                self.products += 1
                f -= self.damping.beta * self.A.apply(sv)
        return f

    def remainder(self, weights, h, remainders, dx, dv, estimate):
        requests = _remainder_requests(self.config.nodes, h, estimate)
        scale = None
        if self.large:  # a correction need not be better than what it corrects
            scale = np.tile(self.A.norms(dx, dv), len(requests))
        rows = self.rows(requests, [(None, d) for d in remainders], scale)
        return (rows[0], rows[1]), (rows[-2], rows[-1])
