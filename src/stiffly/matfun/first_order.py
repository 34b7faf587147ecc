"""The linear flow of a system whose damping or stiffness rules the half-size form out.

u = (x, v), J = [[0, I], [-K, -D]] with K unsymmetric or D not Rayleigh: Arnoldi on the full J,
with the position half scaled by a typical frequency so that both halves weigh the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

import numpy as np

from ..backends.sums import norms
from ..contracts import Array, Rayleigh, Tangent
from . import cost
from .arnoldi import MAX_BASIS, arnoldi_phi
from .body_exponentials import BodyExponentials, body_exponentials
from .cost import SMALL
from .general import general_phi_actions
from .skew import PhiRequest
from .spread import HERE, OverRanks
from .tolerance import LOST, overflows
from .untyped import LinearOperator

Nodes = tuple[float, ...]
Halves = tuple[Array, Array]  # position, velocity


def damped(tangent: Any, v: Array) -> Any:
    """M^-1 D v."""
    D = tangent.damping
    if D is None:
        return 0.0
    if isinstance(D, Rayleigh):
        return D.alpha * v + (D.beta * tangent.stiffness.apply(v) if D.beta else 0.0)
    return D.apply(v)


def tangent_force(tangent: Any, sx: Array, sv: Array | None) -> Array:
    """-A sx - D sv: the part of the force that a linear flow already has."""
    f = -tangent.stiffness.apply(sx)
    return f if sv is None else f - damped(tangent, sv)


class FirstOrderFlow:
    """The same three questions as the half-size flow answers, on the doubled system."""

    def __init__(self, tangent: Tangent, tol: float, max_products: int | None = None) -> None:
        self.tangent, self.tol, self.max_products = tangent, tol, max_products
        self.size: int = tangent.stiffness.size  # with copies of others' rows
        self.backend = tangent.stiffness.backend
        self.n: int = self.backend.owned(self.size)
        shared = self.backend.shared
        self.over = OverRanks(self.backend) if shared else HERE
        self.products, self.used, self.large = 0, "", True
        self.error = 0.0  # the largest so far, relative
        size = 2 * self.n  # of the flow: own rows alone
        self.balance: Array | None = None
        self._bodies: tuple[float, BodyExponentials | None] | None = None  # of a step h
        if size <= SMALL and not shared:  # exponentials of the whole, balanced there
            self.products += 2 * size
            operator: Any = np.array([self._product(e) for e in np.eye(size)]).T
        else:
            operator = LinearOperator((size, size), matvec=self._product, dtype=np.float64)
            even = np.ones(self.n)
            self.balance = np.concatenate([even / self._frequency(), even])
        self.operator = operator

    def _frequency(self) -> float:
        """sqrt(|K b| / |b|) of a random vector: order of magnitude is enough to balance."""
        b = self.backend.random(0, self.size)
        self.products += 1
        A = self.tangent.stiffness
        image, size = norms(self.backend, A.apply(b), b)
        return sqrt(image / size) if 0.0 < image < inf else 1.0

    def _product(self, u: Array) -> Array:
        x, v = self._split(np.ravel(u))
        return self._joined(v, -self.tangent.stiffness.apply(x) - damped(self.tangent, v))

    def _split(self, u: Array) -> Halves:
        x, v = np.empty(self.size), np.empty(self.size)
        x[: self.n], v[: self.n] = u[: self.n], u[self.n :]
        return self.backend.halo(x), self.backend.halo(v)

    def _joined(self, x: Array, v: Array) -> Array:
        return np.concatenate([x[: self.n], v[: self.n]])

    def _actions(self, taus: list[float], vectors: list[Array | None]) -> list[Array]:
        finite = all(np.isfinite(v).all() for v in vectors if v is not None)
        if not self.over.every(finite):  # a stage that went too far
            raise overflows()
        bodies = self._body_by_body(max(taus))
        if bodies is not None:
            self.used = (
                f"exponentials of {bodies.count} bodies of at most {bodies.largest} coordinates"
            )
            self.error = max(self.error, bodies.error)
            return bodies.actions(taus, vectors)
        how: Any = {"max_products": self.max_products, "balance": self.balance}
        if self.backend.shared:
            how.update(tol=self.tol, over=self.over)
            actions = arnoldi_phi(self._product, 2 * self.n, taus, vectors, **how)
        else:
            how.update(rounding=LOST)
            actions = general_phi_actions(self.operator, taus, vectors, self.tol, **how)
        self.products += max(a.products for a in actions)
        self.used = actions[-1].method
        self.error = max(self.error, *(a.error for a in actions))
        return [a.value for a in actions]

    def _body_by_body(self, h: float) -> BodyExponentials | None:
        """Where there are bodies, and their exponentials cost less than a Krylov space of all."""
        if self.balance is None or self.backend.shared:
            return None
        if self._bodies is None or self._bodies[0] != h:
            found = body_exponentials(self.tangent, h)
            if found is not None and (found.error > LOST or found.price > self._krylov(found.norm)):
                found = None
            self._bodies = h, found
        return self._bodies[1]

    def _krylov(self, phase: float) -> float:
        """The price of products and of the basis that grows with them, as in cost.py."""
        D = self.tangent.damping
        products = cost.entry_cost(self.tangent.stiffness)
        products += cost.entry_cost(D) if hasattr(D, "apply") else 0.0
        basis = cost.ENTRY * MAX_BASIS * 2 * self.n  # half of it on average, read twice
        return (cost.CALL + products + basis) * cost.products(phase)

    def rows(
        self,
        requests: Sequence[PhiRequest],
        vectors: Sequence[tuple[Array | None, Array | None]],
        scale: Array | None = None,
    ) -> list[Array]:
        """x and v (x alone where parts = 'x') of every request, as `phi_pairs` has them.

        The evaluator sums tau^k phi_k(tau J) v_k, so requests whose factors differ by tau^k are
        times of one flow and share a basis.  scale: not looked at, errors are relative to each row.
        """
        flows: dict[tuple[tuple[int, float, int], ...], list[PhiRequest]] = {}
        for request in requests:
            own = tuple((k, factor / request.tau**k, i) for k, factor, i in request.terms)
            flows.setdefault(own, []).append(request)
        found: dict[PhiRequest, Halves] = {}
        for terms, own in flows.items():
            taus = sorted({request.tau for request in own})
            values = dict(zip(taus, self._actions(taus, self._summed(terms, vectors)), strict=True))
            found.update({request: self._split(values[request.tau]) for request in own})
        return [half for r in requests for half in found[r][: len(r.parts)]]

    def _summed(
        self,
        terms: tuple[tuple[int, float, int], ...],
        vectors: Sequence[tuple[Array | None, Array | None]],
    ) -> list[Array | None]:
        """v_0 .. v_p of terms (k, factor, vector)."""
        out: list[Array | None] = [None] * (1 + max(k for k, _, _ in terms))
        for k, factor, index in terms:
            x, v = (np.zeros(self.n) if half is None else half for half in vectors[index])
            part, old = factor * self._joined(x, v), out[k]
            out[k] = part if old is None else old + part
        return out

    def linear(
        self, nodes: Nodes, h: float, v: Array, a: Array, rate: Array | None, with_velocity: bool
    ) -> tuple[list[Halves], Halves]:
        """Stages and Euler part: tau phi_1(tau J) F + tau^2 phi_2(tau J) F_t at every node."""
        taus = sorted({*(c * h for c in nodes), h})
        vectors: list[Array | None] = [None, self._joined(v, a)]
        if rate is not None:
            vectors.append(self._joined(np.zeros(self.n), rate))
        values = dict(zip(taus, self._actions(taus, vectors), strict=True))
        return [self._split(values[c * h]) for c in nodes], self._split(values[h])

    def tangent_force(self, sx: Array, sv: Array | None) -> Array:
        self.products += 1
        return tangent_force(self.tangent, sx, sv)

    def remainder(
        self, weights: Any, h: float, remainders: list[Array], dx: Array, dv: Array, estimate: bool
    ) -> tuple[Halves, Halves]:
        """h sum_i b_i(hJ) (0, d_i), and the part that the embedded method drops."""
        value = self._combination(weights.coefficients, h, remainders)
        if not estimate or weights.dropped == weights.coefficients:
            return value, value
        return value, self._combination(weights.dropped, h, remainders)

    def _combination(
        self, table: Sequence[dict[int, float]], h: float, remainders: list[Array]
    ) -> Halves:
        vectors: list[Array | None] = [None] * 5
        for own, d in zip(table, remainders, strict=True):
            for k, b in own.items():
                # the evaluator multiplies by h^k, the method asks for h
                part = self._joined(np.zeros(self.n), (b * h ** (1 - k)) * d)
                old = vectors[k]
                vectors[k] = part if old is None else old + part
        return self._split(self._actions([h], vectors)[0])
