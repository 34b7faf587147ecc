"""A body as the kernels want it: lists of rows in slices, and the struct that points to them."""

from __future__ import annotations

import struct
import weakref
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..names import GroupedBody, GroupedSprings, GroupedTets

WARP = 32  # threads that read side by side
MATERIALS = ("corotated", "stvk", "neo-hookean")  # as tets.cu numbers them
# Threads a row: a small body has too few rows to keep a card busy, and waits for its neighbours'
# positions one after the other.
LANES = ((50_000, 8), (1_000_000, 2))  # up to so many rows, so many threads each


def lanes_for(rows: int) -> int:
    return next((lanes for most, lanes in LANES if rows < most), 1)


class Slices:
    """Entries of rows, slice by slice, as body.cu has it.  start (S + 1,), slots (q,)."""

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


class Directed:
    """Springs or dashpots as both of their ends see them: entry e of the half list p lies at
    slots[e] and, seen from the far end, at slots[e + half]."""

    def __init__(self, near: np.ndarray, far: np.ndarray, rows: int, nothing: int) -> None:
        self.slices = Slices(np.concatenate([near, far]), rows)
        other = np.concatenate([far, near]).astype(np.uint32)
        self.other = self.slices.filled(other, np.uint32(nothing))
        self.half = near.size

    def filled(self, values: np.ndarray, default: float) -> np.ndarray:
        return self.slices.filled(np.concatenate([values, values]), default)


