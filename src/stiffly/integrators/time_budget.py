"""A budget of seconds for exponential methods: smaller spaces of vectors (matfun/reduced.py).

A step asks for matrix functions once or a few times; each time a space grows for as long as its
ration lasts.  What comes between (forces, tangents, sums) is known from the step before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array, Tangent
from ..errors import InputError
from ..matfun.reduced import LEAST as LEAST_BLOCKS
from ..matfun.reduced import Smooth, Space, grow
from ..solvers.failures import FactorisationError
from ..solvers.linear import factorise
from ..solvers.pace import Clock, Pace

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


class Smoother(NamedTuple):
    """(M + (h/2)^2 K)^-1 of one tangent: factorised once per step size."""

    h: float
    factor: Any

    def __call__(self, b: Array) -> Array:
        return self.factor.solve(b)


def smoother(tangent: Tangent, h: float) -> tuple[Smoother | None, int]:
    """That of a constant tangent, kept with it, and how often it was factorised just now.

    None where that cannot be done: the space is then a Krylov space.
    """
    A = tangent.stiffness
    kept = A.cache.get("smoother")
    if kept is not None and abs(kept[0] - h) <= SAME * h:
        return kept[1], 0
    try:
        factor = factorise(tangent.matrix(1.0, SHIFT * h * h, 0.0))
    except (FactorisationError, InputError, np.linalg.LinAlgError):
        A.cache["smoother"] = (h, None)
        return None, 1
    found = Smoother(h, factor)
    A.cache["smoother"] = (h, found)
    return found, 1
