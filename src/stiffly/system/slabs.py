"""A body built rank by rank: each rank builds the layers that it owns, and a few beside them.

    slab = cut.layers(nx, ny)                       # nx layers of ny particles, numbered in a row
    mesh = cloth(nx, ny, layers=slab.built)
    body = slab.of(System(mass, parts, rest=mesh.positions))

A layer is what has one number along the first axis of a grid.  Elements may reach `reach` layers
far; where masses come from elements, which those of ghosts do as well, twice the layers of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from .shares import FEWER, Piece
from .system import System


class Cut(NamedTuple):
    """For which rank of how many a body is built."""

    rank: int = 0
    ranks: int = 1

    def layers(self, count: int, width: int, reach: int = 2) -> Slab:
        """This rank's of `count` layers, each of `width` particles."""
        if count < self.ranks:
            raise InputError(f"{count} layers for {self.ranks} ranks: {FEWER}")
        begin, end = (count * rank // self.ranks for rank in (self.rank, self.rank + 1))
        built = max(0, begin - reach), min(count, end + reach)
        return Slab(self, count, width, built)


WHOLE = Cut()


@dataclass(frozen=True)
class Slab:
    """built: the first layer and the one behind the last; the whole body where one rank has it."""

    cut: Cut
    count: int
    width: int
    built: tuple[int, int]

    @property
    def total(self) -> int:
        """Particles of the whole body."""
        return self.count * self.width

    def of(self, system: System) -> System | Piece:
        """system: of the layers that are built."""
        if self.cut.ranks == 1:
            return system
        first, last = self.built
        numbers = np.arange(first * self.width, last * self.width)
        if system.particles != numbers.size:
            raise InputError(
                f"layers {first} to {last - 1} of {self.width} particles each are "
                f"{numbers.size}, but the system has {system.particles}: build these layers alone"
            )
        ends = np.array(
            [self.count * (rank + 1) // self.cut.ranks for rank in range(self.cut.ranks)]
        )
        owner = np.searchsorted(ends, numbers // self.width, side="right")
        if not (owner[system.numbering.order[: system.numbering.free]] == self.cut.rank).any():
            raise InputError(f"rank {self.cut.rank} has no free particle: {FEWER}")
        return Piece(system, numbers, owner, self.total)
