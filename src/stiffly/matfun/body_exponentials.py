"""phi functions of J = [[0, I], [-A, -D]] body by body, where K or D rule the half-size form out.

Many small bodies (bristles with stiffness-proportional damping, hair in the wind) at a large step:
one Krylov space for all of them has to find the frequencies of all.  A body alone is a matrix of a
hundred rows, whose exponentials come by doubling,

    E(d) = exp(d J),  d = h 2^-s, ..., h/4, h/2, h:    E(2d) = E(d)^2

some twenty products of small matrices, once per step.  What vectors need then are products with
vectors.  With W_k(d) = d^k phi_k(d J) v, the solution at d of w' = J w + t^(k-1)/(k-1)! v,

    W_k(a + b) = E(a) W_k(b) + sum_(i=1)^k  b^(k-i)/(k-i)! W_i(a)

so that W_k of any time up to h is put together from its binary digits (Skaflestad & Wright, The
scaling and modified squaring method for matrix functions related to the exponential, 2009).  J is
that of coordinates scaled by the roots of the masses and, for positions, by a frequency of the
body: both halves weigh the same, and rounding is that of h |J|.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, factorial, log2
from typing import Any

import numpy as np

from ..contracts import Array, Rayleigh, Tangent
from .components import MEMORY
from .composite import sparse_of
from .eigenbasis import BODY
from .operators import BlockOperator, SparseOperator
from .tolerance import EPS, require_finite
from .untyped import sp

DEGREE = 16  # of Taylor's series for |d J| <= 1: the next term is below 3e-15
MULTIPLIED = 6  # products of matrices that the series takes
GEMM = 0.12  # half nanoseconds: an entry of a product of small matrices, per row
_TOGETHER = 4e6  # bytes of the matrices that are worked on at a time: within a cache


@dataclass(frozen=True, slots=True)
class _Batch:
    """Bodies of equal size: coordinates (b, m), and J (b, 2m, 2m), balanced by `scale` (b, 2m)."""

    coordinates: Array
    J: Array
    scale: Array


class BodyExponentials:
    """Of all bodies of a tangent, for times up to h."""

    def __init__(self, batches: list[_Batch], h: float) -> None:
        self._batches, self._h = batches, h
        sizes = np.array([np.abs(b.J).sum(axis=1).max(initial=0.0) for b in batches])
        self.norm = h * float(sizes.max(initial=0.0))
        require_finite(np.array([self.norm]))
        self.levels = max(0, ceil(log2(self.norm))) if self.norm > 1.0 else 0
        self._kept: dict[int, list[Array]] = {}

    @property
    def count(self) -> int:
        return sum(len(b.J) for b in self._batches)

    @property
    def largest(self) -> int:
        return max(b.coordinates.shape[1] for b in self._batches)

    @property
    def error(self) -> float:
        """What rounding leaves, relative to the energy: up to 80 eps h |J| was seen, and no less of
        SciPy's exponentials."""
        return 100.0 * EPS * max(1.0, self.norm)

    @property
    def price(self) -> float:
        """As in cost.py."""
        rows = sum(len(b.J) * float(b.J.shape[1]) ** 3 for b in self._batches)
        return GEMM * rows * (MULTIPLIED + self.levels)

    def actions(self, taus: Sequence[float], vectors: Sequence[Array | None]) -> list[Array]:
        """sum_k tau^k phi_k(tau J) v_k at every tau; vectors v_1, v_2, ... (2n,), position half
        first, v_0 = None."""
        n = next(v.size for v in vectors if v is not None) // 2
        out = [np.empty(2 * n) for _ in taus]
        with np.errstate(all="ignore"):  # an overflow is named below
            for index, batch in enumerate(self._batches):
                own = np.concatenate([batch.coordinates, n + batch.coordinates], axis=1)
                known = {
                    k: (v[own] / batch.scale)[:, :, None]
                    for k, v in enumerate(vectors)
                    if v is not None
                }
                for target, value in zip(out, self._at(index, taus, known), strict=True):
                    target[own] = value[:, :, 0] * batch.scale
        require_finite(*out)
        return out

    def _exponentials(self, index: int) -> list[Array]:
        """E(h), E(h/2), ..., E(h 2^-s), kept for the next vectors as far as memory goes."""
        if index in self._kept:
            return self._kept[index]
        J = self._batches[index].J
        E = [_taylor(J * (self._h * 0.5**self.levels))]
        for _ in range(self.levels):
            E.append(E[-1] @ E[-1])
        E.reverse()
        if (len(self._kept) + 1) * len(E) * _TOGETHER <= MEMORY:
            self._kept[index] = E
        return E

    def _at(self, index: int, taus: Sequence[float], v: dict[int, Array]) -> Iterator[Array]:
        """The sum at every tau, (b, 2m, 1)."""
        E, J = self._exponentials(index), self._batches[index].J
        smallest = self._h * 0.5**self.levels
        doubled = [{k: _series(J, smallest, k, b) for k, b in v.items()}]
        for level in range(self.levels, 0, -1):
            t = self._h * 0.5**level
            doubled.append({k: _joined(E[level], W, t, W) for k, W in doubled[-1].items()})
        doubled.reverse()
        for tau in taus:
            digits, rest = _digits(tau / self._h, self.levels)
            total = np.zeros((*J.shape[:2], 1))
            for k, b in v.items():
                t = rest * smallest
                parts = _series(J, t, k, b)
                for level in reversed(digits):
                    parts = _joined(E[level], doubled[level][k], t, parts)
                    t += self._h * 0.5**level
                total += parts[-1]
            yield total


