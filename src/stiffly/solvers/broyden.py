"""What the iterations with a stale factorisation have shown about J: Broyden's updates.

    H_k = H_{k-1} + (s - H_{k-1} y) s^T H_{k-1} / (s^T H_{k-1} y),   H_0 = A^-1

maps the change y of r that was seen to the change s of x that caused it, and differs from H_{k-1}
no more than needed (Broyden 1965; Kelley, Iterative Methods for Linear and Nonlinear Equations,
Sec. 7.3).  J need not be symmetric.  One solve with A an iteration, as without updates.
"""

from __future__ import annotations

from math import sqrt

from ..backends.cpu import CPU
from ..backends.sums import dot
from ..contracts import Array, Backend

LEAST_ANGLE = 1e-3  # cosine of s and H y: below it the update would divide by rounding


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
            if along > LEAST_ANGLE * sqrt(ss) * sqrt(yy):
                u = (s - Hy) / along
                self._updates.append((u, s))
                z = z + dot(self._backend, s, z) * u
        self._last = x, z
        return z
