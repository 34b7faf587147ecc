"""Explicit steps on a card: where a body lies, its state, and the order of its kernels.

`Steps(card)` is the kernel `explicit_steps` of kernels/names.py for a body in one group, its
`nystrom` the kernel `nystrom_steps`.  A card (backends/gpu.py) holds arrays, launches kernels by
name, and repeats what it has seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..names import DEEPEST, EnergyLines, GroupedBody, GroupedSprings, TimeTables
from .layout import (
    MATERIALS,
    Fields,
    Held,
    bytes_for,
    directed_springs,
    has,
    is_local,
    lanes_for,
    packed,
    yields,
)

TEXTS = ("common.cu", "body.cu", "tets.cu", "forces.cu", "stretch.cu", "energies.cu")
UNIT = 32  # steps that are recorded once, and then repeated
SUMS = 4096  # of common.cu
LINES = 8  # of energies.cu


def source() -> str:
    """The kernels, as one text."""
    return "\n".join(Path(__file__).with_name(name).read_text() for name in TEXTS)


class Steps:
    """The kernel; card: where it runs."""

    def __init__(self, card: Any) -> None:
        self._card, self._held = card, Held()
        self._last: _OnCard | None = None
        self.turn = 0  # how often steps were taken here, of whatever body

    def lacks(self, body: GroupedBody) -> str:
        """What the body has and no kernel here knows, in words; nothing where there is all."""
        for material in body.tets.materials:
            name, own = material.name, ", ".join(MATERIALS)
            if name not in MATERIALS or not material.built_in:
                return f"the material {name} has no kernel on a card (stiffly's own {own} have)"
        need, free = bytes_for(body), self._card.free()
        if need > free:
            return (
                f"this body needs about {need / 1e9:.2f} GB on a card that has {free / 1e9:.2f} GB "
                "free (fewer particles need less: --set, --small)"
            )
        return ""

    def __call__(self, body: GroupedBody, tables: TimeTables, *given: Any) -> np.ndarray:
        kicks, drifts, h, count, *state, _ = given
        scheme = _Scheme(len(drifts), False, {"kicks": kicks, "drifts": drifts})
        return self._run(body, tables, scheme, float(h), count, state)

    def energies(self, turn: int) -> EnergyLines | None:
        """Of the body where that turn has left it; None where the card has done something else
        since."""
        return self._last.energies() if self._last is not None and turn == self.turn else None

    def nystrom(self, body: GroupedBody, tables: TimeTables, *given: Any) -> np.ndarray:
        """The kernel `nystrom_steps`: stages 1 .. end of each step, the first one is the last of
        the step before."""
        c, Abar, A, h, end, count, *state, _ = given
        used = end + 1
        numbers = {"c": c[:used], "Abar": Abar[:used, :used], "A": A[:used, :used]}
        scheme = _Scheme(used, True, numbers)
        return self._run(body, tables, scheme, float(h), count, state)

    def _run(
        self,
        body: GroupedBody,
        tables: TimeTables,
        scheme: _Scheme,
        h: float,
        count: int,
        state: list[np.ndarray],
    ) -> np.ndarray:
        """state: x, v, a, ahead, which go on."""
        own, self.turn = self._last, self.turn + 1
        if own is None or own.body is not body or own.scheme[:2] != scheme[:2]:
            own = self._last = _OnCard(self._card, self._held, body, len(state[0]), scheme)
        own.take(tables, scheme, h, state)
        own.run(count)
        return own.give(state)


class _Scheme(NamedTuple):
    """A method.  numbers: its kicks and drifts, or c, Abar, A of a Nyström method."""

    stages: int
    nystrom: bool
    numbers: dict[str, np.ndarray]


class _OnCard:
    """A body that lies on the card, with its state; what it is asked to do is recorded once."""

    def __init__(
        self, card: Any, held: Held, body: GroupedBody, total: int, scheme: _Scheme
    ) -> None:
        self._card, self._held, self.body, self.scheme = card, held, body, scheme
        groups = body.groups
        self._rows, self._own = int(groups.first[-1]), int(groups.own[0])
        self._rests = [self._room(s) for s in self._springs]
        fixed = Fields(card, held)
        fixed.body(body, self._rests)
        self._books = card.zeros(4 * self._rows)
        for _ in range(6):
            fixed.pointer(card.zeros(4 * self._rows))
        fixed.pointer(self._books)
        fixed.pointer(card.zeros(2 * self._rows))
        fixed.pointer(card.put(np.zeros(1, dtype=np.int64)))
        self._fixed, self._tables = fixed, {}
        self._staged = card.zeros(4 * self._rows * scheme.stages) if scheme.nystrom else None
        self._launch = card.loaded(lanes_for(self._rows), has(body))
        self._sums, self._lines = card.zeros(4 * SUMS), None
        self._given = [card.zeros(3 * n) for n in (total, total, self._own, self._own)]
        self._order = _Order(card, self._launch, body, scheme)

    @property
    def _springs(self) -> tuple[GroupedSprings, GroupedSprings]:
        return self.body.linear, self.body.cubic

    def _room(self, springs: GroupedSprings) -> Any:
        if not springs.limit.size:
            return None
        return self._card.zeros(directed_springs(self._held, springs)[0].other.size)

    def _table(self, name: str, array: Any) -> Any:
        """On the card: where the last one of its size was."""
        array = np.ascontiguousarray(array, dtype=np.float64).ravel()
        kept = self._tables.get(name)
        if kept is None or kept.size != max(1, array.size):
            kept = self._tables[name] = self._card.zeros(max(1, array.size))
        if array.size:
            self._card.copy(array, kept)
        return kept

    def _pointer(self, name: str, array: Any) -> int:
        return self._card.pointer(self._table(name, array))

    def take(self, tables: TimeTables, scheme: _Scheme, h: float, state: list[Any]) -> None:
        words = list(self._fixed.words)
        for name in ("supports", "surfaces", "winds", "forces"):
            words.append(self._pointer(name, getattr(tables, name)))
        known = [t.shape[1] for t in (tables.supports, tables.winds, tables.forces) if len(t)]
        words += [known[0] if known else 0, tables.surfaces.shape[1]]
        for name in ("kicks", "drifts", "c", "Abar", "A"):
            own = scheme.numbers.get(name)
            words.append(0 if own is None else self._pointer(name, own))
        first, half = (0, scheme.stages) if scheme.nystrom else (2, 1)
        words += [scheme.stages, first, half, h]
        words.append(0 if self._staged is None else self._card.pointer(self._staged))
        self._launch.define(packed(words))
        for springs, rest in zip(self._springs, self._rests, strict=True):
            if rest is not None:
                directed, used = directed_springs(self._held, springs)
                self._card.copy(directed.filled(springs.rest[used], 1.0), rest)
        for host, device in zip(state[:3], self._given[:3], strict=True):
            self._card.copy(host.ravel(), device)
        self._launch("gather", self._rows, *self._given[:3])

    def run(self, count: int) -> None:
        self._order.run(count)

    def give(self, state: list[Any]) -> np.ndarray:
        """Writes x, v, a, ahead; the books (1, 4), or (runs, 4)."""
        self._launch("scatter", self._own, *self._given)
        for host, device in zip(state, self._given, strict=True):
            host[:] = self._card.host(device).reshape(host.shape)
        for springs, rest in zip(self._springs, self._rests, strict=True):
            if rest is not None:
                directed, used = directed_springs(self._held, springs)
                springs.rest[used] = self._card.host(rest)[directed.slices.slots[: directed.half]]
        return self._totals()

    def _totals(self) -> np.ndarray:
        run = self.body.run
        if run.size:  # every row's own, added in the order of rows
            books = self._card.host(self._books).reshape(-1, 4)
            count = int(run.max()) + 1
            total = np.stack([np.bincount(run, own, count) for own in books.T], axis=1)
            total[:, DEEPEST] = 0.0
            np.maximum.at(total[:, DEEPEST], run, books[:, DEEPEST])
            return total
        self._launch("total", SUMS, self._sums)
        books = self._card.host(self._sums).reshape(SUMS, 4)
        total = books.sum(axis=0)
        total[DEEPEST] = books[:, DEEPEST].max()
        return total[None]

    def energies(self) -> EnergyLines:
        if self._lines is None:
            self._lines = self._card.zeros(LINES * self._rows), self._card.zeros(LINES * SUMS)
        lines, sums = self._lines
        self._launch("energies", self._rows - 1, lines)
        self._launch("add_lines", SUMS, lines, sums)
        found = self._card.host(sums).reshape(SUMS, LINES).sum(axis=0)
        return EnergyLines(*found[: len(EnergyLines._fields)].tolist())


class _Order:
    """Which kernels a step is, one after the other."""

    def __init__(self, card: Any, launch: Any, body: GroupedBody, scheme: _Scheme) -> None:
        self._card, self._launch, self._stages = card, launch, scheme.stages
        self._first, self._move = (1, "stage") if scheme.nystrom else (0, "drift")
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
        for s in range(self._first, self._stages):
            self._launch(self._move, self._led, later, s)
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