def _digits(share: float, levels: int) -> tuple[list[int], float]:
    """Levels of the binary digits of share in (0, 1], and what is left in units of the last."""
    if share >= 1.0:
        return [0], 0.0
    digits: list[int] = []
    for level in range(1, levels + 1):
        share *= 2.0
        if share >= 1.0:
            digits.append(level)
            share -= 1.0
    return digits, share


def _taylor(X: Array) -> Array:
    """exp(X), |X| <= 1: degree 16 by Paterson and Stockmeyer's scheme in powers of X^4."""
    X2 = X @ X
    X3, X4 = X2 @ X, X2 @ X2
    identity = np.broadcast_to(np.eye(X.shape[-1]), X.shape)
    powers = identity, X, X2, X3
    total = X4 / factorial(DEGREE)
    for first in (12, 8, 4, 0):
        own = sum(P / factorial(first + i) for i, P in enumerate(powers))
        total = own + (total if first == 12 else total @ X4)
    return total


def _series(J: Array, d: float, k: int, v: Array) -> list[Array]:
    """W_1 .. W_k of v for |d J| <= 1: d^i sum_j (d J)^j v / (j + i)!."""
    W, power = [np.zeros_like(v) for _ in range(k)], v
    for j in range(DEGREE if d else 0):
        for i in range(1, k + 1):
            W[i - 1] += power * (d**i / factorial(i + j))
        power = d * (J @ power)
    return W


def _joined(E: Array, first: list[Array], b: float, then: list[Array]) -> list[Array]:
    """W_1(a + b) .. W_k(a + b), from those of a (`first`, with E = E(a)) and of b (`then`)."""
    moved = E @ np.concatenate(then, axis=2)
    out: list[Array] = []
    for i in range(len(then)):
        total = moved[:, :, i : i + 1]
        for j in range(i + 1):
            total = total + first[j] * (b ** (i - j) / factorial(i - j))
        out.append(total)
    return out


# ------------------------------------------------------------------ from a tangent


def body_exponentials(tangent: Tangent, h: float) -> BodyExponentials | None:
    """None where there are no independent bodies, or too large ones, as far as entries tell."""
    A = tangent.stiffness
    labels = A.components() if isinstance(A, (BlockOperator, SparseOperator)) else None
    D = None if labels is None else _damping(tangent)
    if labels is None or D is None or A.lumped is None:
        return None
    if np.bincount(labels).max() > BODY or np.any(labels[D.row] != labels[D.col]):
        return None
    root = np.sqrt(A.lumped)
    K = sp.coo_matrix(A.K)
    return BodyExponentials(list(_batches(labels, root, K, D)), h)


def _damping(tangent: Tangent) -> Any:
    """D as COO, where it has entries."""
    D, A = tangent.damping, tangent.stiffness
    if isinstance(D, Rayleigh):
        return sp.coo_matrix(D.alpha * sp.diags(A.lumped) + D.beta * A.K)
    if D is None:
        return sp.coo_matrix((A.size, A.size))
    terms = getattr(D, "terms", (D,))
    if not all(isinstance(term, (BlockOperator, SparseOperator)) for term in terms):
        return None
    return sp.coo_matrix(sparse_of(D))


def _batches(labels: Array, root: Array, K: Any, D: Any) -> Iterator[_Batch]:
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    begin = np.cumsum(sizes) - sizes
    place = np.empty_like(order)
    place[order] = np.arange(order.size) - np.repeat(begin, sizes)  # of a coordinate in its body
    entries = [(E.row, E.col, E.data / (root[E.row] * root[E.col])) for E in (K, D)]
    for m in np.unique(sizes[sizes > 0]).tolist():
        bodies = np.flatnonzero(sizes == m)
        slot = np.full(sizes.size, -1)
        slot[bodies] = np.arange(bodies.size)
        dense = [_dense(slot[labels], place, bodies.size, m, *E) for E in entries]
        coordinates = order[begin[bodies][:, None] + np.arange(m)]
        for own in np.array_split(np.arange(bodies.size), _parts(bodies.size, m)):
            yield _balanced(coordinates[own], root, *(E[own] for E in dense))


def _parts(count: int, m: int) -> int:
    return max(1, ceil(count * 8 * (2 * m) ** 2 / _TOGETHER))


def _dense(
    slot: Array, place: Array, count: int, m: int, rows: Array, columns: Array, data: Array
) -> Array:
    """(count, m, m) of the bodies that have a slot."""
    own = slot[rows] >= 0
    r, c = rows[own], columns[own]
    flat = (slot[r] * m + place[r]) * m + place[c]
    return np.bincount(flat, data[own], minlength=count * m * m).reshape(count, m, m)


def _balanced(coordinates: Array, root: Array, A: Array, D: Array) -> _Batch:
    b, m = coordinates.shape
    omega = np.sqrt(np.maximum(np.abs(A).sum(axis=1).max(axis=1), np.finfo(float).tiny))
    each = np.ones(m)
    scale = np.concatenate([each / omega[:, None], np.broadcast_to(each, (b, m))], axis=1)
    scale /= np.tile(root[coordinates], 2)
    J = np.zeros((b, 2 * m, 2 * m))
    J[:, :m, m:] = omega[:, None, None] * np.eye(m)
    J[:, m:, :m] = -A / omega[:, None, None]
    J[:, m:, m:] = -D
    return _Batch(coordinates, J, scale)
