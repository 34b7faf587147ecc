"""The inner product <a, b> = a^T M b that operators A = M^-1 K are self-adjoint in."""

from __future__ import annotations

from copy import copy
from typing import Any

from ..backends.cpu import CPU
from ..contracts import Array, Backend, Pairs


class BaseMass:
    """What masses share: sums through the backend that they know. Subclasses give `apply`."""

    size: int
    backend: Backend = CPU

    def on(self, backend: Backend) -> Any:
        """The same, with sums made there."""
        new = copy(self)
        new.backend = backend
        return new

    def apply(self, v: Array) -> Array:
        raise NotImplementedError  # every subclass overrides this

    def dot(self, a: Array, b: Array) -> Any:
        return self.dots([(a, b)])[0]

    def dots(self, pairs: Pairs) -> list[Any]:
        return self.backend.dots([(a, self.apply(b)) for a, b in pairs])


class UnitMass(BaseMass):
    """M = I: for matrices that come without a mass."""

    def __init__(self, size: int, backend: Backend = CPU) -> None:
        self.size, self.backend = size, backend

    def apply(self, v: Array) -> Array:
        return v

    def solve(self, f: Array) -> Array:
        return f
