"""What acts between two steps on a card: its share of the struct Body, and its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..names import INVENTED, GroupedBody, Momentum, Sides
from .layout import Fields

PARTS, MANY, SUMMED = 128, 512, 16  # of between.cu
TOLD, HOLDER, FELT = 8, 3, 6  # of body.cu
ROOM = 8 * 9 * PARTS  # that a block shares [B]
_NOBODY = np.zeros(1, dtype=np.int64)
_CALM = Momentum(_NOBODY, _NOBODY, _NOBODY, _NOBODY, np.zeros(1), lambda h: 0.0)


class Acting:
    """Of a body: `words` of the struct, `launch` after each step, and what parts remember."""

    def __init__(self, card: Any, fields: Fields, body: GroupedBody) -> None:
        """fields: for words of its own."""
        between = body.between
        self._card, self._fields, self._asleep = card, fields, between is None or between.asleep
        momentum = None if between is None else between.momentum
        self._momentum, self._chunks = self._calming(momentum or _CALM)
        self._held, self._projected = (
            self._sided(None if between is None else getattr(between, name), body)
            for name in ("held", "projected")
        )
        rows = 1 if between is None else int(body.groups.first[-1])
        fields.pointer(card.put(np.zeros(2, dtype=np.int64)))
        fields.pointer(card.zeros(rows))
        self._settled = card.zeros(2)
        fields.pointer(self._settled)

    def _calming(self, momentum: Momentum) -> tuple[Momentum, int]:
        chunks, fields = len(momentum.start) - 1, self._fields
        fields.array(momentum.rows, np.uint32)
        for array in momentum[1:4]:
            fields.array(array, np.int64)
        fields.array(momentum.total)
        fields.pointer(self._card.zeros(SUMMED * max(1, chunks)))
        fields.numbers(chunks)
        return momentum, chunks

    def _sided(self, sides: Sides | None, body: GroupedBody) -> _Told | None:
        fields = self._fields
        if sides is None:
            fields.numbers(0, 0, 0, 0.0, 0.0, 0.0, 0)
            return None
        fields.numbers(len(sides.kind))
        fields.array(sides.kind, np.int64)
        fields.array(sides.numbers)
        fields.numbers(*map(float, (sides.margin, sides.stiffness, sides.friction)))
        told = _Told(self._card, sides, int(body.groups.first[-1]))
        fields.pointer(told.there)
        return told

    def __bool__(self) -> bool:
        return not self._asleep

    @property
    def displaces(self) -> bool:
        """It may put particles elsewhere."""
        held = self._held is not None and not self._held.sides.stiffness
        return bool(self) and (held or self._projected is not None)

    def words(self, h: float) -> list[int | float]:
        """For steps of h."""
        return [*self._fields.words, float(self._momentum.share(h))]

    def launch(self, launch: Any, later: int, rows: int) -> None:
        """rows: but for the last one, which stands for nothing."""
        for name, told in (("hold", self._held), ("project", self._projected)):
            if told is None:
                continue
            launch(name, rows)
            if name == "project" or not told.sides.stiffness:
                launch("displaced", rows, later)
                launch.blocks("book_displaced", 1, MANY, shared=8 * MANY)
        if self._chunks:
            for name in ("sum_motion", "sum_spin", "calm"):
                launch.blocks(name, self._chunks, PARTS, shared=ROOM)

    def booked(self, total: np.ndarray) -> np.ndarray:
        """The books (1, 4) with what displacing has taken, and invented: (1, 5)."""
        if not self.displaces:
            return total
        dissipated, invented = self._card.host(self._settled).tolist()
        total = np.append(total, [[invented]], axis=1)
        assert total.shape[1] == INVENTED + 1
        total[0, 1] += dissipated
        return total

    # ------------------------------------------------------------------ what parts remember

    @property
    def _told(self) -> list[_Told]:
        return [told for told in (self._held, self._projected) if told is not None]

    def put(self) -> None:
        """As it is on the host."""
        for told in self._told:
            told.put()

    def there(self) -> list[Any]:
        """Arrays on the card."""
        return [told.there for told in self._told]

    def fill(self, arrays: list[Any]) -> None:
        """Writes them, or copies of them, to the host."""
        for told, array in zip(self._told, arrays, strict=True):
            rows = self._card.host(array).reshape(-1, TOLD)[told.sides.rows]
            told.sides.state[:] = rows[:, : told.sides.state.shape[1]]


class _Told:
    """What is known of each row, on the card."""

    def __init__(self, card: Any, sides: Sides, rows: int) -> None:
        self._card, self.sides, self._rows = card, sides, rows
        self.there = card.zeros(TOLD * rows)

    def put(self) -> None:
        rows, state = np.zeros((self._rows, TOLD)), self.sides.state
        rows[:, HOLDER] = -1.0
        rows[self.sides.rows, : state.shape[1]] = state
        rows[self.sides.rows, FELT] = 1.0
        self._card.copy(rows.ravel(), self.there)
