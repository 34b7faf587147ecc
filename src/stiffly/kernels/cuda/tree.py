"""Solves with a factorised matrix on a card: products of dense matrices, level by level of a tree.

Nested dissection cuts a body into parts, whose fronts know nothing of each other (dissection.py).
With the front L (s, s) of Cholesky's factor, U (b, s) below it, and P = [1; -U] L^-1,

    up the tree      t = b + what children leave,   (w, left to the parent) = P t
    down the tree    x = P^T (w, x of the parents' unknowns)

so that each level is one kernel, and a solve a dozen.  The fronts at the top are one, whose inverse
makes w and x in one product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# LAPACK's names have no stubs
from scipy.linalg.lapack import dpotri, dtrtri  # type: ignore[attr-defined]

from ...contracts import Array

TEXTS = ("common.cu", "tree.cu")
LANES, THREADS = 32, 256  # of a row; of a block
LEAF = 128  # unknowns of the lowest fronts, about: larger ones spare levels, and cost entries
TOP = 1500  # and of the one at the top: a level costs as much time as reading some ten megabytes
COLUMNS = 9000  # of a product, at most: what a block can share
ROWS = 8, 64  # of a block, at least and at most
BLOCKS = 264  # of a level, if possible: two for each multiprocessor
PIECE = 6  # fields of Piece in tree.cu


class Laid(NamedTuple):
    """How a plan's fronts lie on a card.  rows: unknowns.  top: of each front, whether it is in a
    group at the top; groups: places (K,) of the unknowns of each group; fronts: the others, in the
    order of their matrices, and entries: where those of each begin.  levels: first piece and pieces
    of each, and its columns at most; pieces (m, 6), takes and goes: as tree.cu has them; pooled:
    rows of the pool."""

    rows: int
    top: Array
    groups: list[Array]
    fronts: Array
    entries: Array
    levels: list[tuple[int, int, int]]
    pieces: Array
    takes: Array
    goes: Array
    pooled: int


class Tree(NamedTuple):
    """A factorised matrix on the card: levels(state) launches what makes x of b, both there, where
    the number `state` there is zero, or 0; solve() does it at once."""

    levels: Callable[[Any], None]
    solve: Callable[[], None]
    b: Any
    x: Any


class TooWide(Exception):
    """Fronts have more columns than a block can share, or the card has no room."""


class Trees:
    """card: where they are solved (backends/gpu.py)."""

    def __init__(self, card: Any) -> None:
        self._card = card
        self._known: list[tuple[Any, Laid]] = []  # with the plans whose they are

    def made(self, plan: Any, columns: Any) -> Tree:
        """Of a plan (dissection.Fronts) and columns of Cholesky's factor by front."""
        card, laid = self._card, self._laid(plan)
        need = 8 * (int(laid.entries[-1]) + 3 * laid.pooled) + 4 * laid.takes.size
        if need > card.free() or max(most for *_, most in laid.levels) > COLUMNS:
            raise TooWide
        alive = [card.put(a) for a in (laid.pieces, _entries(plan, laid, columns))]
        alive += [card.put(a) for a in (laid.takes, laid.goes)]
        pieces, pool = alive[0], card.zeros(3 * laid.pooled)
        launch = card.loaded(LANES, 0, TEXTS, (f"THREADS={THREADS}",))

        def levels(state: Any) -> None:
            for first, count, most in laid.levels:
                own = pieces[PIECE * first : PIECE * (first + count)]
                given = state, own, count, *alive[1:], pool
                launch.blocks("level", count, THREADS, *given, shared=24 * most)

        ends = 3 + 3 * laid.rows * np.arange(4)
        b, x = pool[3 : ends[1]], pool[ends[2] : ends[3]]
        return Tree(levels, card.recorded(lambda: levels(0)), b, x)

    def _laid(self, plan: Any) -> Laid:
        for known, laid in self._known:
            if known is plan:
                return laid
        laid = laid_out(plan)
        self._known = [*self._known[-3:], (plan, laid)]
        return laid

    def solve(self, tree: Tree, b: Array) -> Array:
        """x (rows, 3) on the host."""
        self._card.copy(b.ravel(), tree.b)
        tree.solve()
        return self._card.host(tree.x).reshape(b.shape).copy()


