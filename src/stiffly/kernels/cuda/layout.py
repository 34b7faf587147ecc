"""A body as the kernels want it: lists of rows in slices, and the struct that points to them."""

from __future__ import annotations

import struct
import weakref
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..cpu.laying_out import body_labels, both_ends, into_slots, slots_in_slices
from ..names import (
    HEMISPHERE,
    GroupedAtoms,
    GroupedBody,
    GroupedPairs,
    GroupedSprings,
    GroupedTets,
    Solid,
)

WARP = 32  # threads that read side by side
MATERIALS = ("corotated", "stvk", "neo-hookean")  # as tets.cu numbers them
# Threads a row: a small body has too few rows to keep a card busy, and waits for its neighbours'
# positions one after the other.
LANES = ((50_000, 8), (1_000_000, 2))  # up to so many rows of a matrix, so many threads each
LANES_OF_STEPS = ((50_000, 8), (100_000, 2))  # of a body
# where bodies fit blocks, and of a row's threads one alone does all but springs
LANES_IN_BLOCKS = ((8_000, 8), (16_000, 4), (32_000, 2))
# of a body with Lennard-Jones forces, where a row has much more to do
LANES_OF_ATOMS = ((20_000, 32), (200_000, 8))
SWITCH, SKIN = 0.9, 0.2  # of the cutoff, as in parts/lennard_jones.py
SORTED_BY = 512  # threads: COUNTERS of atoms.cu
FEWEST_CELLS, MOST_BUCKETS = 3, 128  # along an axis: an atom looks at three
ATOM_FIELDS = 19
PALETTE, ROW_BITS = 256, 24  # stiffnesses at most, of bodies of 2^24 rows at most
SOLID, MEMORY, LISTED = 21, 8, 16  # words of a struct of mesh.cu, and what its rows remember
SAMPLE = 10_000  # springs, whose stiffnesses are looked at first


def lanes_for(rows: int, table: tuple[tuple[int, int], ...] | None = None) -> int:
    """As a table says; that of matrices where none is given."""
    return next((lanes for most, lanes in table or LANES if rows < most), 1)


class Slices:
    """Entries of rows, slice by slice, as body.cu has it.  start (S + 1,), slots (q,)."""

    def __init__(self, near: np.ndarray, rows: int, lanes: int) -> None:
        """near (q,): the row of each entry."""
        self.start, self.slots = slots_in_slices(near, rows, lanes)

    def filled(self, values: np.ndarray, default: Any) -> np.ndarray:
        """values (q,) in their slots, and what fills the others."""
        made = np.full(self.start[-1], default, dtype=values.dtype)
        made[self.slots] = values
        return made


class Directed:
    """Springs or dashpots as both of their ends see them: entry e lies at slots[e] and, seen from
    the far end, at slots[e + half]; used (half,): where lists of such have it."""

    def __init__(self, ends: np.ndarray, used: np.ndarray, rows: int, lanes: int) -> None:
        """ends (2, half).  What fills a slice is the last row, which is nothing."""
        self.slices, self.used = Slices(ends.ravel(), rows, lanes), used
        self.half = ends.shape[1]
        self.near, self.far = self.slices.slots[: self.half], self.slices.slots[self.half :]
        self.other = np.full(self.slices.start[-1], rows - 1, dtype=np.uint32)
        every = np.arange(self.half, dtype=np.uint32)
        for own, other in ((self.near, ends[1]), (self.far, ends[0])):
            into_slots(other, every, own, self.other)

    @property
    def size(self) -> int:
        return self.other.size

    def fill(self, made: np.ndarray, values: np.ndarray, default: float) -> None:
        """With values of the list, and with what fills the other slots."""
        made.fill(default)
        for own in (self.near, self.far):
            into_slots(values, self.used, own, made)

    def listed(self, made: np.ndarray, values: np.ndarray) -> None:
        """The way back: into the list."""
        into_slots(made, self.near, self.used, values)


