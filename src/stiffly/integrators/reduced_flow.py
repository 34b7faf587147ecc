"""The linear flow of exponential Rosenbrock methods in a small space (see time_budget.py).

The questions are those that the flows on all coordinates answer.  Here a small mechanical system
with its own stiffness and damping answers them, and its vectors carry the answers back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array, Rayleigh, Tangent
from ..matfun.operators import DenseOperator
from ..matfun.reduced import Space, change
from ..matfun.tolerance import lengths
from .flow_work import damped
from .time_budget import Spaces


class SmallTangent(NamedTuple):
    """Of the small system: arrays, unit mass."""

    stiffness: DenseOperator
    damping: Any
    symmetric: bool


Ask = Callable[[Any, Callable[[Array], Array]], Sequence[tuple[Array, Array]]]


class ReducedFlow:
    """spaces: where the vectors come from, and what is noted about them."""

    large = True

    def __init__(
        self, tangent: Tangent, spaces: Spaces, flow: Callable[[SmallTangent], Any]
    ) -> None:
        """flow: the exact one of a small tangent."""
        self._tangent, self._spaces, self._flow = tangent, spaces, flow
        self.products = 0
        self._sizes = np.ones(2)  # of the step's change of position, and of the velocity

    @property
    def used(self) -> str:
        return f"reduced to {self._spaces.vectors} vectors"

    def linear(self, nodes, h, v, a, rate, with_velocity):
        def ask(flow, small):
            changing = None if rate is None else small(rate)
            stages, euler = flow.linear(nodes, h, small(v), small(a), changing, True)
            return [*stages, euler]

        def sizes(space: Space, now: Array) -> Array:
            velocity = space.coordinates(v)
            moved, last, first = lengths(np.array([now[-2], velocity + now[-1], velocity]))
            self._sizes = np.array([moved, max(last, first)])
            return self._sizes

        columns = [v, a, *([] if rate is None else [rate])]
        pairs = self._answers(columns, ask, len(nodes) + 1, sizes)
        return pairs[:-1], pairs[-1]

    def tangent_force(self, sx: Array, sv: Array | None) -> Array:
        """-A sx - D sv of all coordinates: remainders are taken from the true force."""
        self.products += 1
        f = -self._tangent.stiffness.apply(sx)
        return f if sv is None else f - damped(self._tangent, sv)

    def remainder(self, weights, h, remainders, dx, dv, estimate):
        def ask(flow, small):
            reduced = [small(d) for d in remainders]
            return flow.remainder(weights, h, reduced, small(dx), small(dv), estimate)

        # a correction need not be better than what it corrects
        value, dropped = self._answers(remainders, ask, 2, lambda *_: self._sizes)
        return value, dropped

    # ------------------------------------------------------------------ the small system

    def _answers(
        self, columns: Sequence[Array], ask: Ask, count: int, sizes: Callable[[Space, Array], Array]
    ) -> list[tuple[Array, Array]]:
        """`count` pairs (position, velocity) that the space of these columns has to say; the error
        of the last one is noted, relative to sizes."""
        space = self._spaces.grown(self._tangent.stiffness, columns)
        self.products += space.size
        if space.size == 0:
            return [(np.zeros(space.A.size), np.zeros(space.A.size))] * count
        damping = self._small_damping(space)
        now, before = (self._asked(space, size, damping, ask) for size in space.sizes[:-3:-1])
        self._spaces.errors.append(change(now[-2:], before[-2:], sizes(space, now)))
        rows = space.vectors(now)
        return [(rows[2 * i], rows[2 * i + 1]) for i in range(count)]

    def _asked(self, space: Space, size: int, damping: Any, ask: Ask) -> Array:
        """Halves of all pairs (2 count, size), from the space as it was when it had that size."""
        if isinstance(damping, np.ndarray):
            damping = DenseOperator(damping[:size, :size])
        symmetric = self._tangent.symmetric
        tangent = SmallTangent(space.operator(size, symmetric), damping, symmetric)
        pairs = ask(self._flow(tangent), lambda b: space.coordinates(b)[:size])
        return np.array([half for pair in pairs for half in pair])

    def _small_damping(self, space: Space) -> Any:
        """V M D V^T (N, N), where D is no multiple of M and K."""
        if isinstance(self._tangent.damping, Rayleigh | None):
            return self._tangent.damping
        image = np.array([damped(self._tangent, row) for row in space.V])
        return space.V @ space.A.mass.apply(np.ascontiguousarray(image.T))
