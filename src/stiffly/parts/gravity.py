"""Uniform gravity."""

from __future__ import annotations

from typing import Any

from ..backends.kernels import take
from ..contracts import Array, Backend
from .checks import as_numbers
from .part import Arranged, Uncoupled


class Gravity(Uncoupled):
    """E = -sum_i m_i g.x_i, with g (3,) [m/s^2]."""

    name = "gravity"

    def __init__(self, g: Any = (0.0, 0.0, -9.81)) -> None:
        self.g = as_numbers("gravity g", g, (3,))

    def prepare(self, particles: Arranged) -> PreparedGravity:
        weight = -particles.mass[particles.order, None] * self.g
        return PreparedGravity(weight, particles.pattern.backend)


class PreparedGravity:
    """The gradient is the same at every position: weight (N, 3) [N], pointing up."""

    linear = bounded = pairwise = True
    internal = True  # uniform: it moves a body, and does not turn it

    def __init__(self, weight: Array, backend: Backend) -> None:
        self._kernels = take(backend, "Gravity", "column_dot")
        self._weight = weight

    def energy(self, x: Array) -> float:
        return float(self._kernels.column_dot(self._weight.ravel(), x.ravel()))

    def add_gradient(self, x: Array, out: Array) -> None:
        out += self._weight

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        out += self._weight

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        """A constant force has no tangent."""