class Held:
    """What cards keep of arrays on the host for as long as these live."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def of(self, array: np.ndarray, kind: str, make: Any, fits: Any = None) -> Any:
        """fits: whether what is kept will do; else another takes its place."""
        key = id(array), kind
        if key not in self._known:
            self._known[key] = make()
            weakref.finalize(array, self._known.pop, key, None).atexit = False
        elif fits is not None and not fits(self._known[key]):
            self._known[key] = make()
        return self._known[key]


def directed_springs(held: Held, springs: GroupedSprings, lanes: int) -> Directed:
    """As both ends see them: those slots of the half lists that are springs."""

    def make() -> Directed:
        used, ends = both_ends(springs.start, springs.other, springs.stiffness)
        return Directed(ends, used, len(springs.start) - 1, lanes)

    return held.of(springs.other, f"directed {lanes}", make)


def palette(held: Held, springs: GroupedSprings) -> tuple[np.ndarray, np.ndarray] | None:
    """The different stiffnesses (PALETTE,) of springs, 0 first, and which one each slot of the half
    lists has; None where there are too many, or too many rows to name them beside."""

    def make() -> tuple[np.ndarray, np.ndarray] | None:
        if len(springs.start) - 1 > 1 << ROW_BITS:
            return None
        if np.unique(springs.stiffness[:SAMPLE]).size >= PALETTE:
            return None
        values = np.unique(np.append(springs.stiffness, 0.0))
        if values.size > PALETTE:
            return None
        colors = np.zeros(PALETTE)
        colors[: values.size] = values
        return colors, np.searchsorted(values, springs.stiffness).astype(np.uint32)

    return held.of(springs.stiffness, "palette", make)


def palettes(held: Held, body: GroupedBody) -> bool:
    return all(palette(held, springs) is not None for springs in (body.linear, body.cubic))


def yields(body: GroupedBody) -> bool:
    return bool(body.linear.limit.size or body.cubic.limit.size)


def has(held: Held, body: GroupedBody) -> int:
    """What there is of a body, as bits, in the order of common.cu."""
    there = (
        *(body.linear.other.size, body.cubic.other.size, len(body.faces.stiffness)),
        *(len(body.triangles.pressure), len(body.dashpots.coefficient), len(body.touches.kind)),
        *(body.powers, yields(body)),
        *(name in [material.name for material in body.tets.materials] for name in MATERIALS),
        len(body.alpha) > 1,
        palettes(held, body),
        np.any(_kinds(body) == HEMISPHERE),
        len(body.drags.power) + len(body.weights),
        body.tied,
        body.between is not None,
        body.steady is not None,
        body.viscous is not None,
        body.solids,
        body.guests is not None,
        body.atoms is not None,
        body.crowd,
    )
    return sum(1 << k for k, some in enumerate(there) if some)


def _kinds(body: GroupedBody) -> np.ndarray:
    """Of all shapes."""
    between = body.between
    sides = [] if between is None else [between.held, between.projected]
    return np.concatenate([body.touches.kind, *(own.kind for own in sides if own is not None)])


def bytes_for(body: GroupedBody) -> int:
    """About what a body takes on a card: its elements as each of their ends sees them, and of every
    row its state, as the host has it, too, also where it is kept, and its lines of the ledger."""
    rows, sums = int(body.groups.first[-1]), (4096 + 128) * (4 + 12)
    between = 0 if body.between is None else 2 * 8 + 1
    guests = 0 if body.guests is None else 4 + 3
    atoms = 0 if body.atoms is None else 4 + 3 + buckets_for(body.atoms, rows) ** 3 // rows
    more = between + guests + atoms
    pairs = _bytes((body.steady, body.viscous))  # whose slices have more to fill
    return 2 * _bytes(body) + pairs + 8 * (sums + (8 * 4 + 2 + 12 + 24 + more) * rows)


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
    """Rows of bodies that know nothing of each other, a few bodies to a block of so many threads,
    so many of them a row: own, led (B + 1,), of those that move and of those that supports lead;
    seen (B + 1,): where the held ones that springs of each block see begin in the list seen_rows.
    turns: linear and cubic springs of a thread at most.  room: what a block shares [B]."""

    own: np.ndarray
    led: np.ndarray
    seen: np.ndarray
    seen_rows: np.ndarray
    threads: int
    lanes: int
    turns: tuple[int, int]
    room: int


_NONE = np.zeros(1, dtype=np.int64)
NO_BLOCKS = Blocks(_NONE, _NONE, _NONE, _NONE, 0, 0, (0, 0), 0)
THREADS = 128, 1024  # of a block: enough to keep a card busy; at most
FEW = 100_000  # threads in all: a card has room for more, so blocks of one warp spread better
ALONE = 64  # rows of a body whose tets or face springs one multiprocessor can compute
ROOM = 232_448 - 1024  # that a block can share [B]
ENTRIES = {False: 8 + 8 + 2, True: 4 + 4 + 2}  # mixed or not: rest length, stiffness, far end [B]


def blocks_of(held: Held, body: GroupedBody, mixed: bool) -> Blocks:
    """Where rows lie body by body, and every body fits a block; else none."""
    own, led = int(body.groups.own[0]), int(body.groups.led[0])
    if not is_local(body) or not own or yields(body) or body.solids:
        return NO_BLOCKS
    label = _bodies(body, own + led)
    if label.max() > label[:own].max():
        return NO_BLOCKS
    if np.any(np.diff(label[:own]) < 0) or np.any(np.diff(label[own:]) < 0):
        return NO_BLOCKS
    rows = np.bincount(label[:own])
    solid = len(body.faces.corners) or len(body.tets.corners)
    if rows.max() > min(THREADS[1], ALONE if solid else THREADS[1]):
        return NO_BLOCKS
    lanes = lanes_for(own, LANES_IN_BLOCKS)
    while rows.max() * lanes > THREADS[1]:
        lanes //= 2
    least = WARP if own * lanes < FEW else THREADS[0]
    threads = max(least, -(-int(rows.max()) * lanes // WARP) * WARP)
    ends = np.concatenate([[0], np.cumsum(rows)])
    first, most = [0], threads // lanes
    while first[-1] < rows.size:  # as many bodies as fit
        first.append(int(np.searchsorted(ends, ends[first[-1]] + most, side="right")) - 1)
    begin = np.array(first)
    blocks = ends[begin], own + np.searchsorted(label[own:], begin)
    made = Blocks(*blocks, *_seen(body, *blocks), threads, lanes, (0, 0), 0)
    turns = _turns(held, body.linear, made), _turns(held, body.cubic, made)
    made = made._replace(turns=turns)
    room = _room(body, made, ENTRIES[mixed])
    return made._replace(room=room) if room <= ROOM else NO_BLOCKS


def _seen(body: GroupedBody, own: np.ndarray, led: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Held rows that springs of each block see: where each one's list begins, and the lists."""
    rows, found = int(body.groups.first[-1]), []
    if rows - 1 == led[-1]:
        return np.zeros(len(own), dtype=np.int64), _NONE[:0]
    for springs in (body.linear, body.cubic):
        near, far = both_ends(springs.start, springs.other, springs.stiffness)[1].astype(np.int64)
        # a spring is listed by one of its ends
        near, far = np.minimum(near, far), np.maximum(near, far)
        some = (near < led[-1]) & (far >= led[-1])
        near, far = near[some], far[some]
        of_own = np.searchsorted(own, near, side="right")
        of_led = np.searchsorted(led, near, side="right")
        found.append(rows * (np.where(near < own[-1], of_own, of_led) - 1) + far)
    pairs = np.unique(np.concatenate(found))
    begin = np.searchsorted(pairs, rows * np.arange(len(own)))
    return begin, pairs % rows