def _entries(plan: Any, laid: Laid, columns: Any) -> Array:
    """All matrices one behind the other: of fronts, of groups, and of fronts once more, turned."""
    entries = np.zeros(laid.entries[-1])
    count, groups = len(laid.fronts), len(laid.groups)
    own, place = np.diff(plan.starts), np.empty(laid.rows, np.int64)
    turn = {int(front): k for k, front in enumerate(laid.fronts)}
    group_of, tops = np.empty(laid.rows, np.int64), []
    for g, places in enumerate(laid.groups):
        place[places], group_of[places] = np.arange(places.size), g
        tops.append(np.zeros((places.size, places.size), order="F"))

    def put(k: int, matrix: Array) -> None:
        entries[laid.entries[k] : laid.entries[k + 1]] = matrix.ravel()

    for f, (front, under) in enumerate(columns):
        if laid.top[f]:
            first = plan.starts[f]
            L, at = tops[group_of[first]], place[first] + np.arange(own[f])
            L[at[0] : at[-1] + 1, at] = np.tril(front)
            L[place[plan.below[f]][:, None], at] = under
            continue
        inverse = np.tril(dtrtri(front, lower=1)[0])
        product = np.concatenate([inverse, -under @ inverse])
        put(turn[f], product)
        put(count + groups + turn[f], product.T)
    for g, L in enumerate(tops):
        inverse = np.tril(dpotri(L, lower=1)[0])
        put(count + g, inverse + np.tril(inverse, -1).T)
    return entries


def laid_out(plan: Any) -> Laid:
    n, starts = plan.order.size, plan.starts
    parents, own = np.asarray(plan.parents), np.diff(starts)
    top = _at_the_top(parents, own)
    places = [np.arange(starts[f], starts[f + 1]) for f in range(parents.size)]
    chosen = [places[f] for f in np.flatnonzero(top)]
    # none of them is the whole top: bodies that know nothing of each other, each with its own
    groups = [np.concatenate(chosen)] if not np.all(parents[top] < 0) else chosen
    fronts = np.flatnonzero(~top)
    group_of, place = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for g, some in enumerate(groups):
        group_of[some], place[some] = g, np.arange(some.size)
    below = [plan.below[f] for f in fronts]
    s, b = own[fronts], np.array([rows.size for rows in below], np.int64)
    k = np.array([some.size for some in groups])
    # rows of the pool: nothing, b, w, x, and what is left to parents
    given, solved, found = (1 + n * i + plan.order for i in range(3))
    left = 1 + 3 * n + np.concatenate([[0], np.cumsum(b)])
    # inputs: of fronts own unknowns and those below, of groups own ones
    inputs = np.concatenate([[0], np.cumsum(np.concatenate([s + b, k]))])
    turn = np.full(parents.size, -1)
    turn[fronts] = np.arange(fronts.size)
    owned = [*(places[f] for f in fronts), *groups]
    at = [np.arange(rows.size) + first for rows, first in zip(owned, inputs[:-1], strict=True)]
    what = [given[rows] for rows in owned]
    for j, (f, rows) in enumerate(zip(fronts, below, strict=True)):
        parent = parents[f]
        if rows.size == 0:
            continue
        if top[parent]:
            local = inputs[fronts.size + group_of[rows[0]]] + place[rows]
        else:
            p, end = turn[parent], starts[parent + 1]
            behind = s[p] + np.searchsorted(plan.below[parent], rows)
            local = inputs[p] + np.where(rows < end, rows - starts[parent], behind)
        at.append(local)
        what.append(np.arange(left[j], left[j + 1]))
    sources = _side_by_side(np.concatenate(at), np.concatenate(what), int(inputs[-1]))
    sizes = np.concatenate([(s + b) * s, k * k, s * (s + b)])
    entries = np.concatenate([[0], np.cumsum(sizes)])
    made = _Pieces(entries)
    heights, c = _heights(parents)[fronts], fronts.size
    nothing = np.zeros((0, 1), np.int64)
    by_height = [np.flatnonzero(heights == h) for h in range(heights.max(initial=-1) + 1)]
    for level in by_height:
        for j in level:
            mine = sources[inputs[j] : inputs[j + 1]]
            goes = np.concatenate([solved[owned[j]], np.arange(left[j], left[j + 1])])
            more = mine.copy()
            more[: s[j]] = 0
            made.product(int(j), mine[: s[j]], goes, more)
        made.level()
    for g, some in enumerate(groups):
        mine = sources[inputs[c + g] : inputs[c + g + 1]]
        made.product(c + g, mine, found[some], nothing)
    made.level()
    for level in reversed(by_height):
        for j in level:
            mine = np.concatenate([solved[owned[j]], found[below[j]]])[:, None]
            made.product(int(c + len(groups) + j), mine, found[owned[j]], nothing)
        made.level()
    return Laid(n, top, groups, fronts, entries, *made.laid(), int(left[-1]))


