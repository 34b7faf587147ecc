"""Explicit steps on a card: the body as stretch.cu wants it, and the order of its kernels.

`Steps(card)` is the kernel `explicit_steps` of kernels/names.py for a body in one group.  A card
(backends/gpu.py) holds arrays, launches kernels by name, and repeats what it has seen.
"""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ..names import DEEPEST, GroupedBody, GroupedSprings, TimeTables

SOURCE = Path(__file__).with_suffix(".cu")
WARP = 32  # threads that read side by side
UNIT = 32  # steps that are recorded once, and then repeated
SUMS = 4096  # of stretch.cu
# Threads a row: a small body has too few rows to keep a card busy, and waits for its neighbours'
# positions one after the other.
LANES = ((50_000, 8), (1_000_000, 2))  # up to so many rows, so many threads each


def lanes_for(rows: int) -> int:
    return next((lanes for most, lanes in LANES if rows < most), 1)


class Slices:
    """Entries of rows, slice by slice, as stretch.cu has it.  start (S + 1,), slots (q,)."""

    def __init__(self, near: np.ndarray, rows: int) -> None:
        """near (q,): the row of each entry."""
        lanes = lanes_for(rows)
        slice_ = WARP // lanes
        counts = np.bincount(near, minlength=-(-rows // slice_) * slice_)
        turns = -(-counts.reshape(-1, slice_).max(axis=1) // lanes)
        self.start = np.concatenate([[0], np.cumsum(WARP * turns)]).astype(np.int64)
        order = np.argsort(near, kind="stable")
        first = np.concatenate([[0], np.cumsum(counts)])[:-1]
        rank = np.empty(near.size, dtype=np.int64)
        rank[order] = np.arange(near.size) - np.repeat(first, counts)
        place = lanes * (near % slice_) + rank % lanes
        self.slots = self.start[near // slice_] + WARP * (rank // lanes) + place

    def filled(self, values: np.ndarray, default: Any) -> np.ndarray:
        """values (q,) in their slots, and what fills the others."""
        made = np.full(self.start[-1], default, dtype=values.dtype)
        made[self.slots] = values
        return made


class _Directed:
    """Springs or dashpots as both of their ends see them: entry e of the half list p lies at
    slots[e] and, seen from the far end, at slots[e + half]."""

    def __init__(self, near: np.ndarray, far: np.ndarray, rows: int, nothing: int) -> None:
        self.slices = Slices(np.concatenate([near, far]), rows)
        other = np.concatenate([far, near]).astype(np.uint32)
        self.other = self.slices.filled(other, np.uint32(nothing))
        self.half = near.size

    def filled(self, values: np.ndarray, default: float) -> np.ndarray:
        return self.slices.filled(np.concatenate([values, values]), default)


class _Held:
    """What cards keep of arrays on the host for as long as these live."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def of(self, array: np.ndarray, kind: str, make: Any) -> Any:
        key = id(array), kind
        if key not in self._known:
            self._known[key] = make()
            weakref.finalize(array, self._known.pop, key, None).atexit = False
        return self._known[key]


class Steps:
    """The kernel; card: where it runs."""

    def __init__(self, card: Any) -> None:
        self._card, self._held = card, _Held()
        self._last: _OnCard | None = None

    def lacks(self, body: GroupedBody) -> str:
        """What the body has and no kernel here knows, in words; nothing where there is all."""
        return "tetrahedra have no kernel on a card" if len(body.tets.corners) else ""

    def __call__(
        self,
        body: GroupedBody,
        tables: TimeTables,
        kicks: np.ndarray,
        drifts: np.ndarray,
        h: float,
        count: int,
        x: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        ahead: np.ndarray,
        connected: bool,
    ) -> np.ndarray:
        own = self._last
        if own is None or own.body is not body or own.stages != len(drifts):
            own = self._last = _OnCard(self._card, self._held, body, len(x), len(drifts))
        own.take(tables, (kicks, drifts, float(h)), (x, v, a))
        own.run(count)
        return own.give((x, v, a, ahead))


def _directed(held: _Held, springs: GroupedSprings) -> tuple[_Directed, np.ndarray]:
    """As both ends see them, and which slots of the half lists are springs."""

    def make() -> tuple[_Directed, np.ndarray]:
        rows = len(springs.start) - 1
        used = np.flatnonzero(springs.stiffness)
        near = np.repeat(np.arange(rows), np.diff(springs.start.astype(np.int64)))[used]
        return _Directed(near, springs.other[used].astype(np.int64), rows, rows - 1), used

    return held.of(springs.other, "directed", make)


def yields(body: GroupedBody) -> bool:
    return bool(body.linear.limit.size or body.cubic.limit.size)


def has(body: GroupedBody) -> int:
    """What there is of a body, as bits, in the order of stretch.cu."""
    there = (
        *(body.linear.other.size, body.cubic.other.size, len(body.faces.stiffness)),
        *(len(body.triangles.pressure), len(body.dashpots.coefficient), len(body.touches.kind)),
        *(body.powers, yields(body)),
    )
    return sum(1 << k for k, some in enumerate(there) if some)


def is_local(body: GroupedBody) -> bool:
    """A row that has its new velocity needs no other to end its step."""
    return not (len(body.triangles.pressure) or len(body.dashpots.coefficient) or yields(body))


class _Fields:
    """Fields of the struct Body of stretch.cu, in their order, and the arrays they point to."""

    def __init__(self, card: Any, held: _Held) -> None:
        self._card, self._held = card, held
        self.words: list[int | float] = []
        self._alive: list[Any] = []

    def numbers(self, *values: int | float) -> None:
        self.words += values

    def pointer(self, made: Any) -> None:
        """To an array on the card, or to none."""
        self._alive.append(made)
        self.words.append(0 if made is None else self._card.pointer(made))

    def array(self, array: np.ndarray, dtype: Any = np.float64) -> None:
        """A pointer to a copy, kept for as long as the host has the array: it never changes."""
        self.pointer(self._held.of(array, f"{dtype}", lambda: self._put(array, dtype)))

    def _put(self, array: np.ndarray, dtype: Any) -> Any:
        return self._card.put(np.ascontiguousarray(array, dtype=dtype))

    def slices(self, slices: Slices, other: np.ndarray) -> None:
        self.array(slices.start, np.int64)
        self.array(other, np.uint32)

    def springs(self, springs: GroupedSprings, rest: Any) -> None:
        """rest: on the card, where it changes."""
        directed, used = _directed(self._held, springs)

        def filled(values: np.ndarray, default: float) -> np.ndarray:
            return self._held.of(values, "filled", lambda: directed.filled(values[used], default))

        self.slices(directed.slices, directed.other)
        self.array(filled(springs.stiffness, 0.0))
        if rest is None:
            self.array(filled(springs.rest, 1.0))
            self.numbers(0, 0)
        else:
            self.pointer(rest)
            self.array(filled(springs.limit, np.inf))
            self.array(filled(springs.share, 0.0))  # of which each end keeps half
        self.numbers(directed.half)

    def elements(self, elements: Any, rows: int) -> None:
        """Elements as each of their corners sees them: 4 times its number, and which corner."""
        corners = elements.corners

        def make() -> tuple[Slices, np.ndarray]:
            count, most = corners.shape
            slices = Slices(corners.astype(np.int64).ravel(), rows)
            named = (4 * np.arange(count)[:, None] + np.arange(most)).astype(np.uint32)
            # what fills a slice is the element behind the last, which is not there
            return slices, slices.filled(named.ravel(), np.uint32(4 * count))

        self.slices(*self._held.of(corners, "elements", make))
        self.array(corners, np.uint32)

    def dashpots(self, dashpots: Any, rows: int) -> None:
        near, far = dashpots.corners.astype(np.int64).reshape(-1, 2).T
        directed = self._held.of(
            dashpots.corners, "directed", lambda: _Directed(near, far, rows, rows - 1)
        )
        self.slices(directed.slices, directed.other)
        values = dashpots.coefficient
        self.array(self._held.of(values, "filled", lambda: directed.filled(values, 0.0)))
        self.numbers(len(dashpots.coefficient))

    def body(self, body: GroupedBody, rests: list[Any]) -> None:
        groups, faces, triangles = body.groups, body.faces, body.triangles
        rows, own, led = (int(n[0]) for n in (groups.first[1:], groups.own, groups.led))
        self.numbers(rows, own, own + led)
        self.array(groups.place, np.uint32)
        self.array(groups.support, np.int64)
        for array in (groups.home, groups.inverse, groups.mass):
            self.array(array)
        for springs, rest in zip((body.linear, body.cubic), rests, strict=True):
            self.springs(springs, rest)
        self.elements(faces, rows)
        self.array(faces.stiffness)
        self.array(faces.rest)
        self.numbers(len(faces.stiffness))
        self.elements(triangles, rows)
        self.array(triangles.pressure)
        self.array(triangles.wind, np.int64)
        self.numbers(len(triangles.pressure))
        self.dashpots(body.dashpots, rows)
        drags, touches = body.drags, body.touches
        self.numbers(len(drags.power))
        self.array(drags.coefficient)
        self.array(drags.power, np.int64)
        self.array(drags.wind, np.int64)
        self.numbers(len(body.weights))
        self.array(body.weights)
        self.numbers(len(touches.kind))
        for array in (touches.stiffness, touches.margin, touches.friction):
            self.array(array)
        for array in (touches.kind, touches.moving):
            self.array(array, np.int64)
        self.numbers(*(float(g) for g in body.field[:3]), float(body.alpha))
        self.numbers(int(body.powers), int(is_local(body)))


class _OnCard:
    """A body that lies on the card, with its state; what it is asked to do is recorded once."""

    def __init__(self, card: Any, held: _Held, body: GroupedBody, total: int, stages: int) -> None:
        self._card, self._held, self.body, self.stages = card, held, body, stages
        groups = body.groups
        self._rows, self._own = int(groups.first[-1]), int(groups.own[0])
        self._rests = [self._room(s) for s in self._springs]
        fixed = _Fields(card, held)
        fixed.body(body, self._rests)
        for _ in range(7):
            fixed.pointer(card.zeros(4 * self._rows))
        fixed.pointer(card.zeros(2 * self._rows))
        fixed.pointer(card.put(np.zeros(1, dtype=np.int64)))
        self._fixed, self._tables = fixed, {}
        self._launch = card.loaded(lanes_for(self._rows), has(body))
        self._sums = card.zeros(4 * SUMS)
        self._given = [card.zeros(3 * n) for n in (total, total, self._own, self._own)]
        self._order = _Order(card, self._launch, body, stages)

    @property
    def _springs(self) -> tuple[GroupedSprings, GroupedSprings]:
        return self.body.linear, self.body.cubic

    def _room(self, springs: GroupedSprings) -> Any:
        if not springs.limit.size:
            return None
        return self._card.zeros(_directed(self._held, springs)[0].other.size)

    def _table(self, name: str, array: Any) -> Any:
        """On the card: where the last one of its size was."""
        array = np.ascontiguousarray(array, dtype=np.float64).ravel()
        kept = self._tables.get(name)
        if kept is None or kept.size != array.size:
            kept = self._tables[name] = self._card.zeros(max(1, array.size))
        if array.size:
            self._card.copy(array, kept)
        return kept

    def take(self, tables: TimeTables, method: tuple, state: tuple) -> None:
        (kicks, drifts, h), words = method, list(self._fixed.words)
        for name in ("supports", "surfaces", "winds", "forces"):
            words.append(self._card.pointer(self._table(name, getattr(tables, name))))
        known = [t.shape[1] for t in (tables.supports, tables.winds, tables.forces) if len(t)]
        words += [known[0] if known else 0, tables.surfaces.shape[1]]
        for name, array in (("kicks", kicks), ("drifts", drifts)):
            words.append(self._card.pointer(self._table(name, array)))
        words += [len(drifts), h]
        self._launch.define(_packed(words))
        for springs, rest in zip(self._springs, self._rests, strict=True):
            if rest is not None:
                directed, used = _directed(self._held, springs)
                self._card.copy(directed.filled(springs.rest[used], 1.0), rest)
        for host, device in zip(state, self._given, strict=False):
            self._card.copy(host.ravel(), device)
        self._launch("gather", self._rows, *self._given[:3])

    def run(self, count: int) -> None:
        self._order.run(count)

    def give(self, state: tuple) -> np.ndarray:
        """Writes x, v, a, ahead; the books (1, 4)."""
        self._launch("scatter", self._own, *self._given)
        self._launch("total", SUMS, self._sums)
        for host, device in zip(state, self._given, strict=True):
            host[:] = self._card.host(device).reshape(host.shape)
        for springs, rest in zip(self._springs, self._rests, strict=True):
            if rest is not None:
                directed, used = _directed(self._held, springs)
                springs.rest[used] = self._card.host(rest)[directed.slices.slots[: directed.half]]
        books = self._card.host(self._sums).reshape(SUMS, 4)
        total = books.sum(axis=0)
        total[DEEPEST] = books[:, DEEPEST].max()
        return total[None]


def _packed(words: list[int | float]) -> np.ndarray:
    """Numbers and pointers, eight bytes each."""
    made = np.empty(len(words), dtype=np.int64)
    for k, word in enumerate(words):
        kind = np.float64 if isinstance(word, float) else np.int64
        made[k : k + 1] = np.array([word], dtype=kind).view(np.int64)
    return made


class _Order:
    """Which kernels a step is, one after the other."""

    def __init__(self, card: Any, launch: Any, body: GroupedBody, stages: int) -> None:
        self._card, self._launch, self._stages = card, launch, stages
        self._unit: Any = None
        groups = body.groups
        self._own, self._rows = int(groups.own[0]), int(groups.first[-1])
        self._led = self._own + int(groups.led[0])
        self._powers = bool(body.powers)
        self._settles = bool(len(body.touches.kind) or yields(body))
        self._braked = bool(
            len(body.drags.power) + len(body.triangles.pressure) + len(body.dashpots.coefficient)
        )
        # rows from here on are not done when they have their new velocity
        self._left = self._own if is_local(body) else 0

    def run(self, count: int) -> None:
        if self._powers:
            self._by_rows("power_now", -1, 0)
        units, rest = divmod(count, UNIT)
        if units and self._unit is None:
            self._unit = self._card.recorded(lambda: self._steps(UNIT))
        for _ in range(units):
            self._unit()
        self._steps(rest)

    def _by_rows(self, name: str, later: int, first: int) -> None:
        end = self._led if name == "middle" else self._rows - 1
        self._launch(name, max(0, end - first), later, first)

    def _steps(self, count: int) -> None:
        for later in range(count):
            self._step(later)
        if count:
            self._launch("tick", 1, count)

    def _step(self, later: int) -> None:
        for s in range(self._stages):
            self._launch("drift", self._led, later, s)
            self._launch("accelerate", self._own, later, s, 0)
        if self._powers and self._left < self._led:
            self._by_rows("middle", later, self._left)
            self._by_rows("book", later, self._left)
        if self._settles and not self._left:
            self._launch("settle", self._rows - 1, later)
            if self._powers:  # other velocities: the next step starts with another power
                self._by_rows("power_now", later, 0)
        if self._settles and self._braked:
            self._launch("accelerate", self._own, later, self._stages - 1, 1)
