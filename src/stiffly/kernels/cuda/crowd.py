"""Bodies that touch each other on a card: their share of a body, and its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..names import LEAF, Crowd
from .layout import Fields, packed

ROOM = 16  # partners of an element at first: lists grow when they are too short
STRAY = 0.15  # of the thickness: how far a particle may be off the line it is thought on
PARALLEL = 1e-3  # as in collisions/broad_phase.py
THREADS = 1024  # of a block that makes a tree
CALM = 8  # calls that went well: then lists serve for more steps again
STRAYED, PASSED, CROWDED, FLAGS = 0, 1, 2, 4


class Crowded(Exception):
    """Some steps have to be taken anew, from where they began; passing: by somebody who can cut
    them short, since something may have passed through something."""

    def __init__(self, passing: bool) -> None:
        super().__init__("something may have passed through something")
        self.passing = passing


class Lists:
    """How long lists of a crowd are, and for how many steps they serve; known to all that lies on
    a card of one body."""

    def __init__(self, steps: int) -> None:
        self.room, self.steps, self._most, self._well = ROOM, steps, steps, 0

    def judge(self, flags: np.ndarray) -> None:
        """After some steps: Crowded where they have to be taken again."""
        if not flags[:3].any():
            self._well += 1
            if self._well >= CALM and self.steps < self._most:
                self.steps, self._well = 2 * self.steps, 0
            return
        self._well = 0
        if flags[CROWDED]:
            self.room *= 2
        elif flags[STRAYED] and self.steps > 1:
            self.steps //= 2
        else:
            raise Crowded(True)
        raise Crowded(False)


class Crowding:
    """Of a body: `words` of the struct Crowd, and what is launched for it."""

    def __init__(self, card: Any, fields: Fields, crowd: Crowd, rows: int, lists: Lists) -> None:
        """fields: for words of its own."""
        self._card, self.lists, self.room = card, lists, lists.room
        self._rubs = crowd.friction > 0.0
        counts = [len(crowd.vertices), len(crowd.edges), len(crowd.faces)]
        self._count = sum(counts)
        self._fields = fields
        stray = STRAY * crowd.thickness
        fields.numbers(*counts, lists.room)
        fields.numbers(crowd.thickness, crowd.stiffness, crowd.friction, stray)
        for array in (crowd.vertices, crowd.edges, crowd.faces, crowd.piece):
            fields.array(array, np.uint32)
        fields.array(fields.quads(crowd.rest))
        ends = crowd.rest[crowd.edges]
        square = np.sum((ends[:, 1] - ends[:, 0]) ** 2, axis=1)
        self._size = np.maximum(square, crowd.thickness**2)
        fields.pointer(card.put(self._size))
        fields.numbers(PARALLEL)
        widths = [1 << max(0, -(-count // LEAF) - 1).bit_length() for count in counts]
        fields.numbers(*widths)
        for width in widths:
            fields.pointer(card.zeros(12 * width))
        room = lists.room * self._count
        for size in (self._count, room):
            fields.pointer(card.put(np.zeros(size, dtype=np.uint32)))
        fields.pointer(card.zeros(room))
        first, slot = slots_of(crowd, rows)
        for array in (first, slot):
            fields.pointer(card.put(array.astype(np.uint32)))
        for size in (4 * slot.size, 4 * slot.size, rows, 2 * self._count, 4 * rows, 4 * rows):
            fields.pointer(card.zeros(size))
        self._flags = card.put(np.zeros(FLAGS, dtype=np.int64))
        fields.pointer(self._flags)
        self.words = packed(fields.words)

    def search(self, launch: Any, later: int, steps: int) -> None:
        """Who may press whom in the next steps."""
        launch.blocks("crowd_boxes", 3, THREADS, steps)
        launch("crowd_lists", self._count, later, steps)

    def push(self, launch: Any) -> None:
        launch("crowd_push", self._count)

    def rub(self, launch: Any, own: int) -> None:
        if self._rubs:
            launch("crowd_brake", self._count)
            launch("crowd_slow", own)

    def judge(self) -> None:
        self.lists.judge(np.array(self._card.host(self._flags)))


def slots_of(crowd: Crowd, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """first (rows + 1,), slot: see crowd.cu."""
    corners = (crowd.vertices, crowd.edges, crowd.faces)
    row = np.concatenate([own.ravel() for own in corners])
    order = np.argsort(row, kind="stable")
    return np.searchsorted(row[order], np.arange(rows + 1)), order
