"""Explicit steps on a card: where a body lies, its state, and the order of its kernels.

`Steps(card)` is the kernel `explicit_steps` of kernels/names.py for a body in one group, its
`nystrom` the kernel `nystrom_steps`.  A card (backends/gpu.py) holds arrays, launches kernels by
name, and repeats what it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ..names import (
    ADDED,
    DEEPEST,
    DISSIPATED,
    EnergyLines,
    GroupedBody,
    GroupedSprings,
    TimeTables,
)
from . import layout
from .between import Acting
from .crowd import Crowding, Lists
from .layout import (
    MATERIALS,
    NO_BLOCKS,
    SORTED_BY,
    Blocks,
    Directed,
    Fields,
    Held,
    blocks_of,
    buckets_for,
    bytes_for,
    directed_springs,
    has,
    is_local,
    lanes_for,
    packed,
    too_large,
    yields,
)

TEXTS = (
    *("common.cu", "atoms.cu", "body.cu", "mesh.cu", "crowd.cu", "tets.cu", "forces.cu"),
    "stretch.cu",
    *("blocks.cu", "energies.cu", "between.cu"),
)
UNIT = 32  # steps that are recorded once, and then repeated
SUMS, LAST, MOST_STAGES = 4096, 128, 15  # of common.cu
FINITE = len(EnergyLines._fields)  # of energies.cu
BOOKS, LINES = 4, FINITE + 1
TABLES = "supports", "surfaces", "winds", "forces", "leads"
METHOD = "c", "Abar", "A"
ALIGNED = 4  # doubles, as rows of tables are read
SHOWN = "positions", "velocities", "contact-force"  # as `show` numbers them


def source(texts: tuple[str, ...] = TEXTS) -> str:
    """The kernels, as one text."""
    return "\n".join(Path(__file__).with_name(name).read_text() for name in texts)


class Steps:
    """The kernel; card: where it runs; mixed: elements in single precision."""

    def __init__(self, card: Any, mixed: bool = False) -> None:
        self._card, self.held, self._mixed = card, Held(), mixed
        self._last: OnCard | None = None
        self._other: OnCard | None = None  # the same body otherwise, as accelerations are asked of
        self._kept: Kept | None = None
        self._scheme: Scheme | None = None  # the last one

    def lacks(self, body: GroupedBody) -> str:
        """What the body has and no kernel here knows, in words; nothing where there is all."""
        for material in body.tets.materials:
            if not self.knows(material):
                own = ", ".join(MATERIALS)
                lack = f"the material {material.name} has no kernel on a card"
                return f"{lack} (stiffly's own {own} have)"
        return too_large(bytes_for(body), self._card.free())

    def knows(self, material: Any) -> bool:
        return material.name in MATERIALS and material.built_in

    def __call__(self, body: GroupedBody, tables: TimeTables, *given: Any) -> np.ndarray:
        kicks, drifts, h, count, *state, _ = given
        scheme = self._known(len(drifts), False, {"kicks": kicks, "drifts": drifts})
        return self._run(body, tables, scheme, float(h), count, state)

    def _known(self, stages: int, nystrom: bool, numbers: dict[str, np.ndarray]) -> Scheme:
        """The very same one as long as it is the same."""
        known = self._scheme
        if known is None or not known.of(numbers):
            known = self._scheme = Scheme(stages, nystrom, numbers)
        return known

    def holds(self, kept: Any) -> bool:
        """Whether this is where the last steps have ended."""
        return kept is not None and kept is self._kept

    def keep(self) -> Kept:
        """The state in which the last steps have ended: it stays on the card."""
        assert self._last is not None
        self._kept = Kept(self, self._last)
        return self._kept

    def nystrom(self, body: GroupedBody, tables: TimeTables, *given: Any) -> np.ndarray:
        """The kernel `nystrom_steps`: stages 1 .. end of each step, the first one is the last of
        the step before."""
        c, Abar, A, h, end, count, *state, _ = given
        used = end + 1
        numbers = {"c": c[:used], "Abar": Abar[:used, :used], "A": A[:used, :used]}
        scheme = self._known(used, True, numbers)
        return self._run(body, tables, scheme, float(h), count, state)

    def _run(
        self,
        body: GroupedBody,
        tables: TimeTables,
        scheme: Scheme,
        h: float,
        count: int,
        state: list[Any],
    ) -> np.ndarray:
        """state: x, v, a, ahead, which go on; or one that is kept here.  Without ahead it stays
        here, for `keep`."""
        x, *_, ahead = state
        if body.crowd is not None and (scheme.nystrom or scheme.stages > 1):
            raise InputError(
                "bodies that touch each other go on a card with verlet and symplectic-euler, among "
                "explicit methods: choose one of these, or compute on the CPU (--device cpu)"
            )
        goes_on = self.holds(x)
        own = self._lying(body, x, scheme)
        self._kept = None
        own.take(tables, scheme, h, None if goes_on else state)
        own.run(count)
        if own.crowding is not None:
            own.crowding.judge()
        if ahead is not None:
            own.give(state)
        books = own.ended(ahead is None)
        if body.guests is not None:
            books[0, ADDED] += body.guests.exchanged.added
            books[0, DISSIPATED] += body.guests.exchanged.dissipated
        return books

    def _lying(self, body: GroupedBody, x: Any, scheme: Scheme) -> OnCard:
        """The body on the card, from now on the last one."""
        for own in (self._last, self._other):
            if own is not None and own.serves(body, scheme):
                if own is not self._last:
                    self._last, self._other = own, self._last
                return own
        last, self._other = self._last, None
        if last is not None and last.body.groups is body.groups:
            self._other = last
        self._last = OnCard(self._card, self.held, self._mixed, body, len(x), scheme)
        return self._last


class Kept:
    """A state on a card, which comes when it is asked for.

    since: when shapes stood where they are [s], for whoever goes on."""

    since = 0.0

    def __init__(self, steps: Steps, own: OnCard) -> None:
        self._steps, self._own = steps, own
        self._arrays, self._memory = own.copied()
        self._host: dict[int, np.ndarray] = {}
        self._lines = own.lines

    def _array(self, k: int) -> np.ndarray:
        if k not in self._host:
            self._host[k] = self._own.host(self._arrays[k])
        return self._host[k]

    @property
    def x(self) -> np.ndarray:
        """(n,), as the next three."""
        return self._array(0)

    @property
    def v(self) -> np.ndarray:
        return self._array(1)

    @property
    def a(self) -> np.ndarray:
        return self._array(2)

    @property
    def ahead(self) -> np.ndarray:
        return self._array(3)

    def of(self, body: GroupedBody) -> bool:
        return self._own.body is body

    def fill_memory(self) -> None:
        """Rest lengths of springs that yield, and what is held, into the arrays of their body."""
        self._own.fill_memory(self._memory)

    def shown(
        self,
        names: Sequence[str],
        begun: Callable[[], tuple[np.ndarray, np.ndarray]],
        single: bool,
    ) -> list[np.ndarray] | None:
        """As users number particles, until they are asked for twice more; begun(): positions (N, 3)
        of all to begin with, and who each row is.  single: rounded there, so that half of the bytes
        have to come.  None where the card has done something else since."""
        if not self._steps.holds(self):
            return None
        return self._own.shown([SHOWN.index(name) for name in names], begun, single)

    def energies(self) -> EnergyLines:
        return EnergyLines(*self._lines[: len(EnergyLines._fields)].tolist())

    def product(self) -> float:
        """x . v, finite where all of them are."""
        return float(self._lines[FINITE])


class Scheme(NamedTuple):
    """A method.  numbers: its kicks and drifts, or c, Abar, A of a Nyström method."""

    stages: int
    nystrom: bool
    numbers: dict[str, np.ndarray]

    def of(self, numbers: dict[str, np.ndarray]) -> bool:
        """Whether these are its own."""
        if numbers.keys() != self.numbers.keys():
            return False
        pairs = ((own, self.numbers[name]) for name, own in numbers.items())
        return all(a is b or np.array_equal(a, b) for a, b in pairs)


class OnCard:
    """A body that lies on the card, with its state; what it is asked to do is recorded once."""

    texts = TEXTS

    def __init__(
        self,
        card: Any,
        held: Held,
        mixed: bool,
        body: GroupedBody,
        total: int,
        scheme: Scheme,
    ) -> None:
        self._card, self._held, self.body, self.scheme = card, held, body, scheme
        groups = body.groups
        self._rows, self._own = int(groups.first[-1]), int(groups.own[0])
        self._led = self._own + int(groups.led[0])
        apart = not scheme.nystrom and body.guests is None and body.atoms is None
        self._blocks = _blocks(held, body, mixed) if apart else NO_BLOCKS
        self._lanes = self._blocks.lanes or _lanes(body, self._rows)
        self._rests = [self._room(s) for s in self._springs]
        kind = np.float32 if mixed else np.float64
        fixed = Fields(card, held, self._lanes, kind)
        self.crowding = None
        if body.crowd is not None:
            own = Fields(card, held, self._lanes, kind)
            self.crowding = Crowding(card, own, body.crowd, self._rows, crowd_lists(held, body))
        crowd = None if self.crowding is None else self.crowding.words
        fixed.body(body, self._rests, self._blocks, crowd)
        self._books = card.zeros(4 * self._rows)
        for _ in range(7):
            fixed.pointer(card.zeros(4 * self._rows))
        fixed.pointer(self._books)
        fixed.pointer(card.zeros(2 * self._rows))
        fixed.pointer(card.put(np.zeros(1, dtype=np.int64)))
        fixed.pointer(None if body.guests is None else card.zeros(4 * self._rows))
        fixed.atoms(body.atoms, self._rows)
        self._fixed, self._tables = fixed, card.zeros(ALIGNED)
        # what the struct was last filled from, and with
        self._taken: tuple[TimeTables, Scheme, float] | None = None
        self._words = np.empty(0, dtype=np.int64)
        self._acting = Acting(card, Fields(card, held, self._lanes, kind), body)
        self._staged = card.zeros(4 * self._rows * scheme.stages) if scheme.nystrom else None
        defined = _defined(self._blocks, yields(body), mixed)
        self._launch = card.loaded(self._lanes, has(held, body), self.texts, defined)
        self.lines = np.zeros(LINES)  # energies where the last steps have ended
        self._sums = card.zeros(BOOKS * SUMS)
        self._lines: tuple[Any, Any, Any] | None = None
        self._end: Callable[[], None] | None = None
        self._shown: dict[bool, list[Any]] = {}
        self._turns = [0] * len(SHOWN)
        self._given = [card.zeros(3 * n) for n in (total, total, self._own, self._own)]
        beside = None
        if body.guests is not None:
            beside = _Beside(card, self._launch, body.guests, self._own, self._given)
        others = self._acting, beside, self.crowding
        self._order = _Order(card, self._launch, body, scheme, self._blocks, *others)

    def serves(self, body: GroupedBody, scheme: Scheme) -> bool:
        fits = self.crowding is None or self.crowding.room == self.crowding.lists.room
        return self.body is body and self.scheme[:2] == scheme[:2] and fits

    @property
    def _springs(self) -> tuple[GroupedSprings, GroupedSprings]:
        return self.body.linear, self.body.cubic

    def _room(self, springs: GroupedSprings) -> Any:
        if not springs.limit.size:
            return None
        return self._card.zeros(self._directed(springs).other.size)

    def _directed(self, springs: GroupedSprings) -> Directed:
        return directed_springs(self._held, springs, self._lanes)

    def take(
        self, tables: TimeTables, scheme: Scheme, h: float, state: list[np.ndarray] | None
    ) -> None:
        """state: x, v, a, ahead; None: where the last steps have ended."""
        if not self._is_taken(tables, scheme, h):
            words = self._filled(tables, scheme, h)
            if not np.array_equal(words, self._words):
                self._words = words
            self._taken = tables, scheme, h
        self._launch.define(self._words)
        if state is not None:
            self._put(state)
        self._launch("begin", self._rows)

    def _is_taken(self, tables: TimeTables, scheme: Scheme, h: float) -> bool:
        """Tables of time and all: they stay as they are."""
        if self._taken is None or scheme is not self._taken[1] or h != self._taken[2]:
            return False
        return all(a is b for a, b in zip(tables, self._taken[0], strict=True))

    def _filled(self, tables: TimeTables, scheme: Scheme, h: float) -> np.ndarray:
        """The struct that kernels read."""
        ties = tables.ties
        moved = ties.stiffness, ties.here, ties.home
        numbers = [scheme.numbers.get(name) for name in METHOD]
        lie = self._lying([*(getattr(tables, name) for name in TABLES), *moved, *numbers])
        words = [*self._fixed.words, *lie[: len(TABLES)]]
        known = [t.shape[1] for t in (tables.supports, tables.winds, tables.forces) if len(t)]
        words += [known[0] if known else 0, tables.surfaces.shape[1]]
        begin, motion = self._tied(ties.start), self._tied(ties.motion)
        words += [begin, *lie[len(TABLES) : -len(METHOD)], motion]
        for name in ("kicks", "drifts"):
            ways, own = np.zeros(MOST_STAGES + 1), scheme.numbers.get(name, np.empty(0))
            ways[: len(own)] = h * own
            words += ways.tolist()
        words += lie[-len(METHOD) :]
        first, half = (0, scheme.stages) if scheme.nystrom else (2, 1)
        words += [scheme.stages, first, half, h]
        words.append(0 if self._staged is None else self._card.pointer(self._staged))
        return packed([*words, *self._acting.words(h)])

    def _lying(self, arrays: list[np.ndarray | None]) -> list[int]:
        """Pointers to copies of them, 0 for none: behind one another on the card, brought there at
        once."""
        sizes = [0 if a is None else max(ALIGNED, -(-a.size // ALIGNED) * ALIGNED) for a in arrays]
        begin = np.concatenate([[0], np.cumsum(sizes)])
        joined = np.zeros(begin[-1])
        for array, at in zip(arrays, begin.tolist(), strict=False):
            if array is not None:
                joined[at : at + array.size] = array.ravel()
        if self._tables.size < joined.size:
            self._tables = self._card.zeros(joined.size)
        self._card.copy(joined, self._tables[: joined.size])
        place = self._card.pointer(self._tables)
        pairs = zip(arrays, begin.tolist(), strict=False)
        return [0 if array is None else place + 8 * at for array, at in pairs]

    def _tied(self, array: np.ndarray) -> int:
        """Which rows have ties rarely changes."""
        card = self._card
        put = self._held.of(array, "ties", lambda: card.put(array if array.size else np.zeros(1)))
        return card.pointer(put)

    def _put(self, state: list[np.ndarray]) -> None:
        for springs, rest in self._yielding():
            directed = self._directed(springs)
            self._card.fill(rest, partial(directed.fill, values=springs.rest, default=1.0))
        self._acting.put()
        for host, device in zip(state[:3], self._given[:3], strict=True):
            self._card.copy(host.ravel(), device)
        self._launch("gather", self._rows, *self._given[:3])

    def _yielding(self) -> list[tuple[GroupedSprings, Any]]:
        """Springs whose rest lengths change, and these."""
        pairs = zip(self._springs, self._rests, strict=True)
        return [(springs, rest) for springs, rest in pairs if rest is not None]

    def run(self, count: int) -> None:
        self._order.run(count)

    def give(self, state: list[np.ndarray]) -> None:
        """Writes x, v, a, ahead."""
        self._launch("scatter", self._own, *self._given)
        for host, device in zip(state, self._given, strict=True):
            host[: self._own] = self._card.host(device).reshape(-1, 3)[: self._own]
        self.fill_memory(self._memory)

    @property
    def _memory(self) -> list[Any]:
        """What parts remember: rest lengths that change, then what acts between steps."""
        return [*(rest for _, rest in self._yielding()), *self._acting.there()]

    def fill_memory(self, memory: list[Any]) -> None:
        yielding = self._yielding()
        self._acting.fill(memory[len(yielding) :])
        for (springs, _), rest in zip(yielding, memory, strict=False):
            self._directed(springs).listed(self._card.host(rest), springs.rest)

    def copied(self) -> tuple[list[Any], list[Any]]:
        """The state as it is now: x, v, a, ahead, and what parts remember."""
        arrays = [self._card.empty(3 * self._own) for _ in range(4)]
        self._launch("scatter", self._own, *arrays)
        return arrays, [self._card.copied(own) for own in self._memory]

    def host(self, device: Any) -> np.ndarray:
        return np.array(self._card.host(device))

    def shown(
        self,
        which: list[int],
        begun: Callable[[], tuple[np.ndarray, np.ndarray]],
        single: bool,
    ) -> list[np.ndarray]:
        if single not in self._shown:
            x, seen = begun()
            kind = np.float32 if single else np.float64
            arrays = [np.array(x, kind).ravel(), np.zeros(x.size, kind), np.zeros(len(x), kind)]
            there = [*map(self._card.put, arrays), self._card.put(seen.astype(np.uint32))]
            self._shown[single] = there
        *out, seen = self._shown[single]
        wanted = []
        for k in which:
            self._launch("show_single" if single else "show", self._led, k, out[k], seen)
            self._turns[k] = 1 - self._turns[k]
            wanted.append((out[k], f"{SHOWN[k]} {self._turns[k]}"))
        found = self._card.hosts(wanted)
        return [own.reshape((-1, 3) if k < 2 else -1) for k, own in zip(which, found, strict=True)]

    def ended(self, stays: bool) -> np.ndarray:
        """The books (1, 4), or (runs, 4).  stays: the state does, and its energies are known from
        now on."""
        books = None
        if stays:
            books, self.lines = self._summed()
        if self.body.run.size:
            return self._books_of_runs()
        return self._acting.booked(self._books_alone() if books is None else books)

    def _summed(self) -> tuple[np.ndarray, np.ndarray]:
        """Books (1, 4) and energies (LINES,): SUMS partial sums, of these LAST, and those here."""
        if self._lines is None:
            lines = self._card.zeros(LINES * self._rows), self._card.zeros(LINES * SUMS)
            self._lines = *lines, self._card.zeros((BOOKS + LINES) * LAST)
            self._sum_up(*self._lines)
        else:  # what has been launched before can be recorded
            end = self._end or self._card.recorded(partial(self._sum_up, *self._lines))
            self._end = end
            end()
        found = self._card.host(self._lines[-1]).reshape(LAST, BOOKS + LINES)
        total = found.sum(axis=0)
        total[DEEPEST] = found[:, DEEPEST].max()
        return total[None, :BOOKS], total[BOOKS:]

    def _sum_up(self, lines: Any, sums: Any, out: Any) -> None:
        self._launch("total", SUMS, self._sums)
        self._launch("energies", self._rows - 1, lines)
        self._launch("add_lines", SUMS, lines, sums)
        self._launch("add_up", (BOOKS + LINES) * LAST, self._sums, sums, out)

    def _books_alone(self) -> np.ndarray:
        self._launch("total", SUMS, self._sums)
        books = self._card.host(self._sums).reshape(SUMS, BOOKS)
        total = books.sum(axis=0)
        total[DEEPEST] = books[:, DEEPEST].max()
        return total[None]

    def _books_of_runs(self) -> np.ndarray:
        """Every row's own, added in the order of rows."""
        run = self.body.run
        books = self._card.host(self._books).reshape(-1, BOOKS)
        count = int(run.max()) + 1
        total = np.stack([np.bincount(run, own, count) for own in books.T], axis=1)
        total[:, DEEPEST] = 0.0
        np.maximum.at(total[:, DEEPEST], run, books[:, DEEPEST])
        return total