def _turns(held: Held, springs: GroupedSprings, blocks: Blocks) -> int:
    """Springs of a thread at most."""
    if not springs.other.size:
        return 0
    start = directed_springs(held, springs, blocks.lanes).slices.start
    return int(np.diff(start).max(initial=0)) // WARP


def _room(body: GroupedBody, blocks: Blocks, entry: int) -> int:
    """Bytes that the largest block shares: see `block_of` in blocks.cu; entry: of a spring."""
    own, led = blocks.own, blocks.led
    rows = np.diff(own) + np.diff(led)
    arrays = 3 if body.powers and led[-1] > own[-1] else 2
    most = 24 * arrays * (rows + np.diff(blocks.seen))
    for turns in blocks.turns:
        most = most + entry * (-(-rows * blocks.lanes * turns // 4) * 4)
    return int(most.max())


def _bodies(body: GroupedBody, rows: int) -> np.ndarray:
    """(rows,): to which body each row belongs that moves or is led, by their first rows."""
    every = (both_ends(s.start, s.other, s.stiffness)[1] for s in (body.linear, body.cubic))
    tied = [ends.T for ends in every]
    pairs = [body.steady.corners] if body.steady else []
    for corners in (body.faces.corners, body.tets.corners, *pairs):
        tied += [corners[:, [0, k]] for k in range(1, corners.shape[1])]
    row = np.arange(int(body.groups.first[-1]))
    row[rows:] = -1
    couples = np.concatenate(tied, dtype=np.uint32, casting="unsafe")
    return body_labels(np.ascontiguousarray(couples), row, rows)


def is_local(body: GroupedBody) -> bool:
    """A row that has its new velocity needs nobody else to end its step."""
    braked = len(body.triangles.pressure) or len(body.dashpots.coefficient)
    booked = body.guests is not None and body.guests.works  # by the host
    return not (braked or body.viscous or body.between or body.crowd or booked)


class Fields:
    """Fields of the struct Body of body.cu, in their order, and the arrays they point to."""

    def __init__(self, card: Any, held: Held, lanes: int, real: Any) -> None:
        """real: the type of what elements are computed from."""
        self._card, self._held, self._lanes, self._real = card, held, lanes, real
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
        def fill(staged: np.ndarray) -> None:
            staged[:] = array.ravel()

        return self._card.sent(array.size, dtype, fill)

    def slices(self, slices: Slices, other: np.ndarray) -> None:
        self.array(slices.start, np.int64)
        self.array(other, np.uint32)

    def springs(self, springs: GroupedSprings, rest: Any, named: bool, extent: Any) -> None:
        """rest: on the card, where it changes; named: far ends say which stiffness it is; extent:
        the type of rest lengths."""
        directed = directed_springs(self._held, springs, self._lanes)

        self.slices(directed.slices, self._named(springs) if named else directed.other)
        colors = palette(self._held, springs) if named else None
        if colors:
            self.array(colors[0], self._real)
        else:
            self._filled(directed, springs.stiffness, 0.0, self._real)
        if rest is None:
            self._filled(directed, springs.rest, 1.0, extent)
            self.numbers(0, 0)
        else:
            self.pointer(rest)
            self._filled(directed, springs.limit, np.inf)
            self._filled(directed, springs.share, 0.0)  # of which each end keeps half
        self.numbers(float(springs.common), directed.half)

    def _filled(
        self, directed: Directed, values: np.ndarray, default: float, dtype: Any = np.float64
    ) -> None:
        """A pointer to values of springs or dashpots as their ends see them."""

        def sent() -> Any:
            fill = partial(directed.fill, values=values, default=default)
            return self._card.sent(directed.size, dtype, fill)

        self.pointer(self._held.of(values, f"filled {self._lanes} {dtype}", sent))

    def _named(self, springs: GroupedSprings) -> np.ndarray:
        """Far ends, with the numbers of stiffnesses in their highest bytes."""
        directed = directed_springs(self._held, springs, self._lanes)
        known = palette(self._held, springs)
        assert known is not None

        def make() -> np.ndarray:
            made = np.empty(directed.size, dtype=np.uint32)
            directed.fill(made, known[1] << np.uint32(ROW_BITS), 0)
            made |= directed.other
            return made

        return self._held.of(springs.stiffness, f"named {self._lanes}", make)

    def elements(self, elements: Any, rows: int) -> None:
        """Elements as each of their corners sees them: 4 times its number, and which corner."""
        corners = elements.corners

        def make() -> tuple[Slices, np.ndarray]:
            count, most = corners.shape
            slices = Slices(
                np.ascontiguousarray(corners, dtype=np.uint32).ravel(), rows, self._lanes
            )
            named = (4 * np.arange(count)[:, None] + np.arange(most)).astype(np.uint32)
            # what fills a slice is the element behind the last, which is not there
            return slices, slices.filled(named.ravel(), np.uint32(4 * count))

        self.slices(*self._held.of(corners, f"elements {self._lanes}", make))
        self.array(corners, np.uint32)

    def tets(self, tets: GroupedTets, rows: int) -> None:
        self.elements(tets, rows)
        self.array(tets.shape, self._real)
        self.array(tets.moduli, self._real)

        def materials() -> np.ndarray:
            kinds = np.empty(len(tets.corners), dtype=np.int64)
            for material, start, end in zip(tets.materials, tets.start, tets.end, strict=True):
                kinds[start[0] : end[0]] = MATERIALS.index(material.name)
            return kinds

        self.array(self._held.of(tets.corners, "materials", materials), np.int64)
        self.numbers(len(tets.corners))

    def dashpots(self, dashpots: Any, rows: int) -> None:
        corners = dashpots.corners
        directed = self._held.of(
            corners, f"directed {self._lanes}", lambda: self._directed(corners, rows)
        )
        self.slices(directed.slices, directed.other)
        self._filled(directed, dashpots.coefficient, 0.0)
        self.numbers(len(dashpots.coefficient))

    def quads(self, array: np.ndarray) -> np.ndarray:
        """(n, 3) as rows of four."""
        return self._held.of(array, "quads", lambda: np.pad(array, ((0, 0), (0, 1))))

    def _directed(self, corners: np.ndarray, rows: int) -> Directed:
        """Of pairs (m, 2) that are not listed by rows."""
        ends = np.ascontiguousarray(corners.reshape(-1, 2).T, dtype=np.uint32)
        return Directed(ends, np.arange(ends.shape[1], dtype=np.uint32), rows, self._lanes)

    def solids(self, solids: tuple[Solid | None, ...] | None, rows: int) -> None:
        """A table of structs Solid of mesh.cu, and the memory of rows."""
        if solids is None:
            return self.numbers(0)
        words = [self._solid(solid, rows) for solid in solids]
        self.pointer(self._card.put(np.concatenate(words)))

    def _solid(self, solid: Solid | None, rows: int) -> np.ndarray:
        own = Fields(self._card, self._held, self._lanes, self._real)
        if solid is None:
            return np.zeros(SOLID, dtype=np.int64)
        corners = self._held.of(solid.faces, "corners", lambda: solid.positions[solid.faces])
        own.numbers(len(solid.faces), len(solid.boxes) // 2)
        own.array(corners)
        own.array(solid.faces, np.uint32)
        for array in (solid.boxes, solid.flat, solid.side, solid.corner):
            own.array(array)
        own.numbers(*(float(a) for a in (*solid.low, *solid.high, solid.cell)))
        own.numbers(*solid.middles.shape)
        own.array(solid.middles)
        own.pointer(self._card.zeros(MEMORY * rows))
        own.pointer(self._card.put(np.zeros(LISTED * rows, dtype=np.uint32)))
        self._alive.append(own)
        return packed(own.words)

    def pairs(self, pairs: GroupedPairs | None, rows: int) -> None:
        """Blocks as both ends see them, number by number."""
        if pairs is None:
            self.numbers(0, 0, 0, 0)
            return

        def make() -> tuple[Directed, np.ndarray]:
            directed, numbers = self._directed(pairs.corners, rows), pairs.blocks.reshape(-1, 9)
            blocks = np.zeros((9, directed.size))
            for k, made in enumerate(blocks):
                turned = 3 * (k % 3) + k // 3  # as it is seen from the far end
                into_slots(numbers[:, k].copy(), directed.used, directed.near, made)
                into_slots(numbers[:, turned].copy(), directed.used, directed.far, made)
            return directed, blocks

        directed, blocks = self._held.of(pairs.corners, f"pairs {self._lanes}", make)
        self.slices(directed.slices, directed.other)
        self.array(blocks, self._real)
        self.numbers(directed.slices.start[-1])

    def body(
        self,
        body: GroupedBody,
        rests: list[Any],
        blocks: Blocks,
        crowd: np.ndarray | None = None,
    ) -> None:
        """crowd: words of a struct of crowd.cu."""
        groups, faces, triangles = body.groups, body.faces, body.triangles
        rows, own, led = (int(n[0]) for n in (groups.first[1:], groups.own, groups.led))
        self.numbers(rows, own, own + led)
        self.array(groups.place, np.uint32)
        self.array(groups.support, np.int64)
        for array in (groups.home, groups.inverse, groups.mass):
            self.array(array)
        named, extent = palettes(self._held, body), np.float64 if yields(body) else self._real
        for springs, rest in zip((body.linear, body.cubic), rests, strict=True):
            self.springs(springs, rest, named, extent)
        self.elements(faces, rows)
        self.array(faces.stiffness, self._real)
        self.array(faces.rest, self._real)
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
        self.pointer(None if crowd is None else self._card.put(crowd))
        self.solids(body.solids, rows)
        self.numbers(*(float(g) for g in body.field[0, :3]), float(body.alpha[0]))
        fields = self._held.of(
            body.field, "damped", lambda: np.column_stack([body.field[:, :3], body.alpha])
        )
        self.array(fields)
        self.array(body.run, np.uint32)
        self.numbers(int(body.powers), int(is_local(body)))
        for array in (blocks.own, blocks.led, blocks.seen):
            self.array(array, np.int64)
        self.array(blocks.seen_rows, np.uint32)
        self.numbers(len(blocks.own) - 1)
        self.pairs(body.steady, rows)
        rest = np.zeros((1, 3)) if body.steady is None else body.steady.rest
        self.array(self.quads(rest))
        self.pairs(body.viscous, rows)

    def atoms(self, atoms: GroupedAtoms | None, rows: int) -> None:
        """Of all rows, the last one left out."""
        card, held = self._card, self._held
        if atoms is None:
            self.numbers(*[0] * ATOM_FIELDS)
            return
        self.array(atoms.radius)
        self.array(atoms.root)
        self.array(atoms.start, np.uint32)
        self.array(atoms.partner, np.uint32)

        def marks() -> Any:
            made, bits = np.zeros(rows, dtype=np.uint64), atoms.partner.astype(np.uint64) % 64
            near = np.repeat(np.arange(rows), np.diff(atoms.start.astype(np.int64)))
            np.bitwise_or.at(made, near, np.uint64(1) << bits)
            return card.put(made)

        self.pointer(held.of(atoms.partner, "marks", marks))
        square, inner = atoms.cutoff**2, (SWITCH * atoms.cutoff) ** 2
        bounded = np.isfinite(square)
        self.numbers(square, inner, 1.0 / (square - inner) if bounded else 1.0)
        width = (1.0 + SKIN) * atoms.cutoff
        self.numbers(1.0 / width, (0.5 * SKIN * atoms.cutoff) ** 2)
        side = buckets_for(atoms, rows)
        self.numbers(side)
        for count in (side**3 + 1, side**3 + 1, rows):
            self.pointer(card.put(np.zeros(count, dtype=np.uint32)))
        for _ in range(2):
            self.pointer(card.put(np.zeros(rows, dtype=np.int64)))
        self.pointer(card.zeros(4 * rows))
        self.pointer(card.put(np.zeros(SORTED_BY, dtype=np.uint32)))
        self.pointer(card.put(np.zeros(1, dtype=np.int64)))


def buckets_for(atoms: GroupedAtoms, rows: int) -> int:
    """A power of two, along each axis, so that few atoms of other cells lie in a bucket; 0 where
    each row looks at all others: there is no cutoff, or nearly all of the body is within it."""
    wanted, side = atoms.extent / ((1.0 + SKIN) * atoms.cutoff), 1
    if wanted < FEWEST_CELLS:
        return 0
    while side < min(wanted, MOST_BUCKETS) and side**3 < rows:
        side *= 2
    return side


def packed(words: list[int | float]) -> np.ndarray:
    """Numbers and pointers, eight bytes each."""
    kinds = "".join("d" if isinstance(word, float) else "q" for word in words)
    return np.frombuffer(struct.pack("=" + kinds, *words), dtype=np.int64)
