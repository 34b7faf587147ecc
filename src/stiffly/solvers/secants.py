"""What the iterations so far have shown about J, on top of a matrix A whose inverse is known.

`Secants`, where J is symmetric: L-BFGS around A, the inverse of A corrected so that it maps the
changes y_i of r that were seen to the changes s_i of d that caused them.  Nocedal, Wright,
Numerical Optimization, Algorithm 7.4; with the matrix of Projective Dynamics in the middle: Liu,
Bouaziz, Kavan, Quasi-Newton methods for real-time simulation of hyperelastic materials (2017).  Ten
iterations cost forty inner products.

`Broyden`, where it need not be:

    H_k = H_{k-1} + (s - H_{k-1} y) s^T H_{k-1} / (s^T H_{k-1} y),   H_0 = A^-1

maps the change y of r that was seen to the change s of x that caused it, and differs from H_{k-1}
no more than needed (Broyden 1965; Kelley, Iterative Methods for Linear and Nonlinear Equations,
Sec. 7.3).  One solve with A an iteration, as without updates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from ..backends.cpu import CPU
from ..backends.sums import dot
from ..contracts import Array, Backend

PAIRS = 5
LEAST_ANGLE = 1e-12  # cosine of s and y below which their product is rounding
LEAST_BROYDEN = 1e-3  # cosine of s and H y: below it the update would divide by rounding


class _Pair(NamedTuple):
    s: Array
    y: Array
    sy: float


class Secants:
    """The last PAIRS pairs of one solve."""

    def __init__(self, backend: Backend = CPU) -> None:
        self._backend = backend
        self.forget()

    def forget(self) -> None:
        self._pairs: deque[_Pair] = deque(maxlen=PAIRS)
        self._last: tuple[Array, Array] | None = None

    def resume(self, d: Array, r: Array, pairs: list[tuple[Array, Array, float]]) -> None:
        """Where others have come to, who solved at d, r last."""
        self._pairs.extend(_Pair(*pair) for pair in pairs)
        self._last = d, r

    def solve(self, d: Array, r: Array, inverse: Callable[[Array], Array]) -> Array:
        """About J^-1 r; d, r (n,): where the iteration stands; inverse: r -> A^-1 r."""
        if self._last is not None:
            s, y = d - self._last[0], r - self._last[1]
            sy, ss, yy = self._backend.dots([(s, y), (s, s), (y, y)])
            if sy > LEAST_ANGLE * sqrt(ss) * sqrt(yy):  # else J is not positive along s
                self._pairs.append(_Pair(s, y, sy))
        self._last = d, r
        backend, shares, r = self._backend, [], r.copy()
        for s, y, sy in reversed(self._pairs):
            shares.append(dot(backend, s, r) / sy)
            backend.kernels.add_scaled(r, -shares[-1], y)
        z = inverse(r)
        for (s, y, sy), share in zip(self._pairs, reversed(shares), strict=True):
            backend.kernels.add_scaled(z, share - dot(backend, y, z) / sy, s)
        return z


class Broyden:
    """Directions of one solve, as long as A stays."""

    def __init__(self, backend: Backend = CPU) -> None:
        self._backend = backend
        self.forget()

    def forget(self) -> None:
        self._updates: list[tuple[Array, Array]] = []  # (s - H y) / (s.H y), s
        self._last: tuple[Array, Array] | None = None  # x and H r of the last iteration

    def improved(self, x: Array, solved: Array) -> Array:
        """About J^-1 r at x (n,); solved: A^-1 r."""
        z = solved
        for u, s in self._updates:
            z = z + dot(self._backend, s, z) * u
        if self._last is not None:
            s, Hy = x - self._last[0], z - self._last[1]
            along, ss, yy = self._backend.dots([(s, Hy), (s, s), (Hy, Hy)])
            if along > LEAST_BROYDEN * sqrt(ss) * sqrt(yy):
                u = (s - Hy) / along
                self._updates.append((u, s))
                z = z + dot(self._backend, s, z) * u
        self._last = x, z
        return z
