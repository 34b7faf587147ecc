"""Linear systems on a card: iterations of conjugate gradients or BiCGStab, recorded as a graph.

Scalars stay there, too.  The host looks once for each graph; iterations beyond the end do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array
from .aggregates import Aggregates, aggregates, inverse, pairs
from .layout import Held, Slices, lanes_for, packed
from .matrix import TEXTS as MATRIX
from .matrix import Matrices, Matrix

TEXTS = (*MATRIX, "solve.cu")
UNIT = 16  # iterations that are recorded at once
SHARES, PARTS, NUMBERS, WARP = 1024, 32, 7, 32  # as in solve.cu: warps, scalars, threads
VECTORS = 8  # x, r, p, q, z, y, v, shadow
GOES_ON, SOLVED, INDEFINITE, STUCK = range(4)  # states

# names of kernels, and what each has a thread, or several, for
ROWS, SUM, RULE, MOMENTS, COARSE = "rows", "sum", "rule", "moments", "coarse"
Kernels = tuple[tuple[str, str], ...]


def _preconditioned(moments: str, smooth: str, kind: str) -> Kernels:
    return ((moments, MOMENTS), ("moment", COARSE), ("amount", COARSE), (smooth, kind))


CG_BEGIN: Kernels = (
    *_preconditioned("cg_moments", "cg_smooth", SUM),
    ("cg_first", RULE),
    ("cg_direction", ROWS),
)
CG: Kernels = (
    ("cg_product", ROWS),
    ("cg_curve", SUM),
    ("cg_alpha", RULE),
    ("cg_move", ROWS),
    *_preconditioned("cg_moments", "cg_smooth", SUM),
    ("cg_beta", RULE),
    ("cg_direction", ROWS),
)
BICGSTAB_BEGIN: Kernels = (
    ("bi_begin", ROWS),
    *_preconditioned("bi_moments_p", "bi_start", SUM),
    ("bi_first", RULE),
)
BICGSTAB: Kernels = (
    ("bi_product", ROWS),
    ("bi_along", SUM),
    ("bi_alpha", RULE),
    ("bi_half", ROWS),
    *_preconditioned("bi_moments_s", "bi_smooth_s", ROWS),
    ("bi_second", ROWS),
    ("bi_least_of", SUM),
    ("bi_omega", RULE),
    ("bi_move", SUM),
    ("bi_beta", RULE),
    ("bi_direction", ROWS),
    *_preconditioned("bi_moments_p", "bi_smooth_p", ROWS),
)
BY_LANES = ("cg_product", "bi_product", "bi_second")


class _Parts(NamedTuple):
    """Aggregates of a pattern, of particles at these points, on the card: alive are the arrays that
    `Solve` points to, laid those of kernel `pairs`, and where pieces of pairs begin."""

    points: Array | None
    parts: Aggregates
    alive: tuple[Any, ...]
    laid: tuple[Any, ...]
    pieces: int
    begin: Any


class Prepared(NamedTuple):
    """A matrix on the card with its preconditioner, in the order of `Solve`: inverses (rows, 9) of
    the diagonal blocks, aggregates, and the coarse inverse; definite: a symmetric one may be
    positive definite, as far as these tell."""

    matrix: Matrix
    symmetric: bool
    alive: tuple[Any, ...]
    count: int
    definite: bool


class Found(NamedTuple):
    """x (n,) on the host, how the iterations ended, and the products they took."""

    x: Any
    state: int
    products: int


class Systems:
    """Linear systems in 3x3 blocks; card: where they are solved (backends/gpu.py)."""

    def __init__(self, card: Any, matrices: Matrices) -> None:
        self._card, self._matrices, self._held = card, matrices, Held()
        self._units: dict[Any, Callable[[], None]] = {}
        self.told = False  # that some of them take too many products

    def prepared(
        self, indptr: Any, indices: Any, blocks: Any, points: Array | None, symmetric: bool
    ) -> Prepared:
        """Of block rows (rows + 1,), columns (m,) and blocks (m, 3, 3) on the host, which the card
        keeps for as long as the host does; points (rows, 3): about where particles are, None where
        nobody knows."""
        matrix = self._matrices.blocks(indptr, indices, blocks)
        launch = self._matrices.define(matrix, texts=TEXTS)
        own, bad = self._card.empty(9 * matrix.rows), self._card.zeros(1)
        launch("invert", matrix.rows, own, bad)

        def fits(known: _Parts) -> bool:  # each run of a system has an array of its own
            if known.points is None or points is None:
                return known.points is points
            return known.points is points or np.array_equal(known.points, points)

        def make() -> _Parts:
            return self._laid_out(indptr, indices, points)

        there = self._held.of(indices, f"aggregates {lanes_for(matrix.rows)}", make, fits)
        coarse = inverse(self._coarsened(launch, there), there.parts.missing, symmetric)
        definite = not (symmetric and (coarse is None or self._card.host(bad)[0]))
        if coarse is None:
            coarse = np.zeros(144 * there.parts.count**2)
        alive = own, *there.alive, self._card.put(np.ascontiguousarray(coarse).ravel())
        return Prepared(matrix, symmetric, alive, there.parts.count, definite)

    def _laid_out(self, indptr: Any, indices: Any, points: Array | None) -> _Parts:
        put, rows = self._card.put, len(indptr) - 1
        parts = aggregates(np.zeros((rows, 3)) if points is None else points)
        given = pairs(indptr, indices, parts)
        near = np.repeat(np.arange(rows), np.diff(indptr))
        slot = Slices(near, rows, lanes_for(rows)).slots[given.entry]
        small = [put(a.astype(np.uint32)) for a in (parts.label, parts.order)]
        alive = put(parts.functions.ravel()), *small, put(parts.first.astype(np.int64))
        named = [put(a.astype(np.uint32)) for a in (given.near, given.far, slot)]
        laid = alive[0], *named, put(given.start.astype(np.int64))
        begin = put(given.begin.astype(np.int64))
        return _Parts(points, parts, alive, laid, len(given.start) - 1, begin)

    def _coarsened(self, launch: Any, there: _Parts) -> Array:
        """P^T A P, on the host."""
        size, pieces = 12 * there.parts.count, there.pieces
        made, coarse = self._card.empty(16 * 9 * pieces), self._card.empty(size * size)
        launch("pairs", WARP * 16 * pieces, *there.laid, pieces, made)
        launch("coarsen", size * size, there.parts.count, made, there.begin, coarse)
        return self._card.host(coarse).reshape(size, size).copy()

    def solve(self, prepared: Prepared, b: Any, tolerance: float, most: int) -> Found:
        """A x = b (n,) to |b - A x| <= tolerance |b|, with about `most` products."""
        card, matrix, count = self._card, prepared.matrix, prepared.count
        launch = self._matrices.define(matrix, texts=TEXTS)
        vectors, shares = card.zeros(VECTORS * b.size), card.empty(2 * SHARES)
        x, r, *others = (vectors[k * b.size : (k + 1) * b.size] for k in range(VECTORS))
        card.copy(b, r)
        coarse = card.empty(12 * PARTS * count), card.empty(12 * count), card.empty(12 * count)
        numbers = card.zeros(NUMBERS)
        alive = (*prepared.alive, x, r, *others, shares, *coarse, numbers)
        launch.define(packed([*map(card.pointer, alive), count, tolerance]), "solve")
        key = prepared.symmetric, matrix.rows, count
        _launched(launch, CG_BEGIN if prepared.symmetric else BICGSTAB_BEGIN, *key[1:])
        unit = self._unit(launch, *key)
        while True:
            unit()
            state, products = (int(number) for number in card.host(numbers)[:2])
            if state != GOES_ON or products >= most:
                return Found(card.host(x).copy(), state, products)

    def _unit(self, launch: Any, symmetric: bool, rows: int, count: int) -> Callable[[], None]:
        def job() -> None:
            for _ in range(UNIT):
                _launched(launch, CG if symmetric else BICGSTAB, rows, count)

        key = symmetric, rows, count, lanes_for(rows)
        if key not in self._units:
            self._units[key] = self._card.recorded(job)
        return self._units[key]


def _launched(launch: Any, kernels: Kernels, rows: int, count: int) -> None:
    coarse = 12 * WARP * count
    threads = {ROWS: rows, SUM: WARP * SHARES, RULE: WARP, COARSE: coarse}
    threads[MOMENTS] = PARTS * WARP * count
    for name, kind in kernels:
        launch(name, threads[kind])
