"""Matrices on a card: kernels of the contract whose vectors lie there, and sums of such vectors.

A matrix lies there for as long as its arrays on the host live, so that all products and recurrences
of one tangent bring it over once.  Recurrences are recorded as graphs of UNIT terms, which read all
else from the card: one graph serves all matrices of its size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..names import NO_WEIGHT
from .layout import Held, Slices, lanes_for, packed, too_large

TEXTS = ("common.cu", "matrix.cu")
UNIT = 32  # terms that are recorded once, and then repeated: an even number
PIECES = 512  # of matrix.cu
WARP = 32
KERNELS = (
    *(f"{kind}_{what}" for kind in ("block", "bar", "csr") for what in ("apply", "chebyshev")),
    *("recurrence_columns", "recurrence_start", "recurrence_rows"),
)
BY_LANES = tuple(
    f"{kind}_{columns}_{what}"
    for kind in ("numbers", "alike", "blocks", "bars")
    for columns in (1, 2)
    for what in ("product", "term")
)


Two = tuple[Any, Any]


class Matrix(NamedTuple):
    """What is on a card of a matrix.  kind: numbers, alike, blocks or bars; width: coordinates that
    share a row; words: the first fields of the struct Job; alive: the arrays that they point to."""

    kind: str
    width: int
    rows: int
    words: tuple[int, ...]
    alive: tuple[Any, ...]

    @property
    def bytes(self) -> int:
        """That a product reads once."""
        return sum(array.nbytes for array in self.alive if array is not None)


class _Laid(NamedTuple):
    """A pattern in slices: start, other and entry (slots,), which entry lies where."""

    start: Any
    other: Any
    entry: Any
    slots: int


def _weighted(given: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """What a kernel is given, with its weights where they were left out."""
    return given if len(given) == count else (*given, NO_WEIGHT)


class Matrices:
    """The kernels; card: where they run (backends/gpu.py)."""

    def __init__(self, card: Any) -> None:
        self._card, self._held = card, Held()
        self._units: dict[tuple[str, int, Any], Callable[[], None]] = {}
        self._done: Any = None

    def lacks(self, entries: Any, size: int) -> str:
        """What a matrix of these entries (m, ...) and vectors of this size have no room for, in
        words; nothing where there is room."""
        # those of two steps at once, as they come and in slices; of vectors about forty
        matrices = 2 * (3 * entries.nbytes + 16 * len(entries))
        return too_large(matrices + 40 * 8 * size, self._card.free())

    # ------------------------------------------------------------------ the contract

    def block_apply(self, *given: Any) -> Any:
        """Of vectors here or there (3N,) or (3N, p); the product lies where b does."""
        indptr, indices, blocks, b, weight = _weighted(given, 5)
        return self._apply(self.blocks(indptr, indices, blocks, weight), b)

    def bar_apply(self, *given: Any) -> Any:
        indptr, indices, bars, own, b, weight = _weighted(given, 6)
        return self._apply(self._bars(indptr, indices, bars, own, weight), b)

    def csr_apply(self, indptr: Any, indices: Any, data: Any, b: Any) -> Any:
        return self._apply(self._numbers(indptr, indices, data, len(b)), b)

    def block_chebyshev(self, indptr: Any, indices: Any, blocks: Any, *given: Any) -> Two:
        """Of vectors x, z, out on the card."""
        *recurrence, weight = _weighted(given, 7)
        return self._chebyshev(self.blocks(indptr, indices, blocks, weight), *recurrence)

    def bar_chebyshev(self, indptr: Any, indices: Any, bars: Any, own: Any, *given: Any) -> Two:
        *recurrence, weight = _weighted(given, 7)
        return self._chebyshev(self._bars(indptr, indices, bars, own, weight), *recurrence)

    def csr_chebyshev(self, indptr: Any, indices: Any, data: Any, *given: Any) -> Two:
        x = given[2]
        return self._chebyshev(self._numbers(indptr, indices, data, len(x)), *given)

    def recurrence_columns(self, vectors: Any) -> Any:
        """On the card, of one vector or two of the host's."""
        there = [self._card.put(np.ascontiguousarray(v)) for v in vectors]
        rows, columns = len(vectors[0]), len(vectors)
        x = self._card.zeros(rows * columns).reshape(rows, columns)
        self._plain(rows)("side_by_side", rows, rows, columns, there[0], there[-1], x)
        return x

    def recurrence_start(self, x: Any, c: Any) -> Two:
        (rows, columns), outs = x.shape, len(c)
        z = self._card.zeros(rows * columns).reshape(rows, columns)
        out = self._card.zeros(rows * outs).reshape(rows, outs)
        given = self._card.put(np.ascontiguousarray(c))
        self._plain(rows)("first_term", rows, rows, columns, outs, x, given, out)
        return z, out

    def recurrence_rows(self, out: Any, rows: Any = None) -> Any:
        """On the host."""
        count, outs = out.shape
        made = self._card.zeros(count * outs).reshape(outs, count)
        self._plain(count)("turned_over", count, count, outs, out, made)
        found = self._card.host(made)
        return found.copy() if rows is None else np.add(rows, found, out=rows)

    def _plain(self, coordinates: int) -> Any:
        """Kernels that know no lanes: of any text, best the one that is there for a matrix."""
        return self._card.loaded(lanes_for(coordinates // 3), 0, texts=TEXTS)

    # ------------------------------------------------------------------ matrices on the card

    def blocks(self, indptr: Any, indices: Any, blocks: Any, weight: Any = NO_WEIGHT) -> Matrix:
        return self._matrix("blocks", (indptr, indices), blocks, 3, None, weight)

    def _bars(self, indptr: Any, indices: Any, bars: Any, own: Any, weight: Any) -> Matrix:
        return self._matrix("bars", (indptr, indices), bars, 3, own, weight)

    def _numbers(self, indptr: Any, indices: Any, data: Any, rows: int) -> Matrix:
        """Also K' (x) I_3, of vectors of three times as many rows."""
        width = 1 if rows == len(indptr) - 1 else 3
        kind = "numbers" if width == 1 else "alike"
        return self._matrix(kind, (indptr, indices), data, width, None, NO_WEIGHT)

    def _matrix(
        self, kind: str, pattern: tuple[Any, Any], entries: Any, width: int, own: Any, weight: Any
    ) -> Matrix:
        indptr, indices = pattern
        rows = len(indptr) - 1
        lanes = lanes_for(rows)
        laid = self._held.of(indices, f"slices {lanes}", lambda: self._lay_out(indptr, indices))
        values = self._held.of(
            entries, f"entries {lanes}", lambda: self._values(laid, entries, lanes)
        )
        alive = [laid.start, laid.other, values]
        alive += [
            None if some is None or not some.size else self._kept(some) for some in (own, weight)
        ]
        where = [0 if some is None else self._card.pointer(some) for some in alive]
        words = rows, *where[:3], laid.slots, *where[3:]
        return Matrix(kind, width, rows, words, tuple(alive))

    def _kept(self, array: Any) -> Any:
        """A copy on the card, for as long as the host has the array."""
        return self._held.of(array, "copy", lambda: self._card.put(np.ascontiguousarray(array)))

    def _lay_out(self, indptr: Any, indices: Any) -> _Laid:
        rows = len(indptr) - 1
        near = np.repeat(np.arange(rows), np.diff(indptr.astype(np.int64)))
        slices = Slices(near, rows, lanes_for(rows))
        count = len(indices)
        entry = slices.filled(np.arange(count, dtype=np.uint32), np.uint32(count))
        other = slices.filled(indices.astype(np.uint32), np.uint32(0))
        put = self._card.put
        return _Laid(put(slices.start), put(other), put(entry), other.size)

    def _values(self, laid: _Laid, entries: Any, lanes: int) -> Any:
        """Number k of the entry in slot p at [k slots + p]."""
        count = len(entries)
        width = entries.size // max(1, count)
        values = self._card.zeros(max(1, width * laid.slots))
        given = self._card.put(np.ascontiguousarray(entries).ravel())
        launch = self._card.loaded(lanes, 0, texts=TEXTS)
        launch("lay", laid.slots, laid.slots, laid.entry, count, width, given, values)
        return values

    # ------------------------------------------------------------------ products and recurrences

    def define(
        self, matrix: Matrix, *recurrence: int | float, texts: tuple[str, ...] = TEXTS
    ) -> Any:
        """Kernels of these texts, which know the matrix from now on."""
        if self._done is None:
            self._done = self._card.put(np.zeros(1, dtype=np.int64))
        large = matrix.bytes > self._card.cache
        defined = ("PASSING",) if large else ()
        launch = self._card.loaded(lanes_for(matrix.rows), 0, texts, defined)
        words = [*matrix.words, *(recurrence or (0, 0, 0, 0, 0, 0, 0.0, 0.0))]
        launch.define(packed([*words, self._card.pointer(self._done)]), "job")
        return launch

    def _apply(self, matrix: Matrix, b: Any) -> Any:
        columns = 1 if b.ndim == 1 else b.shape[1]
        if columns > 2:
            return np.stack([self._apply(matrix, column) for column in b.T], axis=1)
        if not self._card.holds(b):
            there = self._apply(matrix, self._card.put(np.ascontiguousarray(b)))
            return self._card.host(there).copy()
        launch = self.define(matrix)
        out = self._card.zeros(b.size).reshape(b.shape)
        launch(f"{matrix.kind}_{columns}_product", matrix.rows, b, out)
        return out

    def _chebyshev(
        self, matrix: Matrix, s: float, t: float, x: Any, z: Any, coefficients: Any, out: Any
    ) -> tuple[Any, Any]:
        count, outs, columns = coefficients.shape
        if count == 0:
            return x, z
        c = self._card.put(np.ascontiguousarray(coefficients))
        where = (self._card.pointer(a) for a in (x, z, out, c))
        launch = self.define(matrix, *where, outs, count, float(s), float(t))
        launch("begin", 1, self._done)
        name = f"{matrix.kind}_{columns}_term"
        if count == 1:
            launch(name, matrix.rows, 0)
        else:
            unit = self._unit(launch, name, matrix.rows)
            for _ in range(-(-count // UNIT)):
                unit()
        return (z, x) if count % 2 else (x, z)

    def _unit(self, launch: Any, name: str, rows: int) -> Callable[[], None]:
        def job() -> None:
            for later in range(UNIT):
                launch(name, rows, later)
            launch("tick", 1, UNIT)

        key = name, rows, launch
        if key not in self._units:
            self._units[key] = self._card.recorded(job)
        return self._units[key]

    # ------------------------------------------------------------------ sums

    def dots(self, pairs: Any, weight: Any) -> list[Any]:
        """a^T diag(weight) b of every pair of vectors on the card, on the host: one transfer."""
        launch = self._plain(len(pairs[0][0]))
        by = 0 if weight is None else self._kept(weight)
        widths = [1 if a.ndim == 1 else a.shape[1] for a, _ in pairs]
        ends = np.cumsum(widths).tolist()
        made, out = self._card.zeros(PIECES * max(widths)), self._card.zeros(ends[-1])
        for (a, b), columns, end in zip(pairs, widths, ends, strict=True):
            launch("pieces", WARP * PIECES * columns, a, b, by, len(a), columns, made)
            launch("sums", WARP * columns, columns, made, out[end - columns : end])
        sums = np.split(self._card.host(out).copy(), ends[:-1])
        return [
            float(own[0]) if a.ndim == 1 else own for own, (a, _) in zip(sums, pairs, strict=True)
        ]
