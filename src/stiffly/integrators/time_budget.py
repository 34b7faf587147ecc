"""A budget of seconds for exponential methods: smaller spaces of vectors (matfun/reduced.py).

A step asks for matrix functions once or a few times; each time a space grows for as long as its
ration lasts.  What comes between (forces, tangents, sums) is known from the step before.

`ReducedFlow` is the linear flow of exponential Rosenbrock methods in such a space.  The questions
are those that the flows on all coordinates answer.  Here a small mechanical system with its own
stiffness and damping answers them, and its vectors carry the answers back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array, Rayleigh, Tangent
from ..errors import InputError
from ..matfun.first_order import damped, tangent_force
from ..matfun.operators import DenseOperator
from ..matfun.reduced import LEAST as LEAST_BLOCKS
from ..matfun.reduced import Smooth, Space, change, grow
from ..matfun.tolerance import lengths
from ..solvers.failures import FactorisationError
from ..solvers.linear import factorise
from ..solvers.settings import Clock, Pace

SHIFT = 0.25  # of h^2: the matrix that implicit midpoint would solve with
SAME = 1e-9  # steps that differ in their last digits share a factorisation
LEAST = 1e-9  # [s]: no time at all


CORRECTION_BLOCKS = 2  # at least, in spaces for what the first has missed
FIRST = 0.75  # of the time for the space of the state itself; corrections have the rest


class Ration:
    """Divides what is left of the budget among the spaces that are still to come.

    gaps: seconds after each space until the next, in the step before.
    """

    def __init__(self, seconds: float, clock: Clock, gaps: Sequence[float]) -> None:
        self._pace, self._clock, self._before = Pace(seconds, clock), clock, gaps
        self._gaps: list[float] = []
        self._mark: float | None = None

    def begin(self) -> Pace:
        """For the next space."""
        left = self._close()
        coming = self._before[len(self._gaps) :]
        share = FIRST if len(coming) > 1 else 1.0
        return Pace(max(share * (left - sum(coming)), LEAST), self._clock)

    def end(self) -> None:
        """The space is complete."""
        self._mark = self._pace.left()

    def gaps(self) -> tuple[float, ...]:
        """Of this step, when it is over."""
        self._close()
        return tuple(self._gaps)

    def _close(self) -> float:
        left = self._pace.left()
        if self._mark is not None:
            self._gaps.append(self._mark - left)
            self._mark = None
        return left


class Spaces:
    """The spaces of one step: how many vectors they had, and the errors of what was asked of them.

    smooth: see matfun.reduced.
    """

    def __init__(self, ration: Ration, smooth: Smooth | None) -> None:
        self._ration, self._smooth = ration, smooth
        self.vectors, self.errors = 0, [0.0]

    def grown(self, A: Any, columns: Sequence[Array]) -> Space:
        pace = self._ration.begin()
        least = LEAST_BLOCKS if self.vectors == 0 else CORRECTION_BLOCKS
        space = grow(A, columns, self._smooth, pace.more, least)
        self._ration.end()
        self.vectors += space.size
        return space

    def notes(self) -> dict[str, Any]:
        """What the time was enough for: vectors, and the estimated relative error of the step."""
        method = f"reduced to {self.vectors} vectors"
        return {"method": method, "vectors": self.vectors, "action_error": max(self.errors)}


def smoother(tangent: Tangent, h: float) -> tuple[Smooth | None, int]:
    """(M + (h/2)^2 K)^-1 of a constant tangent, kept with it: factorised once per step size; and
    how often it was factorised just now.

    None where that cannot be done: the space is then a Krylov space.
    """
    cache, factorised = tangent.stiffness.cache, 0
    if "smoother" not in cache or abs(cache["smoother"][0] - h) > SAME * h:
        factorised = 1
        try:
            solve = factorise(tangent.matrix(1.0, SHIFT * h * h, 0.0)).solve
        except (FactorisationError, InputError, np.linalg.LinAlgError):
            solve = None
        cache["smoother"] = (h, solve)
    return cache["smoother"][1], factorised


class SmallTangent(NamedTuple):
    """Of the small system: arrays, unit mass."""

    stiffness: DenseOperator
    damping: Any
    symmetric: bool


Ask = Callable[[Any, Callable[[Array], Array]], Sequence[tuple[Array, Array]]]


class ReducedFlow:
    """spaces: where the vectors come from, and what is noted about them."""

    large, used = True, ""  # what was used, the spaces tell

    def __init__(
        self, tangent: Tangent, spaces: Spaces, flow: Callable[[SmallTangent], Any], error: float
    ) -> None:
        """flow: the exact one of a small tangent; error: that the books allow."""
        self._tangent, self._spaces, self._flow, self.error = tangent, spaces, flow, error
        self.products = 0
        self._sizes = np.ones(2)  # of the step's change of position, and of the velocity

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
        return tangent_force(self._tangent, sx, sv)

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