def _lanes(body: GroupedBody, rows: int) -> int:
    table = layout.LANES_OF_STEPS if body.atoms is None else layout.LANES_OF_ATOMS
    return lanes_for(rows, table)


def _defined(blocks: Blocks, worn: bool, mixed: bool) -> tuple[str, ...]:
    """For common.cu; worn: springs yield."""
    there = {
        f"THREADS={blocks.threads}": blocks.threads,
        "PASSING": worn,
        "MIXED": mixed,
    }
    return tuple(name for name, some in there.items() if some)


def crowd_lists(held: Held, body: GroupedBody) -> Lists:
    return held.of(body.crowd.edges, "lists", lambda: Lists(UNIT))


def _blocks(held: Held, body: GroupedBody, mixed: bool) -> Blocks:
    kind = f"blocks {is_local(body)}"
    return held.of(body.linear.other, kind, lambda: blocks_of(held, body, mixed))


class _Beside:
    """What the host computes of forces on the rows of a body that move."""

    def __init__(self, card: Any, launch: Any, guests: Any, own: int, room: list[Any]) -> None:
        """room: x, v, a, ahead, of `own` rows or more each."""
        self._card, self._launch, self._own, self._room = card, launch, own, room
        self.guests, self._force = guests, card.zeros(3 * own)

    def _told(self, k: int) -> np.ndarray:
        return self._card.host(self._room[k], f"guests {k}")[: 3 * self._own].copy()

    def push(self, entry: int) -> None:
        """Their forces where rows are now, at the time of that entry."""
        self._launch("scatter", self._own, *self._room)
        x = self._told(0)
        force = self.guests.force(entry, x, self._told(3) if self.guests.looks else x)
        self._card.copy(force, self._force)
        self._launch("push", self._own, self._force)

    def book(self, which: Callable[[int, np.ndarray, np.ndarray], None], entry: int) -> None:
        """which: `start` or `end` of the guests, told where rows are now."""
        if self.guests.counts:
            self._launch("scatter", self._own, *self._room)
            which(entry, self._told(0), self._told(1))


