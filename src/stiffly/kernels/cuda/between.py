"""What acts between two steps on a card: its share of the struct Body, and its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..names import GroupedBody, Momentum
from .layout import Fields

PARTS, SUMMED = 128, 16  # of between.cu
ROOM = 8 * 9 * PARTS  # that a block shares [B]
_NOBODY = np.zeros(1, dtype=np.int64)
_NONE = Momentum(_NOBODY, _NOBODY, _NOBODY, _NOBODY, np.zeros(1), lambda h: 0.0)


class Acting:
    """Of a body: `words` of the struct, and `launch` after each step."""

    def __init__(self, card: Any, fields: Fields, body: GroupedBody) -> None:
        """fields: for words of its own."""
        between = body.between
        self._momentum = _NONE if between is None else between.momentum or _NONE
        self._asleep = between is None or between.asleep
        self._chunks = len(self._momentum.start) - 1
        self._fields = fields
        fields.array(self._momentum.rows, np.uint32)
        for array in self._momentum[1:4]:
            fields.array(array, np.int64)
        fields.array(self._momentum.total)
        fields.pointer(card.zeros(SUMMED * max(1, self._chunks)))
        fields.numbers(self._chunks)

    def __bool__(self) -> bool:
        return not self._asleep

    def words(self, h: float) -> list[int | float]:
        """For steps of h."""
        return [*self._fields.words, float(self._momentum.share(h))]

    def launch(self, launch: Any) -> None:
        if self._chunks:
            for name in ("sum_motion", "sum_spin", "calm"):
                launch.blocks(name, self._chunks, PARTS, shared=ROOM)
