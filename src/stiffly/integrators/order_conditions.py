"""Order conditions of exponential methods (tables: exponential_table.py), checked by name.

Classical, for hJ -> 0: the series of one step against that of the solution, tree by tree.  With J
the tangent a node is f, f', f'', ...; with a fixed linear part there are two kinds, A and g.

Stiff, for every J.  Tangent: Luan & Michels 2021, Table 1, with
    psi_3i = sum_k a_ik c_k^2/2 - c_i^3 phi_3(c_i Z):
    1 (order 3)  sum_i b_i c_i^2 = 2 phi_3        2 (order 4)  sum_i b_i c_i^3 = 6 phi_4
    3 (order 5)  sum_i b_i c_i^4 = 24 phi_5       4 (order 5)  sum_i b_i c_i K psi_3i = 0
Fixed linear part: Hochbruck & Ostermann 2005, with
    psi_ji = sum_k a_ik c_k^(j-1)/(j-1)! - c_i^j phi_j(c_i Z):
    1 (order 2)  sum_i b_i c_i = phi_2            2 (order 3)  sum_i b_i c_i^2 = 2 phi_3
    3 (order 3)  sum_i b_i K psi_2i = 0           4 (order 4)  sum_i b_i c_i^3 = 6 phi_4
    5 (order 4)  sum_i b_i K psi_3i = 0           6 (order 4)  sum_ij b_i K a_ij K psi_2j = 0
    7 (order 4)  sum_i b_i c_i K psi_2i = 0
K is any matrix, so products of functions are compared as tensors; phi_k(g Z) of different (k, g)
are linearly independent.  Stages must be c_i phi_1(c_i Z).  Weakened: in the conditions of the
highest order b_i(0) stands for b_i(Z), phi_k(0) for phi_k(Z) on the right-hand side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from math import factorial
from typing import Any

Function = Mapping[tuple[int, float], float]  # {(k, g): weight} of weight phi_k(g z)
CHECKS = ("stiff", "weakened", "classical")
MOST = 5  # orders that there are conditions for; with a fixed linear part, stiff ones up to 4
_ROUNDING = 1e-10  # of coefficients given to 16 digits, relative to the largest weight


@dataclass(frozen=True)
class Scheme:
    """alpha_i, a_ij and b_i as functions, i = 2 .. s."""

    alpha: list[Function]
    a: list[list[Function]]
    b: list[Function]
    fixed: bool

    @property
    def nodes(self) -> list[float]:
        return [at_zero(function) for function in self.alpha]

    @property
    def allowed(self) -> float:
        rows = [*self.alpha, *self.b, *(f for row in self.a for f in row)]
        return _ROUNDING * max([1.0, *(abs(w) for f in rows for w in f.values())])


def at_zero(function: Function) -> float:
    return sum(weight / factorial(k) for (k, _), weight in function.items())


def violated(scheme: Scheme, order: int, conditions: str) -> str | None:
    """The first condition that does not hold, in words; None where all do."""
    most = 4 if scheme.fixed and conditions != "classical" else MOST
    if int(order) != order or not 2 <= order <= most:
        return f"conditions are known for orders 2 to {most}"
    faults = _classical(scheme, order)
    if conditions != "classical":
        # named first: what a stiff table lacks is seldom a tree
        faults = (*_stiff(scheme, order, conditions == "weakened"), *faults)
    return next(iter(faults), None)


# ------------------------------------------------------------------ stiff conditions

Tensor = dict[tuple[Any, ...], float]


def _add(*parts: tuple[float, Function]) -> dict[tuple[int, float], float]:
    total: dict[tuple[int, float], float] = {}
    for factor, function in parts:
        for where, weight in function.items():
            total[where] = total.get(where, 0.0) + factor * weight
    return total


def _tensor(sums: Iterator[tuple[Mapping[Any, float], ...]]) -> Tensor:
    """sum of f (x) g (x) ..., as coefficients of products of linearly independent functions."""
    total: Tensor = {}
    for functions in sums:
        parts: Tensor = {(): 1.0}
        for function in functions:
            parts = {
                (*where, key): x * weight
                for where, x in parts.items()
                for key, weight in function.items()
            }
        for where, x in parts.items():
            total[where] = total.get(where, 0.0) + x
    return total


def _stiff(scheme: Scheme, order: int, weakened: bool) -> Iterator[str]:
    allowed = scheme.allowed
    for i, (c, alpha) in enumerate(zip(scheme.nodes, scheme.alpha, strict=True), 2):
        if max(map(abs, _add((1.0, alpha), (-1.0, {(1, c): c})).values())) > allowed:
            yield f"stage {i} must be c phi_1(c Z) F with c = {c:.6g}"
    for number, own, name, tensor in _conditions(scheme, order if weakened else MOST + 1):
        if own > order:
            continue
        off = max(map(abs, tensor.values()), default=0.0)
        if off > allowed:
            weak = " at Z = 0" if weakened and own == order else ""
            yield f"condition {number}, {name}{weak}, is off by {off:.1e}"


def _conditions(scheme: Scheme, weak: int) -> Iterator[tuple[int, int, str, Tensor]]:
    """(number, order, formula, what must be zero); weak: from this order on, b(0) stands for b."""
    c, strong = scheme.nodes, scheme.b
    flat: list[Mapping[Any, float]] = [{(): at_zero(b)} for b in strong]

    def b(order: int) -> list[Any]:
        return flat if order >= weak else strong

    def quadrature(order: int, power: int) -> Tensor:
        k = power + 1
        right: Any = {(): 1.0 / factorial(k)} if order >= weak else {(k, 1.0): 1.0}
        left = zip(b(order), c, strict=True)
        total = _add(*((x**power, f) for f, x in left), (-float(factorial(power)), right))
        return {(key,): weight for key, weight in total.items()}

    def psi(j: int, i: int) -> Function:
        own = [(x ** (j - 1) / factorial(j - 1), f) for f, x in zip(scheme.a[i], c, strict=False)]
        return _add(*own, (-(c[i] ** j), {(j, c[i]): 1.0}))

    def stages(order: int, j: int, power: int) -> Tensor:
        own = ((f, {(): c[i] ** power}, psi(j, i)) for i, f in enumerate(b(order)))
        return _tensor(own)

    def nested(order: int) -> Tensor:
        rows = enumerate(zip(b(order), scheme.a, strict=True))
        return _tensor((f, a, psi(2, j)) for _, (f, row) in rows for j, a in enumerate(row))

    if not scheme.fixed:
        yield 1, 3, "sum b_i(Z) c_i^2 = 2 phi_3(Z)", quadrature(3, 2)
        yield 2, 4, "sum b_i(Z) c_i^3 = 6 phi_4(Z)", quadrature(4, 3)
        yield 3, 5, "sum b_i(Z) c_i^4 = 24 phi_5(Z)", quadrature(5, 4)
        yield 4, 5, "sum b_i(Z) c_i K psi_3i(Z) = 0", stages(5, 3, 1)
        return
    yield 1, 2, "sum b_i(Z) c_i = phi_2(Z)", quadrature(2, 1)
    yield 2, 3, "sum b_i(Z) c_i^2 = 2 phi_3(Z)", quadrature(3, 2)
    yield 3, 3, "sum b_i(Z) K psi_2i(Z) = 0", stages(3, 2, 0)
    yield 4, 4, "sum b_i(Z) c_i^3 = 6 phi_4(Z)", quadrature(4, 3)
    yield 5, 4, "sum b_i(Z) K psi_3i(Z) = 0", stages(4, 3, 0)
    yield 6, 4, "sum b_i(Z) K a_ij(Z) K psi_2j(Z) = 0", nested(4)
    yield 7, 4, "sum b_i(Z) c_i K psi_2i(Z) = 0", stages(4, 2, 1)


# ------------------------------------------------------------------ classical conditions


@dataclass(frozen=True, order=True)
class Tree:
    """kind 'f' (any force), or 'A' (its linear part: at most one child) and 'g' (the rest)."""

    kind: str
    children: tuple[Tree, ...] = ()

    @property
    def size(self) -> int:
        return 1 + sum(child.size for child in self.children)

    @property
    def density(self) -> int:
        total = self.size
        for child in self.children:
            total *= child.density
        return total

    def __str__(self) -> str:
        """The elementary differential: f''(f, f'f)."""
        if self.kind == "A":
            return f"A {self.children[0]}" if self.children else "A u"
        inner = ", ".join(map(str, self.children))
        name = self.kind + "'" * len(self.children)
        return f"{name}({inner})" if inner else name


@cache
def trees(size: int, fixed: bool) -> tuple[Tree, ...]:
    if size == 1:
        return (Tree("A"), Tree("g")) if fixed else (Tree("f"),)
    forests = sorted(_forests(size - 1, fixed))
    found = [Tree("g" if fixed else "f", forest) for forest in forests]
    if fixed:
        found += [Tree("A", (child,)) for child in trees(size - 1, fixed)]
    return tuple(found)


@cache
def _forests(size: int, fixed: bool) -> frozenset[tuple[Tree, ...]]:
    """Multisets of trees with that many nodes in all."""
    if size == 0:
        return frozenset([()])
    found: set[tuple[Tree, ...]] = set()
    for largest in range(1, size + 1):
        for count in range(1, size // largest + 1):
            for chosen in combinations_with_replacement(trees(largest, fixed), count):
                for rest in _forests(size - largest * count, fixed):
                    if all(child.size < largest for child in rest):
                        found.add(tuple(sorted((*chosen, *rest))))
    return frozenset(found)


class _Series:
    """Coefficients of one step by trees: U = u + sum of h^|t| / sigma(t) U(t) F(t)(u)."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self.known: dict[tuple[int, Tree], float] = {}

    def stage(self, i: int, tree: Tree) -> float:
        """Of U_i; the last i is the step."""
        if (i, tree) not in self.known:
            self.known[i, tree] = self._computed(i, tree)
        return self.known[i, tree]

    def _computed(self, i: int, tree: Tree) -> float:
        scheme = self.scheme
        last = i == len(scheme.alpha)
        alpha: Function = {(1, 1.0): 1.0} if last else scheme.alpha[i]
        total = self._applied(alpha, tree, _force)
        for j, function in enumerate(scheme.b if last else scheme.a[i]):
            total += self._applied(function, tree, lambda t, j=j: self._remainder(j, t))
        return total

    def _applied(self, function: Function, tree: Tree, inner: Any) -> float:
        """Of sum w phi_k(g hJ) B: every power of hJ takes a node with one child off the root."""
        total, power = 0.0, 0
        while True:
            own = inner(tree)
            for (k, g), weight in function.items():
                total += weight * g**power / factorial(k + power) * own
            single = len(tree.children) == 1 and tree.kind != "g"
            if not single:
                return total
            tree, power = tree.children[0], power + 1

    def _remainder(self, j: int, tree: Tree) -> float:
        """Of h R(U_j): what is not linear, so with the tangent two children at least."""
        least = 1 if self.scheme.fixed else 2
        if tree.kind == "A" or len(tree.children) < least:
            return 0.0
        total = 1.0
        for child in tree.children:
            total *= self.stage(j, child)
        return total


def _force(tree: Tree) -> float:
    """Of h F(u)."""
    return 0.0 if tree.children else 1.0


def _classical(scheme: Scheme, order: int) -> Iterator[str]:
    series, last = _Series(scheme), len(scheme.alpha)
    for size in range(1, order + 1):
        for tree in trees(size, scheme.fixed):
            found, right = series.stage(last, tree), 1.0 / tree.density
            if abs(found - right) > scheme.allowed:
                yield (f"condition of {tree} (order {size}) has {found:.6g}, not 1/{tree.density}")
