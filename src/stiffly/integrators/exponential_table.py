"""Tables of exponential methods: coefficients that are sums of phi functions.

    U_i = u + h alpha_i(hJ) F(u) + h sum_(1<j<i) a_ij(hJ) D_j,     i = 2 .. s
    u+  = u + h phi_1(hJ) F(u)   + h sum_i b_i(hJ) D_i,            D_i = R(U_i)
    R(U) = F(U) - F(u) - J (U - u),    c_i = alpha_i(0)

J is the tangent at u (exponential Rosenbrock methods: Luan & Michels 2021, Eq. 3.11; EPIRK:
Michels, Luan & Tokman 2017, Eqs. 10 and 11) or a fixed linear part (exponential Runge-Kutta
methods: Luan & Michels 2021, Remark 3.1).  A table is checked when it is made: order_conditions.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, factorial, isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, require_name
from ..matfun.scalar import K_MAX
from .order_conditions import CHECKS, Function, Scheme, violated


def function_of(psi: Mapping[Any, float] | float, g: float = 1.0, factor: float = 1.0) -> Function:
    """{k: p} is sum p phi_k(g z), {(k, own g): p} has its own argument; a number 0 is zero."""
    if not isinstance(psi, Mapping):
        if psi != 0:
            raise InputError(f"a function is {{k: weight}} of phi_k or 0, got {psi!r}")
        return {}
    found: dict[tuple[int, float], float] = {}
    for key, weight in psi.items():
        k, scale = key if isinstance(key, tuple) else (key, g)
        numbers = isfinite(scale) and isfinite(weight) and scale > 0.0
        if int(k) != k or not 1 <= k < K_MAX or not numbers:
            raise InputError(
                f"{weight!r} phi_{k}({scale!r} z): k is 1 to {K_MAX - 1}, its argument a positive "
                "part of hJ, its weight a number"
            )
        if weight * factor != 0.0:
            where = int(k), float(scale)
            found[where] = found.get(where, 0.0) + factor * float(weight)
    return {where: weight for where, weight in found.items() if weight != 0.0}


class Entry(NamedTuple):
    """weight phi_k(g hJ)."""

    k: int
    g: float
    weight: float


Entries = tuple[Entry, ...]


def _entries(function: Function) -> Entries:
    return tuple(Entry(k, g, weight) for (k, g), weight in sorted(function.items()))


@dataclass(frozen=True)
class ExponentialTable:
    """alpha, b: s - 1 functions; a: rows of i - 2 functions for i = 2 .. s; embedded: the b of a
    method of lower order, or None.  fixed: J is the fixed linear part.
    conditions: which the order stands on, 'stiff' (for every J), 'weakened' (those of the highest
    order at J = 0 only, as exprb42), or 'classical' (for h J -> 0).

    Made by `exponential_table` and `epirk_table`.
    """

    order: int
    alpha: tuple[Entries, ...]
    a: tuple[tuple[Entries, ...], ...]
    b: tuple[Entries, ...]
    embedded: tuple[Entries, ...] | None = None
    embedded_order: int = 0
    conditions: str = "stiff"
    fixed: bool = False

    def __post_init__(self) -> None:
        require_name("conditions", self.conditions, CHECKS)
        stages = len(self.b)
        shaped = len(self.alpha) == len(self.a) == stages
        if not shaped or [len(row) for row in self.a] != list(range(stages)):
            raise InputError(
                f"a table of {stages} remainders has {stages} stages, stage i with i - 2 a_ij: "
                f"got {len(self.alpha)} stages with {[len(row) for row in self.a]}"
            )
        _refuse(self.scheme(self.b), self.order, self.conditions)
        if self.embedded is not None:
            if len(self.embedded) != stages:
                raise InputError(f"embedded has {len(self.embedded)} weights, b has {stages}")
            # an estimate needs no more than the classical order
            _refuse(self.scheme(self.embedded), self.embedded_order, "classical", "embedded ")

    def scheme(self, b: tuple[Entries, ...]) -> Scheme:
        def functions(row: Sequence[Entries]) -> list[Function]:
            return [{(e.k, e.g): e.weight for e in entries} for entries in row]

        a = [functions(row) for row in self.a]
        return Scheme(functions(self.alpha), a, functions(b), self.fixed)

    @property
    def nodes(self) -> tuple[float, ...]:
        return tuple(sum(e.weight / factorial(e.k) for e in row) for row in self.alpha)


def _refuse(scheme: Scheme, order: int, conditions: str, which: str = "") -> None:
    fault = violated(scheme, order, conditions)
    if fault is not None:
        raise InputError(
            f"the {which}table is not of order {order} ({conditions}): {fault}; "
            "correct the coefficients or declare a lower order"
        )


def exponential_table(
    nodes: Sequence[float],
    a: Sequence[Sequence[Any]],
    b: Sequence[Any],
    *,
    order: int,
    embedded: Sequence[Any] | None = None,
    embedded_order: int | None = None,
    conditions: str = "stiff",
    fixed: bool = False,
) -> ExponentialTable:
    """Stages U_i = u + c_i h phi_1(c_i hJ) F + h sum a_ij D_j at nodes c_2 .. c_s.

    a: for every stage its a_i2 .. a_i(i-1), so [] for the first; b: b_2 .. b_s.  A function is
    {k: weight} of phi_k(c_i z) (in b: of phi_k(z)), or {(k, g): weight} of phi_k(g z), or 0.
    embedded: other b, of a method whose order is embedded_order (default: one lower).
    """
    _require_rows("nodes and b", (nodes, b))
    _require_rows("a", a)
    if not all(isinstance(c, Real) and 0.0 < c <= 1.0 for c in nodes):
        raise InputError(f"nodes {tuple(nodes)} must lie in (0, 1]")
    if len(a) != len(nodes):
        raise InputError(f"{len(nodes)} nodes need as many rows of a, got {len(a)}: [] is a row")
    rows = [[function_of(psi, c) for psi in row] for c, row in zip(nodes, a, strict=True)]
    return ExponentialTable(
        order,
        tuple((Entry(1, float(c), float(c)),) for c in nodes),
        tuple(tuple(map(_entries, row)) for row in rows),
        tuple(_entries(function_of(psi)) for psi in b),
        None if embedded is None else tuple(_entries(function_of(psi)) for psi in embedded),
        order - 1 if embedded_order is None else embedded_order,
        conditions,
        fixed,
    )


def epirk_table(
    a: Sequence[Sequence[float]],
    b: Sequence[float],
    g: Sequence[Sequence[float]],
    p: Sequence[Sequence[Mapping[int, float]]],
    *,
    order: int,
    conditions: str = "stiff",
) -> ExponentialTable:
    """The general EPIRK method of Michels, Luan & Tokman 2017, Eq. 10, from its coefficients.

        X_i = X_n + a_i1 psi_i1(g_i1 hJ) h F + h sum_(j>1) a_ij psi_ij(g_ij hJ) Delta^(j-1) R

    a: rows (a_21), (a_31, a_32), ...; b: b_1 .. b_s; g and p: rows like those of a and one more for
    the step; p_ij = {k: p_ijk} of psi_ij = sum_k p_ijk phi_k.  Delta^(j-1) R is the forward
    difference on X_n, X_n2, ..., so Delta R = R(X_n2) (the paper prints its sign reversed; its
    Eq. 20 has it so) and Delta^2 R = R(X_n3) - 2 R(X_n2).
    """
    for name, rows in (("a", a), ("b", (b,)), ("g", g), ("p", p)):
        _require_rows(name, rows)
    coefficients = [*a, b]
    s = len(b)
    shape = [*range(1, s), s]
    for name, rows in (("a and b", coefficients), ("g", g), ("p", p)):
        if [len(row) for row in rows] != shape:
            raise InputError(f"{name}: rows of {shape} coefficients are needed for {s} stages")
    alpha, remainders = [], []
    for own, scales, psis in zip(coefficients, g, p, strict=True):
        functions = [
            function_of(psi, scale, factor) if factor else {}
            for factor, scale, psi in zip(own, scales, psis, strict=True)
        ]
        alpha.append(functions[0])
        remainders.append(_undone(functions[1:]))
    if alpha[-1] != {(1, 1.0): 1.0}:
        raise InputError(
            f"the table is not of order {order} ({conditions}): the step must be "
            "b_1 psi(g hJ) = phi_1(hJ), else a linear system is not solved; correct b_1, g and p"
        )
    return ExponentialTable(
        order,
        tuple(map(_entries, alpha[:-1])),
        tuple(tuple(map(_entries, row)) for row in remainders[:-1]),
        tuple(map(_entries, remainders[-1])),
        conditions=conditions,
    )


def _require_rows(name: str, rows: Any) -> None:
    """InputError where these are no lists of coefficients."""
    kinds = (list, tuple, np.ndarray)
    if not isinstance(rows, kinds) or not all(isinstance(row, kinds) for row in rows):
        raise InputError(f"{name} = {rows!r}: give lists, one for every row of the table")


def _undone(differences: list[Function]) -> list[Function]:
    """Weights of Delta^1 R, Delta^2 R, ... as weights of R(X_n2), R(X_n3), ...:
    Delta^m R = sum_i (-1)^(m-i) binomial(m, i) R(X_n(i+1)), and R(X_n) = 0."""
    count = len(differences)
    out: list[dict[tuple[int, float], float]] = [{} for _ in range(count)]
    for m, function in enumerate(differences, 1):
        for i in range(1, m + 1):
            sign = (-1.0) ** (m - i) * comb(m, i)
            for where, weight in function.items():
                out[i - 1][where] = out[i - 1].get(where, 0.0) + sign * weight
    return [{w: x for w, x in row.items() if x != 0.0} for row in out]