def _at_the_top(parents: Array, own: Array) -> Array:
    """(fronts,): whole levels from the roots on, as long as they have few unknowns; else roots."""
    depth = np.zeros(parents.size, np.int64)
    for f in reversed(range(parents.size)):
        if parents[f] >= 0:
            depth[f] = depth[parents[f]] + 1
    unknowns = np.cumsum(np.bincount(depth, own))
    return depth < max(1, int(np.searchsorted(unknowns, TOP, side="right")))


def _heights(parents: Array) -> Array:
    """(fronts,): levels below each."""
    heights = np.zeros(parents.size, np.int64)
    for f, parent in enumerate(parents):
        if parent >= 0:
            heights[parent] = max(heights[parent], heights[f] + 1)
    return heights


def _side_by_side(at: Array, what: Array, count: int) -> Array:
    """(count, wide): what each has, in the order in which it comes; zeros behind."""
    order = np.argsort(at, kind="stable")
    at, what = at[order], what[order]
    number = np.bincount(at, minlength=count)
    rank = np.arange(at.size) - np.repeat(np.cumsum(number) - number, number)
    made = np.zeros((count, int(number.max(initial=1))), np.int64)
    made[at, rank] = what
    return made


class _Pieces:
    """Levels of products, cut into pieces."""

    def __init__(self, entries: Array) -> None:
        self._entries = entries
        self._products: list[tuple[int, Array, Array, Array]] = []  # of the level that is made
        self._levels: list[tuple[int, int, int]] = []
        self._pieces: list[list[int]] = []
        self._takes: list[Array] = []
        self._goes: list[Array] = []
        self._ends = [0, 0]

    def product(self, matrix: int, takes: Array, goes: Array, more: Array) -> None:
        """Of matrix number `matrix`: takes (columns, wide), goes (rows,), more (rows, wide)."""
        self._products.append((matrix, takes, goes, more))

    def level(self) -> None:
        if not self._products:
            return
        rows = sum(len(goes) for _, _, goes, _ in self._products)
        most = int(np.clip(rows // BLOCKS, *ROWS))
        first = len(self._pieces)
        for matrix, takes, goes, more in self._products:
            self._cut(matrix, takes, goes, more, most)
        columns = max(len(takes) for _, takes, _, _ in self._products)
        self._levels.append((first, len(self._pieces) - first, columns))
        self._products = []

    def _cut(self, matrix: int, takes: Array, goes: Array, more: Array, most: int) -> None:
        columns = len(takes)
        wide = max(int(np.count_nonzero(a, axis=1).max(initial=1)) for a in (takes, more))
        padded = [np.zeros((len(a), wide), np.int64) for a in (takes, goes)]
        for into, a in zip(padded, (takes, more), strict=True):
            into[: len(a), : a.shape[1]] = a[:, :wide]
        self._takes.append(padded[0].ravel())
        self._goes.append(np.column_stack([goes, padded[1]]).ravel())
        for first in range(0, len(goes), most):
            rows = min(most, len(goes) - first)
            begin = int(self._entries[matrix]) + columns * first
            place = self._ends[0], self._ends[1] + (1 + wide) * first
            self._pieces.append([begin, columns, rows, *place, wide])
        self._ends = [self._ends[0] + padded[0].size, self._ends[1] + (1 + wide) * len(goes)]

    def laid(self) -> tuple[list[tuple[int, int, int]], Array, Array, Array]:
        """Levels, pieces, takes, goes."""
        pieces = np.array(self._pieces, np.int64).ravel()
        takes, goes = (np.concatenate(some) for some in (self._takes, self._goes))
        return self._levels, pieces, takes.astype(np.uint32), goes.astype(np.uint32)
