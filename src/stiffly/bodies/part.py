"""What a part of a body (springs, tetrahedra, gravity, ...) must offer so that a System can sum it.

A part is what the user writes down; it knows nothing of the other parts.  The System asks it for
the couples it ties together, lays out one block matrix for all parts, and gets back a prepared
part that computes.  Positions are (N, 3) over ALL particles, fixed ones included: a part never
has to know which particles are free, because blocks of fixed ones have no slot in the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..contracts import Array
from .pattern import BlockPattern


@dataclass(frozen=True, slots=True)
class Particles:
    """The particles that parts act on: their number, mass (N,) [kg] and rest shape (N, 3) [m]."""

    count: int
    mass: Array
    rest: Array | None


class Part(Protocol):
    """A part as the user writes it. `name` labels its energy; parts of one name are summed."""

    name: str

    def couples(self, particles: Particles) -> np.ndarray:
        """Pairs (m, 2) of particles whose forces depend on each other; InputError if impossible."""
        ...

    def prepare(self, particles: Particles, pattern: BlockPattern) -> PreparedPart: ...


class PreparedPart(Protocol):
    """A part bound to its particles and to the slots of the block matrix."""

    @property
    def linear(self) -> bool:
        """The gradient is an affine function of x: the tangent never changes."""
        ...

    @property
    def bounded(self) -> bool:
        """`add_blocks` accounts for all negative stiffness in `pressed`. Where it cannot, False:
        the System then claims no lower bound of the spectrum."""
        ...

    def energy(self, x: Array) -> float: ...

    def add_gradient(self, x: Array, out: Array) -> None:
        """Adds dE/dx to out (N, 3)."""
        ...

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        """Adds d2E/dx2 to blocks (nnz, 3, 3), and to pressed (N,) weights p_i >= 0 such that
        this part's tangent K obeys u^T K u >= -2 sum_i p_i |u_i|^2."""
        ...