class _Order:
    """Which kernels a step is, one after the other."""

    def __init__(
        self,
        card: Any,
        launch: Any,
        body: GroupedBody,
        scheme: Scheme,
        blocks: Blocks,
        acting: Acting,
        beside: _Beside | None,
        crowding: Crowding | None,
    ) -> None:
        self._card, self._launch, self._stages = card, launch, scheme.stages
        self._beside, self._entry = beside, 0 if scheme.nystrom else 2
        self._begun = 0  # steps before those that kernels number from 0, of guests
        self._blocks, self._acting, self._crowding = blocks, acting, crowding
        self._searched = 0  # steps for which lists served when the unit was recorded
        self._first, self._move = (1, "stage") if scheme.nystrom else (0, "drift")
        self._unit: Any = None
        self._tail: tuple[tuple[int, int], Callable[[], None] | None] = (-1, 0), None
        groups = body.groups
        self._own, self._rows = int(groups.own[0]), int(groups.first[-1])
        self._led = self._own + int(groups.led[0])
        self._powers = bool(body.powers)
        self._cells = body.atoms is not None and bool(buckets_for(body.atoms, self._rows))
        self._touches, self._yields = bool(len(body.touches.kind)), yields(body)
        self._looks = body.solids is not None
        self._braked = bool(
            len(body.drags.power) + len(body.triangles.pressure) + len(body.dashpots.coefficient)
            or body.viscous
        )
        if beside is not None:
            self._braked = self._braked or beside.guests.looks
        local = is_local(body)
        # rows from here on are not done when they have their new velocity
        self._left = self._own if local else 0
        self._settles = self._touches or body.tied or bool(acting) or crowding is not None
        again = self._touches and self._braked
        self._leaps = local and not scheme.nystrom and self._led == self._own and not again
        self._leaps = self._leaps and beside is None

    def run(self, count: int) -> None:
        self._sort(0)
        if self._powers:
            self._by_rows("power_now", -1, 0)
        if self._blocks.threads:
            own = self._blocks
            bodies = "bodies", len(own.own) - 1, own.threads
            self._launch.blocks(*bodies, count, *own.turns, shared=own.room)
            self._launch("tick", 1, count)
            return
        if self._beside is not None:  # nothing to record: the host has its share of every step
            self._beside.book(self._beside.guests.start, 0)
            for self._begun in range(0, count, UNIT):
                self._steps(min(UNIT, count - self._begun))
            return
        steps, left = (self._leap, 1) if self._leaps else (self._steps, 0)
        if self._leaps:
            self._launch("drift", self._led, 0, 0)
            self._sort(0)
        units = (count - left) // UNIT
        serves = 0 if self._crowding is None else self._crowding.lists.steps
        if self._searched != serves:
            self._unit, self._searched = None, serves
        if units and self._unit is None:
            self._unit = self._card.recorded(lambda: steps(UNIT))
        for _ in range(units):
            self._unit()
        self._last_ones(count - units * UNIT, partial(steps, ends=True))

    def _last_ones(self, count: int, steps: Callable[[int], None]) -> None:
        """Recorded, too, once as many have been taken before: frames are as far apart as a rule."""
        if not count:
            return
        key = count, self._searched
        if self._tail[0] != key:
            self._tail = key, None
            steps(count)
            return
        tail = self._tail[1] or self._card.recorded(partial(steps, count))
        self._tail = key, tail
        tail()

    def _look(self, steps: int) -> None:
        if self._looks and steps:
            self._launch("look", self._own, steps)

    def _sort(self, flip: int) -> None:
        """Atoms into cells, where some have gone too far; flip: positions lie in y."""
        if self._cells:
            self._launch.blocks("sort_cells", 1, SORTED_BY, flip)

    def _by_rows(self, name: str, later: int, first: int) -> None:
        end = self._led if name == "middle" else self._rows - 1
        self._launch(name, max(0, end - first), later, first)

    def _leap(self, count: int, ends: bool = False) -> None:
        """Each stage with the next one's drift, but for the last one of all."""
        stages = count * self._stages
        self._look(count)
        for k in range(stages):
            later, s = divmod(k, self._stages)
            if ends and k + 1 == stages:
                self._launch("accelerate", self._own, later, s, 0, k % 2)
            else:
                self._launch("leap", self._own, later, s, k % 2)
                self._sort(1 - k % 2)
            if self._yields and s + 1 == self._stages:
                self._launch("yield_held", self._rows - 1 - self._own, k % 2)
        self._launch("tick", 1, count)

    def _steps(self, count: int, ends: bool = False) -> None:
        self._look(count)
        for later in range(count):
            if self._crowding is not None and later % self._crowding.lists.steps == 0:
                serves = min(self._crowding.lists.steps, count - later)
                self._crowding.search(self._launch, later, serves)
            self._step(later)
        if count:
            self._launch("tick", 1, count)

    def _step(self, later: int) -> None:
        for s in range(self._first, self._stages):
            self._launch(self._move, self._led, later, s)
            self._sort(0)
            self._push(later, s)
            if self._crowding is not None:
                self._crowding.push(self._launch)
            self._launch("accelerate", self._own, later, s, 0, 0)
        end = (self._begun + later + 1) * (self._stages + 1)
        if self._beside is not None:
            self._beside.book(self._beside.guests.end, end)
        if self._yields:
            self._launch("yield_held", self._rows - 1 - self._own, 0)
        if self._powers and self._left < self._led:
            self._by_rows("middle", later, self._left)
            self._by_rows("book", later, self._left)
        if self._settles and not self._left:
            self._launch("settle", self._own, later)
        if self._crowding is not None:
            self._crowding.rub(self._launch, self._own)
        if self._acting:
            self._acting.launch(self._launch, later, self._rows - 1)
        if not self._left and self._powers and (self._touches or self._acting or self._crowding):
            self._by_rows("power_now", later, 0)  # other velocities: other power as a step starts
        if self._beside is not None and (self._settles or self._acting):
            self._beside.book(self._beside.guests.start, end)
        if (self._touches or self._acting or self._crowding) and self._braked:
            self._push(later, self._stages - 1)
            self._launch("accelerate", self._own, later, self._stages - 1, 1, 0)
        elif self._acting.displaces:
            self._launch("accelerate", self._own, later, self._stages - 1, 2, 0)

    def _push(self, later: int, s: int) -> None:
        """Forces of guests at stage s of a step: see entry_of of body.cu."""
        if self._beside is not None:
            n = self._begun + later
            self._beside.push(self._entry + n * (self._stages + 1) + s)