class Held:
    """What cards keep of arrays on the host for as long as these live."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def of(self, array: np.ndarray, kind: str, make: Any) -> Any:
        key = id(array), kind
        if key not in self._known:
            self._known[key] = make()
            weakref.finalize(array, self._known.pop, key, None).atexit = False
        return self._known[key]


def directed_springs(held: Held, springs: GroupedSprings) -> tuple[Directed, np.ndarray]:
    """As both ends see them, and which slots of the half lists are springs."""

    def make() -> tuple[Directed, np.ndarray]:
        rows = len(springs.start) - 1
        used = np.flatnonzero(springs.stiffness)
        near = np.repeat(np.arange(rows), np.diff(springs.start.astype(np.int64)))[used]
        return Directed(near, springs.other[used].astype(np.int64), rows, rows - 1), used

    return held.of(springs.other, "directed", make)


def yields(body: GroupedBody) -> bool:
    return bool(body.linear.limit.size or body.cubic.limit.size)


def has(body: GroupedBody) -> int:
    """What there is of a body, as bits, in the order of common.cu."""
    there = (
        *(body.linear.other.size, body.cubic.other.size, len(body.faces.stiffness)),
        *(len(body.triangles.pressure), len(body.dashpots.coefficient), len(body.touches.kind)),
        *(body.powers, yields(body)),
        *(name in [material.name for material in body.tets.materials] for name in MATERIALS),
        *(len(body.alpha) > 1, body.tied),
    )
    return sum(1 << k for k, some in enumerate(there) if some)


def bytes_for(body: GroupedBody) -> int:
    """About what a body takes on a card: its elements as each of their ends sees them, and of every
    row its state, as the host has it, too, and its lines of the ledger."""
    rows, sums = int(body.groups.first[-1]), 4096 * 12
    return 2 * _bytes(body) + 8 * (sums + (7 * 4 + 2 + 8 + 12) * rows)


def too_large(need: int, free: int) -> str:
    """In words; nothing where there is room."""
    if need <= free:
        return ""
    return (
        f"this body needs about {need / 1e9:.2f} GB on a card that has {free / 1e9:.2f} GB "
        "free (fewer particles need less: --set, --small)"
    )


def _bytes(body: Any) -> int:
    if isinstance(body, np.ndarray):
        return body.nbytes
    return sum(map(_bytes, body)) if isinstance(body, tuple) else 0


class Blocks(NamedTuple):
    """Rows of bodies that know nothing of each other, a few bodies to a block of so many threads:
    own, led (B + 1,), of those that move and of those that supports lead."""

    own: np.ndarray
    led: np.ndarray
    threads: int


NO_BLOCKS = Blocks(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), 0)
THREADS = 128, 512  # of a block: enough to keep a card busy; at most, so that rows fit registers


def blocks_of(body: GroupedBody) -> Blocks:
    """Where rows lie body by body, and every body fits a block; else none."""
    own, led = int(body.groups.own[0]), int(body.groups.led[0])
    held = int(body.groups.first[-1]) - 1 > own + led
    if not is_local(body) or not own or (yields(body) and (led or held)):
        return NO_BLOCKS
    label = _bodies(body, own + led)
    # by the first row of each
    rank = np.unique(label[:own], return_index=True)[1].argsort().argsort()
    if label.max() >= rank.size:
        return NO_BLOCKS
    label = rank[label]
    if np.any(np.diff(label[:own]) < 0) or np.any(np.diff(label[own:]) < 0):
        return NO_BLOCKS
    rows, lanes = np.bincount(label[:own]), lanes_for(int(body.groups.first[-1]))
    threads = max(THREADS[0], -(-int(rows.max()) * lanes // WARP) * WARP)
    if threads > THREADS[1]:
        return NO_BLOCKS
    ends = np.concatenate([[0], np.cumsum(rows)])
    first, most = [0], threads // lanes
    while first[-1] < rows.size:  # as many bodies as fit
        first.append(int(np.searchsorted(ends, ends[first[-1]] + most, side="right")) - 1)
    begin = np.array(first)
    return Blocks(ends[begin], own + np.searchsorted(label[own:], begin), threads)


def _bodies(body: GroupedBody, rows: int) -> np.ndarray:
    """(rows,): to which body each row belongs that moves or is led."""
    graph = sp.csr_matrix((rows, rows), dtype=np.int8)
    for springs in (body.linear, body.cubic):
        start, other = springs.start[: rows + 1].astype(np.int64), springs.other.astype(np.int64)
        other, near = other[: start[-1]], np.repeat(np.arange(rows), np.diff(start))
        other = np.where((springs.stiffness[: start[-1]] != 0.0) & (other < rows), other, near)
        graph = graph + sp.csr_matrix(
            (np.ones(other.size, dtype=np.int8), other, start), (rows,) * 2
        )
    for corners in (body.faces.corners, body.tets.corners):
        i, j = (corners[:, k].ravel() for k in (np.zeros(3, dtype=int), [1, 2, 3]))
        some = (i < rows) & (j < rows)
        ones = np.ones(np.count_nonzero(some), dtype=np.int8)
        graph = graph + sp.csr_matrix((ones, (i[some], j[some])), (rows, rows))
    return connected_components(graph, directed=False)[1]


def is_local(body: GroupedBody) -> bool:
    """A row that has its new velocity needs no other to end its step."""
    return not (len(body.triangles.pressure) or len(body.dashpots.coefficient))


class Fields:
    """Fields of the struct Body of body.cu, in their order, and the arrays they point to."""

    def __init__(self, card: Any, held: Held) -> None:
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
        directed, used = directed_springs(self._held, springs)

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
        self.numbers(float(springs.common), directed.half)

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

    def tets(self, tets: GroupedTets, rows: int) -> None:
        self.elements(tets, rows)
        self.array(tets.shape)
        self.array(tets.moduli)

        def materials() -> np.ndarray:
            kinds = np.empty(len(tets.corners), dtype=np.int64)
            for material, start, end in zip(tets.materials, tets.start, tets.end, strict=True):
                kinds[start[0] : end[0]] = MATERIALS.index(material.name)
            return kinds

        self.array(self._held.of(tets.corners, "materials", materials), np.int64)
        self.numbers(len(tets.corners))

    def dashpots(self, dashpots: Any, rows: int) -> None:
        near, far = dashpots.corners.astype(np.int64).reshape(-1, 2).T
        directed = self._held.of(
            dashpots.corners, "directed", lambda: Directed(near, far, rows, rows - 1)
        )
        self.slices(directed.slices, directed.other)
        values = dashpots.coefficient
        self.array(self._held.of(values, "filled", lambda: directed.filled(values, 0.0)))
        self.numbers(len(dashpots.coefficient))

    def body(self, body: GroupedBody, rests: list[Any], blocks: Blocks) -> None:
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
        self.tets(body.tets, rows)
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
        self.numbers(*(float(g) for g in body.field[0, :3]), float(body.alpha[0]))
        fields = self._held.of(
            body.field, "damped", lambda: np.column_stack([body.field[:, :3], body.alpha])
        )
        self.array(fields)
        self.array(body.run, np.uint32)
        self.numbers(int(body.powers), int(is_local(body)))
        for array in (blocks.own, blocks.led):
            self.array(array, np.int64)
        self.numbers(len(blocks.own) - 1)


def packed(words: list[int | float]) -> np.ndarray:
    """Numbers and pointers, eight bytes each."""
    kinds = "".join("d" if isinstance(word, float) else "q" for word in words)
    return np.frombuffer(struct.pack("=" + kinds, *words), dtype=np.int64)
