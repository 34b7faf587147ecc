"""Linear systems on a card: iterations of conjugate gradients or BiCGStab, recorded as a graph.

Scalars stay there, too.  The host looks once for each graph; iterations beyond the end do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .layout import lanes_for, packed
from .matrix import TEXTS as MATRIX
from .matrix import Matrices, Matrix

TEXTS = (*MATRIX, "solve.cu")
UNIT = 16  # iterations that are recorded at once
SHARES, NUMBERS, WARP = 1024, 7, 32  # as in solve.cu: warps of a sum, scalars, threads
VECTORS = 8  # x, r, p, q, z, y, v, shadow
GOES_ON, SOLVED, INDEFINITE, STUCK = range(4)  # states

# an iteration: names of kernels, and what each has a thread, or several, for
ROWS, SUM, RULE = "rows", "sum", "rule"
Kernels = tuple[tuple[str, str], ...]
CG_BEGIN: Kernels = (("cg_start", SUM), ("cg_first", RULE))
CG: Kernels = (
    ("cg_product", ROWS),
    ("cg_curve", SUM),
    ("cg_alpha", RULE),
    ("cg_move", SUM),
    ("cg_beta", RULE),
    ("cg_direction", ROWS),
)
BICGSTAB_BEGIN: Kernels = (("bi_start", SUM), ("bi_first", RULE))
BICGSTAB: Kernels = (
    ("bi_product", ROWS),
    ("bi_along", SUM),
    ("bi_alpha", RULE),
    ("bi_half", ROWS),
    ("bi_second", ROWS),
    ("bi_least_of", SUM),
    ("bi_omega", RULE),
    ("bi_move", SUM),
    ("bi_beta", RULE),
    ("bi_direction", ROWS),
)
BY_LANES = ("cg_product", "bi_product", "bi_second")


class Prepared(NamedTuple):
    """A matrix on the card with its preconditioner: inverses (rows, 9) of the diagonal blocks;
    definite: a symmetric one may be positive definite, as far as these blocks tell."""

    matrix: Matrix
    inverse: Any
    definite: bool


class Found(NamedTuple):
    """x (n,) on the host, how the iterations ended, and the products they took."""

    x: Any
    state: int
    products: int


class Systems:
    """Linear systems in 3x3 blocks; card: where they are solved (backends/gpu.py)."""

    def __init__(self, card: Any, matrices: Matrices) -> None:
        self._card, self._matrices = card, matrices
        self._units: dict[Any, Callable[[], None]] = {}
        self.told = False  # that some of them take too many products

    def prepared(self, indptr: Any, indices: Any, blocks: Any) -> Prepared:
        """Of block rows (rows + 1,), columns (m,) and blocks (m, 3, 3) on the host, which the card
        keeps for as long as the host does."""
        matrix = self._matrices.blocks(indptr, indices, blocks)
        launch = self._matrices.define(matrix, texts=TEXTS)
        inverse, bad = self._card.empty(9 * matrix.rows), self._card.zeros(1)
        launch("invert", matrix.rows, inverse, bad)
        return Prepared(matrix, inverse, not self._card.host(bad)[0])

    def solve(
        self, prepared: Prepared, symmetric: bool, b: Any, tolerance: float, most: int
    ) -> Found:
        """A x = b (n,) to |b - A x| <= tolerance |b|, with about `most` products."""
        card, matrix = self._card, prepared.matrix
        launch = self._matrices.define(matrix, texts=TEXTS)
        vectors, shares = card.empty(VECTORS * b.size), card.empty(2 * SHARES)
        x, r, *others = (vectors[k * b.size : (k + 1) * b.size] for k in range(VECTORS))
        card.copy(b, r)
        numbers = card.zeros(NUMBERS)
        alive = (prepared.inverse, x, r, *others, shares, numbers)
        launch.define(packed([*map(card.pointer, alive), tolerance]), "solve")
        _launched(launch, CG_BEGIN if symmetric else BICGSTAB_BEGIN, matrix.rows)
        unit = self._unit(launch, symmetric, matrix.rows)
        while True:
            unit()
            state, products = (int(number) for number in card.host(numbers)[:2])
            if state != GOES_ON or products >= most:
                return Found(card.host(x).copy(), state, products)

    def _unit(self, launch: Any, symmetric: bool, rows: int) -> Callable[[], None]:
        def job() -> None:
            for _ in range(UNIT):
                _launched(launch, CG if symmetric else BICGSTAB, rows)

        key = symmetric, rows, lanes_for(rows)
        if key not in self._units:
            self._units[key] = self._card.recorded(job)
        return self._units[key]


def _launched(launch: Any, kernels: Kernels, rows: int) -> None:
    threads = {ROWS: rows, SUM: WARP * SHARES, RULE: WARP}
    for name, kind in kernels:
        launch(name, threads[kind])
