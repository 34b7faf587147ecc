"""Local/global iterations on a card (local.cu): forces, solves, sums and what follows from them.

One iteration is one graph: the levels of the factor's tree, and a few kernels more.  The host looks
at the numbers once every LOOK of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array
from ..names import GroupedBody, TimeTables
from .layout import packed
from .stretch import TEXTS as STEPS
from .stretch import OnCard, Scheme, Steps
from .tree import Tree

BESIDE = "blocks.cu", "energies.cu", "between.cu"  # what no iteration asks for
TEXTS = (*(name for name in STEPS if name not in BESIDE), "local.cu")
BY_LANES = ("local_force",)
SHARES, WARP = 512, 32  # of local.cu: warps, threads
LOOK = 4  # iterations
BODIES, GRAPHS = 2, 3  # that are kept, graphs of each body
MOST, SLOTS = 14, 6  # sums at once; pairs that are kept, and one more
# numbers as local.cu has them
STATE, LEFT, STEP, NORM, SIZE, _, EVALUATED, SOLVED, _, _, TROUBLE, QUICK, _, PAIRS = range(14)
ORDER = 14
GRAM = ORDER + 2 * SLOTS
NUMBERS = GRAM + SLOTS**2
GOES_ON, ENDED, CONVERGED, STOPPED = range(4)  # states
STAGE = Scheme(1, True, {})  # a time, and nothing that moves by itself


class Problem(NamedTuple):
    """r(d) = m (d - alpha a(p + d, q + ratio d)) of a body.  tables: of its time; rows: x, v
    (N, 3) of all particles, of which those that are held stay for as long as `held` is the same;
    p, q, guess (n,), guess None for zero; known (touches, rows of the body): contact that the
    matrix knows of; step: s at first; quick: by L-BFGS; covered, digits, limits: see local.cu."""

    body: GroupedBody
    tables: TimeTables
    rows: Callable[[], tuple[Array, Array]]
    held: Any
    p: Array
    q: Array
    guess: Array | None
    alpha: float
    ratio: float
    known: Array
    covered: float
    digits: float
    step: float
    quick: bool
    limits: tuple[float, float, float, float]


class Sailed(NamedTuple):
    """How far iterations went: solved, evaluated: their work; left: iterations, after the one that
    comes next; step; norm, scale: of the point, |r| and what it is measured against.  over: d (n,)
    is the end, else the point, r (n,) what is left there, and pairs of changes of d and r, with
    their product."""

    over: bool
    left: int
    step: float
    norm: float
    scale: float
    solved: int
    evaluated: int
    d: Array
    r: Array | None
    pairs: list[tuple[Array, Array, float]]


class Iterations:
    """card: where; steps: of the same card, which keep what is laid out there."""

    def __init__(self, card: Any, steps: Steps) -> None:
        self._card, self._steps = card, steps
        self._bodies: list[_Body] = []

    def sail(self, problem: Problem, tree: Tree, count: int) -> Sailed:
        """From the guess on, `count` iterations at most."""
        own = self._lying(problem)
        own.at_time(problem)
        return own.sail(problem, tree, count)

    def _lying(self, problem: Problem) -> _Body:
        for own in self._bodies:
            if own.body is problem.body:
                break
        else:
            own = _Body(self._card, self._steps.held, problem)
        self._bodies = [own, *(other for other in self._bodies if other is not own)][:BODIES]
        return own


class _Body(OnCard):
    texts = TEXTS

    def __init__(self, card: Any, held: Any, problem: Problem) -> None:
        super().__init__(card, held, False, problem.body, len(problem.rows()[0]), STAGE)
        size = 3 * self._own
        self._start = card.zeros(2 * size)  # p, q
        self._vectors = [card.zeros(size) for _ in range(4)]  # d, e, and their residuals
        self._shares, self._numbers = card.zeros(MOST * SHARES), card.zeros(NUMBERS)
        self._pairs: tuple[Any, Any] | None = None
        self._graphs: list[tuple[Tree, bool, Callable[[], None]]] = []
        self._held_at: tuple[Any] | None = None
        self._knows: tuple[Array, Any] | None = None

    def at_time(self, problem: Problem) -> None:
        state = None
        if self._held_at is None or self._held_at[0] is not problem.held:
            x, v = problem.rows()
            state, self._held_at = [x, v, np.zeros((self._own, 3))], (problem.held,)
        self.take(problem.tables, STAGE, 1.0, state)

    def sail(self, problem: Problem, tree: Tree, count: int) -> Sailed:
        card = self._card
        self._define(problem, tree)
        card.copy(np.concatenate([problem.p, problem.q]), self._start)
        if problem.guess is not None:
            card.copy(problem.guess, self._vectors[0])
        numbers = np.zeros(NUMBERS)
        numbers[[LEFT, STEP, TROUBLE]] = count - 1, problem.step, problem.step < 1.0
        numbers[QUICK], numbers[ORDER : ORDER + SLOTS] = problem.quick, range(SLOTS)
        card.copy(numbers, self._numbers)
        self._begin()
        iteration, done = self._iteration(tree, problem.quick), 0
        while True:
            for _ in range(min(LOOK, count - done)):
                iteration()
            done += LOOK
            found = card.host(self._numbers).copy()
            if found[STATE] != GOES_ON:
                return self._told(found, tree, problem)

    def _define(self, problem: Problem, tree: Tree) -> None:
        d, e, own, following = self._vectors
        p, q = self._start[: d.size], self._start[d.size :]
        card, r = self._card, own if problem.quick else tree.b
        if problem.quick and self._pairs is None:
            self._pairs = card.zeros(SLOTS * d.size), card.zeros(SLOTS * d.size)
        pairs = self._pairs or (d, d)
        if self._knows is None or self._knows[0] is not problem.known:
            there = card.put(problem.known.ravel() if problem.known.size else np.zeros(1))
            self._knows = problem.known, there
        arrays = d, e, r, following, tree.b, tree.x, *pairs
        arrays = *arrays, self._knows[1], self._shares, self._numbers
        guess = 0 if problem.guess is None else card.pointer(d)
        numbers = problem.alpha, problem.ratio, problem.covered, problem.digits, *problem.limits
        words = [card.pointer(p), card.pointer(q), guess, *map(card.pointer, arrays)]
        words += map(float, numbers)
        self._launch.define(packed(words), "local")

    def _begin(self) -> None:
        """The residual of the guess."""
        self._launch("local_start", self._own)
        self._launch("local_force", self._own)
        self._judged("first")

    def _iteration(self, tree: Tree, quick: bool) -> Callable[[], None]:
        for known, how, graph in self._graphs:
            if known is tree and how == quick:
                return graph
        graph = self._card.recorded(lambda: self._iterate(tree, quick))
        self._graphs = [(tree, quick, graph), *self._graphs[: GRAPHS - 1]]
        return graph

    def _iterate(self, tree: Tree, quick: bool) -> None:
        if quick:
            self._summed("pair_quick", "remember_quick")
            self._launch("local_ask_quick", self._own)
        tree.levels(self._numbers)
        if quick:
            self._summed("yield_quick", "correct_quick")
        self._summed("way_quick" if quick else "way", "turn")
        self._launch("local_move", self._own)
        self._launch("local_force", self._own)
        self._judged("judge")

    def _summed(self, sums: str, rule: str) -> None:
        self._launch(f"local_{sums}", WARP * SHARES)
        self._launch(f"local_{rule}", WARP)

    def _judged(self, rule: str) -> None:
        self._summed("found", rule)
        self._launch("local_take", self._own)

    def _told(self, found: Array, tree: Tree, problem: Problem) -> Sailed:
        d, e, own, _ = self._vectors
        state, pairs = int(found[STATE]), []
        d, left = self.host(e if state == ENDED else d), None
        if state == STOPPED:
            left = self.host(own if problem.quick else tree.b)
            pairs = self._paired(found, left.size)
        norm, size = np.sqrt(found[[NORM, SIZE]]).tolist()
        told = int(found[LEFT]), float(found[STEP]), norm, size + problem.covered
        return Sailed(
            left is None, *told, int(found[SOLVED]), int(found[EVALUATED]), d, left, pairs
        )

    def _paired(self, found: Array, size: int) -> list[tuple[Array, Array, float]]:
        """From the oldest on."""
        pairs = []
        for k in found[ORDER : ORDER + int(found[PAIRS])].astype(int):
            assert self._pairs is not None
            s, y = (self.host(a[k * size : (k + 1) * size]) for a in self._pairs)
            pairs.append((s, y, float(found[GRAM + SLOTS * k + k])))
        return pairs
