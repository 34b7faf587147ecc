"""Exponential methods from a table of coefficients: EPIRK, exponential Rosenbrock and Runge-Kutta.

    U_i = u + h alpha_i(hJ) F(u) + h sum_j a_ij(hJ) D_j
    u+  = u + h phi_1(hJ) F(u)   + h sum_i b_i(hJ) D_i      D_i = F(U_i) - F(u) - J (U_i - u)

Tables and their order conditions: exponential_table.py, order_conditions.py.  Methods whose stages
do not use one another (exprb42, pexprb43, EPIRK4s3) are ExponentialRosenbrock, which has more ways
to compute them.

All that F(u) contributes comes from one basis, as does what earlier remainders give to a stage, and
what all of them give to the step.  For a force that depends on t, J is that of (u, t), t' = 1: a
term phi_k(g hJ) F brings g h phi_(k+1)(g hJ) dF/dt; a fixed linear part leaves t to the remainder.

Sources: Michels, Luan & Tokman, A stiffly accurate integrator for elastodynamic problems (2017),
Eqs. 10, 11; Luan & Michels, Efficient exponential time integration for simulating nonlinear coupled
oscillators (2021), Eq. 3.11 and Remark 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import factorial
from typing import Any, ClassVar

import numpy as np

from ..backends.sums import norms
from ..contracts import Array, ErrorEstimate, Settled, State, Step, System, Work
from ..errors import InputError
from ..matfun.action import Pair, PhiRequest
from ..matfun.chooser import check_settings
from .exponential_rosenbrock import flow_of
from .exponential_table import Entries, Entry, ExponentialTable
from .flow_work import CENTRE, GROWTH, Flow, flow_work

Halves = tuple[Array, Array | None]
_STEP: Entries = (Entry(1, 1.0, 1.0),)
_MIDDLE: Entries = (Entry(1, CENTRE, CENTRE),)
_SLOWER = 0.25  # growth of a correction by the middle where D_i is of the order h, not h^2


@dataclass(frozen=True)
class Epirk:
    """table: of `exponential_table` or `epirk_table`; tol, method, max_products: of the matrix
    functions, as in ExponentialRosenbrock; estimate: also the error, if the table has one embedded.
    """

    table: ExponentialTable
    tol: float = 1e-8
    method: str = "auto"
    estimate: bool = False
    max_products: int | None = None

    basis: ClassVar[int | None] = None  # of skew Lanczos, which is not asked for

    def __post_init__(self) -> None:
        if not isinstance(self.table, ExponentialTable):
            raise InputError(
                f"table must come from exponential_table or epirk_table, got {self.table!r}"
            )
        check_settings(self.tol, self.method, max_products=self.max_products)

    @property
    def order(self) -> int:
        return self.table.order

    @property
    def adaptive(self) -> bool:
        return self.table.embedded is not None

    @property
    def error_order(self) -> int:
        return self.table.embedded_order

    def controlled(self, rtol: float) -> Epirk:
        """With estimates, and matrix functions that are not what limits the accuracy."""
        return replace(self, estimate=True, tol=max(min(self.tol, 1e-2 * rtol), 1e-12))

    def start(self, system: System, state: State) -> Any:
        return None

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return None

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        return _Stepping(self, system, state, h).taken()


class _Stepping:
    """One step: what its parts share."""

    def __init__(self, config: Epirk, system: System, state: State, h: float) -> None:
        self.config, self.table, self.system = config, config.table, system
        self.state, self.h = state, h
        fixed = self.table.fixed
        self.tangent = system.linear_part().tangent if fixed else system.tangent(state)
        self.flow = flow_of(config, self.tangent)
        self.a = system.acceleration(state)
        in_time = system.time_dependent and not fixed
        self.rate = system.acceleration_rate(state, h) if in_time else None
        self.booked = system.velocity_dependent or system.time_dependent
        self.parts = "xv" if self.booked or self.tangent.damping is not None else "x"
        self.scale: tuple[float, float] | None = None  # of positions and velocities, for rest

    def taken(self) -> Step:
        table, state = self.table, self.state
        stages, middle, (dx, dv) = self._linear()
        if self.flow.large:  # a correction need not be better than what it corrects
            far, fast = norms(self.system.backend, dx, dv)
            self.scale = (far, fast) if far > 0.0 and fast > 0.0 else None
        remainders: list[Pair] = []
        for i, own in enumerate(stages):
            moved = self._with_remainders(own, table.a[i], remainders)
            remainders.append((None, self._remainder(table.nodes[i], moved)))
        correction = self._combined(table.b, remainders)
        error = self._error(remainders) if self.config.estimate and table.embedded else None
        work = Work(1 + len(stages), 0 if table.fixed else 1, self.flow.products)
        exchanged = None
        if self.booked:
            growth = _SLOWER if table.fixed else GROWTH
            path = Flow(middle, (dx, dv), correction, self.a, self.rate, growth)
            exchanged, products = flow_work(
                self.system, state, self.h, self.tangent, path, self.flow.error
            )
            work += Work(operator_products=products)
        if correction is not None:
            dx, dv = dx + correction[0], dv + correction[1]
        new = state.moved(state.t + self.h, state.x + dx, state.v + dv)
        return Step(new, None, work, error, {"method": self.flow.used}, exchanged)

    def _linear(self) -> tuple[list[Halves], Any, tuple[Array, Array]]:
        """h alpha_i(hJ) F of every stage, of the middle for the books, and of the step."""
        vectors: list[Pair] = [(self.state.v, self.a)]
        if self.rate is not None:
            vectors.append((None, self.rate))
        rows = [*self.table.alpha, *([_MIDDLE] if self.booked else []), _STEP]
        parts = [self.parts] * (len(rows) - 1) + ["xv"]
        values = self._rows([self._with_time(row) for row in rows], vectors, parts)
        count = len(self.table.alpha)
        return values[:count], values[count] if self.booked else None, values[-1]

    def _with_time(self, row: Entries) -> list[tuple[Entry, int]]:
        """Entries on F (vector 0), and on dF/dt (vector 1) what they bring along."""
        own = [(entry, 0) for entry in row]
        if self.rate is not None:
            own += [(Entry(k + 1, g, weight * g * self.h), 1) for k, g, weight in row]
        return own

    def _with_remainders(
        self, own: Halves, row: Sequence[Entries], remainders: list[Pair]
    ) -> Halves:
        """A stage of the linear flow with what earlier remainders add to it."""
        added = self._combined(row, remainders, self.parts)
        if added is None:
            return own
        return own[0] + added[0], None if own[1] is None else own[1] + added[1]

    def _remainder(self, c: float, moved: Halves) -> Array | None:
        """D = F(U) - F(u) - J (U - u), its velocity half: the other one is zero."""
        (sx, sv), state = moved, self.state
        v = state.v if sv is None else state.v + sv
        there = state.moved(state.t + c * self.h, state.x + sx, v)
        d = self.system.acceleration(there) - self.a - self.flow.tangent_force(sx, sv)
        if self.rate is not None:
            d = d - (c * self.h) * self.rate
        return d if d.any() else None

    def _combined(self, row: Sequence[Entries], remainders: list[Pair], parts: str = "xv") -> Any:
        """h sum_i row_i(hJ) D_i, None where that is nothing."""
        own = [
            (entry, i)
            for i, entries in enumerate(row)
            for entry in entries
            if remainders[i][1] is not None
        ]
        if not own or self._negligible(own, remainders):
            return None
        used = sorted({i for _, i in own})
        renamed = [(entry, used.index(i)) for entry, i in own]
        return self._rows([renamed], [remainders[i] for i in used], [parts])[0]

    def _negligible(self, own: list[tuple[Entry, int]], remainders: list[Pair]) -> bool:
        """|phi_k| <= 1/k!: whether all of it is far below what is asked of the linear flow."""
        if self.scale is None:
            return False
        sizes = norms(self.system.backend, *(d for _, d in remainders if d is not None))
        weight = sum(abs(entry.weight) / factorial(entry.k) for entry, _ in own)
        speed = self.h * weight * max(sizes)
        share = 1e-3 * self.config.tol
        return speed <= share * self.scale[1] and self.h * speed <= share * self.scale[0]

    def _error(self, remainders: list[Pair]) -> ErrorEstimate:
        """What the embedded method does not have."""
        assert self.table.embedded is not None
        less = [tuple(Entry(k, g, -w) for k, g, w in row) for row in self.table.embedded]
        row = [(*own, *other) for own, other in zip(self.table.b, less, strict=True)]
        x, v = self._combined(row, remainders) or (np.zeros_like(self.a), np.zeros_like(self.a))
        known = [d for _, d in remainders if d is not None]
        size = max(norms(self.system.backend, *known)) if known else 0.0
        return ErrorEstimate(x, v, remainder=self.h * size)

    def _rows(self, outputs: Sequence[Any], vectors: list[Pair], parts: Sequence[str]) -> list[Any]:
        """(x, v) of every output h sum of weight phi_k(g hJ) vector, v None where not asked for.

        outputs: lists of (entry, vector), one request for every g of each.
        """
        requests: list[PhiRequest] = []
        owners: list[int] = []
        for index, output in enumerate(outputs):
            for g in sorted({entry.g for entry, _ in output}):
                terms = tuple((e.k, self.h * e.weight, i) for e, i in output if e.g == g)
                requests.append(PhiRequest(g * self.h, terms, parts[index]))
                owners.append(index)
        scale = None
        if self.scale is not None:
            scale = np.array([s for r in requests for s in self.scale[: len(r.parts)]])
        rows = iter(self.flow.rows(tuple(requests), vectors, scale))
        sums: list[Any] = [(0.0, None if part == "x" else 0.0) for part in parts]
        for request, owner in zip(requests, owners, strict=True):
            x, v = sums[owner]
            x = x + next(rows)
            sums[owner] = x, v + next(rows) if request.parts == "xv" else None
        return sums
