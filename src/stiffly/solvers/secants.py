"""What the last few iterations have shown about J, on top of a matrix that is known.

L-BFGS around A: the inverse of A, corrected so that it maps the changes y_i of r that were seen to
the changes s_i of d that caused them.  Nocedal, Wright, Numerical Optimization, Algorithm 7.4; with
the matrix of Projective Dynamics in the middle: Liu, Bouaziz, Kavan, Quasi-Newton methods for
real-time simulation of hyperelastic materials (2017).  Ten iterations cost forty inner products.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ..contracts import Array
from ..kernels.cpu import add_scaled
from .equation import dot, norm

PAIRS = 5
LEAST_ANGLE = 1e-12  # cosine of s and y below which their product is rounding


class _Pair(NamedTuple):
    s: Array
    y: Array
    sy: float


class Secants:
    """The last PAIRS pairs of one solve."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._pairs: deque[_Pair] = deque(maxlen=PAIRS)
        self._last: tuple[Array, Array] | None = None

    def solve(self, d: Array, r: Array, inverse: Callable[[Array], Array]) -> Array:
        """About J^-1 r; d, r (n,): where the iteration stands; inverse: r -> A^-1 r."""
        if self._last is not None:
            s, y = d - self._last[0], r - self._last[1]
            sy = dot(s, y)
            if sy > LEAST_ANGLE * norm(s) * norm(y):  # else J is not positive along s
                self._pairs.append(_Pair(s, y, sy))
        self._last = d, r
        shares = []
        r = r.copy()
        for s, y, sy in reversed(self._pairs):
            shares.append(dot(s, r) / sy)
            add_scaled(r, -shares[-1], y)
        z = inverse(r)
        for (s, y, sy), share in zip(self._pairs, reversed(shares), strict=True):
            add_scaled(z, share - dot(y, z) / sy, s)
        return z
